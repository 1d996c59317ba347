"""A Secret that `replicate up` changes restarts its readers, even if that `up` was interrupted. Real engine and API
server; nobody reconciles the resources."""

import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from rich.console import Console

from kafka_replication.infra.deploy.engine import deployment
from kafka_replication.infra.kubernetes.api import Reference
from kafka_replication.infra.kubernetes.secret_readers import RESTART
from kafka_replication.infra.machine.toolchain import PULUMI, ensure_go_tool
from tests.contract.worlds import V1, World

pytestmark = pytest.mark.usefixtures("stopped_programs")


def with_own_secret(topology: Any) -> None:
    """Let the stack create the Secret that its connectors read."""
    login = {"type": "scram-sha-512", "username": "mirror", "password": {"config": "eastPassword"}}
    topology["clusters"]["east"]["authentication"] = login


def pulumi(world: World, *words: str) -> None:
    program = ensure_go_tool(PULUMI, Console(quiet=True))
    subprocess.run([program, *words, "--stack", "prod", "--cwd", world.project], check=True, capture_output=True)


def set_password(world: World, value: str) -> None:
    pulumi(world, "config", "set", "--secret", "replication:eastPassword", value)


def requested_restarts(world: World) -> set[str]:
    """Carry out the restarts that connectors are annotated with, and return the names of the connectors."""
    (key,) = RESTART
    names = set()
    for live in world.server.api.list_all(V1, "KafkaConnector", namespace=world.namespace):
        metadata = live["metadata"]
        if key in (metadata.get("annotations") or {}):
            names.add(metadata["name"])
            target = Reference(V1, "KafkaConnector", world.namespace, metadata["name"])
            world.server.api.patch(
                target, [{"op": "remove", "path": f"/metadata/annotations/{key.replace('/', '~1')}"}]
            )
    return names


def test_the_next_up_restarts_the_readers_of_a_secret_that_an_interrupted_one_changed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.imported()
    world.declare(with_own_secret)
    pulumi(world, "stack", "init")
    set_password(world, "first")
    code, said = world.call("up", "prod", "--yes")
    assert code == 0, said
    assert requested_restarts(world) == set()

    def interrupted(*_: object) -> Iterator[str]:
        raise KeyboardInterrupt

    set_password(world, "second")
    with monkeypatch.context() as patch:
        patch.setattr(deployment, "restart_readers", interrupted)
        assert world.code("up", "prod", "--yes") != 0
    assert requested_restarts(world) == set()
    code, said = world.call("up", "prod", "--yes")
    assert code == 0, said
    assert requested_restarts(world) == {"source", "checkpoint"}
    assert "connector source restarts: Secret" in said
    assert world.code("up", "prod", "--yes") == 0
    assert requested_restarts(world) == set()
