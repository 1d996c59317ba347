"""The components as a package for programs in any language: the process that Pulumi starts, its schema over gRPC, and
a program that knows only this schema, which Pulumi's engine deploys to a real API server."""

import json
import os
import shlex
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pulumi
import pytest
from google.protobuf.empty_pb2 import Empty
from google.protobuf.json_format import MessageToDict, ParseDict
from pulumi import automation
from pulumi.runtime.proto import (
    engine_pb2,
    engine_pb2_grpc,
    provider_pb2,
    provider_pb2_grpc,
    resource_pb2,
    resource_pb2_grpc,
)

from kafka_replication.components.flows.resolved import model_digest, resolve_flows
from kafka_replication.components.render.deployments import flow_objects
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


@contextmanager
def plugin(engine: str = "127.0.0.1:1") -> Iterator[provider_pb2_grpc.ResourceProviderStub]:
    """A client of the plugin, which runs as Pulumi's engine at this address starts it."""
    with subprocess.Popen([*COMMAND, engine], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            with grpc.insecure_channel(f"127.0.0.1:{int(process.stdout.readline())}") as channel:
                yield provider_pb2_grpc.ResourceProviderStub(channel)
        finally:
            process.kill()


class Engine(engine_pb2_grpc.EngineServicer, resource_pb2_grpc.ResourceMonitorServicer):
    """The part of an engine to which a component reports: it records each resource, and answers as if it existed."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.parents: dict[str, str] = {}
        self.outputs: dict[str, dict[str, Any]] = {}

    def Log(self, request: Any, _: Any) -> Empty:  # noqa: N802
        assert request.severity <= engine_pb2.INFO, request.message
        return Empty()

    def SupportsFeature(self, *_: Any) -> resource_pb2.SupportsFeatureResponse:  # noqa: N802
        return resource_pb2.SupportsFeatureResponse(hasSupport=True)

    def RegisterResourceHook(self, *_: Any) -> Empty:  # noqa: N802
        return Empty()

    def RegisterResource(self, request: Any, _: Any) -> resource_pb2.RegisterResourceResponse:  # noqa: N802
        urn = f"urn:pulumi:test::mirrors::{request.type}::{request.name}"
        assert urn not in self.objects
        self.objects[urn], self.parents[urn] = MessageToDict(request.object), request.parent
        return resource_pb2.RegisterResourceResponse(urn=urn, id=request.name, object=request.object)

    def RegisterResourceOutputs(self, request: Any, _: Any) -> Empty:  # noqa: N802
        self.outputs[request.urn] = MessageToDict(request.outputs)
        return Empty()


def test_the_request_of_a_program_in_yaml_or_typescript_registers_the_objects_of_its_flow() -> None:
    """Pulumi 3.246 sent it for both programs of components/README.md; `PULUMI_DEBUG_GRPC=FILE pulumi up` records it."""
    recorded = json.loads((ROOT / "tests/components/provider/construct_request.json").read_text())
    engine, server = Engine(), grpc.server(futures.ThreadPoolExecutor(4))
    engine_pb2_grpc.add_EngineServicer_to_server(engine, server)
    resource_pb2_grpc.add_ResourceMonitorServicer_to_server(engine, server)
    recorded["monitorEndpoint"] = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        with plugin(recorded["monitorEndpoint"]) as stub:
            answer = stub.Construct(ParseDict(recorded, provider_pb2.ConstructRequest()))
    finally:
        server.stop(None)
    urn = f"urn:pulumi:test::mirrors::{TYPE}::mirrors"
    assert answer.urn == urn
    assert engine.parents[urn] == recorded["parent"]
    topology = parse_topology(
        {key: value for key, value in recorded["inputs"].items() if key in {"strimzi", "clusters", "replications"}}
    )
    (flow,) = resolve_flows(topology, "us-west-2", {})
    planned = {f"{each.kind} {each.name}": each.manifest for each in flow_objects(flow)}
    registered = {
        f"{each['kind']} {each['metadata']['name']}": each for each in engine.objects.values() if "kind" in each
    }
    assert registered == planned
    assert len(registered) == 10
    assert engine.outputs[urn]["modelDigest"] == model_digest(topology)
    assert MessageToDict(answer.state) == engine.outputs[urn]


def test_the_schema_has_one_component_with_the_keys_of_a_topology_file() -> None:
    with plugin() as stub:
        answer = stub.GetSchema(provider_pb2.GetSchemaRequest())
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
