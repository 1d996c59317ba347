"""The complete reports of one comparison: for people, for programs, and for a comment on a pull request."""

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import validate
from rich.console import Console
from rich.text import Text

from kafka_replication.components.changes.effect import Impact
from kafka_replication.infra.review.advice import advice
from kafka_replication.infra.review.comparison import Comparison
from kafka_replication.infra.review.object_changes import ChangeKind, FieldChange, ObjectChange
from kafka_replication.infra.review.pull_request import as_markdown
from kafka_replication.infra.review.reports import as_json, field_lines, field_text, print_comparisons, value_text
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
  the stack no longer needs these ACLs; revoke them after the deployment, unless another stack or program logs in as \
the same user:
      useast: User:mirror: DescribeConfigs, Read on topic payments-
      uswest: User:mirror: Alter, AlterConfigs, Create, Write on topic useast.payments-
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
                    "unneededGrants",
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
                    "unneededGrants": {"items": {"type": "string"}},
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
    assert as_markdown([same]) == "- `test` against before: **none**, nothing changes\n"
    validate(as_json([same]), FORM)


def test_what_a_comparison_does_not_ask_is_stated_under_its_verdict() -> None:
    """Otherwise `none` reads as if everything were well, while a Kafka cluster is down."""
    same = Comparison("test", "what runs", (), (), not_asked="Kafka is not asked: `replicate status test` does")
    assert printed(same).splitlines() == [
        "test against what runs: none, nothing changes",
        "  Kafka is not asked: `replicate status test` does",
    ]
    assert as_markdown([same]).endswith("nothing changes. Kafka is not asked: `replicate status test` does\n")
    assert as_json([same])["stacks"][0]["notAsked"].startswith("Kafka is not asked")


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
    assert f"create what the stacks need and do not create.\n   - {found.required[0]} (`test`)\n" in as_markdown(
        [found]
    )
    assert as_json([found])["stacks"][0]["required"] == list(found.required)


def test_square_brackets_are_printed_and_not_read_as_markup(comparison: Comparison) -> None:
    effect = replace(comparison.effects[0], what="topics `[a-z]+` and `[bold]`")
    assert "`[a-z]+` and `[bold]`" in printed(replace(comparison, effects=(effect,)))


def test_a_value_of_several_lines_is_shown_on_one_line() -> None:
    assert value_text("lowercase: true\nrules: []\n") == "lowercase: true\\nrules: []\\n"


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        pytest.param("earliest", "latest", "a.b: earliest → latest", id="short"),
        pytest.param("5", 5, 'a.b: "5" → 5', id="a number, and its text"),
        pytest.param(f"{'x' * 150}a", f"{'x' * 150}b", f"a.b: …{'x' * 30}a → …{'x' * 30}b", id="long, one beginning"),
        pytest.param("x" * 130, "x" * 150, f"a.b: …{'x' * 30} → …{'x' * 50}", id="long, and longer"),
        pytest.param("a" * 130, "b" * 130, f"a.b: {'a' * 119}… → {'b' * 119}…", id="long, two beginnings"),
        pytest.param("(not shown)", "(not shown)", "a.b: changes, and is not shown", id="a credential"),
        pytest.param(
            "${secrets:n/one:a}-${secrets:n/two:b}",
            "${secrets:n/one:a}-${secrets:n/new:b}",
            "a.b: ${secrets:n/one:a}-${secrets:n/two:b} → ${secrets:n/one:a}-${secrets:n/new:b}",
            id="two references",
        ),
    ],
)
def test_the_two_sides_of_a_field_never_look_the_same(before: Any, after: Any, line: str) -> None:
    """Otherwise a reader sees that something changes, but not what."""
    assert field_text(FieldChange("a.b", before, after)) == line


def test_properties_that_read_another_config_map_name_the_one_that_differs() -> None:
    sides = ("${c:n/one:a}-${c:n/two:b}", "${c:n/one:a}-${c:n/new:b}")
    change = ObjectChange(ChangeKind.CHANGED, "o", "k", "K", None, "n", (FieldChange("a.b", *sides),))
    assert list(field_lines(change)) == ["1 property read from n/two → n/new"]


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


@pytest.mark.parametrize("code", ["connector-renamed", "kind-changes", "topics-move", "worker-group-changes"])
def test_what_to_do_follows_the_effect_if_records_are_skipped(code: str) -> None:
    """A flow that starts from `latest` copies nothing twice: whoever then prepares for duplicates loses records."""
    assert "To skip nothing, set its offsets" in advice(Impact.DATA, code).what
    assert "tolerate duplicate records" in advice(Impact.RE_READ, code).what
