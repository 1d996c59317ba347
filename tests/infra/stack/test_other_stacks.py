"""No two stacks of a project deploy the same flow, worker group or objects; each alone would pass its own checks."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_replication.infra.stack.stack_checks import problems_of_stack
from tests.builders import a_cluster, a_flow, a_topology

WEST: dict[str, Any] = {"topology": "prod", "region": "us-west-2", "kubernetes:context": "west"}


def clusters(west: Any = "kafka.uswest.example.com:9093") -> dict[str, Any]:
    return {
        "useast": a_cluster(bootstrapServers="kafka.useast.example.com:9093"),
        "uswest": a_cluster("us-west-2", bootstrapServers=west),
    }


PROD = a_topology(clusters=clusters())
SHARED = {"namespace": {"name": "kafka", "create": False}}
ONE_TOPIC = {"configs": "mirror-orders-configs-internal"}
BOTH_WAYS = a_topology(
    replications={
        "orders": a_flow(**SHARED),
        "ledger": a_flow(source="uswest", target="useast", topics=["ledger"], groups=["audit"], **SHARED),
    }
)


def problems_of(
    folder: Path, topologies: dict[str, Any], stacks: dict[str, dict[str, Any]], stack: str = "prod"
) -> list[tuple[str, str, str]]:
    """Severity, code and place of every problem of one stack."""
    (folder / "topologies").mkdir()
    for name, topology in topologies.items():
        (folder / "topologies" / f"{name}.yaml").write_text(yaml.safe_dump(topology))
    for name, keys in stacks.items():
        config = {key if ":" in key else f"replication:{key}": value for key, value in keys.items()}
        (folder / f"Pulumi.{name}.yaml").write_text(yaml.safe_dump({"config": config}))
    return [(problem.severity.value, problem.code, problem.where) for problem in problems_of_stack(stack, folder)]


HIDDEN = {"secure": "v1:abc"}
TWICE = ("error", "deployed-twice", "config.replication:topology")
GROUP = ("error", "worker-group-shared", "clusters.uswest.bootstrapServers")
CONTEXT = ("error", "kubernetes-context-shared", "config.kubernetes:context")

COPIED = ("error", "topics-overlap", "replications.orders.topics")
STAGING = {**WEST, "topology": "staging", "kubernetes:context": "staging"}


def copied_by(**flow: Any) -> dict[str, Any]:
    """Stacks whose topologies have the same clusters; the flow of the other one has a name of its own."""
    return {"prod": PROD, "staging": a_topology(a_flow(**flow), "other", clusters())}


UNKNOWN = ("error", "unknown-stack", "config.replication:sharesWith")


@pytest.mark.parametrize(
    ("topologies", "stacks", "found"),
    [
        pytest.param(
            {"prod": PROD},
            {"prod": WEST, "twin": {**WEST, "kubernetes:context": "other"}},
            [TWICE],
            id="the same region with another context",
        ),
        pytest.param({"prod": PROD}, {"prod": WEST, "all": {"topology": "prod"}}, [TWICE], id="all regions"),
        pytest.param(
            {"prod": a_topology(clusters=clusters({"config": "west"}))},
            {"prod": {**WEST, "west": HIDDEN}, "twin": {**WEST, "west": HIDDEN, "kubernetes:context": "other"}},
            [TWICE],
            id="an encrypted address, which cannot be compared",
        ),
        pytest.param(
            {"prod": PROD, "staging": a_topology(clusters=clusters("kafka.staging:9093"))},
            {"prod": WEST, "staging": {**WEST, "kubernetes:context": "staging"}},
            [TWICE],
            id="staging with the topology of prod",
        ),
        pytest.param(
            {"prod": PROD, "staging": PROD},
            {"prod": WEST, "staging": {**WEST, "topology": "staging", "kubernetes:context": "staging"}},
            [GROUP],
            id="a copied topology whose address was forgotten",
        ),
        pytest.param(
            {"prod": PROD, "staging": a_topology(clusters=clusters("kafka.staging:1, KAFKA.uswest.example.com:9093"))},
            {"prod": WEST, "staging": {**WEST, "topology": "staging", "kubernetes:context": "staging"}},
            [GROUP],
            id="one of several addresses",
        ),
        pytest.param(
            {
                "prod": PROD,
                "staging": a_topology(a_flow(connect={"storageTopics": ONE_TOPIC}), "other"),
            },
            {"prod": WEST, "staging": {**WEST, "topology": "staging", "kubernetes:context": "staging"}},
            [GROUP],
            id="one storage topic",
        ),
        pytest.param(
            {"prod": BOTH_WAYS},
            {"prod": WEST, "east": {**WEST, "region": "us-east-1"}},
            [CONTEXT],
            id="two regions with one context and namespace",
        ),
        pytest.param(
            {"prod": PROD, "staging": a_topology(clusters=clusters("kafka.staging:9093"))},
            {"prod": WEST, "staging": {**WEST, "topology": "staging"}},
            [CONTEXT],
            id="two environments with one context and the same objects",
        ),
        pytest.param(
            {"prod": PROD, "staging": a_topology(clusters=clusters("kafka.staging:9093"))},
            {"prod": {"topology": "prod"}, "staging": {"topology": "staging"}},
            [("warning", *CONTEXT[1:])],
            id="two environments without a context",
        ),
        pytest.param(copied_by(), {"prod": WEST, "staging": STAGING}, [COPIED], id="the same topics by another flow"),
        pytest.param(
            copied_by(topics=[], connectors={"sources": {"a": {"topics": ["pay.*"]}, "b": {"topics": ["payments-x"]}}}),
            {"prod": WEST, "staging": STAGING},
            [COPIED],
            id="one topic of one of several source connectors",
        ),
        pytest.param(
            {"prod": a_topology(a_flow(topics=["[ab]+xc?b"])), "staging": copied_by(topics=[r"(a|b)+x\1"])["staging"]},
            {"prod": WEST, "staging": STAGING},
            [("warning", "topics-may-overlap", COPIED[2])],
            id="patterns that cannot be compared",
        ),
        pytest.param(
            {"prod": PROD},
            {"prod": {**WEST, "sharesWith": "twni"}},
            [UNKNOWN],
            id="a stack that does not exist",
        ),
    ],
)
def test_what_another_stack_also_deploys_is_reported(
    topologies: dict[str, Any], stacks: dict[str, dict[str, Any]], found: list[tuple[str, str, str]], tmp_path: Path
) -> None:
    assert problems_of(tmp_path, topologies, stacks) == found


FROM_CONFIG = a_topology(clusters=clusters({"config": "west"}))


@pytest.mark.parametrize(
    ("topologies", "stacks"),
    [
        pytest.param(
            {"prod": PROD}, {"prod": {**WEST, "sharesWith": "twin, x"}, "x": WEST, "twin": WEST}, id="on purpose"
        ),
        pytest.param({"prod": PROD}, {"prod": WEST, "twin": {**WEST, "sharesWith": "prod"}}, id="said by the other"),
        pytest.param(
            {"prod": FROM_CONFIG},
            {
                "prod": {**WEST, "west": "kafka.uswest:9093"},
                "staging": {**WEST, "west": "kafka.staging:9093", "kubernetes:context": "staging"},
            },
            id="one topology with the address of each environment",
        ),
        pytest.param(
            {"prod": a_topology(replications={**BOTH_WAYS["replications"]})},
            {"prod": WEST, "east": {**WEST, "region": "us-east-1", "kubernetes:context": "east"}},
            id="two regions with a context each",
        ),
        pytest.param(copied_by(topics=["returns"]), {"prod": WEST, "staging": STAGING}, id="other topics"),
        pytest.param(copied_by(topicsExclude=[".*"]), {"prod": WEST, "staging": STAGING}, id="excluded topics"),
        pytest.param(copied_by(policy="identity"), {"prod": WEST, "staging": STAGING}, id="other names on the target"),
        pytest.param(
            {"prod": PROD, "staging": a_topology(a_flow(), "other", clusters() | {"useast": a_cluster()})},
            {"prod": WEST, "staging": STAGING},
            id="the same names from another source",
        ),
        pytest.param(
            copied_by(), {"prod": WEST, "staging": {**STAGING, "sharesWith": "prod"}}, id="the same topics on purpose"
        ),
        pytest.param({"prod": PROD}, {"prod": WEST, "local": {"topology": "prod", "local": "true"}}, id="a local one"),
        pytest.param({"prod": PROD}, {"prod": WEST, "broken": {"topology": "none"}}, id="one without a topology"),
        pytest.param(
            {"prod": PROD, "broken": {"clusters": 7}}, {"prod": WEST, "broken": {"topology": "broken"}}, id="unreadable"
        ),
    ],
)
def test_stacks_that_differ_or_share_on_purpose_are_not_reported(
    topologies: dict[str, Any], stacks: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    assert problems_of(tmp_path, topologies, stacks) == []


def test_the_message_says_what_both_deploy_and_how_to_allow_it(tmp_path: Path) -> None:
    stacks = {"prod": WEST, "twin": {**WEST, "kubernetes:context": "other"}}
    problems_of(tmp_path, {"prod": PROD}, stacks)
    (problem,) = problems_of_stack("twin", tmp_path)
    assert problem.text == (
        "deployed-twice: stack `prod` also deploys `orders` of the topology `prod`, at config.replication:topology. "
        "The workers of both would join one worker group, or write to the same storage topics: each side would "
        "overwrite and stop the other's connectors. Remedy: delete one of the two stack files, set a "
        "`replication:region` of its own in each, or, for another environment, name its own topology in "
        "`replication:topology`. If it is on purpose, set `replication:sharesWith: prod`."
    )


def test_the_message_about_topics_that_two_stacks_replicate_names_both_flows(tmp_path: Path) -> None:
    problems_of(tmp_path, copied_by(), {"prod": WEST, "staging": STAGING})
    (problem,) = problems_of_stack("staging", tmp_path)
    assert problem.text == (
        "topics-overlap: `orders` of the topology `prod`, which stack `prod` deploys, also replicates `orders` from "
        "`useast` to `uswest`, at replications.other.topics. Every record of a topic that both select would be written "
        "twice. Remedy: add the topic to `topicsExclude` of one of them, or delete one of the two flows. If it is on "
        "purpose, set `replication:sharesWith: prod`."
    )
