"""What a stack's files come to: their mistakes, and the flows of a stack without any. Loads no engine and no client.

A check in an editor or a hook must not wait for what only a deployment needs.
"""

import difflib
from collections.abc import Iterator, Mapping

from components.checks import check_topology
from components.problems import Problem, raise_errors
from components.resolved import (
    ResolvedFlow,
    config_secrets,
    config_values,
    missing_config,
    resolve_flows,
    validation_config_secrets,
)
from components.specs.kafka_users import kafka_user_objects
from infra.local.endpoints import load_endpoints
from infra.local.stack_config import local_addresses
from infra.settings import ALLOW_UNPROVEN, PROJECT, SETTINGS, StackSettings, shown, stack_file

#: What is no reason, but what somebody sets who takes the key for a switch.
_NO_REASONS = ("", "true", "false", "yes", "no")


def problems(settings: StackSettings) -> list[Problem]:
    """Every problem that can be told without a cluster and without Pulumi, sorted by where."""
    found = list(_problems_of_files(settings))
    if not found and not settings.local:
        flows = resolve_flows(settings.topology, settings.region, settings.values)
        found += check_secrets(settings, flows)
    return sorted(set(found))


def raise_mistakes(settings: StackSettings) -> None:
    """Raise a ReplicationError with every error of the topology and of the stack file, if there is one."""
    raise_errors(_problems_of_files(settings))


def resolved_flows(settings: StackSettings) -> tuple[ResolvedFlow, ...]:
    """The stack's flows, checked; raises ReplicationError with every problem, configuration included."""
    raise_mistakes(settings)
    flows = resolve_flows(settings.topology, settings.region, addresses(settings))
    if not settings.local:
        raise_errors(check_secrets(settings, flows))
    return flows


def addresses(settings: StackSettings) -> Mapping[str, str]:
    """Plain configuration of the stack; a local stack's addresses come from the running local stack."""
    return {**settings.values, **local_addresses(load_endpoints())} if settings.local else settings.values


def _problems_of_files(settings: StackSettings) -> Iterator[Problem]:
    yield from check_topology(settings.topology)
    yield from _check_stack(settings)


def _check_stack(settings: StackSettings) -> Iterator[Problem]:
    """Problems of the stack file against its topology: the region, and the configuration that clusters ask for."""
    regions = sorted({cluster.region for cluster in settings.topology.clusters.values()})
    file = shown(stack_file(settings.stack, settings.stacks))
    yield from _unknown_keys(settings, file)
    if settings.region is not None and settings.region not in regions:
        yield Problem(
            f"{file}: region",
            "unknown-region",
            f"no cluster is in the region `{settings.region}`",
            f"Regions are: {', '.join(regions)}; the stack would deploy nothing.",
            "set `replication:region` to one of these, or leave it out for all.",
        )
    if settings.allow_unproven is not None and settings.allow_unproven.strip().lower() in _NO_REASONS:
        yield Problem(
            f"{file}: {ALLOW_UNPROVEN}",
            "unproven-without-reason",
            f"`{ALLOW_UNPROVEN}` is {settings.allow_unproven!r}",
            "It is kept in the outputs and in the evidence, where it has to say why nothing proves the model.",
            f"set `{PROJECT}:{ALLOW_UNPROVEN}` to the reason in words, or leave it out.",
        )


def _unknown_keys(settings: StackSettings, file: str) -> Iterator[Problem]:
    """Keys of the project that nothing reads: a `region` with a slip would deploy the flows of all regions."""
    named = {value.config for cluster in settings.topology.clusters.values() for value in config_values(cluster)}
    known = sorted({*SETTINGS, *named})
    for key in sorted({*settings.values, *settings.secret_keys} - set(known)):
        near = difflib.get_close_matches(key, known, n=1)
        yield Problem(
            f"{file}: {key}",
            "unknown-key",
            f"`{PROJECT}:{key}` is not a key here",
            "It would have no effect.",
            f"did you mean `{PROJECT}:{near[0]}`?" if near else f"remove it; accepted are {', '.join(known)}.",
        )


def check_secrets(settings: StackSettings, flows: tuple[ResolvedFlow, ...]) -> Iterator[Problem]:
    """Credentials of a stack's flows and KafkaUsers that its configuration lacks or holds in plain text."""
    for alias, key in _needed_secrets(settings, flows):
        where = f"clusters.{alias} (configuration key {key})"
        if key in settings.values:
            yield Problem(
                where,
                "plain-text-secret",
                f"`{key}` is held in plain text",
                "Whoever reads the stack file could use the credential.",
                f"`pulumi config set --secret {key}`.",
            )
        elif key not in settings.secret_keys:
            yield missing_config(where, key, secret=True)


def _needed_secrets(settings: StackSettings, flows: tuple[ResolvedFlow, ...]) -> Iterator[tuple[str, str]]:
    """Alias of a cluster and the configuration key of a credential of it."""
    for flow in flows:
        for alias, cluster in ((flow.flow.source, flow.source), (flow.flow.target, flow.target)):
            for value in (*config_secrets(cluster).values(), *validation_config_secrets(cluster).values()):
                yield alias, value.config
    for planned in kafka_user_objects(settings.topology, settings.region):
        for key in planned.secret_values.values():
            yield planned.part, key
