"""The runbook of a stack: one Markdown page from the templates of its chapters. It asks no cluster."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

from jinja2 import Environment, PackageLoader, StrictUndefined

from components.contract.parameters import FlowParameters
from components.contract.problems import RefusedError
from components.contract.published_verdict import PROOF_HOURS
from components.flows.resolved import ResolvedFlow
from components.kafka.replication_policy import SIDES
from components.render.acls import flows_without_addresses
from components.render.heartbeat_workers import heartbeat_workers
from components.render.job_parameters import flow_parameters
from infra.operate.connectors.changes import ConnectorPlace, connector_places
from infra.operate.move.facts import Mode
from infra.operate.move.failback import refuse_unsuited_back
from infra.operate.move.failover import refuse_unsuited
from infra.operate.rehearse.credentials import configured_credentials, credential_places, has_own_secrets
from infra.operate.rehearse.drill_record import DrillRecord, read_record
from infra.stack.environment import stack_environment
from infra.stack.settings import StackSettings
from infra.stack.stack_checks import raise_mistakes
from infra.stack.validation_job import in_cluster


@dataclass(frozen=True)
class RunbookFlow:
    """A flow as the templates use it. `facts` have sentences in the place of unknown addresses.

    `drill` is the last one. The refusals say why groups of the flow cannot be moved.
    """

    resolved: ResolvedFlow
    facts: FlowParameters
    drill: DrillRecord | None
    connectors: tuple[ConnectorPlace, ...]
    heartbeat_workers: ResolvedFlow
    topics_on_target: list[str]
    failover_refused: RefusedError | None
    failback_refused: RefusedError | None


def runbook(settings: StackSettings, topology_file: str) -> str:
    """Return the page; no line of it holds a credential. `topology_file` is the file's path in the project.

    Raises ReplicationError for a topology with mistakes.
    """
    raise_mistakes(settings)
    topology = settings.topology
    resolved = flows_without_addresses(topology, settings.region)
    aliases = sorted({flow.alias(side) for flow in resolved for side in SIDES})
    exactly_once: dict[str, ResolvedFlow] = {}
    for flow in resolved:
        exactly_once.setdefault(flow.expanded.where("exactlyOnce"), flow)
    environment = Environment(
        loader=PackageLoader("infra.operate.rehearse"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"configured_credentials": configured_credentials, "has_own_secrets": has_own_secrets}
    text = environment.get_template("page.md.j2").render(
        stack=settings.stack,
        topology_file=topology_file,
        on_this_machine=stack_environment(settings).on_this_machine,
        flows=[_runbook_flow(settings, flow) for flow in resolved],
        clusters={alias: topology.clusters[alias] for alias in aliases},
        credentials=credential_places(resolved),
        exactly_once=exactly_once,
        validation_job=in_cluster(settings.validation),
        proof_hours=PROOF_HOURS,
        numbers=lambda: count(1).__next__,
    )
    return re.sub(r"\n{3,}", "\n\n", text).rstrip("\n") + "\n"


def _runbook_flow(settings: StackSettings, flow: ResolvedFlow) -> RunbookFlow:
    facts = flow_parameters(flow)
    ends = (flow.alias("source"), flow.alias("target"))
    reverse = [
        other.name
        for other in flows_without_addresses(settings.topology)
        if (other.alias("target"), other.alias("source")) == ends
    ]
    policy = facts.replication_policy
    return RunbookFlow(
        resolved=flow,
        facts=facts,
        drill=read_record(settings, flow.name),
        connectors=tuple(connector_places(flow)),
        heartbeat_workers=heartbeat_workers(flow),
        topics_on_target=sorted({name for topic in facts.topics for name in (policy.remote(topic), topic)}),
        failover_refused=_refusal(lambda: refuse_unsuited(facts, Mode.PLANNED)),
        failback_refused=_refusal(lambda: refuse_unsuited_back(facts, reverse)),
    )


def _refusal(refuse: Callable[[], None]) -> RefusedError | None:
    try:
        refuse()
    except RefusedError as error:
        return error
    return None
