"""The complete reports of one comparison: for people, for programs, and for a comment on a pull request."""

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import validate
from rich.console import Console
from rich.text import Text

from components.changes.effect import Effect, Impact
from infra.review.comparison import Comparison
from infra.review.object_changes import ChangeKind, FieldChange, ObjectChange
from infra.review.reports import LONGEST_COMMENT, WHAT_TO_DO, as_json, as_markdown, print_comparisons, value_text
from tests.commands import replicate
from tests.infra.review.changes import compared, written

BEFORE = {"replications": {"orders": {"connectors": {"checkpoint": {"enabled": False}}}}}
AFTER = {"replications": {"orders": {"topics": ["orders"], "connectors": {"checkpoint": {"enabled": False}}}}}

TEXT = """\
test against before: data, objects: 3 changed, 1 replaced
  data    orders: 1 pattern of topics is no longer replicated: remote topics `useast.payments-.*` stay on uswest but \
get no more records from useast (topics-stop, at replications.orders.topics)
  restart orders: 2 connectors restart: `orders-source`, `orders-heartbeat` (`topics`) \
(connector-restarts, at replications.orders.connectors)
  ± ConfigMap mirror-orders/orders-replication-5cd6b2a336 (orders, replication-config) replaced, not updated
      metadata.name: orders-replication-f6ac42744d → orders-replication-5cd6b2a336
      data.topics: orders,payments-.* → orders
  ~ Role mirror-orders/orders-connector-configuration (orders, access-role)
      rules[configmaps].resourceNames[]: - orders-replication-f6ac42744d
      rules[configmaps].resourceNames[]: + orders-replication-5cd6b2a336
  ~ KafkaConnector mirror-orders/orders-source (orders, source-connector)
      5 properties read from mirror-orders/orders-replication-f6ac42744d → \
mirror-orders/orders-replication-5cd6b2a336
  ~ KafkaConnector mirror-orders/orders-heartbeat (orders, heartbeat-connector)
      2 properties read from mirror-orders/orders-replication-f6ac42744d → \
mirror-orders/orders-replication-5cd6b2a336
"""

MARKDOWN = """\
### `test` against before: **data**, objects: 3 changed, 1 replaced

| severity | flow | effect | what to do | where |
| --- | --- | --- | --- | --- |
| data | orders | 1 pattern of topics is no longer replicated: remote topics `useast.payments-.*` stay on uswest \
but get no more records from useast | tell the consumers of the remote topics; delete those topics on the target once \
nobody reads or writes them there | replications.orders.topics (topics-stop) |
| restart | orders | 2 connectors restart: `orders-source`, `orders-heartbeat` (`topics`) |  | \
replications.orders.connectors (connector-restarts) |

<details><summary>objects: 3 changed, 1 replaced</summary>

```
replaced: ConfigMap mirror-orders/orders-replication-5cd6b2a336 (orders, replication-config)
    metadata.name: orders-replication-f6ac42744d → orders-replication-5cd6b2a336
    data.topics: orders,payments-.* → orders
changed: Role mirror-orders/orders-connector-configuration (orders, access-role)
    rules[configmaps].resourceNames[]: - orders-replication-f6ac42744d
    rules[configmaps].resourceNames[]: + orders-replication-5cd6b2a336
changed: KafkaConnector mirror-orders/orders-source (orders, source-connector)
    5 properties read from mirror-orders/orders-replication-f6ac42744d → mirror-orders/orders-replication-5cd6b2a336
changed: KafkaConnector mirror-orders/orders-heartbeat (orders, heartbeat-connector)
    2 properties read from mirror-orders/orders-replication-f6ac42744d → mirror-orders/orders-replication-5cd6b2a336
```

</details>
"""

#: The form that programs rely on.
FORM = {
    "type": "object",
    "required": ["version", "severity", "stacks"],
    "additionalProperties": False,
    "properties": {
        "version": {"const": 1},
        "severity": {"enum": ["none", "restart", "re-read", "data"]},
        "stacks": {
            "type": "array",
            "items": {
                "type": "object",
                "required": [
                    "stack",
                    "against",
                    "severity",
                    "notAsked",
                    "effects",
                    "required",
                    "grants",
                    "drift",
                    "objects",
                ],
                "additionalProperties": False,
                "properties": {
                    "stack": {"type": "string"},
                    "against": {"type": "string"},
                    "severity": {"enum": ["none", "restart", "re-read", "data"]},
                    "notAsked": {"type": "string"},
                    "effects": {
                        "items": {
                            "required": ["severity", "code", "stack", "flow", "where", "what"],
                            "additionalProperties": {"type": "string"},
                        }
                    },
                    "required": {"items": {"type": "string"}},
                    "grants": {"items": {"type": "string"}},
                    "drift": {
                        "items": {
                            "required": ["severity", "code", "flow", "where", "what", "by", "since", "remedy"],
                            "additionalProperties": {"type": "string"},
                        }
                    },
                    "objects": {
                        "items": {
                            "required": ["change", "deployment", "role", "kind", "namespace", "name", "fields"],
                            "properties": {
                                "change": {"enum": ["added", "changed", "replaced", "removed"]},
                                "fields": {"items": {"required": ["path", "before", "after"]}},
                            },
                        }
                    },
                },
            },
        },
    },
}


@pytest.fixture
def comparison(tmp_path: Path) -> Comparison:
    return compared(tmp_path, BEFORE, AFTER)


def printed(comparison: Comparison) -> str:
    stream = io.StringIO()
    print_comparisons([comparison], Console(file=stream, highlight=False))
    return stream.getvalue()


def test_a_terminal_wraps_a_line_between_words_and_indents_the_rest(tmp_path: Path) -> None:
    text = io.StringIO()
    print_comparisons([compared(tmp_path, BEFORE, AFTER)], Console(file=text, width=72, force_terminal=True))
    lines = [Text.from_ansi(line).plain.rstrip() for line in text.getvalue().splitlines()]
    assert max(len(line) for line in lines) <= 72
    assert lines[1:3] == [
        "  data    orders: 1 pattern of topics is no longer replicated: remote",
        "    topics `useast.payments-.*` stay on uswest but get no more records",
    ]
    assert "".join("".join(lines).split()) == "".join(TEXT.split())


def test_the_text_report_lists_effects_first_and_then_each_object(comparison: Comparison) -> None:
    assert printed(comparison) == TEXT


def test_the_comment_puts_objects_into_a_collapsed_section(comparison: Comparison) -> None:
    assert as_markdown([comparison]) == MARKDOWN


def test_the_json_report_matches_its_schema(comparison: Comparison) -> None:
    document = json.loads(json.dumps(as_json([comparison])))
    validate(document, FORM)
    assert document["severity"] == "data"
    (stack,) = document["stacks"]
    assert [effect["code"] for effect in stack["effects"]] == ["topics-stop", "connector-restarts"]
    assert "replication-config" in [each["role"] for each in stack["objects"]]


def test_no_change_is_reported_in_one_line(tmp_path: Path) -> None:
    same = compared(tmp_path, {}, {})
    assert printed(same) == "test against before: none, nothing changes\n"
    assert as_markdown([same]) == "### `test` against before: **none**, nothing changes\n"
    validate(as_json([same]), FORM)


def test_what_a_comparison_does_not_ask_is_stated_under_its_verdict() -> None:
    """Otherwise `none` reads as if everything were well, while a Kafka cluster is down."""
    same = Comparison("test", "what runs", (), (), not_asked="Kafka is not asked: `replicate status test` does")
    assert printed(same).splitlines() == [
        "test against what runs: none, nothing changes",
        "  Kafka is not asked: `replicate status test` does",
    ]
    assert as_markdown([same]).endswith("\n\nKafka is not asked: `replicate status test` does.\n")
    assert as_json([same])["stacks"][0]["notAsked"].startswith("Kafka is not asked")


def a_large_comparison(objects: int, effects: int) -> Comparison:
    fields = (FieldChange("spec.config.topics", "a" * 90, "b" * 90),)
    change = ObjectChange(ChangeKind.CHANGED, "orders", "source-connector", "KafkaConnector", "n", "orders", fields)
    found = tuple(
        Effect(Impact.DATA, "topics-stop", "orders", "replications.orders.topics", f"topic {n} | leaves" * 10)
        for n in range(effects)
    )
    return Comparison("test", "main", found, (change,) * objects)


def test_a_long_comment_leaves_out_the_objects_first_and_says_so() -> None:
    text = as_markdown([a_large_comparison(objects=1_000, effects=3)])
    assert len(text) <= LONGEST_COMMENT
    assert "There are too many objects to list here" in text
    assert text.count("| data |") == 3


def test_a_comment_with_too_many_effects_is_cut_at_a_line_and_says_so() -> None:
    text = as_markdown([a_large_comparison(objects=1, effects=1_000)])
    assert len(text) <= LONGEST_COMMENT
    assert text.endswith("The comment is too long and is cut here; `replicate diff` prints the rest.\n")
    assert text.rpartition("\n\nThe comment")[0].endswith(" |")


def test_a_vertical_bar_in_an_effect_is_escaped() -> None:
    row = as_markdown([a_large_comparison(objects=0, effects=1)]).splitlines()[4]
    assert row.replace("\\|", "").count("|") == 6


def test_the_same_effect_of_several_flows_is_one_row(comparison: Comparison) -> None:
    effects = tuple(
        Effect(Impact.RE_READ, "group-offsets-stop", flow, f"replications.{flow}.syncGroupOffsets", "offsets stop")
        for flow in ("orders", "payments")
    )
    rows = [line for line in as_markdown([replace(comparison, effects=effects)]).splitlines() if "offsets stop" in line]
    assert rows == [
        "| re-read | orders, payments | offsets stop | "
        f"{WHAT_TO_DO['group-offsets-stop']} | replications.orders.syncGroupOffsets, "
        "replications.payments.syncGroupOffsets (group-offsets-stop) |"
    ]


def test_the_acls_that_a_change_needs_are_printed_as_commands(tmp_path: Path) -> None:
    more = {"replications": {"orders": {"topics": ["orders", "payments-.*", "ledger"]}}}
    grown = compared(tmp_path, {}, more)
    assert [line for line in grown.grants if "--topic ledger" in line] == [
        'kafka-acls.sh --bootstrap-server "${USEAST_SERVERS:?}" --command-config "${USEAST_CONFIG:?}" --add '
        "--allow-principal User:mirror --operation DescribeConfigs --operation Read --topic ledger"
    ]
    assert not any("payments" in line for line in grown.grants), "granted before"
    assert "\n```sh\n# useast: set USEAST_SERVERS" in as_markdown([grown])
    assert f"  grant these before you deploy:\n      {grown.grants[0]}\n" in printed(grown)


def test_the_namespaces_and_secrets_that_somebody_else_creates_are_listed(tmp_path: Path) -> None:
    """The objects of a pair are in new namespaces, where its workers start only if the Secrets are there, too."""
    pair = {"kind": "prefixlessPair", "between": ["useast", "uswest"], "topics": ["ledger"], "createNamespaces": False}
    found = compared(tmp_path, {}, {"replications": {"ledger": pair}})
    assert found.required == (
        "Namespaces: mirror-ledger-to-useast, mirror-ledger-to-uswest",
        "Secrets in mirror-ledger-to-useast: ca, mirror",
        "Secrets in mirror-ledger-to-uswest: ca, mirror",
    )
    said = "the stack needs these and does not create them:"
    assert f"  {said}\n      {found.required[0]}\n" in printed(found)
    assert f"\nT{said[1:]}\n\n- {found.required[0]}\n" in as_markdown([found])
    assert as_json([found])["stacks"][0]["required"] == list(found.required)


def test_square_brackets_are_printed_and_not_read_as_markup(comparison: Comparison) -> None:
    effect = replace(comparison.effects[0], what="topics `[a-z]+` and `[bold]`")
    assert "`[a-z]+` and `[bold]`" in printed(replace(comparison, effects=(effect,)))


def test_a_value_of_several_lines_is_shown_on_one_line() -> None:
    assert value_text("lowercase: true\nrules: []\n") == "lowercase: true\\nrules: []\\n"


@pytest.mark.process
def test_the_exit_code_depends_on_the_severity_only_with_fail_on(tmp_path: Path) -> None:
    base, stacks = written(tmp_path / "before", BEFORE), written(tmp_path / "after", AFTER)
    diff = ("diff", "--stacks", str(stacks), "--against", str(base))
    plain = replicate(*diff)
    assert plain.returncode == 0, plain.stderr
    assert plain.stdout == TEXT.replace("before", str(base))
    assert replicate(*diff, "--fail-on", "data", "--json").returncode == 1
    same = ("diff", "--stacks", str(base), "--against", str(base))
    assert replicate(*same, "--fail-on", "none").returncode == 0
    assert replicate("diff", "--against", "no-such-ref-at-all").returncode == 2
