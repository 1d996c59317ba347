"""What a killed or failed deployment left in Pulumi's state: what is adopted, dropped, or kept."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from infra.deploy.engine.unfinished import PendingCreate, adopting, created, keeping, pending_creates, replaced_objects
from infra.kubernetes.api import Object, Reference
from tests.infra.provider import undone_change
from tests.repository import ROOT

CONNECT = "urn:pulumi:local::replication::kubernetes:kafka.strimzi.io/v1:KafkaConnect::orders-connect"


def an_operation(
    urn: str = CONNECT, doing: str = "creating", namespace: str | None = "mirror-orders"
) -> dict[str, Any]:
    metadata = {"name": "orders", **({"namespace": namespace} if namespace else {})}
    inputs = {"apiVersion": "kafka.strimzi.io/v1", "kind": "KafkaConnect", "metadata": metadata}
    resource = {"urn": urn, "type": "kubernetes:kafka.strimzi.io/v1:KafkaConnect", "inputs": inputs}
    return {"type": doing, "resource": resource}


def test_a_pending_creation_has_the_providers_id_for_its_object() -> None:
    (found,) = pending_creates({"pending_operations": [an_operation()]})
    assert found == PendingCreate(CONNECT, Reference("kafka.strimzi.io/v1", "KafkaConnect", "mirror-orders", "orders"))
    assert found.object.identifier == "mirror-orders/orders"
    (cluster_wide,) = pending_creates({"pending_operations": [an_operation(namespace=None)]})
    assert cluster_wide.object.identifier == "orders"


def test_other_operations_and_objects_in_the_state_are_not_adopted() -> None:
    assert pending_creates({"pending_operations": [an_operation(doing="updating")]}) == ()
    assert pending_creates({"pending_operations": [an_operation()], "resources": [{"urn": CONNECT}]}) == ()
    assert pending_creates({"resources": [{"urn": CONNECT}]}) == ()


def test_created_objects_are_recorded_and_other_pending_operations_are_dropped() -> None:
    """Otherwise Pulumi warns about the operation at every deployment and tries to create an object that exists."""
    begun = an_operation()
    state = {"resources": [{"urn": "urn:stack"}], "pending_operations": [begun, an_operation("urn:other")]}
    (found, _) = pending_creates(state)
    recorded = {**begun["resource"], "id": "mirror-orders/orders", "outputs": begun["resource"]["inputs"]}
    assert adopting(state, [found]) == {"resources": [{"urn": "urn:stack"}, recorded], "pending_operations": []}
    assert adopting(state, [])["resources"] == [{"urn": "urn:stack"}]


def test_an_object_that_the_provider_creates_after_its_engine_was_killed_is_found() -> None:
    """Otherwise the next deployment ends with "already exists", and so does every later one."""
    begun = pending_creates({"pending_operations": [an_operation(), an_operation("urn:other", namespace="never")]})
    answers: list[Object | None] = [None, {"kind": "KafkaConnect"}]

    def get(wanted: Reference) -> Object | None:
        return answers.pop(0) if wanted == begun[0].object and answers else None

    assert created(begun, get, outliving_seconds=0.3) == [begun[0]]
    assert created(begun, lambda _: {}, outliving_seconds=60) == list(begun)


CONFIG = "urn:pulumi:local::replication::kubernetes:core/v1:ConfigMap::orders-replication-config"


def a_config_map(name: str, **fields: Any) -> dict[str, Any]:
    inputs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "mirror-orders"}}
    return {"urn": CONFIG, "type": "kubernetes:core/v1:ConfigMap", "inputs": inputs, **fields}


def test_a_replaced_object_that_is_declared_again_gets_its_place_back() -> None:
    """It takes the position of the newer one, before the resources that depend on it."""
    older, newer = a_config_map("config-1", delete=True), a_config_map("config-2")
    reader = {"urn": CONNECT, "type": "kubernetes:kafka.strimzi.io/v1:KafkaConnect", "dependencies": [CONFIG]}
    state = {"resources": [newer, reader, older]}
    (replaced,) = replaced_objects(state)
    assert replaced == Reference("v1", "ConfigMap", "mirror-orders", "config-1")
    assert keeping(state, {replaced}) == {
        "resources": [a_config_map("config-1"), reader, a_config_map("config-2", delete=True)]
    }


def test_a_replaced_object_that_is_not_declared_again_remains_marked_for_deletion() -> None:
    state = {"resources": [a_config_map("config-2"), a_config_map("config-1", delete=True)]}
    assert keeping(state, ()) == state
    assert keeping({"resources": [a_config_map("config-1", delete=True)]}, replaced_objects(state)) == {
        "resources": [a_config_map("config-1", delete=True)]
    }


def test_undoing_a_failed_change_leaves_everything_as_before(tmp_path: Path) -> None:
    command = [sys.executable, "-m", undone_change.__name__]
    ran = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert ran.stdout.splitlines()[-1:] == ["as before"], ran.stderr
