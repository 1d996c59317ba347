"""Serves what `replicate exporter` last saw as metric families; a scrape never causes a look."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import TypeAlias
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from prometheus_client import CollectorRegistry, make_wsgi_app, start_http_server
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from kafka_replication.components.changes.effect import Impact
from kafka_replication.components.contract import exported_series as series
from kafka_replication.components.contract.exported_series import ExportedSeries
from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.contract.published_verdict import PUBLISHED
from kafka_replication.components.flows.resolved import ResolvedFlow
from kafka_replication.infra.operate.status.document import (
    FlowStatus,
    GroupsStatus,
    Kind,
    LagStatus,
    LossesStatus,
    StackStatus,
    StatusDocument,
    VerdictStatus,
)
from kafka_replication.infra.operate.status.facts import LoginFacts
from kafka_replication.infra.review.comparison import Drift
from kafka_replication.infra.review.live_comparison import compare_with_cluster
from kafka_replication.infra.stack.session import OpenStack

#: Drift that other series report: states of connectors, and what the validation found.
_REPORTED = frozenset(
    {
        "connector-failed",
        "connector-state",
        "connector-without-task",
        "foreign-partitions",
        "foreign-topic",
        "not-ready",
        "validation-failed",
        "validation-unproven",
    }
)


def changed_by_hand(stack: OpenStack) -> Mapping[str, int]:
    """Count what somebody changed by hand, by flow; raises CannotRunError if the cluster does not answer.

    It lists no Secrets, because the right to list them is a right to read all of them.
    """
    return by_flow(compare_with_cluster(stack, lists_secrets=False).drift, stack.declared_flows)


def by_flow(drift: Iterable[Drift], flows: Iterable[ResolvedFlow]) -> Mapping[str, int]:
    """Count each flow's findings, with those of shared workers; an announced state counts once it has expired."""
    counts = Counter(finding.flow for finding in drift if _counts(finding))
    return {flow.name: sum(counts[part] for part in {flow.name, flow.workers, flow.expanded.owner}) for flow in flows}


def _counts(finding: Drift) -> bool:
    if finding.code == "temporary-state":
        return finding.severity is Impact.DATA
    return finding.code not in _REPORTED


#: Stack -> flow -> how many objects and fields somebody changed by hand. Stacks that could not be asked are missing.
DriftCounts: TypeAlias = Mapping[str, Mapping[str, int]]
#: A series, the values of its own labels, and its value.
Sample = tuple[ExportedSeries, tuple[str, ...], float]


def families(document: StatusDocument, worst: int, drift: DriftCounts = MappingProxyType({})) -> list[Metric]:
    """Return every metric of a look; only the `worst` partitions and groups of a flow have series of their own."""
    metrics = {exported: Metric(exported.name, exported.meaning, exported.type) for exported in series.ABOUT_FLOWS}
    for stack in document.stacks:
        for flow in stack.flows:
            about = dict(zip(series.FLOW_LABELS, (stack.stack, flow.name, flow.source, flow.target), strict=True))
            for of, labels, value in (*_samples(flow, worst), *_of_drift(drift.get(stack.stack), flow.name)):
                metrics[of].add_sample(of.name, about | dict(zip(of.more, labels, strict=True)), value)
    return [*times(document), *(metric for metric in metrics.values() if metric.samples)]


def times(document: StatusDocument) -> list[Metric]:
    """Return when the look began. An outdated look reports nothing else."""
    metric = Metric(series.LOOK_TIME.name, series.LOOK_TIME.meaning, series.LOOK_TIME.type)
    for stack in document.stacks:
        metric.add_sample(metric.name, {"stack": stack.stack}, datetime.fromisoformat(document.asked_at).timestamp())
    return [metric]


def not_asked(stack: StackStatus) -> Iterator[str]:
    """Yield the reasons why facts about the stack's flows are unknown, each once."""
    unasked = [flow for flow in stack.flows if flow.unasked]
    reasons = [reason.text for flow in unasked for reason in flow.reasons if reason.kind is Kind.UNASKED]
    logins = [login.why for flow in unasked for login in flow.logins if login.accepted is not False and login.why]
    yield from dict.fromkeys([*reasons, *logins])


def _samples(flow: FlowStatus, worst: int) -> Iterator[Sample]:
    if flow.could_fail_over or any(reason.kind is not Kind.UNASKED for reason in flow.reasons):
        yield series.COULD_FAIL_OVER, (), flow.could_fail_over
    for what in series.QUESTIONS:
        if what != series.DRIFT_QUESTION:
            yield series.UNANSWERED, (what,), what in flow.unasked
    for connector in flow.connectors or ():
        yield series.CONNECTOR_RUNNING, (connector.name,), connector.state == "RUNNING"
        yield series.RUNNING_TASKS, (connector.name,), connector.running_tasks
        yield series.FAILURES, (connector.name,), len(connector.failures)
    if flow.heartbeat_seconds is not None:
        yield series.HEARTBEAT_AGE, (), flow.heartbeat_seconds
    if flow.kept_seconds is not None:
        yield series.KEPT_AGE, (), flow.kept_seconds
    if flow.lag is not None:
        yield from _of_lag(flow.lag, worst)
    if flow.losses is not None:
        yield from _of_losses(flow.losses, worst)
    if flow.read_again is not None:
        yield from _of_groups(flow.read_again, worst)
    if "verdict" not in flow.unasked:
        yield from _of_verdict(flow.verdict)
    for login in flow.logins:
        yield from _of_login(login)


def _of_login(login: LoginFacts) -> Iterator[Sample]:
    if login.accepted is not None:
        yield series.LOGIN_REFUSED, (login.cluster,), not login.accepted
    for certificate in login.certificates:
        expires = datetime.fromisoformat(certificate.expires).timestamp()
        yield series.CERTIFICATE_EXPIRY, (login.cluster, certificate.secret, certificate.key), expires


def _of_drift(counts: Mapping[str, int] | None, flow: str) -> Iterator[Sample]:
    yield series.UNANSWERED, (series.DRIFT_QUESTION,), counts is None
    if counts is not None:
        yield series.DRIFT, (), counts.get(flow, 0)


def _of_lag(lag: LagStatus, worst: int) -> Iterator[Sample]:
    yield series.PARTITIONS, (), lag.partitions
    yield series.PARTITIONS_BEHIND, (), lag.behind
    yield series.MISSING_TOPICS, (), len(lag.missing_topics)
    yield series.LAG_RECORDS, (), lag.records
    yield series.SOURCE_ENDS, (), lag.ends
    if lag.seconds is not None or not lag.behind:
        yield series.LAG_SECONDS, (), lag.seconds or 0
    # By age, so that a stalled partition comes first sooner or later, however few records wait in it.
    longest = sorted(lag.most, key=lambda behind: (-(behind.seconds or 0), -behind.records, behind.partition))[:worst]
    for partition in longest:
        topic, _, number = partition.partition.rpartition("-")
        yield series.PARTITION_LAG_RECORDS, (topic, number), partition.records
        yield series.PARTITION_POSITION, (topic, number), partition.position
        if partition.seconds is not None:
            yield series.PARTITION_LAG_SECONDS, (topic, number), partition.seconds
    yield series.OTHER_PARTITIONS_LAG_RECORDS, (), lag.records - sum(partition.records for partition in longest)


def _of_losses(losses: LossesStatus, worst: int) -> Iterator[Sample]:
    yield series.NEAR_DELETION, (), losses.near
    yield series.LOST_OFFSETS, (), losses.at_least
    yield series.LOST_OFFSETS_AT_MOST, (), losses.at_most
    stopped = sum(stop.certain for stop in losses.stopped)
    yield series.STOPPED_PARTITIONS, (), stopped + len(losses.unstarted)
    for replaced in losses.replaced:
        yield series.RECREATED_TOPICS, (replaced.cluster,), len(replaced.recreated)
        yield series.CUT_PARTITIONS, (replaced.cluster,), len(replaced.cut)
    for deletion in losses.deletions[:worst]:
        topic, _, number = deletion.partition.rpartition("-")
        yield series.DELETION_SECONDS, (topic, number), deletion.seconds


def _of_groups(groups: GroupsStatus, worst: int) -> Iterator[Sample]:
    yield series.GROUPS, (), groups.groups
    yield series.READ_AGAIN, (), groups.records
    yield series.GROUPS_WITHOUT_POSITION, (), sum(bool(group.without_position) for group in groups.most)
    most = sorted(groups.most, key=lambda group: (-group.records, group.name))[:worst]
    for group in most:
        yield series.GROUP_READ_AGAIN, (group.name,), group.records
    yield series.OTHER_GROUPS_READ_AGAIN, (), groups.records - sum(group.records for group in most)


def _of_verdict(verdict: VerdictStatus | None) -> Iterator[Sample]:
    state = verdict.verdict if verdict is not None else series.NO_VERDICT
    for outcome in (*PUBLISHED, series.NO_VERDICT):
        yield series.VERDICT, (str(outcome),), outcome == state
    if verdict is not None:
        yield series.VERDICT_TIME, (), datetime.fromisoformat(verdict.time).timestamp()
        yield series.VERDICT_CURRENT, (), verdict.current


#: A look without any answer takes at most this long, because every question has a deadline.
_LOOK_SECONDS = 60
#: This many looks may be missed before the newest one no longer counts.
_INTERVALS = 3
#: After this many times as long without the end of a look, a look hangs. The first one may take longer than others.
_HUNG = 4


@dataclass(frozen=True)
class _Look:
    ended: float
    values: list[Metric]
    times: list[Metric]


class Newest(Collector):
    """The result of the newest look. If no other look follows in time, only the time of this one is still served."""

    def __init__(self, worst: int, every_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._worst, self._clock = worst, clock
        self._believed_seconds = _INTERVALS * every_seconds + _LOOK_SECONDS
        self._look: _Look | None = None
        self._began = clock()

    def answers(self, path: str) -> bool | None:
        """Return what a probe learns at this path; None if it is no path for probes."""
        age = self._clock() - (self._look.ended if self._look is not None else self._began)
        if path == series.ALIVE:
            return age <= _HUNG * self._believed_seconds
        if path == series.READY:
            return self._look is not None and age <= self._believed_seconds
        return None

    def take(self, document: StatusDocument, drift: DriftCounts = MappingProxyType({})) -> None:
        """Serve this look from now on."""
        self._look = _Look(self._clock(), families(document, self._worst, drift), times(document))

    def collect(self) -> list[Metric]:
        """Return the metrics of one scrape."""
        look = self._look
        if look is None:
            return []
        return look.values if self._clock() - look.ended <= self._believed_seconds else look.times


@contextmanager
def serving(newest: Newest, host: str, port: int) -> Iterator[int]:
    """Serve over HTTP while the body runs; yields the port, which 0 lets the system choose. Raises CannotRunError."""
    registry = CollectorRegistry()
    registry.register(newest)
    metrics: WSGIApplication = make_wsgi_app(registry)

    def answer(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        well = newest.answers(environ["PATH_INFO"])
        if well is None:
            return metrics(environ, start)
        start("200 OK" if well else "503 Service Unavailable", [])
        return [b""]

    try:
        server, thread = start_http_server(port, host, registry)
        server.set_app(answer)
    except OSError as error:
        raise CannotRunError(
            "cannot-listen",
            f"cannot listen: {(error.strerror or str(error)).lower()}",
            f"{host}:{port}",
            "Prometheus scrapes the exporter at this address.",
            "stop what listens there, or name another address of this machine with `--listen HOST:PORT`.",
        ) from None
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
