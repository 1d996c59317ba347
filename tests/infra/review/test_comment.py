"""The comment on a pull request as a reviewer reads it: how far down it says what is to be done next, and by whom."""

import json
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_replication.components.changes.effect import Effect, Impact
from kafka_replication.components.contract.problems import Problem
from kafka_replication.infra.deploy.promotion.rule.plan import PromotionPlan
from kafka_replication.infra.review.advice import ADVICE
from kafka_replication.infra.review.bases import Base
from kafka_replication.infra.review.comparison import Comparison, Mistake
from kafka_replication.infra.review.object_changes import ChangeKind, FieldChange, ObjectChange
from kafka_replication.infra.review.pull_request import (
    LONGEST_COMMENT,
    as_markdown,
    comment_text,
    review_stacks,
    write_review,
)
from tests.builders import a_cluster, a_flow, a_topology
from tests.infra.review.changes import compared

LONGEST_OF_GITHUB = 65_536
LONGEST_OF_AN_ENVIRONMENT_VARIABLE = 128 * 1024
LEAVES = {"replications": {"orders": {"topics": ["orders"], "connectors": {"checkpoint": {"enabled": False}}}}}
NO_CHECKPOINTS = {"replications": {"orders": {"connectors": {"checkpoint": {"enabled": False}}}}}

MARKDOWN = """\
- `test` against before: **data**, objects: 3 changed, 1 replaced

### To do, in this order

1. **Before the deployment, the author and the owners of the consumers**: tell the consumers of the remote topics; \
delete those topics on the target once nobody reads or writes them there.
   - **data** orders: 1 pattern of topics is no longer replicated: remote topics `useast.payments-.*` stay on uswest \
but get no more records from useast (`test`; `topics-stop` at FILE:38)

<details><summary>1 other effect: restart</summary>

- **restart** orders: 2 connectors restart: `orders-source`, `orders-heartbeat` (`topics`) (`test`; \
`connector-restarts` at FILE:30)

</details>

<details><summary>2 ACLs to revoke</summary>

the stack no longer needs these ACLs; revoke them after the deployment, unless another stack or program logs in as the \
same user:

- useast: User:mirror: DescribeConfigs, Read on topic payments-
- uswest: User:mirror: Alter, AlterConfigs, Create, Write on topic useast.payments-

</details>

<details><summary>test: objects: 3 changed, 1 replaced</summary>

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


def an_effect(severity: Impact = Impact.DATA, code: str = "topics-stop", what: str = "they stop") -> Effect:
    return Effect(severity, code, "orders", "replications.orders.topics", what)


def a_change(fields: int = 1) -> ObjectChange:
    changes = tuple(FieldChange(f"spec.config.topics{n}", "a" * 90, "b" * 90) for n in range(fields))
    return ObjectChange(ChangeKind.CHANGED, "orders", "source-connector", "KafkaConnector", "n", "orders", changes)


def visible(comment: str) -> list[str]:
    """The lines of a comment that a reviewer sees without opening a section."""
    lines, depth = [], 0
    for line in comment.splitlines():
        depth += line.count("<details>")
        if line.strip() and not depth:
            lines.append(line)
        depth -= line.count("</details>")
    return lines


def test_a_comment_says_what_to_do_and_folds_the_rest(tmp_path: Path) -> None:
    file = str(tmp_path / "after" / "topologies" / "test.yaml")
    assert as_markdown([compared(tmp_path, NO_CHECKPOINTS, LEAVES)]) == MARKDOWN.replace("FILE", file)


@pytest.fixture(scope="module")
def three_edits(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The comment for three edits in each of two environments with two regions; a fifth stack is only touched."""
    tmp_path = tmp_path_factory.mktemp("edits")
    before = {
        "orders": a_flow(),
        "audit": a_flow(source="uswest", target="useast", topics=["audit-.*"], groups=["auditors-.*"]),
        "clicks": {"kind": "prefixlessPair", "between": ["useast", "uswest"], "topics": ["clicks"]},
    }
    after = {
        "orders": a_flow(topics=["orders", "ledger"]),
        "audit": {**before["audit"], "offsetSyncs": {"location": "target"}},
        "clicks": {**before["clicks"], "connect": {"replicas": 5}},
    }
    for side, replications in (("now", after), ("then", before)):
        (tmp_path / side / "topologies").mkdir(parents=True)
        for environment, region in product(("prod", "staging"), ("us-east-1", "us-west-2")):
            config = {"replication:topology": environment, "replication:region": region}
            config["kubernetes:context"] = f"{environment}-{region}"
            write(tmp_path / side / f"Pulumi.{environment}-{region}.yaml", {"config": config})
            topology = a_topology(replications=replications, clusters=clusters_of(environment))
            write(tmp_path / side / "topologies" / f"{environment}.yaml", topology)
        write(tmp_path / side / "topologies" / "other.yaml", a_topology(clusters=clusters_of("other")))
        write(tmp_path / side / "Pulumi.other.yaml", {"config": {"replication:topology": "other"}})
    waves = [{"stacks": ["staging-us-east-1", "staging-us-west-2"]}, {"stacks": ["prod-us-west-2"]}]
    waves += [{"stacks": ["prod-us-east-1"]}]
    write(tmp_path / "now" / "promotion.yaml", {"environments": [{"name": "all", "waves": waves}]})
    stacks = ["other", "prod-us-east-1", "prod-us-west-2", "staging-us-east-1", "staging-us-west-2"]
    reviews = review_stacks(stacks, tmp_path / "now", [Base("main", tmp_path / "then")])
    assert write_review(reviews, tmp_path / "now", tmp_path / "out")
    return (tmp_path / "out" / "comment.md").read_text().replace(f"{tmp_path}/now/topologies/", "")


def clusters_of(environment: str) -> dict[str, Any]:
    regions = {"useast": "us-east-1", "uswest": "us-west-2"}
    return {
        alias: a_cluster(region, bootstrapServers=f"kafka.{alias}.{environment}.example.com:9093")
        for alias, region in regions.items()
    }


def write(file: Path, content: object) -> None:
    file.write_text(yaml.safe_dump(content, sort_keys=False))


def test_a_reviewer_of_three_edits_in_two_environments_reads_few_lines(three_edits: str) -> None:
    lines = visible(three_edits)
    assert len(lines) <= 60
    first = next(number for number, line in enumerate(lines) if line.startswith("1. "))
    assert first <= 6, "what is to be done next is not at the top"
    steps = [line.partition(":")[0] for line in lines if line[0].isdigit()]
    assert steps == [
        "1. **Before the deployment, the author and the owners of the consumers**",
        "2. **Before the deployment, administrators of Kafka**",
        "3. **Whoever deploys**",
        "4. **Whoever deploys**",
    ]
    assert lines[-1].startswith(
        "4. **Whoever deploys**: deploy `staging-us-east-1`, `staging-us-west-2`; then `prod-us-west-2`; then "
        "`prod-us-east-1`. `replicate promote`"
    )


def test_what_several_stacks_share_is_told_once_and_what_does_not_change_in_one_line(three_edits: str) -> None:
    for code in ("topics-stop", "topics-start", "offset-syncs-move"):
        assert three_edits.count(f"`{code}`") == 1
    assert three_edits.count("data.topics: orders,payments-.* → orders,ledger") == 1
    assert "Nothing changes in `other`." in three_edits.splitlines()
    assert three_edits.count("`other`") == 2


def test_an_effect_names_its_stacks_and_the_line_of_its_key_in_each_file(three_edits: str) -> None:
    (line,) = (line for line in three_edits.splitlines() if "`topics-stop`" in line)
    assert line.endswith("(`prod-us-west-2`, `staging-us-west-2`; `topics-stop` at prod.yaml:34, staging.yaml:34)")


def test_no_line_of_a_comment_has_two_equal_sides(three_edits: str) -> None:
    sides = [line.rpartition(": ")[2].split(" → ") for line in three_edits.splitlines() if " → " in line]
    assert sides
    assert all(before != after for before, after in sides)


def test_steps_come_in_the_order_of_time_and_the_worst_first() -> None:
    first = Comparison(
        "a",
        "main",
        (
            an_effect(Impact.RE_READ, "offset-syncs-move"),
            an_effect(Impact.RE_READ, "exactly-once-ends"),
            an_effect(Impact.DATA, "topics-stop"),
            an_effect(Impact.DATA, "separator-changes"),
            an_effect(Impact.DATA, "connector-pauses"),
        ),
        (a_change(),),
        grants=("kafka-acls.sh",),
        required=("Namespaces: one",),
    )
    text = comment_text([first], (), ["a"])
    steps = [line.partition("**: ")[2][:25] for line in text.splitlines() if line[:1].isdigit()]
    assert steps == [
        ADVICE["separator-changes"].what[:25],
        ADVICE["topics-stop"].what[:25],
        ADVICE["exactly-once-ends"].what[:25],
        "run the commands below, w",
        "create what the stacks ne",
        ADVICE["connector-pauses"].what[:25],
        ADVICE["offset-syncs-move"].what[:25],
        "deploy `a`, and run `repl",
    ]


def test_a_grave_effect_without_advice_is_still_a_step() -> None:
    text = comment_text([Comparison("a", "main", (an_effect(code="new-in-a-later-version"),))])
    assert "1. **Whoever deploys**: make sure that this is wanted.\n   - **data** orders: they stop (`a`;" in text


@pytest.mark.parametrize(
    ("severity", "code", "said"),
    [
        (Impact.DATA, "namespace-deleted", "If its part or replication is gone, so is that key"),
        (Impact.RE_READ, "worker-group-changes", "keep the old names, also under a new name of the part"),
        (Impact.RE_READ, "connector-renamed", "`connect.groupId`"),
        (Impact.DATA, "worker-group-changes", "or stop producing until the connector runs again"),
    ],
)
def test_the_advice_after_a_rename_is_possible_under_the_new_name(severity: Impact, code: str, said: str) -> None:
    assert said in comment_text([Comparison("a", "main", (an_effect(severity, code),))])


def test_a_stack_in_no_wave_comes_before_the_waves_which_end_in_production() -> None:
    plan = PromotionPlan.model_validate({"environments": [{"name": "all", "waves": [{"stacks": ["a", "b"]}]}]})
    text = comment_text([], (), ["a", "c"], plan)
    assert "1. **Whoever deploys**: deploy `c`, and run `replicate validate` for each; no wave of" in text
    assert "2. **Whoever deploys**: deploy `a`. `replicate promote`" in text


def test_a_change_without_any_effect_has_nothing_to_do() -> None:
    text = comment_text([Comparison("a", "main"), Comparison("b", "main")])
    assert visible(text)[2:] == [
        "It touches `a`, `b`. The most severe effect: **none**. Compared with main.",
        "Nothing changes in `a`, `b`.",
    ]


@pytest.mark.parametrize(
    ("comparisons", "left_out"),
    [
        pytest.param([Comparison("a", "main", (), (a_change(2_000),))], "more lines", id="one object with many fields"),
        pytest.param([Comparison("a", "main", (), (a_change(),) * 2_000)], "more lines", id="many objects"),
        pytest.param(
            [Comparison("a", "main", (an_effect(what=f"{n} stops"),)) for n in range(2_000)],
            "and 1994 effects more, below",
            id="many effects with one advice",
        ),
        pytest.param(
            [Comparison("a", "main", (an_effect(Impact.NONE, f"code-{n}"),)) for n in range(2_000)],
            "more lines",
            id="many effects without advice",
        ),
        pytest.param(
            [Comparison("a", "main", (an_effect(code=c, what=f"{n}" * 900),)) for c in ADVICE for n in range(6)],
            "The comment is too long and is cut here; `replicate diff` prints the rest.",
            id="every advice, and long texts",
        ),
        pytest.param(
            [Comparison(f"{n}" * 30, "main", (an_effect(code=c),)) for n in range(100) for c in ADVICE],
            "and 94 more",
            id="every advice in many stacks",
        ),
        pytest.param(
            [Comparison(f"{n}" * 60, "main", (), (replace(a_change(), name=f"{n}"),)) for n in range(500)],
            "Left out: ",
            id="many sections",
        ),
        pytest.param([Comparison("a", "main", grants=("x" * 99,) * 999)], "more lines", id="many commands"),
    ],
)
def test_no_comment_is_longer_than_github_allows(comparisons: list[Comparison], left_out: str) -> None:
    """GitHub refuses a longer one, and then the pull request has no review."""
    text = comment_text(comparisons, (), ["a"])
    assert len(text) <= LONGEST_COMMENT < LONGEST_OF_GITHUB
    assert len(json.dumps(text, ensure_ascii=False).encode()) < LONGEST_OF_AN_ENVIRONMENT_VARIABLE
    assert text.count("<details>") == text.count("</details>")
    assert text.count("```") % 2 == 0
    assert "### To do, in this order\n\n1. **" in text
    assert left_out in text


def test_many_mistakes_leave_room_for_the_other_steps() -> None:
    problems = [Problem(f"key{n}", "wrong-type", "long " * 500, "It fails.", "correct it.") for n in range(100)]
    text = comment_text([Comparison("a", mistakes=tuple(map(Mistake, problems)), known=False)], (), ["b"])
    assert "correct 100 mistakes." in text
    assert "   - and 90 more, which `replicate check` prints\n2. **Whoever deploys**: deploy `b`" in text
