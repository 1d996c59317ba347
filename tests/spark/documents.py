"""Builders of parameter documents with overrides, as the program exports them."""

from typing import Any

from kafka_replication.components.contract.parameters import FlowParameters

Json = dict[str, Any]


def a_cluster(alias: str = "useast", **changes: Any) -> Json:
    return {
        "alias": alias,
        "bootstrapServers": "127.0.0.1:9093",
        "securityProtocol": "SASL_SSL",
        "trust": {"format": "PEM", "certificates": {"file": "/nowhere/ca.crt"}, "password": None},
        "authentication": {"type": "plain", "username": "validator", "password": {"env": "VALIDATOR_PASSWORD"}},
        **changes,
    }


def a_flow_document(**changes: Any) -> Json:
    return {
        "name": "orders",
        "namespace": "mirror-orders",
        "digest": "sha256:0f",
        "policy": "default",
        "separator": ".",
        "source": a_cluster("useast"),
        "target": a_cluster("uswest"),
        "topics": ["orders", "payments-.*"],
        "topicsExclude": [r".*[\-\.]internal", r".*\.replica", "__.*"],
        "groups": ["checkout-.*"],
        "groupsExclude": ["console-consumer-.*", "connect-.*", "__.*"],
        "heartbeats": {
            "enabled": True,
            "intervalSeconds": 1,
            "sourceTopic": "heartbeats",
            "targetTopic": "useast.heartbeats",
        },
        "offsetSyncs": {"cluster": "source", "topic": "mm2-offset-syncs.uswest.internal", "lagMax": 10},
        "checkpoints": {
            "enabled": True,
            "topic": "useast.checkpoints.internal",
            "intervalSeconds": 3,
            "syncGroupOffsets": True,
            "syncIntervalSeconds": 3,
        },
        "refreshTopicsSeconds": 5,
        "refreshGroupsSeconds": 5,
        **changes,
    }


def a_document(*flows: Json) -> Json:
    return {"schemaVersion": 1, "stack": "local", "flows": list(flows or [a_flow_document()])}


def a_flow(**changes: Any) -> FlowParameters:
    return FlowParameters.model_validate(a_flow_document(**changes))


def a_guard(source: str = "useast", target: str = "uswest") -> Json:
    """The guard of the flow between two aliases."""
    return {"filter": f"replicated-from-{target}", "mark": f"replicated-from-{source}"}


def a_pair(guarded: bool = True, **changes: Any) -> tuple[FlowParameters, FlowParameters]:
    """Both directions of the prefixless pair `ledger`, as the program exports them."""
    return _direction("useast", "uswest", guarded, changes), _direction("uswest", "useast", guarded, changes)


def _direction(source: str, target: str, guarded: bool, changes: Json) -> FlowParameters:
    return a_flow(
        **{
            "name": f"ledger-to-{target}",
            "replication": "ledger",
            "shape": "prefixlessPair",
            "policy": "identity",
            "topics": ["ledger"],
            "source": a_cluster(source),
            "target": a_cluster(target),
            "guard": a_guard(source, target) if guarded else None,
            **without_offset_syncs(),
            **changes,
        }
    )


def without_offset_syncs() -> Json:
    """The changes that switch off a flow's offset syncs, and checkpoints, which are made from them."""
    document = a_flow_document()
    return {
        "offsetSyncs": {**document["offsetSyncs"], "enabled": False},
        "checkpoints": {**document["checkpoints"], "enabled": False},
    }
