"""BidirectionalPrefixlessPair and ConnectClusterSplit register their flows as children, each in the right place."""

from typing import Any

import pulumi
import pulumi_kubernetes
import pytest

from kafka_replication import (
    BidirectionalPrefixlessPair,
    BidirectionalPrefixlessPairArgs,
    Cluster,
    ConnectClusterSplit,
    ConnectClusterSplitArgs,
    PrefixlessPair,
    ReplicationError,
    Split,
)
from tests.builders import a_cluster
from tests.components.flows.test_expansion import a_pair, a_split
from tests.components.recorder import record

CLUSTERS = {
    alias: Cluster.model_validate(a_cluster(region, bootstrapServers=f"{alias}:9093"))
    for alias, region in (("useast", "us-east-1"), ("uswest", "us-west-2"))
}


def pair_args(**overrides: Any) -> BidirectionalPrefixlessPairArgs:
    pair = PrefixlessPair.model_validate(a_pair())
    return BidirectionalPrefixlessPairArgs(pair=pair, clusters=CLUSTERS, strimzi="1.2", **overrides)


def split_args(split: dict[str, Any]) -> ConnectClusterSplitArgs:
    return ConnectClusterSplitArgs(split=Split.model_validate(split), clusters=CLUSTERS, strimzi="1.2")


def test_each_half_of_a_pair_goes_to_the_kubernetes_cluster_of_its_target() -> None:
    def program() -> None:
        east, west = (pulumi_kubernetes.Provider(name, kubeconfig="{}") for name in ("east", "west"))
        BidirectionalPrefixlessPair("ledger", pair_args(providers={"useast": east, "uswest": west}))

    recorder = record(program)
    for half, provider in (("ledger-to-useast", "east"), ("ledger-to-uswest", "west")):
        connect = recorder.named(f"{half}-connect")
        assert f"::{provider}::" in connect.provider
        assert connect.parent == recorder.named(half).urn


def test_a_stack_of_one_region_deploys_one_half() -> None:
    recorder = record(lambda: _discard(BidirectionalPrefixlessPair("ledger", pair_args(targets=frozenset({"uswest"})))))
    connects = [resource.name for resource in recorder.resources if resource.token.endswith(":KafkaConnect")]
    assert connects == ["ledger-to-uswest-connect"]


@pytest.mark.parametrize("argument", ["targets", "providers"])
def test_a_misspelt_target_is_refused_before_anything_is_registered(argument: str) -> None:
    given: dict[str, Any] = {"targets": frozenset({"uswst"}), "providers": {"uswst": None}}
    with pytest.raises(ReplicationError, match="`uswst` is no target of this pair") as raised:
        record(lambda: _discard(BidirectionalPrefixlessPair("ledger", pair_args(**{argument: given[argument]}))))
    (problem,) = raised.value.problems
    assert (problem.where, problem.remedy) == (argument, "name one of these: useast, uswest.")


def test_each_part_of_a_split_has_its_namespace_quota_and_connect_cluster() -> None:
    split = a_split()
    split["parts"]["bulk"] = {
        "topics": ["logs-.*"],
        "quota": {"hard": {"pods": 3, "limits.memory": "6Gi"}, "defaultLimits": {"memory": "2Gi"}},
    }
    recorder = record(lambda: _discard(ConnectClusterSplit("ledger", split_args(split))))
    for part in ("fast", "bulk"):
        namespace = recorder.named(f"ledger-{part}-namespace").inputs["metadata"]["name"]
        assert recorder.named(f"ledger-{part}-connect").inputs["metadata"]["namespace"] == namespace
    assert recorder.named("ledger-bulk-quota").inputs["spec"] == {"hard": {"pods": "3", "limits.memory": "6Gi"}}
    assert recorder.named("ledger-bulk-limits").inputs["spec"] == {
        "limits": [{"type": "Container", "default": {"memory": "2Gi"}}]
    }
    assert not [resource for resource in recorder.resources if resource.name == "ledger-fast-quota"]


def test_parts_that_select_the_same_topic_are_refused() -> None:
    split = a_split(parts={"fast": {"topics": ["orders-.*"]}, "bulk": {"topics": [".*-eu"]}})

    def program() -> None:
        with pytest.raises(ReplicationError, match="both select `orders-eu`"):
            ConnectClusterSplit("ledger", split_args(split))

    assert record(program).resources == []


def _discard(component: pulumi.ComponentResource) -> None:
    del component
