"""The components as a package for programs in any language: the process that Pulumi starts, its schema over gRPC, and
a program that knows only this schema, which Pulumi's engine deploys to a real API server."""

import json
import os
import shlex
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pulumi
import pytest
from pulumi import automation
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc

from kafka_replication.components.flows.resolved import model_digest
from kafka_replication.components.topology.parsing import parse_topology
from kafka_replication.infra.kubernetes.api import KubernetesApi, Reference
from kafka_replication.infra.local.provider.servicer import serve
from tests.builders import a_cluster, a_flow, a_topology
from tests.contract.api_servers import ApiServer
from tests.infra.provider.programs import engine_environment, engine_options
from tests.repository import ROOT

PACKAGE = "kafka-replication"
TYPE = f"{PACKAGE}:index:Replications"
LOGIN = {"type": "scram-sha-512", "username": "mirror", "password": {"config": "password"}}
CLUSTERS = {"useast": a_cluster(authentication=LOGIN), "uswest": a_cluster("us-west-2", authentication=LOGIN)}


class Replications(pulumi.ComponentResource):
    """What `pulumi package add` would generate for a language: it knows only the type's name."""

    def __init__(self, name: str, properties: dict[str, Any]) -> None:
        outputs = dict.fromkeys(("flows", "modelDigest", "validation"))
        super().__init__(TYPE, name, {**properties, **outputs}, None, remote=True)


#: How Pulumi's Python host runs a plugin: its folder, then the engine's address.
COMMAND = [sys.executable, str(ROOT / "components" / "provider")]


@pytest.fixture
def stack(
    api_server_of: Callable[[str], ApiServer], tmp_path: Path
) -> Iterator[Callable[[Callable[[], None]], automation.Stack]]:
    """A stack of a program whose engine finds the plugin on its PATH, because there is no Python host here."""
    plugins = tmp_path / "bin"
    plugins.mkdir()
    plugin = plugins / f"pulumi-resource-{PACKAGE}"
    plugin.write_text(f'#!/bin/sh\nexec {shlex.join(COMMAND)} "$@"\n')
    plugin.chmod(0o755)
    with serve(api_server_of("v1").kubeconfig) as kubernetes:
        environment = engine_environment(
            tmp_path,
            PATH=f"{plugins}{os.pathsep}{os.environ['PATH']}",
            PULUMI_DEBUG_PROVIDERS=f"kubernetes:{kubernetes}",
        )

        def stack_of(program: Callable[[], None]) -> automation.Stack:
            options = engine_options(tmp_path, environment)
            return automation.create_or_select_stack("test", "any-language", program=program, opts=options)

        yield stack_of


def refusal(stack: automation.Stack) -> str:
    with pytest.raises(automation.CommandError) as caught:
        stack.preview()
    return str(caught.value)


def test_the_schema_has_one_component_with_the_keys_of_a_topology_file() -> None:
    with subprocess.Popen([*COMMAND, "127.0.0.1:1"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            with grpc.insecure_channel(f"127.0.0.1:{int(process.stdout.readline())}") as channel:
                stub = provider_pb2_grpc.ResourceProviderStub(channel)
                answer = stub.GetSchema(provider_pb2.GetSchemaRequest())
        finally:
            process.kill()
    schema = json.loads(answer.schema)
    assert schema["name"] == PACKAGE
    (component,) = schema["resources"].values()
    assert list(schema["resources"]) == [TYPE]
    assert component["isComponent"] is True
    assert sorted(component["requiredInputs"]) == ["clusters", "replications", "strimzi"]
    optional = {"addresses", "monitoring", "region", "secrets"}
    assert component["inputProperties"].keys() == {*component["requiredInputs"], *optional}
    assert all(each["description"] for each in component["inputProperties"].values())
    assert component["properties"].keys() == {"flows", "modelDigest", "validation"}


def test_a_program_deploys_what_the_topology_declares(
    stack: Callable[[Callable[[], None]], automation.Stack], api_server_of: Callable[[str], ApiServer], tmp_path: Path
) -> None:
    """With a secret, and with numbers, which Pulumi passes on as floating-point numbers."""
    name = f"f{uuid.uuid4().hex[:6]}"
    flow = a_flow(connectors={"source": {"config": {"producer.override.linger.ms": 7}, "tasksMax": 3}})
    back = a_flow(source="uswest", target="useast", topics=["ledger"])
    declared = a_topology(clusters=CLUSTERS, replications={name: flow, f"{name}-back": back})

    def program() -> None:
        secrets = {"password": pulumi.Output.secret("hunter2")}
        found = Replications("mirrors", {**declared, "region": "us-west-2", "secrets": secrets})
        pulumi.export("digest", found.modelDigest)  # type: ignore[attr-defined]
        pulumi.export("flows", found.flows)  # type: ignore[attr-defined]

    deployed = stack(program).up()
    assert deployed.outputs["digest"].value == model_digest(parse_topology(declared))
    assert list(deployed.outputs["flows"].value) == [name]
    with KubernetesApi(api_server_of("v1").kubeconfig, field_manager="test") as api:
        source = api.get(Reference("kafka.strimzi.io/v1", "KafkaConnector", f"mirror-{name}", f"{name}-source"))
        assert source is not None
        assert (source["spec"]["tasksMax"], source["spec"]["config"]["producer.override.linger.ms"]) == (3, 7)
    again = stack(program).up()
    assert set(again.summary.resource_changes or {}) == {"same"}
    state = (tmp_path / "state" / ".pulumi" / "stacks" / "any-language" / "test.json").read_text()
    assert TYPE in state
    assert "hunter2" not in state


def test_every_mistake_is_reported_with_its_place_and_without_a_traceback(
    stack: Callable[[Callable[[], None]], automation.Stack],
) -> None:
    """No value is repeated either: the engine would print the value of each argument that an error names."""
    flow = a_flow(group=["checkout-.*"])
    clusters = {**CLUSTERS, "useast": a_cluster(authentication={**LOGIN, "password": "hunter2"})}
    said = refusal(stack(lambda: void(Replications("mirrors", a_topology(flow, clusters=clusters)))))
    assert "at replications.orders.group." in said
    assert "at clusters.useast.authentication.password." in said
    assert "Remedy: " in said
    assert "hunter2" not in said
    assert "components/" not in said, "no trace of ours"


def test_a_secret_that_a_cluster_names_and_the_program_lacks_is_reported(
    stack: Callable[[Callable[[], None]], automation.Stack],
) -> None:
    """The keys of an output are known only when the engine runs."""
    declared = a_topology(clusters=CLUSTERS)

    def program() -> None:
        Replications("mirrors", {**declared, "secrets": pulumi.Output.secret({"other": "hunter2"})})

    said = refusal(stack(program))
    assert "`secrets` has no `password`, which a cluster names. Remedy: " in said
    assert "hunter2" not in said
    assert "components/" not in said, "no trace of ours"


def void(_: object) -> None:
    """A program returns nothing."""
