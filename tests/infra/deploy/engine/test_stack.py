"""What a killed or failed deployment leaves in Pulumi's state, and how the next one goes on."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kafka_replication.infra.deploy.engine.deployment import created, pending_creates
from kafka_replication.infra.kubernetes.api import Object, Reference
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
    assert found == Reference("kafka.strimzi.io/v1", "KafkaConnect", "mirror-orders", "orders")
    assert found.identifier == "mirror-orders/orders"
    (cluster_wide,) = pending_creates({"pending_operations": [an_operation(namespace=None)]})
    assert cluster_wide.identifier == "orders"


def test_other_operations_and_objects_in_the_state_are_not_pending_creations() -> None:
    assert pending_creates({"pending_operations": [an_operation(doing="updating")]}) == ()
    assert pending_creates({"pending_operations": [an_operation()], "resources": [{"urn": CONNECT}]}) == ()
    assert pending_creates({"resources": [{"urn": CONNECT}]}) == ()


def test_an_object_that_the_provider_creates_after_its_engine_was_killed_is_found() -> None:
    """Otherwise the next deployment ends with "already exists", and so does every later one."""
    begun = pending_creates({"pending_operations": [an_operation(), an_operation("urn:other", namespace="never")]})
    answers: list[Object | None] = [None, {"kind": "KafkaConnect"}]

    def get(wanted: Reference) -> Object | None:
        return answers.pop(0) if wanted == begun[0] and answers else None

    assert created(begun, get, outliving_seconds=0.3) == [begun[0]]
    assert created(begun, lambda _: {}, outliving_seconds=60) == list(begun)


@pytest.mark.process
def test_undoing_a_failed_replacement_is_refused_with_a_remedy_that_leaves_everything_as_before(tmp_path: Path) -> None:
    command = [sys.executable, "-m", undone_change.__name__]
    ran = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    remedy, end = ran.stdout.splitlines()[-2:] or ("", ran.stderr)
    assert end == "as before", ran.stderr
    assert "deploy that change again until it succeeds, and undo it then" in remedy
