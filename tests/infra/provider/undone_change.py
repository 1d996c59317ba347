"""A change that fails half way and is then undone, under the real engine; run as a program in an empty folder.

The engine leaves a program that it stopped suspended. Such a program asks for an event loop when it is collected. So
this runs in its own process.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import grpc
import pulumi
import pulumi_kubernetes as k8s
from pulumi import automation
from pulumi.runtime.proto import provider_pb2_grpc
from rich.console import Console

from kafka_replication.infra.deploy.engine.failures import engine_failure
from kafka_replication.infra.kubernetes.api import Object, Reference, reference
from kafka_replication.infra.local.artifacts import ensure
from kafka_replication.infra.local.provider.operations import OperationError, Operations
from kafka_replication.infra.local.provider.servicer import KubernetesProvider
from tests.infra.provider.programs import engine_environment, engine_options


class Objects:
    """A cluster whose objects are in memory; somebody has edited `reader`, so an update of it is a conflict."""

    def __init__(self) -> None:
        self.by_reference: dict[Reference, Object] = {}
        self.conflict = True

    def resume(self) -> None:
        pass

    def with_namespace(self, inputs: Object) -> Object:
        return inputs

    def create(self, inputs: Object) -> Object:
        if reference(inputs) in self.by_reference:
            raise OperationError(f"{reference(inputs)} already exists")
        self.by_reference[reference(inputs)] = inputs
        return inputs

    def update(self, inputs: Object) -> Object:
        if self.conflict:
            raise OperationError(f"{reference(inputs)}: Apply failed with 1 conflict")
        self.by_reference[reference(inputs)] = inputs
        return inputs

    def delete(self, inputs: Object, _deadline_seconds: float) -> None:
        del self.by_reference[reference(inputs)]

    def get(self, target: Reference) -> Object | None:
        return self.by_reference.get(target)


def program(content: str) -> Callable[[], None]:
    """A ConfigMap that is named after its content, and a resource that reads it."""

    def run() -> None:
        place = {"namespace": "default"}
        named: Any = {**place, "name": f"config-{content}"}
        read = k8s.core.v1.ConfigMap("config", metadata=named, immutable=True, data={"a": content})
        k8s.apiextensions.CustomResource(
            "reader",
            api_version="kafka.strimzi.io/v1",
            kind="KafkaConnector",
            metadata={**place, "name": "reader"},
            spec={"config": {"a": content}},
            opts=pulumi.ResourceOptions(depends_on=[read]),
        )

    return run


def main(folder: Path) -> None:
    """Deploy, fail to deploy a change, fail to undo it, and follow the remedy: deploy the change, then undo it."""
    ensure(Console(quiet=True))
    cluster = Objects()
    server = grpc.server(ThreadPoolExecutor(4))
    provider = KubernetesProvider(cast(Operations, cluster))
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(provider, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    options = engine_options(folder, engine_environment(folder, PULUMI_DEBUG_PROVIDERS=f"kubernetes:{port}"))
    stack = automation.create_stack("test", project_name="undone", program=program("1"), opts=options)

    def up(content: str) -> None:
        stack.workspace.program = program(content)
        stack.up()

    up("1")
    before = dict(cluster.by_reference)
    with suppress(automation.CommandError):
        up("2")
    assert len(cluster.by_reference) == 3
    try:
        up("1")
    except automation.CommandError as error:
        print(engine_failure(str(error), "test", opened=True).remedy)
    cluster.conflict = False
    up("2")
    up("1")
    assert cluster.by_reference == before
    server.stop(None)
    print("as before")


if __name__ == "__main__":
    main(Path.cwd())
