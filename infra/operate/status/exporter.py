"""What `replicate exporter` reports for a look: the document of `replicate status` as metric families. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import TypeAlias

from prometheus_client.core import Metric

from components.contract import exported_series as series
from components.contract.exported_series import Series
from components.contract.published_verdict import PUBLISHED
from infra.operate.status.document import (
    ConnectorStatus,
    FlowStatus,
    GroupsStatus,
    Kind,
    LagStatus,
    LoginStatus,
    PartitionStatus,
    StackStatus,
    StatusDocument,
    VerdictStatus,
)

#: Stack -> flow -> how many objects and fields somebody changed by hand. Stacks that could not be asked are missing.
Drift: TypeAlias = Mapping[str, Mapping[str, int]]
#: A series, the values of its own labels, and its value.
Sample = tuple[Series, tuple[str, ...], float]


def families(document: StatusDocument, worst: int, drift: Drift = MappingProxyType({})) -> list[Metric]:
    """Every metric of a look. In each flow, only the `worst` partitions and groups have their own series. `drift`
    contains the stacks that could be compared with their clusters.
    """
    found = {each: Metric(each.name, each.meaning, each.type) for each in series.ABOUT_FLOWS}
    for stack in document.stacks:
        for flow in stack.flows:
            about = dict(
                zip(series.FLOW_LABELS, (stack.stack, flow.name, flow.source, flow.target), strict=True),
            )
            for of, labels, value in (*_samples(flow, worst), *_of_drift(drift.get(stack.stack), flow.name)):
                found[of].add_sample(of.name, about | dict(zip(of.more, labels, strict=True)), value)
    return [*times(document), *(metric for metric in found.values() if metric.samples)]


def times(document: StatusDocument) -> list[Metric]:
    """When the look began. An outdated look reports nothing else."""
    found = Metric(series.LOOKED.name, series.LOOKED.meaning, series.LOOKED.type)
    for stack in document.stacks:
        found.add_sample(found.name, {"stack": stack.stack}, datetime.fromisoformat(document.asked_at).timestamp())
    return [found]


def not_asked(stack: StackStatus) -> Iterator[str]:
    """The reasons why facts about the stack's flows are unknown, each once."""
    unasked = [flow for flow in stack.flows if flow.unasked]
    reasons = [each.text for flow in unasked for each in flow.reasons if each.kind is Kind.UNASKED]
    logins = [each.why for flow in unasked for each in flow.logins if each.accepted is not False and each.why]
    yield from dict.fromkeys([*reasons, *logins])


def _samples(flow: FlowStatus, worst: int) -> Iterator[Sample]:
    if flow.could_fail_over or any(each.kind is not Kind.UNASKED for each in flow.reasons):
        yield series.COULD_FAIL_OVER, (), flow.could_fail_over
    for what in series.QUESTIONS:
        if what != series.DRIFT_QUESTION:
            yield series.UNASKED, (what,), what in flow.unasked
    for connector in flow.connectors or ():
        yield from _of_connector(connector)
    if flow.heartbeat_seconds is not None:
        yield series.HEARTBEAT_AGE, (), flow.heartbeat_seconds
    if flow.lag is not None:
        yield from _of_lag(flow.lag, worst)
    if flow.read_again is not None:
        yield from _of_groups(flow.read_again, worst)
    if "verdict" not in flow.unasked:
        yield from _of_verdict(flow.verdict)
    for login in flow.logins:
        yield from _of_login(login)


def _of_login(login: LoginStatus) -> Iterator[Sample]:
    if login.accepted is not None:
        yield series.LOGIN_REFUSED, (login.cluster,), not login.accepted
    for each in login.certificates:
        expires = datetime.fromisoformat(each.expires).timestamp()
        yield series.CERTIFICATE_EXPIRY, (login.cluster, each.secret, each.key), expires


def _of_drift(found: Mapping[str, int] | None, flow: str) -> Iterator[Sample]:
    yield series.UNASKED, (series.DRIFT_QUESTION,), found is None
    if found is not None:
        yield series.DRIFT, (), found.get(flow, 0)


def _of_connector(connector: ConnectorStatus) -> Iterator[Sample]:
    yield series.CONNECTOR_RUNNING, (connector.name,), connector.state == "RUNNING"
    yield series.RUNNING_TASKS, (connector.name,), connector.running_tasks
    yield series.FAILURES, (connector.name,), len(connector.failures)


def _of_lag(lag: LagStatus, worst: int) -> Iterator[Sample]:
    yield series.PARTITIONS, (), lag.partitions
    yield series.PARTITIONS_BEHIND, (), lag.behind
    yield series.MISSING_TOPICS, (), len(lag.missing_topics)
    yield series.LAG_RECORDS, (), lag.records
    yield series.SOURCE_ENDS, (), lag.ends
    if lag.seconds is not None or not lag.behind:
        yield series.LAG_SECONDS, (), lag.seconds or 0
    longest = sorted(lag.most, key=_longest_behind)[:worst]
    for each in longest:
        topic, _, number = each.partition.rpartition("-")
        yield series.PARTITION_LAG_RECORDS, (topic, number), each.records
        yield series.PARTITION_POSITION, (topic, number), each.position
        if each.seconds is not None:
            yield series.PARTITION_LAG_SECONDS, (topic, number), each.seconds
    yield series.OTHER_PARTITIONS_LAG_RECORDS, (), lag.records - _sum(longest)


def _longest_behind(each: PartitionStatus) -> tuple[float, int, str]:
    """A stalled partition comes first sooner or later, however few records wait in it."""
    return -(each.seconds or 0), -each.records, each.partition


def _of_groups(groups: GroupsStatus, worst: int) -> Iterator[Sample]:
    yield series.GROUPS, (), groups.groups
    yield series.READ_AGAIN, (), groups.records
    yield series.GROUPS_WITHOUT_POSITION, (), sum(bool(each.without_position) for each in groups.most)
    most = sorted(groups.most, key=lambda each: (-each.records, each.name))[:worst]
    for each in most:
        yield series.GROUP_READ_AGAIN, (each.name,), each.records
    yield series.OTHER_GROUPS_READ_AGAIN, (), groups.records - sum(each.records for each in most)


def _sum(partitions: Sequence[PartitionStatus]) -> int:
    return sum(each.records for each in partitions)


def _of_verdict(verdict: VerdictStatus | None) -> Iterator[Sample]:
    state = verdict.verdict if verdict is not None else series.NO_VERDICT
    for each in (*PUBLISHED, series.NO_VERDICT):
        yield series.VERDICT, (str(each),), each == state
    if verdict is not None:
        yield series.VERDICT_TIME, (), datetime.fromisoformat(verdict.time).timestamp()
        yield series.VERDICT_CURRENT, (), verdict.current
