"""A Secret of the stack that changed restarts the connectors that read it, whenever it changed, and nothing else."""

import json
from typing import Any

import pytest

from kafka_replication.components.flows.resolved import ResolvedFlow
from kafka_replication.infra.kubernetes.api import ApiError, KubernetesApi, Object, Reference
from kafka_replication.infra.kubernetes.readiness import why_not_ready
from kafka_replication.infra.kubernetes.secret_readers import (
    READ_SECRETS,
    RESTART,
    note_secrets_read,
    restart_readers,
    secrets_read,
)
from tests.builders import a_cluster, a_resolved_flow

CREATED, LATER = "2026-11-27T10:00:00Z", "2026-11-27T10:30:00Z"
READERS = ("orders-checkpoint", "orders-heartbeat", "orders-source")


def a_flow_with_an_own_secret() -> ResolvedFlow:
    """The stack creates the Secret for the source's login; that for the target is somebody else's."""
    login = {"type": "scram-sha-512", "username": "mirror", "password": {"config": "eastPassword"}}
    return a_resolved_flow({"useast": a_cluster(authentication=login), "uswest": a_cluster("us-west-2")})


class _Holding(KubernetesApi):
    """A cluster with a flow's connectors and one Secret of the stack."""

    def __init__(self, version: str = "1", written: str = CREATED) -> None:
        self.version, self.written = version, written
        self.asked: set[str] = set()
        self.annotations: dict[str, dict[str, str]] = {name: {} for name in READERS}

    def get(self, target: Reference) -> Object:
        self.asked.add(target.name)
        fields = {"manager": "pulumi-kubernetes", "time": self.written, "fieldsV1": {"f:data": {}}}
        metadata = {"name": target.name, "namespace": target.namespace, "resourceVersion": self.version}
        return {"metadata": {**metadata, "creationTimestamp": CREATED, "managedFields": [fields]}}

    def list_where_allowed(self, api_version: str, kind: str, *_: object, **__: object) -> list[Object]:
        return [
            {
                "apiVersion": api_version,
                "kind": kind,
                "metadata": {
                    "name": name,
                    "namespace": "mirror-orders",
                    "creationTimestamp": CREATED,
                    "annotations": annotations,
                },
            }
            for name, annotations in self.annotations.items()
        ]

    def apply(self, item: Object, **_: Any) -> Object:
        self.annotations[item["metadata"]["name"]] |= item["metadata"]["annotations"]
        return item

    def restarted(self) -> set[str]:
        """Names of the connectors whose restart was asked for; the operator removes the annotation."""
        (restart,) = RESTART
        return {name for name, annotations in self.annotations.items() if annotations.pop(restart, None)}


def test_a_secret_that_changed_after_its_readers_started_restarts_each_of_them_once() -> None:
    """It does not matter which deployment changed it: that one may have been interrupted."""
    flow, api = a_flow_with_an_own_secret(), _Holding("2", LATER)
    said = list(restart_readers(api, [flow]))
    (secret,) = api.asked
    assert said[0] == f"connector orders-source restarts: Secret `{secret}` has changed since it started"
    assert api.restarted() == {"orders-source", "orders-checkpoint", "orders-heartbeat"}
    assert json.loads(api.annotations["orders-source"][READ_SECRETS]) == {secret: "2"}
    assert list(restart_readers(api, [flow])) == []
    api.version = "3"
    assert len(list(restart_readers(api, [flow]))) == len(READERS)


def test_the_next_deployment_does_not_restart_a_connector_that_restarted_as_a_whole() -> None:
    """`replicate restart --connector` notes what it then read: the versions from before the restart."""
    flow, api = a_flow_with_an_own_secret(), _Holding("2", LATER)
    restarted = Reference("kafka.strimzi.io/v1", "KafkaConnector", "mirror-orders", "orders-source")
    noted = secrets_read(api, [flow], {restarted})
    api.version = "3"
    assert len(list(restart_readers(api, [flow]))) == len(READERS)
    api.annotations = {name: {} for name in READERS}
    api.version = "2"
    note_secrets_read(api, noted)
    assert [said.split()[1] for said in restart_readers(api, [flow])] == ["orders-checkpoint", "orders-heartbeat"]
    assert secrets_read(api, [a_resolved_flow()], {restarted}) == {}


def test_an_account_that_may_not_read_a_secret_can_still_restart_its_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    flow, api = a_flow_with_an_own_secret(), _Holding("2", LATER)

    def refused(_: Reference) -> Object:
        raise ApiError(403, "Forbidden", "secrets is forbidden")

    with monkeypatch.context() as patch:
        patch.setattr(api, "get", refused)
        noted = secrets_read(
            api, [flow], {Reference("kafka.strimzi.io/v1", "KafkaConnector", "mirror-orders", READERS[0])}
        )
    note_secrets_read(api, noted)
    assert len(list(restart_readers(api, [flow]))) == len(READERS)


def test_connectors_that_were_created_after_their_secret_do_not_restart() -> None:
    api = _Holding("2", CREATED)
    assert list(restart_readers(api, [a_flow_with_an_own_secret()])) == []


def test_secrets_that_the_stack_does_not_create_are_not_asked_for() -> None:
    """The account may not read them, and whoever changes one raises `credentialsRevision`."""
    api = _Holding("2", LATER)
    assert list(restart_readers(api, [a_resolved_flow()])) == []
    assert api.asked == set()


def test_a_connector_is_not_ready_while_its_restart_is_asked_for() -> None:
    status = {"observedGeneration": 1, "conditions": [{"type": "Ready", "status": "True"}]}
    live = {"metadata": {"generation": 1, "annotations": RESTART}, "status": status}
    assert why_not_ready("x", live) == "the operator has not restarted it yet"
