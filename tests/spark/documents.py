"""Builders of parameter documents with overrides, in the form in which the program exports them."""

from typing import Any

from spark.parameters import FlowParameters

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
