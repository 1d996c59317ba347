"""Ctrl-C while the real engine creates an object: the state records the object, and the lock is released."""

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import grpc
import pulumi_kubernetes as k8s
import pytest
from google.protobuf import empty_pb2
from pulumi import automation
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc
from rich.console import Console

from infra.deploy.engine.stack import pending_creates
from infra.local.artifacts import ensure
from infra.local.provider.operations import Operations
from infra.local.provider.servicer import KubernetesProvider
from tests.infra.provider.programs import engine_environment, engine_options

pytestmark = pytest.mark.process

PROJECT = "interrupts"
#: How long the creation takes if nothing ends it.
_OBJECT_SECONDS = 30


class NoOperations:
    """The part of a cluster that the provider uses before it creates an object."""

    def resume(self) -> None:
        pass

    def with_namespace(self, inputs: dict[str, Any]) -> dict[str, Any]:
        return inputs


class Interrupted(KubernetesProvider):
    """Interrupts this process when it begins to create an object; the object is created once `done` is set."""

    def __init__(self, *, ends_on_cancel: bool) -> None:
        super().__init__(cast(Operations, NoOperations()))
        self.done, self._ends_on_cancel = threading.Event(), ends_on_cancel

    def Create(  # noqa: N802
        self, request: provider_pb2.CreateRequest, _context: grpc.ServicerContext
    ) -> provider_pb2.CreateResponse:
        if not request.preview:
            os.kill(os.getpid(), signal.SIGINT)
            self.done.wait(_OBJECT_SECONDS)
        return provider_pb2.CreateResponse(id="default/a", properties=request.properties)

    def Cancel(self, _request: empty_pb2.Empty, _context: grpc.ServicerContext) -> empty_pb2.Empty:  # noqa: N802
        if self._ends_on_cancel:
            self.done.set()
        return empty_pb2.Empty()


def program() -> None:
    k8s.core.v1.ConfigMap("a", metadata={"name": "a", "namespace": "default"}, data={"a": "b"})


@pytest.mark.usefixtures("heeded", "stopped_programs")
@pytest.mark.parametrize("twice", [False, True], ids=["once", "twice"])
def test_an_interrupted_engine_releases_its_lock_and_records_what_it_was_creating(tmp_path: Path, twice: bool) -> None:
    """After a second Ctrl-C the engine does not wait for the object: the next run checks whether it exists."""
    ensure(Console(quiet=True))
    provider = Interrupted(ends_on_cancel=not twice)
    server = grpc.server(ThreadPoolExecutor(4))
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(provider, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    environment = engine_environment(tmp_path, PULUMI_DEBUG_PROVIDERS=f"kubernetes:{port}")
    options = engine_options(tmp_path, environment)
    stack = automation.create_stack("test", project_name=PROJECT, program=program, opts=options)

    def hear(line: str) -> None:
        if twice and "press ^C again" in line:
            os.kill(os.getpid(), signal.SIGINT)

    try:
        with pytest.raises(KeyboardInterrupt):
            stack.up(on_output=hear)
        assert provider.done.is_set() is not twice
        assert not list((tmp_path / "state" / ".pulumi" / "locks").rglob("*.json"))
        state = stack.export_stack().deployment or {}
        created = any(resource["urn"].endswith("ConfigMap::a") for resource in state["resources"])
        assert (created, [each.object.name for each in pending_creates(state)]) == (
            (False, ["a"]) if twice else (True, [])
        )
    finally:
        provider.done.set()
        server.stop(1).wait()
