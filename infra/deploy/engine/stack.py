"""The Pulumi engine through the Automation API: the same program as `pulumi up`, without a language host.

What a killed deployment leaves is cleaned up with the engine's own commands, `cancel` and `refresh`. They cannot make
an object current again that a failed deployment has replaced; the remedy for `already exists` says what to do then.
"""

import logging
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

from pulumi import automation

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.deploy.engine.command import EngineCommand, Say
from kafka_replication.infra.deploy.engine.failures import NoSuchStackError, engine_failure
from kafka_replication.infra.kubernetes.access import asking_kubernetes
from kafka_replication.infra.kubernetes.api import KubernetesApi, Object, Reference, reference
from kafka_replication.infra.machine.toolchain import PULUMI
from kafka_replication.infra.machine.waiting import DeadlineError, NotYetError, wait_for
from kafka_replication.infra.program import deploy
from kafka_replication.infra.stack.environment import stack_environment
from kafka_replication.infra.stack.settings import PROJECT, StackSettings

KUBERNETES = "kubernetes:"
State = Mapping[str, Any]
#: How long a provider may outlive its killed engine and finish what it had begun.
_OUTLIVING_SECONDS = 5.0
#: Pulumi neither looks for a newer version of itself nor fetches a plugin by itself.
_QUIET = {"PULUMI_SKIP_UPDATE_CHECK": "true", "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true"}

# An engine that refuses a change exits before the program's server has shut down; gRPC would print a traceback.
logging.getLogger("grpc").addHandler(logging.NullHandler())


@contextmanager
def open_stack(
    settings: StackSettings,
    *,
    create: bool = True,
    overwrite: bool = False,
    configured: bool = True,
    unlock: bool = False,
) -> Iterator[automation.Stack]:
    """A stack that is ready for preview, up or destroy; if it is not `configured`, only for reading its state. A stack
    that Pulumi does not know is created with `create`; without it, raises NoSuchStackError. With `overwrite`,
    the provider takes back fields that somebody else owns; without it, such a field ends the deployment. `unlock`
    first releases the lock of whoever holds the stack, as `pulumi cancel` does. Raises CannotRunError if there is no
    `pulumi` executable or the engine fails.
    """
    opened = False
    try:
        with _opened(settings, create=create, overwrite=overwrite, configured=configured) as stack:
            opened = True
            if unlock:
                stack.cancel()
            yield stack
    except automation.StackNotFoundError as error:
        raise NoSuchStackError(settings.stack) from error
    except automation.CommandError as error:
        raise engine_failure(str(error), settings.stack, opened=opened) from error


@contextmanager
def _opened(settings: StackSettings, *, create: bool, overwrite: bool, configured: bool) -> Iterator[automation.Stack]:
    with stack_environment(settings).workspace(overwrite=overwrite, deploys=configured) as place:
        folder, variables, command = str(place.folder), {**_QUIET, **place.variables}, _pulumi_command()
        options = automation.LocalWorkspaceOptions(work_dir=folder, env_vars=variables, pulumi_command=command)
        select = automation.create_or_select_stack if create else automation.select_stack
        program = partial(deploy, settings.stacks, settings.allow_unproven)
        stack = select(settings.stack, project_name=place.project, program=program, opts=options)
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


def objects_in(state: State) -> frozenset[Reference]:
    """Return a state's Kubernetes objects, without those that wait for their deletion, and with pending creations."""
    present = [resource for resource in state.get("resources") or [] if not resource.get("delete")]
    objects = {reference(resource["inputs"]) for resource in present if resource["type"].startswith(KUBERNETES)}
    return frozenset(objects.union(pending_creates(state)))


def pending_creates(state: State) -> tuple[Reference, ...]:
    """The Kubernetes objects whose creation began, was not recorded as finished, and that are not in the state."""
    known = {resource["urn"] for resource in state.get("resources") or []}
    begun = [
        operation["resource"] for operation in state.get("pending_operations") or [] if operation["type"] == "creating"
    ]
    return tuple(
        reference(resource["inputs"])
        for resource in begun
        if resource["urn"] not in known and resource["type"].startswith(KUBERNETES)
    )


def forget_pending_creates(stack: automation.Stack, api: KubernetesApi, say: Say) -> tuple[Reference, ...]:
    """Let the engine forget the creations that a killed deployment had begun; returns the objects that it did create.

    The engine would only warn about them. It also reads every object of the stack again.
    """
    pending = pending_creates(stack.export_stack().deployment or {})
    if not pending:
        return ()
    with asking_kubernetes(
        f"stack {stack.name}",
        "The last deployment did not finish, and only the cluster shows what it created.",
        "allow the account of the stack's Kubernetes context to read what it deploys.",
    ):
        present = created(pending, api.get)
    stack.refresh(clear_pending_creates=True, on_output=say, on_error=say, suppress_outputs=True, show_secrets=False)
    return tuple(present)


def created(
    pending: Sequence[Reference],
    get: Callable[[Reference], Object | None],
    outliving_seconds: float = _OUTLIVING_SECONDS,
) -> list[Reference]:
    """Return the objects that exist, or appear before the killed deployment's provider must have ended."""
    present: list[Reference] = []

    def look() -> None:
        present.extend([target for target in pending if target not in present and get(target) is not None])
        if len(present) < len(pending):
            raise NotYetError(f"{len(present)} of {len(pending)} objects")

    with suppress(DeadlineError):
        wait_for("what a killed deployment had begun", look, outliving_seconds)
    return present


def _pulumi_command() -> automation.PulumiCommand:
    found = shutil.which("pulumi")
    if found is not None:
        try:
            return _command(found)
        except (automation.InvalidVersionError, subprocess.SubprocessError, OSError) as error:
            what = f"this `pulumi` cannot be used: {str(error).rstrip('.')}"
            why = "Previews and deployments run in Pulumi's engine."
            remedy = "install a current Pulumi, or remove this one from PATH."
            raise CannotRunError("pulumi-unusable", what, found, why, remedy) from error
    if not PULUMI.built.is_file():
        what = "no `pulumi` executable"
        why = "Previews and deployments run in Pulumi's engine."
        remedy = "install Pulumi, or run `replicate local up`, which builds it."
        raise CannotRunError("pulumi-missing", what, "PATH", why, remedy)
    return _command(str(PULUMI.built), built=True)


@cache
def _command(executable: str, *, built: bool = False) -> automation.PulumiCommand:
    """Return the command for an executable; its creation asks for the version. `built`: we have built it ourselves."""
    # A build from the module proxy carries no release version to compare with the SDK's.
    root = str(Path(executable).parent.parent) if built else None
    return EngineCommand(root=root, skip_version_check=built)
