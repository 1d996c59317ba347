"""A state machine over a whole flow: connectors that stop, heartbeats of another flow, partitions that are added."""

import copy
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kafka_replication.components.contract.parameters import ConnectorParameters
from kafka_replication.components.contract.report import CheckOutcome, Finding, FindingSeverity, Verdict, worst
from kafka_replication.components.kafka.connectors import CONNECTOR_CLASSES, ConnectorRole
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.spark.checks import connectors, heartbeats, topics
from kafka_replication.spark.checks.heartbeats import HeartbeatArrival
from tests.model.logs import Logs, codes, missing, out_of_order
from tests.model.partition import ORDERS
from tests.spark.documents import a_flow

FLOW = a_flow(refreshTopicsSeconds=5)
SECONDS = st.integers(1, 60)
ROLES: tuple[ConnectorRole, ...] = tuple(CONNECTOR_CLASSES)
#: What Kubernetes may report; None if somebody has deleted the object.
STATES = ("RUNNING", "STOPPED", "PAUSED", "FAILED", None)
_SEVERITIES = {FindingSeverity.FAIL: Verdict.FAIL, FindingSeverity.ERROR: Verdict.ERROR}


@dataclass
class Working:
    """The flow, and another flow in the same direction with the same heartbeats.

    `discovered` is the number of partitions on the target. Times are in seconds; `times` holds the times of each
    partition's records, by offset.
    """

    partitions: list[Logs] = field(default_factory=lambda: [Logs(0)])
    times: list[list[int]] = field(default_factory=lambda: [[]])
    added: list[int] = field(default_factory=lambda: [0])
    discovered: int = 1
    states: dict[ConnectorRole, str | None] = field(default_factory=lambda: dict.fromkeys(ROLES, "RUNNING"))
    foreign: bool = False
    clock: int = 0
    beats: list[int] = field(default_factory=lambda: [0])

    def runs(self, role: ConnectorRole) -> bool:
        return self.states[role] == "RUNNING"

    def wait(self, seconds: int) -> None:
        """Each second a running flow emits a heartbeat, and a running flow replicates it. Topics refresh every 5 s."""
        for _ in range(seconds):
            self.clock += 1
            if (self.runs("heartbeat") or self.foreign) and (self.runs("source") or self.foreign):
                self.beats.append(self.clock)
            if self.runs("source"):
                old = sum(self.clock - each >= FLOW.refresh_topics_seconds for each in self.added)
                self.discovered = max(self.discovered, old)

    def produce(self, number: int, records: int) -> None:
        self.partitions[number].produce(records)
        self.times[number] += [self.clock] * records

    def replicate(self, offsets: int) -> None:
        if self.runs("source"):
            for each in self.partitions[: self.discovered]:
                each.replicate(offsets)

    def add_partition(self) -> None:
        self.partitions.append(Logs(0))
        self.times.append([])
        self.added.append(self.clock)

    def bring(self, role: ConnectorRole, state: str | None) -> None:
        """A source connector that starts looks for topics at once."""
        self.states[role] = state
        if role == "source" and state == "RUNNING":
            self.discovered = len(self.partitions)

    def caught_up(self) -> "Working":
        """The same flow after the time that the job gives it."""
        done = copy.deepcopy(self)
        done.wait(1)
        done.replicate(max(len(each.source) for each in done.partitions))
        return done


def findings(flow: Working) -> list[Finding]:
    """The job's findings on connectors, heartbeats and partitions, without those on records."""
    return [*_connectors(flow).findings, *_heartbeats(flow).findings, *_absent(flow)]


def verdict(flow: Working) -> Verdict:
    """The verdict on these findings and on the records of the partitions that the target has."""
    found = [(each.code, each.severity) for each in findings(flow)]
    for each in flow.partitions[: flow.discovered]:
        found += codes(each).items()
    return worst(_SEVERITIES[severity] for _, severity in found if severity in _SEVERITIES)


def _connectors(flow: Working) -> CheckOutcome:
    found = {_connector(role): connectors.ConnectorObject(_object(role, state)) for role, state in flow.states.items()}
    return connectors.judge(FLOW.name, FLOW.namespace, found)


def _connector(role: ConnectorRole) -> ConnectorParameters:
    name = f"orders-{role}"
    return ConnectorParameters(
        role=role, connector=name, api_version="kafka.strimzi.io/v1", kind="KafkaConnector", object_name=name
    )


def _object(role: ConnectorRole, state: str | None) -> dict[str, Any] | None:
    """A KafkaConnector as the operator reports it. A stopped connector has no task; a failed connector has a failed
    task."""
    if state is None:
        return None
    tasks = [] if state == "STOPPED" else [{"id": 0, "state": state}]
    of_connector = {"state": "RUNNING" if state == "FAILED" else state}
    status = {"name": f"orders-{role}", "connector": of_connector, "tasks": tasks}
    return {"metadata": {"generation": 1}, "status": {"observedGeneration": 1, "connectorStatus": status}}


def _heartbeats(flow: Working) -> CheckOutcome:
    beats = [HeartbeatArrival(at * 1000, 0, offset) for offset, at in enumerate(flow.beats)]
    return heartbeats.judge(FLOW.heartbeats, beats, heartbeats.Observation(), flow.clock * 1000)


def _absent(flow: Working) -> list[Finding]:
    missing = range(flow.discovered, len(flow.partitions))
    logs = {TopicPartition(ORDERS.topic, each): OffsetRange(0, len(flow.times[each])) for each in missing}
    past = flow.clock - FLOW.refresh_topics_seconds
    since = {each: _first_since(flow.times[each.partition], past) for each in logs}
    young = topics.young_partitions(logs, since)
    policy = FLOW.replication_policy
    here, there = {ORDERS.topic: len(flow.partitions)}, {policy.remote(ORDERS.topic): flow.discovered}
    return list(topics.absent_partitions(here, there, policy, young, FLOW.refresh_topics_seconds))


def _first_since(times: list[int], past: float) -> int:
    """Kafka's answer to a search by time: -1 if every record is older."""
    return next((offset for offset, at in enumerate(times) if at >= past), -1)


class Flow(RuleBasedStateMachine):
    """What producers, administrators and another flow in the same direction may do."""

    def __init__(self) -> None:
        super().__init__()
        self.flow = Working()

    @rule(data=st.data(), records=st.integers(1, 12))
    def produce(self, data: Any, records: int) -> None:
        self.flow.produce(data.draw(st.integers(0, len(self.flow.partitions) - 1)), records)

    @rule(offsets=st.integers(1, 30))
    def replicate(self, offsets: int) -> None:
        self.flow.replicate(offsets)

    @rule(seconds=SECONDS)
    def wait(self, seconds: int) -> None:
        self.flow.wait(seconds)

    @rule()
    def add_partition(self) -> None:
        self.flow.add_partition()

    @rule(role=st.sampled_from(ROLES), state=st.sampled_from(STATES))
    def bring(self, role: ConnectorRole, state: str | None) -> None:
        self.flow.bring(role, state)

    @rule()
    def start(self) -> None:
        """Somebody resumes everything."""
        for role in ROLES:
            self.flow.bring(role, "RUNNING")

    @rule(foreign=st.booleans())
    def run_other_flow(self, foreign: bool) -> None:
        """Start or stop the other flow, which has the same heartbeats."""
        self.flow.foreign = foreign

    @invariant()
    def what_does_not_work_does_not_pass(self) -> None:
        flow = self.flow
        if verdict(flow) is not Verdict.PASS:
            return
        assert all(map(flow.runs, ROLES)), f"{flow.states} passes"
        assert flow.discovered == len(flow.partitions), "a partition is not replicated"
        assert not any(map(missing, flow.partitions)), "records are missing"
        assert not any(map(out_of_order, flow.partitions)), "records are out of order"

    @invariant()
    def what_works_does_not_fail(self) -> None:
        flow = self.flow.caught_up()
        if all(map(flow.runs, ROLES)):
            failed = [each.message for each in findings(flow) if each.severity is FindingSeverity.FAIL]
            assert not failed, failed
            assert verdict(flow) is not Verdict.FAIL

    @invariant()
    def a_connector_that_does_not_run_is_named(self) -> None:
        said = "\n".join(each.message for each in findings(self.flow) if each.severity is FindingSeverity.FAIL)
        for role in ROLES:
            assert self.flow.runs(role) or f"orders-{role}" in said, f"nobody says that {role} does not run"
