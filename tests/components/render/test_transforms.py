"""The transforms of a source connector: the loop guard, and its position between the user's transforms."""

from typing import Any

from kafka_replication.components.render.connector_config import transform_properties
from kafka_replication.components.render.kafka_connectors import connector_config
from tests.builders import a_resolved_flow

KAFKA = "org.apache.kafka.connect.transforms"
GUARD = {
    "transforms": "DropReplicated,MarkReplicated",
    "transforms.DropReplicated.type": f"{KAFKA}.Filter",
    "transforms.DropReplicated.predicate": "ReplicatedFromTarget",
    "transforms.MarkReplicated.type": f"{KAFKA}.InsertHeader",
    "transforms.MarkReplicated.header": "replicated-from-useast",
    "transforms.MarkReplicated.value.literal": "null",
    "transforms.MarkReplicated.predicate": "NotHeartbeats",
    "predicates": "ReplicatedFromTarget,NotHeartbeats",
    "predicates.ReplicatedFromTarget.type": f"{KAFKA}.predicates.HasHeaderKey",
    "predicates.ReplicatedFromTarget.name": "replicated-from-uswest",
    "predicates.NotHeartbeats.type": f"{KAFKA}.predicates.TopicNameMatches",
    "predicates.NotHeartbeats.pattern": r"^(?!(.*\.)?heartbeats$).*$",
}


def chain(**overrides: Any) -> dict[str, Any]:
    return transform_properties(a_resolved_flow(policy="identity", **overrides).settings)


def test_the_whole_loop_guard() -> None:
    """With any other literal, the task would fail or the user's headers would change."""
    assert chain(loopGuard=True) == GUARD


def test_without_guard_and_transforms_there_is_no_chain() -> None:
    assert chain() == {}


def test_the_users_transforms_run_before_and_after_the_guard() -> None:
    properties = chain(
        loopGuard=True,
        transforms={
            "before": {"mask": {"type": "com.example.Mask", "config": {"fields": "card"}}},
            "after": {
                "stamp": {
                    "type": f"{KAFKA}.InsertHeader",
                    "config": {"header": "region", "value.literal": "x"},
                    "predicate": {"type": f"{KAFKA}.predicates.RecordIsTombstone"},
                    "negate": True,
                }
            },
        },
    )
    assert properties["transforms"] == "mask,DropReplicated,MarkReplicated,stamp"
    assert properties["predicates"] == "stampPredicate,ReplicatedFromTarget,NotHeartbeats"
    users = {key: value for key, value in properties.items() if key not in GUARD}
    assert users == {
        "transforms.mask.type": "com.example.Mask",
        "transforms.mask.fields": "card",
        "transforms.stamp.type": f"{KAFKA}.InsertHeader",
        "transforms.stamp.header": "region",
        "transforms.stamp.value.literal": "x",
        "transforms.stamp.predicate": "stampPredicate",
        "transforms.stamp.negate": True,
        "predicates.stampPredicate.type": f"{KAFKA}.predicates.RecordIsTombstone",
    }


def test_disabled_offset_syncs_remove_every_other_offset_sync_property() -> None:
    """The connector refuses all of them together with emit.offset-syncs.enabled=false."""
    flow = a_resolved_flow(offsetSyncs={"enabled": False}, connectors={"checkpoint": {"enabled": False}})
    properties = {key for key in connector_config(flow, "source") if "offset" in key}
    assert properties == {"emit.offset-syncs.enabled"}
