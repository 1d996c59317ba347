"""heartbeats-arrive: whether the flow's heartbeats reach the target, without gaps, and how long they take."""

import itertools
import math
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

from kafka_replication.components.contract.parameters import FlowParameters, HeartbeatParameters
from kafka_replication.components.contract.report import CheckName, CheckOutcome, Coverage, Finding, error, fail, note
from kafka_replication.components.contract.wording import agreeing, numbered
from kafka_replication.components.kafka.mirror_records import heartbeat
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.components.kafka.record_identity import KafkaRecord
from kafka_replication.components.kafka.replication_policy import upstream_hops
from kafka_replication.spark.read.flows import FlowCluster, OpenFlow
from kafka_replication.spark.read.waiting import wait_until

WINDOW_SECONDS = 600
WINDOW_RECORDS = (100, 5_000)
GAP_INTERVALS = 5
OBSERVED_HEARTBEATS = 5
OBSERVED_SECONDS_AT_MOST = 60
POLL_SECONDS = 0.1
#: If a heartbeat is further in the future than this, the clocks differ too much to judge its age.
CLOCK_TOLERANCE_MS = 5_000
_LATENCIES = {"latencyP50Ms": 0.5, "latencyP99Ms": 0.99, "latencyMaxMs": 1.0}

_WORKERS_ONLY = note(
    "heartbeats-of-workers",
    "heartbeats are produced to the target itself: they show that the workers run, not that records arrive from the "
    "source",
)


class HeartbeatArrival(NamedTuple):
    """A decoded heartbeat on the target. `emitted_ms` is the time in its value, in ms since 1970."""

    emitted_ms: int
    partition: int
    offset: int


class HeartbeatsSeen(NamedTuple):
    """This flow's heartbeats, ascending, and the numbers of those of other flows and of undecodable records."""

    ours: list[HeartbeatArrival]
    others: int
    undecodable: int


def heartbeats_seen(records: Iterable[KafkaRecord], source_alias: str, target_alias: str) -> HeartbeatsSeen:
    ours, others, undecodable = [], 0, 0
    for record in records:
        beat = heartbeat(record)
        if beat is None:
            undecodable += 1
        elif (beat.source, beat.target) == (source_alias, target_alias):
            ours.append(HeartbeatArrival(beat.emitted_ms, record.partition.partition, record.offset))
        else:
            others += 1
    return HeartbeatsSeen(sorted(ours), others, undecodable)


@dataclass
class Observation:
    """End offsets of the heartbeat topic over time. Replicated records keep the source's timestamp, so the time of
    arrival is known only by watching. `ends` is [(ms since 1970, {partition: end offset})], in order."""

    ends: list[tuple[int, Mapping[int, int]]] = field(default_factory=list)

    @property
    def arrived(self) -> int:
        """Return records that arrived during the observation."""
        return sum(self.ends[-1][1].values()) - sum(self.ends[0][1].values()) if self.ends else 0

    @property
    def resolution_ms(self) -> int:
        """Return the longest time between two readings; arrival times are no more precise than that."""
        times = [at for at, _ in self.ends]
        return max((after - before for before, after in itertools.pairwise(times)), default=0)

    def latencies_ms(self, heartbeats: Sequence[HeartbeatArrival]) -> list[tuple[int, int]]:
        """Return the heartbeats that arrived during the observation: when each was emitted, in ms since 1970 and in
        this order, and an upper bound of its latency.
        """
        latencies = []
        for beat in heartbeats:
            if not self.ends or beat.offset < self.ends[0][1].get(beat.partition, 0):
                continue
            seen = next((at for at, ends in self.ends if ends.get(beat.partition, 0) > beat.offset), None)
            if seen is not None:
                latencies.append((beat.emitted_ms, seen - beat.emitted_ms))
        return sorted(latencies)


class Observer:
    """Watches the heartbeat topic's end offsets in a thread while the job does other work; a context manager.

    If the workers have just started or restarted, the first heartbeat may take up to `catch_up_seconds`.
    """

    def __init__(self, cluster: FlowCluster, heartbeats: HeartbeatParameters, catch_up_seconds: float = 0) -> None:
        self._cluster, self._heartbeats, self._catch_up_seconds = cluster, heartbeats, catch_up_seconds
        self._until = time.monotonic() + catch_up_seconds
        self._observation = Observation()
        self._partitions: list[TopicPartition] = []
        self._stop = threading.Event()
        self._executor = ThreadPoolExecutor(1, "heartbeats")
        self._watching: Future[None] = Future()

    def __enter__(self) -> Self:
        self._watching = self._executor.submit(self._watch)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._executor.shutdown()

    def result(self) -> tuple[list[TopicPartition], Observation]:
        """Return the heartbeat topic's partitions on the target (none if the topic does not exist) and the complete
        observation. Raises the error that ended the thread."""
        self._watching.result()
        return self._partitions, self._observation

    @property
    def seconds_left(self) -> float:
        """Return how long a flow that has just started may still take."""
        return max(0, self._until - time.monotonic())

    def _watch(self) -> None:
        usual_seconds = min(OBSERVED_SECONDS_AT_MOST, self._heartbeats.stale_seconds + 1)
        if wait_until(self._topic_found, self._catch_up_seconds) and self._partitions:
            wait_until(lambda: self._seen(OBSERVED_HEARTBEATS), usual_seconds, POLL_SECONDS)
            wait_until(lambda: self._seen(1), self.seconds_left, POLL_SECONDS)

    def _topic_found(self) -> bool:
        topic = self._heartbeats.target_topic
        count = self._cluster.topics().get(topic, 0)
        self._partitions = [TopicPartition(topic, number) for number in range(count)]
        return bool(self._partitions) or self._stop.is_set()

    def _seen(self, heartbeats: int) -> bool:
        ends = {
            partition.partition: end for partition, end in self._cluster.ends(self._partitions, committed=True).items()
        }
        self._observation.ends.append((now_ms(), ends))
        return self._observation.arrived >= heartbeats or self._stop.is_set()


def now_ms() -> int:
    """Return the milliseconds since 1970 by this machine's clock."""
    return time.time_ns() // 1_000_000


def window_records(interval_seconds: float) -> int:
    """Return how many of the latest heartbeats to read: ten minutes' worth, within bounds."""
    low, high = WINDOW_RECORDS
    return min(high, max(low, math.ceil(WINDOW_SECONDS / interval_seconds)))


def check_heartbeats(flow: OpenFlow, observer: Observer) -> CheckOutcome:
    """Wait for the observation to end, read the end of the heartbeat topic, and judge.

    A flow that has just started first copies the old heartbeats that the source still holds, so a stale one may be
    followed by fresh ones until the time to catch up is over.
    """
    parameters = flow.parameters.heartbeats
    flow.progress(f"{flow.name}: watching heartbeats arrive")
    partitions, observation = observer.result()
    hops = upstream_hops(flow.target.topics(), flow.parameters.separator)
    if not partitions:
        missing = fail(
            "heartbeat-topic-missing",
            f"topic {parameters.target_topic} does not exist on {flow.target.where}: no heartbeat was ever "
            f"{'replicated' if parameters.produced_to == 'source' else 'produced'}",
        )
        return CheckOutcome(CheckName.HEARTBEATS, "no heartbeat topic on the target", {"heartbeats": 0}, (missing,))
    seen_at, seen = 0, HeartbeatsSeen([], 0, 0)

    def fresh() -> bool:
        nonlocal seen_at, seen
        seen_at = now_ms()
        read = flow.target.read("heartbeats", _window(flow, partitions, seen_at).items())
        seen = heartbeats_seen(read, flow.parameters.source.alias, flow.parameters.target.alias)
        return bool(seen.ours) and seen_at - seen.ours[-1].emitted_ms <= parameters.stale_seconds * 1000

    wait_until(fresh, observer.seconds_left)
    return judge(parameters, seen.ours, observation, seen_at, seen.others, seen.undecodable, hops)


def with_shared(outcome: CheckOutcome, flow: FlowParameters, flows: Iterable[FlowParameters]) -> CheckOutcome:
    """Return the outcome with a note if connectors of other flows of the document emit or replicate the same
    heartbeats. The summary then says whose heartbeats it counts: a heartbeat names its clusters, and no flow.
    """

    def heartbeats_of(flow: FlowParameters) -> tuple[str, str, str, bool]:
        return flow.source.alias, flow.target.alias, flow.heartbeats.target_topic, flow.heartbeats.enabled

    others = [other.name for other in flows if other.name != flow.name and heartbeats_of(other) == heartbeats_of(flow)]
    if not others:
        return outcome
    what = (
        f"{', '.join(others)} {'have' if len(others) > 1 else 'has'} the same source and target, and so the same "
        "heartbeats. They show that records can cross; only `connectors-run` shows that the connectors of "
        f"{flow.name} run"
    )
    return replace(
        outcome,
        summary=f"{outcome.summary}; of every flow from {flow.source.alias} to {flow.target.alias}",
        findings=(*outcome.findings, note("heartbeats-shared", what, len(others))),
    )


def _window(flow: OpenFlow, partitions: Sequence[TopicPartition], now: int) -> dict[TopicPartition, OffsetRange]:
    """Return the offsets to read in each partition: ten minutes of one flow's heartbeats, and at least twice the age at
    which heartbeats count as stale. Other flows may write any number of heartbeats between this flow's.
    """
    interval_seconds = flow.parameters.heartbeats.interval_seconds
    size, past = window_records(interval_seconds), now - round(2_000 * flow.parameters.heartbeats.stale_seconds)
    young = flow.target.offsets_at(dict.fromkeys(partitions, past), committed=True)
    ranges = {}
    for partition, at in flow.target.logs(partitions, committed=True).items():
        since = at.end - size if young[partition] < 0 else min(at.end - size, young[partition])
        ranges[partition] = OffsetRange(max(at.start, since), at.end)
    return ranges


def judge(
    parameters: HeartbeatParameters,
    beats: Sequence[HeartbeatArrival],
    observation: Observation,
    now: int,
    others: int = 0,
    undecodable: int = 0,
    hops: Mapping[str, int] | None = None,
) -> CheckOutcome:
    """Return the outcome for this flow's heartbeats in the window, at the time `now` (ms since 1970).

    A gap in the past is a note, not a failure. It shows that a connector paused; parity says whether records are
    missing, and the newest heartbeat says whether heartbeats arrive now.
    """
    times = sorted({beat.emitted_ms for beat in beats})
    copies = len(beats) - len(times)
    counts: dict[str, int | float] = {"heartbeats": len(times), "copies": copies, "ofOtherFlows": others}
    findings = list(_findings_whatever_the_times(parameters, undecodable, hops))
    if not times:
        stopped = fail("no-heartbeat", f"topic {parameters.target_topic} holds no heartbeat of this flow")
        return CheckOutcome(CheckName.HEARTBEATS, "no heartbeat of this flow", counts, (*findings, stopped))
    age_ms = now - times[-1]
    gaps = gaps_ms(times, parameters.interval_seconds)
    arrived = observation.latencies_ms(beats)
    latencies = sorted(latency for _, latency in arrived)
    limit_ms = round(parameters.stale_seconds * 1000)
    counts |= {"newestAgeMs": age_ms, "staleAfterMs": limit_ms, "gaps": len(gaps), "observed": len(latencies)}
    counts["latencyResolutionMs"] = observation.resolution_ms
    if latencies:
        counts |= {name: percentile(latencies, share) for name, share in _LATENCIES.items()}
    findings += [*_age_findings(age_ms, parameters, arriving=bool(latencies)), *_gap_findings(gaps)]
    return CheckOutcome(
        CheckName.HEARTBEATS,
        _summary(counts),
        counts,
        tuple(findings),
        tuple({"gapStartMs": start, "gapEndMs": end} for start, end in gaps),
        Coverage("heartbeats", len(times), {}),
        beats=tuple(arrived),
    )


def _summary(counts: Mapping[str, int | float]) -> str:
    age_seconds = max(0, counts["newestAgeMs"]) / 1000
    seen = f"{numbered(int(counts['heartbeats']), 'heartbeat[|s]')}, the newest {age_seconds:.1f} s old"
    if counts["observed"]:
        seen += f", latency p50 {counts['latencyP50Ms']} ms, max {counts['latencyMaxMs']} ms"
    return f"{seen} (±{counts['latencyResolutionMs']} ms)"


def gaps_ms(times: Sequence[int], interval_seconds: float) -> list[tuple[int, int]]:
    """Return (start, end) of each pause between two heartbeats that is longer than GAP_INTERVALS intervals."""
    longest = GAP_INTERVALS * interval_seconds * 1000
    return [(before, after) for before, after in itertools.pairwise(times) if after - before > longest]


def percentile(ascending: Sequence[int], share: float) -> int:
    """Return the percentile by nearest rank: the smallest value that at least `share` of the values do not exceed."""
    return ascending[max(0, math.ceil(share * len(ascending)) - 1)]


def _findings_whatever_the_times(
    parameters: HeartbeatParameters, undecodable: int, hops: Mapping[str, int] | None
) -> Iterator[Finding]:
    if hops:
        aliases = ", ".join(f"{alias} ({numbered(count, 'hop[|s]')})" for alias, count in sorted(hops.items()))
        yield note("upstream-clusters", f"heartbeats arrive from these upstream clusters: {aliases}", len(hops))
    if parameters.produced_to == "target":
        yield _WORKERS_ONLY
    if undecodable:
        what = numbered(undecodable, f"record[|s] of {parameters.target_topic} [is no heartbeat|are no heartbeats]")
        yield error("heartbeat-undecodable", what, undecodable)


def _age_findings(age_ms: int, parameters: HeartbeatParameters, *, arriving: bool) -> Iterator[Finding]:
    """`arriving`: some heartbeats arrived during the observation, so their producer and replication are running."""
    limit_seconds = parameters.stale_seconds
    if age_ms > limit_seconds * 1000:
        connectors = "heartbeat or the source" if parameters.produced_to == "source" else "heartbeat"
        why = f"the {connectors} connector does not run, or runs and cannot log in to a cluster"
        if arriving:
            why = "heartbeats do arrive, so the flow is far behind, or the clocks of the job and the workers differ"
        yield fail(
            "heartbeat-stale",
            f"the newest heartbeat on {parameters.target_topic} is {age_ms / 1000:.1f} s old. One is emitted every "
            f"{parameters.interval_seconds:g} s, and the limit is {limit_seconds:g} s: {why}",
        )
    if age_ms < -CLOCK_TOLERANCE_MS:
        differ = "the clocks of the job and the workers differ"
        yield error("clocks-differ", f"the newest heartbeat is {-age_ms / 1000:.1f} s in the future: {differ}")


def _gap_findings(gaps: Sequence[tuple[int, int]]) -> Iterator[Finding]:
    if gaps:
        longest = max(end - start for start, end in gaps) / 1000
        times = agreeing(len(gaps), f"[once, for|{len(gaps)} times, at most for]")
        yield note("heartbeat-gap", f"heartbeats paused {times} {longest:.1f} s", len(gaps))
