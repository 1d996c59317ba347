"""The environment of a Pulumi stack that is deployed to the local stack. Only infra/stack/environment.py imports it."""

import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.flows.resolved import ResolvedFlow
from kafka_replication.components.render.flow_acls import flow_acls, keeper_acls, merged_acls
from kafka_replication.components.render.planned_objects import PlannedObject
from kafka_replication.infra.local import paths
from kafka_replication.infra.local.endpoints import Endpoints, load_endpoints, regions_down
from kafka_replication.infra.local.parts import operator
from kafka_replication.infra.stack.project import Workspace, provider_variables
from kafka_replication.infra.stack.settings import PROJECT, KubernetesAccess, StackSettings, stack_file


@contextmanager
def provider_process(kubeconfig: Path, *, patch_force: bool) -> Iterator[int]:
    """Run the provider while the context lasts, and yield its port. It ends with this process, but not at a Ctrl-C."""
    forced = ["--patch-force"] if patch_force else []
    # `-P`: the folder in which `replicate` runs may have its own `infra`.
    module = ["-P", "-m", "kafka_replication.infra.local.provider"]
    command = [sys.executable, *module, "--kubeconfig", str(kubeconfig), *forced]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        # Leaving Popen's context closes its standard input, which ends it, and waits.
        port = process.stdout.readline()
        if not port:
            raise CannotRunError(
                "provider-not-started",
                f"the local Kubernetes provider ended at its start with exit code {process.wait()}",
                "the local stack",
                "Pulumi's engine deploys through it.",
                "correct the error that it printed above; `replicate local status` shows whether the local API server "
                "runs.",
            )
        yield int(port)


@dataclass(frozen=True)
class LocalStackEnvironment:
    """The running local stack. Members that need a part of it raise CannotRunError if that does not run."""

    settings: StackSettings
    on_this_machine = True

    @property
    def reconciliation_seconds(self) -> float:
        # The local operator does a round every second; Connect may take longer to answer it.
        return max(5.0, operator.reconciliation_seconds())

    @property
    def provider(self) -> str:
        if _provider_plugin() is not None:
            return "Pulumi's Kubernetes provider plugin"
        return "the local stand-in for Pulumi's Kubernetes provider plugin, which is not installed"

    @property
    def validation_folder(self) -> Path:
        return paths.validation() / self.settings.stack

    def configured(self) -> StackSettings:
        supplied = stack_config(load_endpoints())
        plain = {key: value for key, (value, secret) in supplied.items() if not secret}
        secret_keys = self.settings.secret_keys | (supplied.keys() - plain.keys())
        return replace(self.settings, values={**self.settings.values, **plain}, secret_keys=secret_keys)

    def kubernetes_access(self) -> KubernetesAccess:
        return KubernetesAccess(str(load_endpoints().kubeconfig))

    @contextmanager
    def workspace(self, *, overwrite: bool = False, deploys: bool = True) -> Iterator[Workspace]:
        endpoints = load_endpoints()
        folder, state = paths.pulumi() / "project", paths.pulumi() / "state"
        for directory in (folder, state):
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        (folder / "Pulumi.yaml").write_text(f"name: {PROJECT}\nruntime: python\n")
        file = stack_file(self.settings.stack, self.settings.stacks)
        shutil.copyfile(file, folder / file.name)
        variables = {
            # Without `skip`, Pulumi writes attributes beside each file, and a killed engine leaves them incomplete.
            "PULUMI_BACKEND_URL": f"file://{state}?metadata=skip",
            "PULUMI_CONFIG_PASSPHRASE_FILE": str(passphrase_file()),
            "PULUMI_CONFIG_PASSPHRASE": "",
            "KUBECONFIG": str(endpoints.kubeconfig),
        }
        with _provider_variables(endpoints.kubeconfig, overwrite=overwrite, deploys=deploys) as provider:
            yield Workspace(folder, PROJECT, {**variables, **provider}, stack_config(endpoints))

    def before_deploy(self, flows: Sequence[ResolvedFlow]) -> Sequence[str]:
        """Grant the flows' Kafka users the ACLs that they need, in the regions that run."""
        # `replicate check` chooses an environment, too, and must not load a Kafka client.
        from kafka_replication.infra.local.acls import apply_acls

        acls = merged_acls(acl for flow in flows for acl in (*flow_acls(flow), *keeper_acls(flow)))
        down = regions_down()
        for alias, region in load_endpoints().regions.items():
            if alias not in down:
                apply_acls(region, acls)
        return [f"{alias} is down: no ACL was granted there. `replicate local up` starts it." for alias in down]

    def awaited_users(self) -> Sequence[PlannedObject]:
        """None: the local stack has no User Operator."""
        return ()


@contextmanager
def _provider_variables(kubeconfig: Path, *, overwrite: bool, deploys: bool) -> Iterator[dict[str, str]]:
    """Variables that tell the engine its Kubernetes provider; the stand-in serves while the context lasts."""
    if _provider_plugin() is not None:
        yield provider_variables(overwrite=overwrite)
        return
    home = {"PULUMI_HOME": str(paths.pulumi() / "home")}
    if not deploys:
        yield home
        return
    with provider_process(kubeconfig, patch_force=overwrite) as port:
        yield {"PULUMI_DEBUG_PROVIDERS": f"kubernetes:{port}", **home}


def _provider_plugin() -> str | None:
    name = "pulumi-resource-kubernetes"
    home = Path(os.environ.get("PULUMI_HOME", Path.home() / ".pulumi"))
    installed = sorted(home.glob(f"plugins/resource-kubernetes-v*/{name}"))
    return shutil.which(name) or (str(installed[-1]) if installed else None)


def stack_config(endpoints: Endpoints) -> Mapping[str, tuple[str, bool]]:
    """Return (value, whether it is secret) by key: `useastBootstrap`, `useastMirrorPassword`, …"""
    config: dict[str, tuple[str, bool]] = {}
    for alias, region in endpoints.regions.items():
        config[f"{alias}Bootstrap"] = (region.bootstrap_servers, False)
        config[f"{alias}Ca"] = (region.ca_file.read_text(), True)
        for user in ("mirror", "validator"):
            config[f"{alias}{user.capitalize()}Password"] = (region.users[user].password, True)
    return config


def passphrase_file() -> Path:
    """Return the file with the passphrase of the local Pulumi state, created once."""
    path = paths.pulumi() / "passphrase"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600)
        path.write_text(secrets.token_urlsafe(32))
    return path
