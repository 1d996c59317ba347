"""Reads what Kubernetes reports about a stack's flows: the operator's reports, and published verdicts."""

from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from datetime import datetime
from typing import TypeAlias

from kafka_replication.components.contract.evidence import PublishedPositions, read_positions
from kafka_replication.components.contract.problems import NoAnswer
from kafka_replication.components.contract.published_verdict import (
    History,
    config_map_name,
    entries,
    read_history,
    read_topic_ids,
    read_verdict,
)
from kafka_replication.components.contract.report import Verdict
from kafka_replication.components.contract.temporary_states import temporary_states
from kafka_replication.components.flows.operators import PAUSE
from kafka_replication.components.flows.resolved import ResolvedFlow, flow_digest
from kafka_replication.components.kafka.connectors import failures
from kafka_replication.infra.kubernetes.api import ApiError, KubernetesApi, Object, Reference, annotations_of
from kafka_replication.infra.kubernetes.readiness import why_not_ready
from kafka_replication.infra.operate.connectors.changes import ConnectorPlace, connector_in, connector_places
from kafka_replication.infra.operate.status.facts import ConnectorFacts, VerdictFacts

#: Objects by their address: None for one that does not exist.
Objects: TypeAlias = Mapping[Reference, Object | NoAnswer | None]


def needed_objects(flows: Iterable[ResolvedFlow]) -> list[Reference]:
    """Return the address of every object that the status of the flows needs."""
    references = [place.resource for flow in flows for place in connector_places(flow)]
    references += verdict_references(flows)
    return list(dict.fromkeys(references))


def read_objects(
    api: KubernetesApi, wanted: list[Reference], pool: Executor
) -> dict[Reference, Object | NoAnswer | None]:
    """Get every object; if the cluster does not answer the first request, the others are not sent."""
    if not wanted:
        return {}
    first = _get(api, wanted[0])
    if unreachable({wanted[0]: first}):
        return dict.fromkeys(wanted, first)
    rest = pool.map(lambda reference: _get(api, reference), wanted[1:])
    return dict(zip(wanted, (first, *rest), strict=True))


def unreachable(objects: Objects) -> NoAnswer | None:
    """Return why Kubernetes does not answer at all; None if it does."""
    answers = (answer for answer in objects.values() if isinstance(answer, Unreachable))
    return next(answers, None)


class Unreachable(NoAnswer):
    """The API server did not answer."""


def _get(api: KubernetesApi, wanted: Reference) -> Object | NoAnswer | None:
    try:
        return api.get(wanted)
    except ApiError as error:
        if error.unreachable:
            return Unreachable(error.message)
        return NoAnswer(f"Kubernetes answers {error.status} {error.reason} for {wanted}")


def connector_facts(flow: ResolvedFlow, objects: Objects) -> tuple[ConnectorFacts, ...] | NoAnswer:
    """Return what the operator reports about a flow's connectors; NoAnswer if any of them could not be asked."""
    facts = []
    for place in connector_places(flow):
        live = objects[place.resource]
        if isinstance(live, NoAnswer):
            return live
        facts.append(connector_of(place, live))
    return tuple(facts)


def connector_of(place: ConnectorPlace, live: Object | None) -> ConnectorFacts:
    """Return what the operator reports about a connector; None is a resource that does not exist."""
    where = str(place.resource)
    if live is None:
        return ConnectorFacts(place.name, place.role, where, "running", "", problem=f"{where} does not exist")
    wanted, status = connector_in(place, live)
    announced = temporary_states(live).get(place.name)
    failed = tuple(failures(status))
    problem = "" if failed else why_not_ready(where, live)
    if annotations_of(live).get(PAUSE) == "true":
        problem = f"the annotation {PAUSE} stops the operator, so its report is old"
    return ConnectorFacts(
        place.name,
        place.role,
        where,
        wanted,
        (status.get("connector") or {}).get("state", ""),
        tuple(str(task.get("state", "")) for task in status.get("tasks") or []),
        failed,
        problem,
        # A deployment restores the state but leaves the announcement, which then no longer means anything.
        announced if announced is not None and announced.state == wanted else None,
    )


def verdict_facts(flow: ResolvedFlow, objects: Objects) -> VerdictFacts | NoAnswer | None:
    """Return the newest published verdict of a flow."""
    target = _verdict_reference(flow)
    live = objects[target]
    if live is None or isinstance(live, NoAnswer):
        return live
    try:
        published = read_verdict(entries(live))
        at = datetime.fromisoformat(published.time)
    except (KeyError, TypeError, ValueError):
        return NoAnswer(f"the published validation in {target} cannot be read: it was edited by hand")
    failed = tuple(check.name for check in published.checks if check.verdict is not Verdict.PASS)
    accepted = {acceptance.finding for acceptance in flow.settings.validation.accept}
    current = published.digest == flow_digest(flow) and published.accepted <= accepted
    return VerdictFacts(published.verdict, at, current, failed, read_topic_ids(entries(live)))


def verdict_references(flows: Iterable[ResolvedFlow]) -> list[Reference]:
    """Return the address of the published verdict of each flow."""
    return [_verdict_reference(flow) for flow in flows]


def verdict_history(flow: ResolvedFlow, objects: Objects) -> History | NoAnswer:
    """Return the verdicts that were published about a flow; none if it has never been validated."""
    live = objects[_verdict_reference(flow)]
    return live if isinstance(live, NoAnswer) else read_history(entries(live or {}))


def published_positions(flow: ResolvedFlow, objects: Objects) -> PublishedPositions | str:
    """Return the positions that were published about the model declared now, or why none can be used."""
    live = objects[_verdict_reference(flow)]
    if isinstance(live, NoAnswer):
        return live.reason
    try:
        published = read_positions(entries(live or {}))
    except ValueError as error:
        return f"the published positions cannot be used: {error}"
    if published is None:
        return "no validation has published any"
    other = f"the positions published at {published.time} belong to another model"
    return published if published.digest == flow_digest(flow) else other


def _verdict_reference(flow: ResolvedFlow) -> Reference:
    return Reference("v1", "ConfigMap", flow.namespace, config_map_name(flow.name))
