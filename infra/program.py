"""Model -> components: what a stack registers and exports."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pulumi

from components.digest import model_digest
from components.flow import ReplicationFlow, ReplicationFlowArgs
from components.kafka_users import KafkaUsers, KafkaUsersArgs
from components.mirror_maker2 import KafkaMirrorMaker2, KafkaMirrorMaker2Args
from components.model import Flow, MirrorMaker2, PrefixlessPair, Split
from components.outputs import flow_outputs
from components.prefixless_pair import BidirectionalPrefixlessPair, BidirectionalPrefixlessPairArgs
from components.problems import ReplicationError, raise_errors
from components.resolved import ResolvedFlow, resolve_flows
from components.specs.kafka_users import kafka_user_objects
from components.split import ConnectClusterSplit, ConnectClusterSplitArgs
from components.validation import validation_document
from infra.errors import CannotRunError
from infra.promotion.gate import unproven
from infra.settings import ALLOW_UNPROVEN, PROJECT, STACKS, StackSettings, deployed_settings
from infra.stack_checks import check_secrets, raise_mistakes


def deploy(stacks: Path = STACKS, allow_unproven: str | None = None) -> None:
    """Register every replication of the running stack and export what it tells.

    `allow_unproven` is the reason to deploy what the stacks before it have not proven; else the stack's own is taken.
    Raises RunError, which Pulumi shows without a trace.
    """
    try:
        _deploy(stacks, allow_unproven)
    except (ReplicationError, CannotRunError, OSError) as error:
        raise pulumi.RunError(str(error)) from error


def _deploy(stacks: Path, allow_unproven: str | None) -> None:
    settings = deployed_settings(stacks)
    if allow_unproven is not None:
        settings = replace(settings, values={**settings.values, ALLOW_UNPROVEN: allow_unproven})
    raise_mistakes(settings)
    _hold_to_promotion(settings)
    _await_registration()
    _register(settings)


def _hold_to_promotion(settings: StackSettings) -> None:
    """Refuse an unproven model; a preview, which shows it to a reviewer before anything is proven, only says so."""
    if settings.allow_unproven is not None:
        pulumi.log.warn(f"unproven models are allowed: {settings.allow_unproven}")
    if not pulumi.runtime.is_dry_run():
        raise_errors(unproven(settings))
        return
    try:
        against = unproven(settings)
    except ReplicationError as error:
        against = error.problems
    except (CannotRunError, OSError) as error:
        pulumi.log.warn(f"whether `up` would refuse the model is not known: {error}")
        return
    for problem in against:
        pulumi.log.warn(f"`up` would refuse: {problem}")


def _await_registration() -> None:
    """Have the program wait until the engine has answered for everything that it registers from here on.

    Left to itself, Pulumi waits at the program's end, and looks at every outstanding output again whenever one of them
    resolves: of a stack with 1,200 objects that was half of the program's time. What failed it then finds as before.
    """
    resources: list[pulumi.Resource] = []

    def note(args: pulumi.ResourceTransformationArgs) -> None:
        resources.append(args.resource)

    async def answered() -> None:
        await asyncio.gather(*(resource.urn.future() for resource in resources), return_exceptions=True)

    pulumi.runtime.register_stack_transformation(note)
    pulumi.run(answered)


def _register(settings: StackSettings) -> None:
    flows = resolve_flows(settings.topology, settings.region, settings.values)
    raise_errors(check_secrets(settings, flows))
    config = pulumi.Config(PROJECT)
    secrets = {key: config.require_secret(key) for key in settings.secret_keys}
    for name in dict.fromkeys(flow.named.replication for flow in flows):
        _component(name, [flow for flow in flows if flow.named.replication == name], settings, secrets)
    if kafka_user_objects(settings.topology, settings.region):
        KafkaUsers("kafka-users", KafkaUsersArgs(topology=settings.topology, region=settings.region, secrets=secrets))
    pulumi.export("replications", {flow.name: flow_outputs(flow) for flow in flows})
    pulumi.export("modelDigest", model_digest(settings.topology))
    if settings.allow_unproven is not None:
        pulumi.export(ALLOW_UNPROVEN, settings.allow_unproven)
    pulumi.export("validation", validation_document(settings.stack, flows))


def _component(
    name: str, flows: Sequence[ResolvedFlow], settings: StackSettings, secrets: Mapping[str, pulumi.Output[str]]
) -> pulumi.ComponentResource:
    around: dict[str, Any] = {
        "clusters": settings.topology.clusters,
        "strimzi": settings.topology.strimzi,
        "secrets": secrets,
        "addresses": settings.values,
    }
    match settings.topology.replications[name]:
        case Flow() as flow:
            return ReplicationFlow(name, ReplicationFlowArgs(flow=flow, **around))
        case PrefixlessPair() as pair:
            targets = frozenset(half.flow.target for half in flows)
            args = BidirectionalPrefixlessPairArgs(pair=pair, targets=targets, **around)
            return BidirectionalPrefixlessPair(name, args)
        case Split() as split:
            return ConnectClusterSplit(name, ConnectClusterSplitArgs(split=split, **around))
        case MirrorMaker2() as mirrors:
            targets = frozenset(mirror.flow.target for mirror in flows)
            return KafkaMirrorMaker2(name, KafkaMirrorMaker2Args(mirrors=mirrors, targets=targets, **around))
