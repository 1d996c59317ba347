"""Every check of the job, as a table. The README says how to add one. Data that several checks of a flow need is
read once for all of them.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from kafka_replication.components.clients.errors import ClusterError
from kafka_replication.components.contract.parameters import FlowParameters
from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.contract.report import CheckName, CheckOutcome, Depth
from kafka_replication.components.kafka.cycles import Cycle, cycles_of_topics
from kafka_replication.components.kafka.offset_syncs import SyncHistory
from kafka_replication.components.kafka.positions import TopicPartition
from kafka_replication.spark.checks.access import check_access
from kafka_replication.spark.checks.connector_progress import read_progress, with_progress
from kafka_replication.spark.checks.connectors import judge_when_reported
from kafka_replication.spark.checks.division import check_division, parts_of
from kafka_replication.spark.checks.heartbeats import Observer, check_heartbeats, with_shared
from kafka_replication.spark.checks.loops import Loop, find_loops, without_loops
from kafka_replication.spark.checks.offsets.check import check_offsets
from kafka_replication.spark.checks.offsets.readings import SyncsRead, read_syncs
from kafka_replication.spark.checks.parity.check import check_parity
from kafka_replication.spark.checks.parity.comparison import RecordComparison, compared
from kafka_replication.spark.checks.parity.evidence import Earlier, topics_now, why_not_flow
from kafka_replication.spark.checks.parity.first_pass import FirstPass, read_first_pass
from kafka_replication.spark.checks.parity.quick import BothLogs, check_newest, read_logs
from kafka_replication.spark.checks.retention import check_retention
from kafka_replication.spark.checks.topics import (
    known_ids,
    recreated_findings,
    recreated_topics,
    topic_setting_findings,
)
from kafka_replication.spark.read.flows import OpenFlow
from kafka_replication.spark.read.kubernetes import Before, published_before, read_objects


@dataclass(frozen=True)
class SharedReadings:
    """One flow among the `flows` of its document. `without_loops` is the flow without its looping topics."""

    flow: OpenFlow
    flows: Sequence[FlowParameters]
    catch_up_seconds: float
    loops: Sequence[Loop]
    without_loops: OpenFlow
    syncs_read: SyncsRead
    observer: Observer
    kubeconfig: Path | None = None
    depth: Depth = Depth.FULL
    rings: Mapping[str, Cycle] = field(default_factory=dict)

    @property
    def syncs(self) -> Mapping[TopicPartition, SyncHistory]:
        """Return the offset syncs of the first reading, by partition of the source."""
        return self.syncs_read.found

    @cached_property
    def logs(self) -> BothLogs:
        """Return both sides' logs, for a quick validation."""
        return read_logs(self.without_loops, self.catch_up_seconds, self.syncs)

    @cached_property
    def before(self) -> Before:
        """Return what the newest published verdict says."""
        return published_before(self.flow.parameters, self.kubeconfig)

    @cached_property
    def earlier(self) -> Earlier:
        """Return what earlier validations have proven, which this one need not compare again."""
        flow = self.without_loops
        now = topics_now(flow)
        if self.depth is not Depth.INCREMENTAL:
            return Earlier(now=now)
        evidence = self.before.evidence
        why_not = why_not_flow(flow.parameters, evidence, self.before.why_not)
        return Earlier(evidence, why_not, now)

    @property
    def reached_depth(self) -> Depth:
        """Return the depth that was reached: without anything proven earlier, everything is compared."""
        if self.depth is not Depth.INCREMENTAL:
            return self.depth
        first_pass = self._first_pass
        return Depth.INCREMENTAL if isinstance(first_pass, FirstPass) and first_pass.proven else Depth.FULL

    @property
    def first_pass(self) -> FirstPass:
        """Return what was read of both sides, or raise the error that prevented it, without a second try."""
        if isinstance(self._first_pass, CannotRunError | ClusterError):
            raise self._first_pass
        return self._first_pass

    @cached_property
    def _first_pass(self) -> FirstPass | CannotRunError | ClusterError:
        try:
            return read_first_pass(self.without_loops, self.catch_up_seconds, self.syncs, self.earlier)
        except (CannotRunError, ClusterError) as error:
            return error

    @property
    def comparison(self) -> RecordComparison | None:
        """Return the comparison of the partitions that differ, record by record; None if the flow's records cannot be
        compared. Raises the error that prevented it, without trying a second time.
        """
        if isinstance(self._comparison, CannotRunError | ClusterError):
            raise self._comparison
        return self._comparison

    @cached_property
    def _comparison(self) -> RecordComparison | CannotRunError | ClusterError | None:
        flow = self.without_loops
        if not flow.parameters.comparable:
            return None
        try:
            anew = recreated_topics(self.before.topic_ids, flow.topic_ids, flow.parameters.source.alias)
            return compared(flow, self.first_pass, self.catch_up_seconds, self.syncs, anew)
        except (CannotRunError, ClusterError) as error:
            return error


@contextmanager
def shared_readings(
    flow: OpenFlow,
    flows: Sequence[FlowParameters],
    catch_up_seconds: float,
    kubeconfig: Path | None = None,
    depth: Depth = Depth.FULL,
) -> Iterator[SharedReadings]:
    """Find loops, read the offset syncs, and observe heartbeats until the end. Finding loops means reading whole
    topics, which a quick validation does not do.
    """
    rings = cycles_of_topics(flow.parameters.leg, [chosen.leg for chosen in flows], flow.partitions)
    loops = find_loops(flow, rings) if depth is not Depth.QUICK else []
    looped_out = without_loops(flow, loops)
    # Read before anything waits: by the end of the wait, the checkpoints must have caught up with these syncs.
    flow.progress(f"{flow.name}: reading offset syncs")
    syncs = read_syncs(looped_out)
    observer = Observer(flow.target, flow.parameters.heartbeats, catch_up_seconds)
    with observer if flow.parameters.heartbeats.enabled else nullcontext():
        yield SharedReadings(
            flow, flows, catch_up_seconds, loops, looped_out, syncs, observer, kubeconfig, depth, rings
        )


def check_connectors(read: SharedReadings) -> CheckOutcome:
    """Ask Kubernetes whether the flow's own connectors run."""
    flow = read.flow.parameters
    read.flow.progress(f"{flow.name}: asking whether its connectors run")
    outcome = judge_when_reported(
        flow.name, flow.namespace, lambda: read_objects(flow, read.kubeconfig), read.catch_up_seconds
    )
    return with_progress(outcome, read_progress(read.without_loops, read.syncs), time.time())


def _check_parity(read: SharedReadings) -> CheckOutcome:
    flow = read.without_loops
    if read.depth is Depth.QUICK:
        outcome = check_newest(flow, read.logs, read.catch_up_seconds, read.syncs, len(read.rings))
    else:
        outcome = check_parity(flow, read.first_pass, read.comparison, read.loops, read.earlier.now)
    before = read.before.topic_ids
    return replace(
        outcome,
        findings=(
            *outcome.findings,
            *topic_setting_findings(flow),
            *recreated_findings(before, flow.topic_ids),
        ),
        counts={**outcome.counts, "topicIdsCompared": known_ids(before, flow.topic_ids)},
    )


_MARKERS_NOT_COUNTED = (
    "not checked: losses that transaction markers hide (each marker between two offset syncs can hide one lost record)"
)


def _check_retention(read: SharedReadings) -> CheckOutcome:
    """If the source has removed anything, judge by newer offset syncs than the other checks: a record replicated after
    those were read would hide the gap in front of it.
    """
    flow, quick = read.without_loops, read.depth is Depth.QUICK
    logs = read.logs if quick else read.first_pass
    removed = any(log.start for log in logs.source_logs.values())
    syncs = read_syncs(flow, read.syncs_read).found if removed else read.syncs
    outcome = check_retention(flow, logs, syncs, None if quick else read.comparison)
    marked = quick and removed and flow.parameters.exactly_once
    return replace(outcome, left_out=_MARKERS_NOT_COUNTED) if marked else outcome


#: The reason for a check that is not expected to run; the report does not mention it.
UNMENTIONED = ""


@dataclass(frozen=True)
class Check:
    """One check.

    `why_not` says why the check does not apply to a flow; None if it applies. A check that `needs_topics` has nothing
    to check in a flow whose topics all loop.
    """

    name: CheckName
    why_not: Callable[[FlowParameters], str | None]
    run: Callable[[SharedReadings], CheckOutcome]
    needs_topics: bool = False


#: In the order in which they run. Heartbeats are observed in the background from the beginning, so `OFFSETS`, which
#: waits as well, runs before `HEARTBEATS` collects the observation.
CHECKS = (
    Check(
        CheckName.DIVISION,
        lambda flow: None if parts_of(flow) else UNMENTIONED,
        lambda read: check_division(read.flow.parameters, read.flows, read.flow.source.topics()),
    ),
    Check(
        CheckName.ACCESS,
        lambda flow: "the parameters list no ACLs" if flow.acls is None else None,
        lambda read: check_access(read.flow),
    ),
    Check(
        CheckName.CONNECTORS,
        lambda flow: "the parameters list no connectors" if flow.connectors is None else None,
        check_connectors,
    ),
    Check(
        CheckName.OFFSETS,
        lambda flow: None if flow.checkpoints.enabled else "the flow writes no checkpoints",
        lambda read: check_offsets(read.without_loops, read.syncs_read, read.catch_up_seconds),
        True,
    ),
    Check(
        CheckName.HEARTBEATS,
        lambda flow: None if flow.heartbeats.enabled else "the flow has no heartbeats",
        lambda read: with_shared(check_heartbeats(read.flow, read.observer), read.flow.parameters, read.flows),
    ),
    Check(CheckName.PARITY, lambda _: None, _check_parity),
    Check(CheckName.RETENTION, lambda _: None, _check_retention, True),
)
