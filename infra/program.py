"""The Pulumi program: checks a stack, registers its components and exports its outputs."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pulumi

from kafka_replication.components.contract.problems import CannotRunError, RefusedError, ReplicationError, raise_errors
from kafka_replication.components.flows.resolved import model_digest
from kafka_replication.components.render.deployments import flow_outputs
from kafka_replication.components.render.job_parameters import job_parameters
from kafka_replication.components.resources.whole_topology import WholeTopologyArgs, register_topology
from kafka_replication.infra.deploy.promotion.rule.evidence import unproven
from kafka_replication.infra.stack.other_stacks import check_other_stacks
from kafka_replication.infra.stack.session import OpenStack
from kafka_replication.infra.stack.settings import ALLOW_UNPROVEN, PROJECT, StackSettings, deployed_settings
from kafka_replication.infra.stack.stack_checks import raise_by_gitops
from kafka_replication.infra.stack.validation_job import in_cluster, spark_of_the_job, stack_exporter


def deploy(stacks: Path, allow_unproven: str | None = None, *, moves_checked: bool = False) -> None:
    """Register every replication of the running stack and export its outputs.

    `allow_unproven` is the reason to deploy a model that earlier stacks have not proven; it replaces the stack's own.
    `moves_checked`: the caller knows that no move from a KafkaMirrorMaker2 is unfinished, or carries one out itself.
    Raises RunError, which Pulumi shows without a traceback.
    """
    try:
        _deploy(stacks, allow_unproven, moves_checked=moves_checked)
    except (ReplicationError, CannotRunError, OSError) as error:
        raise pulumi.RunError(str(error)) from error


def _deploy(stacks: Path, allow_unproven: str | None, *, moves_checked: bool) -> None:
    settings = deployed_settings(stacks)
    if allow_unproven is not None:
        settings = replace(settings, values={**settings.values, ALLOW_UNPROVEN: allow_unproven})
    with OpenStack(settings, configured=settings) as stack:
        stack.check()
        raise_errors(check_other_stacks(settings))
        raise_by_gitops(settings)
        _refuse_unproven(settings)
        if not moves_checked:
            _refuse_unfinished_move(stack)
        _await_registration()
        _register(stack)


def _refuse_unproven(settings: StackSettings) -> None:
    """Refuse an unproven model; a preview only warns, because a reviewer sees it before anything can be proven."""
    if settings.allow_unproven is not None:
        pulumi.log.warn(f"unproven models are allowed: {settings.allow_unproven}")
    if not pulumi.runtime.is_dry_run():
        raise_errors(unproven(settings))
        return
    try:
        problems = unproven(settings)
    except ReplicationError as error:
        problems = error.problems
    except (CannotRunError, OSError) as error:
        pulumi.log.warn(f"it is unknown whether `up` would refuse the model: {error}")
        return
    for problem in problems:
        pulumi.log.warn(f"`up` would refuse: {problem}")


def unfinished_move(stack: OpenStack) -> RefusedError | None:
    """Return why the stack must not be deployed now: it is in the middle of a move from a KafkaMirrorMaker2.

    Raises CannotRunError if the cluster cannot be asked.
    """
    # Loading a client takes longer than the rest of the program, and `replicate` has already asked.
    from kafka_replication.infra.kubernetes.preconditions import require_no_unfinished_move

    try:
        require_no_unfinished_move(stack.kubernetes, stack.name, stack.flows)
    except RefusedError as refused:
        return refused
    return None


def _refuse_unfinished_move(stack: OpenStack) -> None:
    """Refuse to start a flow that waits for offsets; a preview only warns.

    Pulumi's provider may have access to the cluster that this program lacks, so lack of access is no reason to refuse.
    """
    previews = pulumi.runtime.is_dry_run()
    try:
        refusal = unfinished_move(stack)
    except CannotRunError as error:
        if not previews:
            pulumi.log.warn(f"it is unknown whether a flow waits for the offsets of a KafkaMirrorMaker2: {error}")
        return
    if refusal is None:
        return
    if not previews:
        raise refusal
    pulumi.log.warn(f"`up` would refuse: {refusal}")


def _await_registration() -> None:
    """Make the program wait until the engine has answered for every resource that it registers from here on.

    Otherwise Pulumi waits at the end of the program and checks all outstanding outputs whenever one of them resolves,
    which takes half of the program's time with 1,200 objects. Pulumi still reports failed resources.
    """
    resources: list[pulumi.Resource] = []

    def note(args: pulumi.ResourceTransformationArgs) -> None:
        resources.append(args.resource)

    async def answered() -> None:
        await asyncio.gather(*(resource.urn.future() for resource in resources), return_exceptions=True)

    pulumi.runtime.register_stack_transformation(note)
    pulumi.run(answered)


def _register(stack: OpenStack) -> None:
    stack.require_credentials()
    settings, flows = stack.settings, stack.flows
    for warning in stack.check():
        pulumi.log.warn(str(warning))
    config = pulumi.Config(PROJECT)
    secrets = {key: config.require_secret(key) for key in settings.secret_keys}
    register_topology(
        WholeTopologyArgs(
            topology=settings.topology,
            flows=flows,
            stack=settings.stack,
            region=settings.region,
            secrets=secrets,
            in_cluster=in_cluster(settings.validation),
            spark=spark_of_the_job(settings.validation),
            exporter=stack_exporter(settings, flows),
        )
    )
    pulumi.export("replications", {flow.name: flow_outputs(flow) for flow in flows})
    pulumi.export("modelDigest", model_digest(settings.topology))
    if settings.allow_unproven is not None:
        pulumi.export(ALLOW_UNPROVEN, settings.allow_unproven)
    pulumi.export("validation", job_parameters(settings.stack, flows).document())
