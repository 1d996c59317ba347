"""Argo CD's health checks of Strimzi's resources, run as Lua: they agree with what `replicate up` waits for."""

from pathlib import Path
from typing import Any

import lupa
import pytest
import yaml

from kafka_replication.infra.kubernetes import readiness
from kafka_replication.infra.kubernetes.readiness import why_not_ready

FILE = Path(readiness.__file__).with_name("argocd-cm.yaml")
KINDS = ("KafkaConnect", "KafkaConnector", "KafkaMirrorMaker2", "KafkaUser")
READY = {"type": "Ready", "status": "True"}
NOT_READY = {"type": "NotReady", "status": "True", "reason": "Failed", "message": "no ACL"}
PAUSED = {"type": "ReconciliationPaused", "status": "True"}


def health(live: dict[str, Any], kind: str = "KafkaConnector") -> tuple[str, str]:
    """What Argo CD shows of an object: its health and the message."""
    script = yaml.safe_load(FILE.read_text())["data"][f"resource.customizations.health.kafka.strimzi.io_{kind}"]
    lua = lupa.LuaRuntime()
    lua.globals().obj = lua.table_from(live, recursive=True)
    found = lua.execute(script)
    return str(found.status), str(found.message)


def live(*conditions: dict[str, str], observed: int = 2, **more: Any) -> dict[str, Any]:
    metadata = {"name": "orders-source", "generation": 2, **more.pop("metadata", {})}
    return {"metadata": metadata, "status": {"observedGeneration": observed, "conditions": list(conditions), **more}}


def reported(connector: str, *tasks: str, name: str = "orders-source") -> dict[str, Any]:
    states = [{"id": number, "state": state, "trace": "no ACL"} for number, state in enumerate(tasks)]
    return {"name": name, "connector": {"state": connector, "trace": "no ACL"}, "tasks": states}


RESTART = {"annotations": {"strimzi.io/restart": "includeTasks"}}
MIRROR = "useast->uswest.MirrorSourceConnector"
CASES = [
    pytest.param({"metadata": {"name": "a", "generation": 1}}, "Progressing", "not processed", id="just stored"),
    pytest.param(live(READY, observed=1), "Progressing", "not processed", id="an old status"),
    pytest.param(live(), "Progressing", "not reported anything", id="nothing reported"),
    pytest.param(live(READY, metadata=RESTART), "Progressing", "not restarted", id="a restart is requested"),
    pytest.param(live(PAUSED), "Suspended", "pause-reconciliation", id="reconciliation is paused"),
    pytest.param(live(NOT_READY), "Degraded", "no ACL", id="not ready"),
    pytest.param(live({**NOT_READY, "reason": "Creating"}), "Progressing", "no ACL", id="being created"),
    pytest.param(live(READY, connectorStatus=reported("FAILED")), "Degraded", "orders-source failed", id="connector"),
    pytest.param(
        live(READY, connectorStatus=reported("RUNNING", "RUNNING", "FAILED")),
        "Degraded",
        "orders-source task 1 failed",
        id="a task",
    ),
    pytest.param(
        live(READY, connectors=[reported("RUNNING", "FAILED", name=MIRROR)]),
        "Degraded",
        f"{MIRROR} task 0 failed",
        id="a task of a KafkaMirrorMaker2",
    ),
    pytest.param(live(READY), "Healthy", "", id="ready"),
    pytest.param(live(READY, connectorStatus=reported("PAUSED", "PAUSED")), "Healthy", "", id="paused as declared"),
]


@pytest.mark.parametrize(("given", "status", "message"), CASES)
def test_argo_cd_shows_an_object_as_healthy_only_if_it_is_ready(
    given: dict[str, Any], status: str, message: str
) -> None:
    found, said = health(given)
    assert found == status
    assert message in said
    assert (found == "Healthy") is (not why_not_ready("KafkaConnector a/b", given))


@pytest.mark.parametrize("kind", KINDS)
def test_argo_cd_shows_a_resource_of_each_kind_as_degraded_if_it_is_not_ready(kind: str) -> None:
    assert health(live(NOT_READY), kind)[0] == "Degraded"
