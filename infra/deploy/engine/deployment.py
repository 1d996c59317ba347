"""Previews, deploys, destroys and reads one stack with Pulumi's engine through the Automation API: the same program as
`pulumi up`, without a language host. Checks run before the engine starts.

What a killed deployment leaves is cleaned up with the engine's own commands, `cancel` and `refresh`. They cannot make
an object current again that a failed deployment has replaced; the remedy for `already exists` says what to do then.
"""

import logging
import shutil
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import pulumi
from pulumi import automation

from kafka_replication.components.contract.problems import CannotRunError, raise_errors
from kafka_replication.components.flows.resolved import ResolvedFlow
from kafka_replication.components.render.planned_objects import ObjectRole
from kafka_replication.components.topology.in_cluster import Workload
from kafka_replication.infra.deploy.engine.command import EngineCommand, Say
from kafka_replication.infra.deploy.engine.failures import NoSuchStackError, engine_failure
from kafka_replication.infra.deploy.promotion.rule.evidence import unproven
from kafka_replication.infra.kubernetes.access import api_client, asking_kubernetes
from kafka_replication.infra.kubernetes.api import KubernetesApi, Object, Reference, reference
from kafka_replication.infra.kubernetes.preconditions import (
    require_config_maps,
    require_no_unfinished_move,
    require_prometheus_operator,
    require_ready_for_v1,
    require_secrets,
    require_spark_operator,
)
from kafka_replication.infra.kubernetes.readiness import wait_until_ready
from kafka_replication.infra.kubernetes.secret_readers import restart_readers
from kafka_replication.infra.machine.toolchain import PULUMI
from kafka_replication.infra.machine.waiting import DeadlineError, NotYetError, wait_for
from kafka_replication.infra.program import deploy
from kafka_replication.infra.stack.environment import stack_environment
from kafka_replication.infra.stack.session import OpenStack
from kafka_replication.infra.stack.settings import PROJECT, StackSettings
from kafka_replication.infra.stack.stack_checks import raise_by_gitops
from kafka_replication.infra.stack.validation_job import in_cluster, stack_exporter, stack_validation

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
            opened = True
            if unlock:
                stack.cancel()
            yield stack
    except automation.StackNotFoundError as error:
        raise NoSuchStackError(settings.stack) from error
    except automation.CommandError as error:
        raise engine_failure(str(error), settings.stack, opened=opened) from error


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


#: Takes a rendered object, and returns it as it should be registered.
Change = Callable[[Mapping[str, Any]], Mapping[str, Any]]
Changes = Mapping[str, int]


def preview(settings: StackSettings, say: Say, *, diff: bool = False, refresh: bool = False) -> Changes:
    """Show what `up` with the same `refresh` would change; returns the number of objects by kind of change."""
    with OpenStack(settings) as opened:
        opened.require_pulumi()
        require_deployable(opened)
        try:
            _require_secrets(settings, opened.kubernetes, opened.flows, say)
        except CannotRunError as error:
            if error.code == "secret-missing":
                say(f"`up` would refuse: {error}")
    with open_stack(settings, overwrite=refresh) as stack:
        result = stack.preview(**_printed(say), color=_color(), diff=diff, refresh=refresh)
    return {str(kind): count for kind, count in result.change_summary.items()}


def up(
    settings: StackSettings,
    say: Say,
    *,
    refresh: bool = False,
    change: Change | None = None,
    moving: bool = False,
    unlock: bool = False,
    secrets_later: bool = False,
) -> Changes:
    """Deploy the stack; returns the number of objects by kind of change.

    `change` is applied to each object before it is deployed. `moving`: this deployment is a step of a move from a
    KafkaMirrorMaker2; any other is refused while one is unfinished. `refresh` first reads the cluster into Pulumi's
    state, so that what was edited or deleted there is deployed again. `unlock` first releases the lock that a killed
    deployment left. `secrets_later`: Secrets that the stack does not create may be missing, as in a move. Connectors
    that started before a Secret of the stack changed are restarted.
    """
    flows = prepare(settings, say)
    with open_stack(settings, overwrite=refresh, unlock=unlock) as stack:
        api = api_client(settings, stack_environment(settings).kubernetes_access())
        if not moving:
            require_no_unfinished_move(api, settings.stack, flows)
        if not (secrets_later or moving):
            _require_secrets(settings, api, flows, say)
        if created := forget_pending_creates(stack, api, say):
            _import(stack, program_of(settings, change, created), say)
        # Nothing uses the configuration that Pulumi would decrypt for the summary.
        program = program_of(settings, change)
        result = stack.up(**_printed(say), color=_color(), refresh=refresh, show_secrets=False, program=program)
        for sentence in restart_readers(api, flows):
            say(sentence)
    return {str(kind): count for kind, count in (result.summary.resource_changes or {}).items()}


def _require_secrets(settings: StackSettings, api: KubernetesApi, flows: Sequence[ResolvedFlow], say: Say) -> None:
    environment = stack_environment(settings)
    # The exporter's Roles name Secrets, too, which it can do without.
    exporter = (planned for planned in stack_exporter(settings, flows) if planned.role is ObjectRole.EXPORTER)
    users, runs = environment.awaited_users(), (*stack_validation(settings, flows), *exporter)
    for sentence in require_secrets(api, flows, users, environment.kubernetes_access(), runs):
        say(sentence)


def program_of(
    settings: StackSettings, change: Change | None, imported: Collection[Reference] = ()
) -> Callable[[], None]:
    """Return the program of a stack. `change` is applied to each of its objects, and those that are `imported` exist
    already.

    Pulumi's import refuses an object that differs from what the program declares, unless its fields are ignored. So
    each is imported with every field ignored; the deployment that follows then sees the differences.
    """
    program = partial(deploy, settings.stacks, settings.allow_unproven, moves_checked=True)
    if change is None and not imported:
        return program

    def transformed(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        if not args.type_.startswith(KUBERNETES) or not isinstance(args.props.get("metadata"), Mapping):
            return None
        inputs, options = change(args.props) if change is not None else args.props, args.opts
        target = reference(inputs)
        if target in imported:
            as_it_is = pulumi.ResourceOptions(import_=target.identifier, ignore_changes=["*"])
            options = pulumi.ResourceOptions.merge(options, as_it_is)
        return pulumi.ResourceTransformationResult(inputs, options)

    def run() -> None:
        pulumi.runtime.register_stack_transformation(transformed)
        program()

    return run


def prepare(settings: StackSettings, say: Say) -> tuple[ResolvedFlow, ...]:
    """Refuse what must not be deployed, and prepare the deployment; returns the stack's flows."""
    with OpenStack(settings) as stack:
        stack.require_pulumi()
        raise_errors(unproven(settings))
        require_deployable(stack)
        for sentence in stack.environment.before_deploy(stack.flows):
            say(sentence)
        return stack.flows


def require_deployable(stack: OpenStack) -> None:
    """Refuse what would fail half-way: a switch of Strimzi's API, or kinds that the cluster lacks. Without access to
    the cluster nothing is refused: the engine may have its own access, and reports if it has none.
    """
    settings, flows = stack.settings, stack.flows
    try:
        api = stack.kubernetes
        require_ready_for_v1(api, flows)
        if settings.topology.monitoring is not None and flows:
            require_prometheus_operator(api)
        asked = in_cluster(settings.validation)
        if asked is not None and asked.workload is Workload.SPARK_APPLICATION and flows:
            require_spark_operator(api)
    except CannotRunError as error:
        if error.code in {"api-switch-in-one-step", "prometheus-operator-missing", "spark-operator-missing"}:
            raise


def destroy(settings: StackSettings, say: Say) -> Changes:
    """Delete every object of the stack, if Pulumi knows the stack; returns the number of objects by kind of change."""
    raise_by_gitops(settings)
    try:
        with open_stack(settings, create=False) as stack:
            result = stack.destroy(**_printed(say), color=_color(), show_secrets=False)
    except NoSuchStackError as error:
        say(f"{error.what} in the backend that Pulumi is logged in to")
        return {}
    return {str(kind): count for kind, count in (result.summary.resource_changes or {}).items()}


def outputs(settings: StackSettings) -> dict[str, Any]:
    """Return the outputs of a deployed stack. Raises CannotRunError if it is not deployed."""
    found = outputs_if_deployed(settings)
    if "validation" not in found:
        raise NoSuchStackError(settings.stack)
    return found


def outputs_if_deployed(settings: StackSettings) -> dict[str, Any]:
    """Return the outputs of a stack, empty if it is not deployed. Does not change Pulumi's state."""
    try:
        with open_stack(settings, create=False, configured=False) as stack:
            return {key: output.value for key, output in stack.outputs().items()}
    except NoSuchStackError:
        return {}


def wait_ready(settings: StackSettings, deadline_seconds: float, say: Say = lambda _: None) -> tuple[str, ...]:
    """Wait until everything is ready, and return the connectors that run without a task; see `readiness`. `say` gets
    the progress. A missing ConfigMap is reported at once, because waiting does not help.
    """
    with OpenStack(settings) as stack:
        require_config_maps(stack.kubernetes, stack.flows)
        environment = stack.environment
        return wait_until_ready(
            stack.kubernetes,
            settings.stack,
            stack.flows,
            deadline_seconds,
            environment.reconciliation_seconds,
            environment.awaited_users(),
            say,
        )


def _printed(say: Say) -> dict[str, Any]:
    """Return the options by which `say` prints what the engine does, but no outputs."""
    return {"on_output": say, "on_error": say, "suppress_outputs": True}


def _color() -> str:
    return "always" if sys.stdout.isatty() else "never"


def known_objects(settings: StackSettings) -> frozenset[Reference]:
    """The Kubernetes objects in the state of a stack, also those whose creation is pending; none for an unknown one."""
    try:
        with open_stack(settings, create=False, configured=False) as stack:
            return objects_in(stack.export_stack().deployment or {})
    except NoSuchStackError:
        return frozenset()


def import_objects(
    settings: StackSettings,
    api: KubernetesApi,
    objects: Collection[Reference],
    say: Say,
    change: Change | None = None,
) -> None:
    """Import these objects, and after `change`, create declared objects of the flows that do not exist.

    An object that is already in the state is skipped. Raises CannotRunError if the engine fails.
    """
    with open_stack(settings) as stack:
        created = forget_pending_creates(stack, api, say)
        _import(stack, program_of(settings, change, {*objects, *created}), say)


def _import(stack: automation.Stack, program: Callable[[], None], say: Say) -> None:
    stack.up(**_printed(say), show_secrets=False, program=program)
