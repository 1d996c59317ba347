"""Ctrl-C while the real engine creates an object: the state records the object, and the lock is released."""

import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import grpc
import pulumi_kubernetes as k8s
import pytest
from google.protobuf import empty_pb2
from pulumi import automation
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc
from rich.console import Console

from kafka_replication.infra.deploy.engine.deployment import pending_creates
from kafka_replication.infra.local.artifacts import ensure
from kafka_replication.infra.local.provider.operations import Operations
from kafka_replication.infra.local.provider.servicer import KubernetesProvider
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
    """Interrupts this process when it begins to create an object; the object is created once `done` is set. With
    `fails` the creation fails instead, as the real provider lets it.
    """

    def __init__(self, *, ends_on_cancel: bool, fails: bool = False) -> None:
        super().__init__(cast(Operations, NoOperations()))
        self.done, self._ends_on_cancel, self._fails = threading.Event(), ends_on_cancel, fails

    def Create(  # noqa: N802
        self, request: provider_pb2.CreateRequest, context: grpc.ServicerContext
    ) -> provider_pb2.CreateResponse:
        if not request.preview:
            os.kill(os.getpid(), signal.SIGINT)
            self.done.wait(_OBJECT_SECONDS)
            if self._fails:
                context.abort(grpc.StatusCode.UNKNOWN, "client rate limiter Wait returned an error: context canceled")
        return provider_pb2.CreateResponse(id="default/a", properties=request.properties)

    def Cancel(self, _request: empty_pb2.Empty, _context: grpc.ServicerContext) -> empty_pb2.Empty:  # noqa: N802
        if self._ends_on_cancel:
            self.done.set()
        return empty_pb2.Empty()


def program() -> None:
    k8s.core.v1.ConfigMap("a", metadata={"name": "a", "namespace": "default"}, data={"a": "b"})


@contextmanager
def a_stack(folder: Path, provider: Interrupted) -> Iterator[automation.Stack]:
    """A stack whose engine deploys with this provider."""
    ensure(Console(quiet=True))
    server = grpc.server(ThreadPoolExecutor(4))
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(provider, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    options = engine_options(folder, engine_environment(folder, PULUMI_DEBUG_PROVIDERS=f"kubernetes:{port}"))
    try:
        yield automation.create_stack("test", project_name=PROJECT, program=program, opts=options)
    finally:
        provider.done.set()
        server.stop(1).wait()


@pytest.mark.usefixtures("heeded", "stopped_programs")
@pytest.mark.parametrize("twice", [False, True], ids=["once", "twice"])
def test_an_interrupted_engine_releases_its_lock_and_records_what_it_was_creating(tmp_path: Path, twice: bool) -> None:
    """After a second Ctrl-C the engine does not wait for the object: the next run checks whether it exists."""
    provider = Interrupted(ends_on_cancel=not twice)

    def hear(line: str) -> None:
        if twice and "press ^C again" in line:
            os.kill(os.getpid(), signal.SIGINT)

    with a_stack(tmp_path, provider) as stack:
        with pytest.raises(KeyboardInterrupt):
            stack.up(on_output=hear)
        assert provider.done.is_set() is not twice
        assert not list((tmp_path / "state" / ".pulumi" / "locks").rglob("*.json"))
        state = stack.export_stack().deployment or {}
        created = any(resource["urn"].endswith("ConfigMap::a") for resource in state["resources"])
        assert (created, [each.name for each in pending_creates(state)]) == ((False, ["a"]) if twice else (True, []))


@pytest.mark.usefixtures("heeded", "stopped_programs")
def test_requests_that_an_interrupt_cancelled_are_counted_and_not_printed_as_errors(tmp_path: Path) -> None:
    """The engine tells the provider to cancel, and every request in flight fails with an error of its client."""
    lines: list[str] = []
    with a_stack(tmp_path, Interrupted(ends_on_cancel=True, fails=True)) as stack, pytest.raises(KeyboardInterrupt):
        stack.up(on_output=lines.append, suppress_outputs=True)
    said = "\n".join(lines)
    assert "rate limiter" not in said
    assert "ConfigMap (a)" not in said
    assert lines[-1] == (
        "Interrupted: 1 request to Kubernetes was cancelled before the answer. Run the command again; it continues "
        "with these objects."
    )
