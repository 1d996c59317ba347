"""The Pulumi engine through the Automation API: the same program as `pulumi up`, without a language host.

A stack with `replication:local` is deployed to the local stack: its project, state and passphrase are kept there,
and its addresses and credentials come from there.
"""

import logging
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from pulumi import automation

from infra.engine_command import EngineCommand
from infra.engine_failures import NoSuchStackError, engine_failure
from infra.engine_locks import release_dead_locks
from infra.errors import CannotRunError
from infra.file_backend import file_backend, remove_torn_attributes
from infra.local import paths
from infra.local.endpoints import load_endpoints
from infra.local.kubernetes_provider import serve
from infra.local.stack_config import passphrase_file, stack_config
from infra.program import deploy
from infra.settings import PROJECT, ROOT, StackSettings, stack_file

_REAL_PROVIDER = "pulumi-resource-kubernetes"

# An engine that refused a change is gone before the program's server has shut down; gRPC would print a trace of that.
logging.getLogger("grpc").addHandler(logging.NullHandler())


@contextmanager
def open_stack(settings: StackSettings, *, create: bool = True) -> Iterator[automation.Stack]:
    """A stack ready for preview, up or destroy; for a local one the Kubernetes provider runs meanwhile.

    A stack that Pulumi does not know is made, or without `create` is a NoSuchStackError. Raises CannotRunError without
    a `pulumi` executable and when the engine fails, LocalStackError when the local stack is not running.
    """
    opened = False
    try:
        with _opened(settings, create=create) as stack:
            opened = True
            yield stack
    except automation.StackNotFoundError as error:
        raise NoSuchStackError(settings.stack) from error
    except automation.CommandError as error:
        raise engine_failure(str(error), settings.stack, opened=opened) from error


@contextmanager
def _opened(settings: StackSettings, *, create: bool) -> Iterator[automation.Stack]:
    if settings.local:
        with _local_stack(settings, create=create) as stack:
            yield stack
        return
    command = _pulumi_command()
    workspace = automation.LocalWorkspace(work_dir=str(ROOT), env_vars=_environment(), pulumi_command=command)
    backend = chosen_backend(workspace)
    if backend is not None:
        remove_torn_attributes(backend, PROJECT, settings.stack)
    options = automation.LocalWorkspaceOptions(work_dir=str(ROOT), env_vars=_environment(), pulumi_command=command)
    stack = _select(settings, options, create=create)
    if backend is not None:
        release_dead_locks(stack, backend, PROJECT)
    yield stack


def chosen_backend(workspace: automation.Workspace) -> Path | None:
    """Folder of the backend that Pulumi uses, by environment, project or login, if it is one of files."""
    url = os.environ.get("PULUMI_BACKEND_URL") or workspace.who_am_i().url or ""
    return file_backend(url, Path(str(workspace.work_dir)))


def kubernetes_provider(settings: StackSettings) -> str:
    """Say which Kubernetes provider a stack is deployed with."""
    if not settings.local or real_provider() is not None:
        return "the Kubernetes provider plugin of Pulumi"
    return "the local stand-in for Pulumi's Kubernetes provider plugin, which is not installed"


def real_provider() -> str | None:
    """Path of the Kubernetes provider plugin, if it is installed."""
    found = shutil.which(_REAL_PROVIDER)
    home = Path(os.environ.get("PULUMI_HOME", Path.home() / ".pulumi"))
    installed = sorted(home.glob(f"plugins/resource-kubernetes-v*/{_REAL_PROVIDER}"))
    return found or (str(installed[-1]) if installed else None)


@contextmanager
def _local_stack(settings: StackSettings, *, create: bool) -> Iterator[automation.Stack]:
    endpoints = load_endpoints()
    if real_provider() is None:
        with serve(endpoints.kubeconfig) as port:
            yield _select_local(settings, {"PULUMI_DEBUG_PROVIDERS": f"kubernetes:{port}"}, create=create)
    else:
        yield _select_local(settings, {"KUBECONFIG": str(endpoints.kubeconfig)}, create=create)


def _select_local(settings: StackSettings, provider: dict[str, str], *, create: bool) -> automation.Stack:
    work = paths.PULUMI / "project"
    backend = paths.PULUMI / "state"
    for folder in (work, backend):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    environment = _environment() | provider
    environment |= {
        # Without attributes beside each file, which an engine that is killed may leave torn.
        "PULUMI_BACKEND_URL": f"file://{backend}?metadata=skip",
        "PULUMI_CONFIG_PASSPHRASE_FILE": str(passphrase_file()),
        "PULUMI_CONFIG_PASSPHRASE": "",
        "KUBECONFIG": str(load_endpoints().kubeconfig),
    }
    if real_provider() is None:
        environment["PULUMI_HOME"] = str(paths.PULUMI / "home")
    project = automation.ProjectSettings(name=PROJECT, runtime="python")
    options = automation.LocalWorkspaceOptions(
        work_dir=str(work), env_vars=environment, project_settings=project, pulumi_command=_pulumi_command()
    )
    file = stack_file(settings.stack, settings.stacks)
    shutil.copyfile(file, work / file.name)
    stack = _select(settings, options, create=create)
    release_dead_locks(stack, backend, PROJECT)
    stack.set_all_config(
        {
            f"{PROJECT}:{key}": automation.ConfigValue(value=value, secret=secret)
            for key, (value, secret) in stack_config(load_endpoints()).items()
        }
    )
    return stack


def _select(settings: StackSettings, options: automation.LocalWorkspaceOptions, *, create: bool) -> automation.Stack:
    program = partial(deploy, settings.stacks, settings.allow_unproven)
    select = automation.create_or_select_stack if create else automation.select_stack
    return select(settings.stack, project_name=PROJECT, program=program, opts=options)


def _pulumi_command() -> automation.PulumiCommand:
    found = shutil.which("pulumi")
    if found is not None:
        try:
            return EngineCommand()
        except (automation.InvalidVersionError, subprocess.SubprocessError, OSError) as error:
            raise CannotRunError(
                f"this `pulumi` cannot be used: {str(error).rstrip('.')}",
                found,
                "Previews and deployments run in Pulumi's engine.",
                "install a current Pulumi, or take this one out of PATH.",
            ) from error
    if not (paths.BIN / "pulumi").is_file():
        raise CannotRunError(
            "no `pulumi` executable",
            "PATH",
            "Previews and deployments run in Pulumi's engine.",
            "install Pulumi, or run `replicate local up`, which builds it.",
        )
    # A build from the module proxy carries no release version to compare with the SDK's.
    return EngineCommand(root=str(paths.BIN.parent), skip_version_check=True)


def _environment() -> dict[str, str]:
    return {"PULUMI_SKIP_UPDATE_CHECK": "true", "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true"}
