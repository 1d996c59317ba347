"""The Pulumi engine through the Automation API: the same program as `pulumi up`, without a language host."""

import logging
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path

from pulumi import automation

from components.contract.problems import CannotRunError
from infra.deploy.engine.command import EngineCommand
from infra.deploy.engine.failures import NoSuchStackError, engine_failure
from infra.deploy.engine.file_backend import file_backend, release_dead_locks, remove_torn_attributes
from infra.machine.go_tools import PULUMI
from infra.program import deploy
from infra.stack.environment import stack_environment
from infra.stack.settings import PROJECT, StackSettings

#: Pulumi neither looks for a newer version of itself nor fetches a plugin by itself.
_QUIET = {"PULUMI_SKIP_UPDATE_CHECK": "true", "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true"}

# An engine that refuses a change exits before the program's server has shut down; gRPC would print a traceback.
logging.getLogger("grpc").addHandler(logging.NullHandler())


@contextmanager
def open_stack(
    settings: StackSettings, *, create: bool = True, overwrite: bool = False, configured: bool = True
) -> Iterator[automation.Stack]:
    """A stack that is ready for preview, up or destroy; if it is not `configured`, only for reading its state. A stack
    that Pulumi does not know is created with `create`; without it, raises NoSuchStackError. With `overwrite`,
    the provider takes back fields that somebody else owns; without it, such a field ends the deployment. Raises
    CannotRunError if there is no `pulumi` executable or the engine fails.
    """
    opened = False
    try:
        with _opened(settings, create=create, overwrite=overwrite, configured=configured) as stack:
            opened = True
            yield stack
    except automation.StackNotFoundError as error:
        raise NoSuchStackError(settings.stack) from error
    except automation.CommandError as error:
        raise engine_failure(str(error), settings.stack, opened=opened) from error


@contextmanager
def _opened(settings: StackSettings, *, create: bool, overwrite: bool, configured: bool) -> Iterator[automation.Stack]:
    with stack_environment(settings).workspace(overwrite=overwrite, deploys=configured) as place:
        folder, variables, command = str(place.folder), {**_QUIET, **place.variables}, _pulumi_command()
        backend = chosen_backend(automation.LocalWorkspace(work_dir=folder, env_vars=variables, pulumi_command=command))
        if backend is not None:
            remove_torn_attributes(backend, place.project, settings.stack)
        options = automation.LocalWorkspaceOptions(work_dir=folder, env_vars=variables, pulumi_command=command)
        select = automation.create_or_select_stack if create else automation.select_stack
        program = partial(deploy, settings.stacks, settings.allow_unproven)
        stack = select(settings.stack, project_name=place.project, program=program, opts=options)
        if backend is not None:
            release_dead_locks(stack, backend, place.project)
        if configured and place.configuration:
            stack.set_all_config(
                {
                    f"{PROJECT}:{key}": automation.ConfigValue(value=value, secret=secret)
                    for key, (value, secret) in place.configuration.items()
                }
            )
        if configured:
            # A deployment would request them twice at its end, and nothing uses them there.
            stack.outputs = dict  # type: ignore[method-assign]
        yield stack


def chosen_backend(workspace: automation.Workspace) -> Path | None:
    """Folder of Pulumi's backend if that is a folder; the environment, the project or the login chooses it."""
    url = {**os.environ, **workspace.env_vars}.get("PULUMI_BACKEND_URL") or workspace.who_am_i().url or ""
    return file_backend(url, Path(str(workspace.work_dir)))


def _pulumi_command() -> automation.PulumiCommand:
    found = shutil.which("pulumi")
    if found is not None:
        try:
            return _command(found)
        except (automation.InvalidVersionError, subprocess.SubprocessError, OSError) as error:
            raise CannotRunError(
                "pulumi-unusable",
                f"this `pulumi` cannot be used: {str(error).rstrip('.')}",
                found,
                "Previews and deployments run in Pulumi's engine.",
                "install a current Pulumi, or remove this one from PATH.",
            ) from error
    if not PULUMI.built.is_file():
        raise CannotRunError(
            "pulumi-missing",
            "no `pulumi` executable",
            "PATH",
            "Previews and deployments run in Pulumi's engine.",
            "install Pulumi, or run `replicate local up`, which builds it.",
        )
    return _command(str(PULUMI.built), built=True)


@cache
def _command(executable: str, *, built: bool = False) -> automation.PulumiCommand:
    """The command for an executable; its creation asks for the version. `built`: we have built it ourselves."""
    # A build from the module proxy carries no release version to compare with the SDK's.
    root = str(Path(executable).parent.parent) if built else None
    return EngineCommand(root=root, skip_version_check=built)
