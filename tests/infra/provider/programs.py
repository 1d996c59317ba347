"""Pulumi programs for the provider, and the engine's stack that runs them one after another."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pulumi
import pulumi_kubernetes as k8s
from pulumi import automation
from rich.console import Console

from kafka_replication.components.render.deployments import flow_objects
from kafka_replication.components.resources.registration import one_step_hooks
from kafka_replication.infra.deploy.engine.command import EngineCommand
from kafka_replication.infra.local.provider.servicer import serve
from kafka_replication.infra.machine.toolchain import PULUMI, ensure_go_tool
from tests.builders import a_resolved_flow

Program = Callable[[], None]
NAMESPACE = "provider-test"
STRIMZI = "kafka.strimzi.io/v1"


def engine_environment(folder: Path, **more: str) -> dict[str, str]:
    """The environment of an engine whose home and state are in a folder."""
    state = folder / "state"
    state.mkdir()
    return {
        "PULUMI_HOME": str(folder / "home"),
        "PULUMI_BACKEND_URL": f"file://{state}",
        "PULUMI_CONFIG_PASSPHRASE": "test",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        **more,
    }


def engine_options(folder: Path, environment: Mapping[str, str]) -> automation.LocalWorkspaceOptions:
    """Options for the `pulumi` that the local stack builds, with a folder as its working directory."""
    program = ensure_go_tool(PULUMI, Console(quiet=True))
    command = EngineCommand(root=str(program.parent.parent), skip_version_check=True)
    return automation.LocalWorkspaceOptions(work_dir=str(folder), env_vars=environment, pulumi_command=command)


def a_program(
    *, namespace: str = NAMESPACE, topics: str = "orders", value: str = "1", explicit: bool = False, spec: Any = None
) -> Program:
    """One object of every kind that a flow has."""

    def run() -> None:
        provider = k8s.Provider("given", kubeconfig="{}", context="production") if explicit else None
        opts = pulumi.ResourceOptions(provider=provider)
        home = k8s.core.v1.Namespace("namespace", metadata={"name": namespace}, opts=opts)
        place = home.metadata["name"]

        def metadata_of(name: str, **metadata: Any) -> Any:
            return {"name": name, "namespace": place, **metadata}

        password = pulumi.Output.secret(f"hunter2-{value}")
        k8s.core.v1.Secret("secret", metadata=metadata_of("east"), string_data={"password": password}, opts=opts)
        k8s.core.v1.ConfigMap("config", metadata=metadata_of("config"), immutable=True, data={"a.b": value}, opts=opts)
        rule: Any = {"api_groups": [""], "resources": ["secrets"], "resource_names": ["east"], "verbs": ["get"]}
        k8s.rbac.v1.Role("role", metadata=metadata_of("reads"), rules=[rule], opts=opts)
        k8s.rbac.v1.RoleBinding(
            "binding",
            metadata=metadata_of("reads"),
            role_ref={"api_group": "rbac.authorization.k8s.io", "kind": "Role", "name": "reads"},
            subjects=[{"kind": "ServiceAccount", "name": "orders-connect", "namespace": place}],
            opts=opts,
        )
        connector = {"class": "example.Source", "tasksMax": 1, "config": {"topics": topics, "lag": 1.5}}
        k8s.apiextensions.CustomResource(
            "connector",
            api_version=STRIMZI,
            kind="KafkaConnector",
            metadata=metadata_of("source", labels={"strimzi.io/cluster": "orders"}),
            spec=connector if spec is None else spec,
            opts=opts,
        )

    return run


GROUP = {"groupId": "g", **{f"{each}StorageTopic": f"g-{each}" for each in ("config", "offset", "status")}}
OLD_GROUP: dict[str, Any] = {"config": {"group.id": "g"}}


def a_connect_program(
    version: str, group: dict[str, Any] = GROUP, *, known_as: tuple[str, ...] = (), guarded: bool = False
) -> Program:
    """A Connect cluster without workers, in one version of Strimzi's API.

    It was declared before in the versions `known_as`. It is `guarded` by the hooks that components register.
    """
    (planned,) = (each for each in flow_objects(a_resolved_flow()) if each.kind == "KafkaConnect")

    def run() -> None:
        home = k8s.core.v1.Namespace("namespace", metadata={"name": NAMESPACE})
        annotations = {"pulumi.com/deletionPropagationPolicy": "background"}
        types = [f"kubernetes:kafka.strimzi.io/{each}:KafkaConnect" for each in known_as]
        k8s.apiextensions.CustomResource(
            "connect",
            api_version=f"kafka.strimzi.io/{version}",
            kind="KafkaConnect",
            metadata={"name": "orders", "namespace": home.metadata["name"], "annotations": annotations},
            spec={"replicas": 0, "bootstrapServers": "127.0.0.1:1", **group},
            opts=pulumi.ResourceOptions(
                aliases=[pulumi.Alias(type_=each) for each in types],
                hooks=one_step_hooks(a_resolved_flow(), "connect", planned) if guarded else None,
            ),
        )

    return run


def _by_name(changes: Mapping[automation.OpType, int] | None) -> dict[str, int]:
    return {automation.OpType(operation).value: count for operation, count in (changes or {}).items()}


class Deployment:
    """One stack of the engine; a test changes its program."""

    def __init__(self, stack: automation.Stack, state: Path, kubeconfig: Path) -> None:
        # Otherwise each deployment would read the outputs twice.
        stack.outputs = dict  # type: ignore[method-assign]
        self._stack = stack
        self._state = state
        self._kubeconfig = kubeconfig

    @contextmanager
    def forcing(self) -> Iterator[None]:
        """With a provider that takes over fields from any other owner."""
        variables = self._stack.workspace.env_vars
        with serve(self._kubeconfig, patch_force=True) as port:
            self._stack.workspace.env_vars = {**variables, "PULUMI_DEBUG_PROVIDERS": f"kubernetes:{port}"}
            yield
        self._stack.workspace.env_vars = variables

    def preview(self, program: Program, **options: Any) -> dict[str, int]:
        self._stack.workspace.program = program
        return _by_name(self._stack.preview(**options).change_summary)

    def up(self, program: Program) -> dict[str, int]:
        self._stack.workspace.program = program
        return _by_name(self._stack.up().summary.resource_changes)

    def refresh(self) -> dict[str, int]:
        return _by_name(self._stack.refresh().summary.resource_changes)

    def destroy(self) -> None:
        self._stack.destroy()

    def state(self) -> str:
        return "".join(file.read_text() for file in self._state.rglob("*") if file.is_file())
