"""Model -> components: what a stack registers and exports."""

from pathlib import Path

import pulumi

from components.checks import check_topology
from components.flow import ReplicationFlow, ReplicationFlowArgs
from components.problems import raise_errors
from components.resolved import resolve_flows
from components.validation import validation_document
from infra.settings import PROJECT, STACKS, StackSettings, check_secrets, check_stack, deployed_settings


def deploy(stacks: Path = STACKS) -> None:
    """Register every replication of the running stack and export what it tells."""
    settings = deployed_settings(stacks)
    raise_errors([*check_topology(settings.topology), *check_stack(settings)])
    _register(settings)


def _register(settings: StackSettings) -> None:
    flows = resolve_flows(settings.topology, settings.region, settings.values)
    raise_errors(check_secrets(settings, flows))
    config = pulumi.Config(PROJECT)
    secrets = {key: config.require_secret(key) for key in settings.secret_keys}
    components = {
        resolved.name: ReplicationFlow(
            resolved.name,
            ReplicationFlowArgs(
                flow=resolved.flow,
                clusters={resolved.flow.source: resolved.source, resolved.flow.target: resolved.target},
                strimzi=settings.topology.strimzi,
                secrets=secrets,
            ),
        )
        for resolved in flows
    }
    pulumi.export("replications", {name: component.outputs for name, component in components.items()})
    pulumi.export("validation", validation_document(settings.stack, flows))
