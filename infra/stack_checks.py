"""Checks a stack's files: returns their mistakes, or the stack's flows if there are none.

Loads no engine and no client: a check in an editor or a hook must not wait for what only a deployment needs.
"""

import difflib
from collections.abc import Iterator

from components.checks import check_topology
from components.checks.addresses import check_addresses
from components.checks.coverage import check_deployed
from components.contract.problems import Problem, Severity, raise_errors
from components.flows.resolved import (
    ResolvedFlow,
    config_secrets,
    config_values,
    missing_config,
    resolve_flows,
    validation_config_secrets,
)
from components.render.kafka_users import kafka_user_objects
from infra.environment import stack_environment
from infra.settings import (
    ALLOW_UNPROVEN,
    PROJECT,
    SETTINGS,
    StackSettings,
    regions_of_topology,
    shown,
    stack_file,
)

#: Values that are not a reason: whoever sets them mistakes the key for a switch.
_NO_REASONS = ("", "true", "false", "yes", "no")


def problems(settings: StackSettings) -> list[Problem]:
    """Every problem that can be found without a cluster and without Pulumi, sorted by where."""
    found = [*_problems_of_files(settings), *_check_coverage(settings)]
    refused = any(problem.severity is Severity.ERROR for problem in found)
    # The local stack supplies configuration only while it runs, and a check must not need it to run.
    if not refused and not stack_environment(settings).on_this_machine:
        flows = resolve_flows(settings.topology, settings.region, settings.values)
        found += check_secrets(settings, flows)
    return sorted(set(found))


def raise_mistakes(settings: StackSettings) -> None:
    """Raise a ReplicationError with every error of the topology and the stack file, if there are any."""
    raise_errors(_problems_of_files(settings))


def resolved_flows(settings: StackSettings) -> tuple[ResolvedFlow, ...]:
    """The stack's flows, if its files and configuration have no error; raises ReplicationError otherwise."""
    raise_mistakes(settings)
    configured = stack_environment(settings).configured()
    flows = resolve_flows(configured.topology, configured.region, configured.values)
    raise_errors(check_secrets(configured, flows))
    return flows


def _problems_of_files(settings: StackSettings) -> Iterator[Problem]:
    yield from check_topology(settings.topology)
    yield from check_addresses(settings.topology, settings.values)
    yield from _check_stack(settings)


def _check_coverage(settings: StackSettings) -> Iterator[Problem]:
    """The stacks of a topology deploy all its flows, as far as their files can be read."""
    regions = regions_of_topology(settings.values["topology"], settings.stacks)
    known = {cluster.region for cluster in settings.topology.clusters.values()}
    if regions is not None and settings.region in {None, *known}:
        yield from check_deployed(settings.topology, settings.values["topology"], regions)


def _check_stack(settings: StackSettings) -> Iterator[Problem]:
    """Problems of the stack file: its keys, its region and the reason to deploy an unproven model."""
    regions = sorted({cluster.region for cluster in settings.topology.clusters.values()})
    file = shown(stack_file(settings.stack, settings.stacks))
    yield from _unknown_keys(settings, file)
    if settings.region is not None and settings.region not in regions:
        yield Problem(
            f"{file}: region",
            "unknown-region",
            f"no cluster is in the region `{settings.region}`",
            f"The stack would deploy nothing. The regions are: {', '.join(regions)}.",
            "set `replication:region` to one of these, or remove it to deploy all regions.",
        )
    if settings.allow_unproven is not None and settings.allow_unproven.strip().lower() in _NO_REASONS:
        yield Problem(
            f"{file}: {ALLOW_UNPROVEN}",
            "unproven-without-reason",
            f"`{ALLOW_UNPROVEN}` is {settings.allow_unproven!r}",
            "It is recorded in the outputs and the evidence, and has to say there why an unproven model was deployed.",
            f"set `{PROJECT}:{ALLOW_UNPROVEN}` to a reason in words, or remove it.",
        )


def _unknown_keys(settings: StackSettings, file: str) -> Iterator[Problem]:
    """Keys of the project that nothing reads: a misspelt `region` would deploy the flows of all regions."""
    named = {value.config for cluster in settings.topology.clusters.values() for value in config_values(cluster)}
    known = sorted({*SETTINGS, *named})
    for key in sorted({*settings.values, *settings.secret_keys} - set(known)):
        near = difflib.get_close_matches(key, known, n=1)
        yield Problem(
            f"{file}: {key}",
            "unknown-key",
            f"`{PROJECT}:{key}` is not a key here",
            "It would have no effect.",
            f"did you mean `{PROJECT}:{near[0]}`?" if near else f"remove it; the keys here are {', '.join(known)}.",
        )


def check_secrets(settings: StackSettings, flows: tuple[ResolvedFlow, ...]) -> Iterator[Problem]:
    """Credentials of a stack's flows and KafkaUsers that are missing from its configuration or in plain text."""
    for alias, key in _needed_secrets(settings, flows):
        where = f"clusters.{alias} (configuration key {key})"
        if key in settings.values:
            yield Problem(
                where,
                "plain-text-secret",
                f"`{key}` is in plain text",
                "Anyone who reads the stack file could use the credential.",
                f"`pulumi config set --secret {PROJECT}:{key}`.",
            )
        elif key not in settings.secret_keys:
            yield missing_config(where, key, secret=True)


def _needed_secrets(settings: StackSettings, flows: tuple[ResolvedFlow, ...]) -> Iterator[tuple[str, str]]:
    """The configuration key of each credential, with the alias of its cluster."""
    for flow in flows:
        for alias, cluster in ((flow.settings.source, flow.source), (flow.settings.target, flow.target)):
            for value in (*config_secrets(cluster).values(), *validation_config_secrets(cluster).values()):
                yield alias, value.config
    for planned in kafka_user_objects(settings.topology, settings.region):
        for key in planned.secret_values.values():
            yield planned.part, key
