"""heartbeats-arrive: the flow's heartbeats reach the target, now and without gaps, and how long they take."""

import itertools
import math
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Self

from spark import readers, records, transforms
from spark.clusters import Cluster
from spark.errors import CannotRunError
from spark.flows import OpenFlow
from spark.parameters import HeartbeatParameters
from spark.positions import OffsetRange, TopicPartition
from spark.report import CheckOutcome, Finding, Scalar, error, fail, note
from spark.selection import upstream_hops
from spark.waiting import wait_until

NAME = "heartbeats-arrive"
WINDOW_SECONDS = 600
WINDOW_RECORDS = (100, 5_000)
STALE_INTERVALS, STALE_FLOOR_SECONDS = 10, 10
GAP_INTERVALS = 5
OBSERVED_HEARTBEATS = 5
OBSERVED_SECONDS_AT_MOST = 60
POLL_SECONDS = 0.1
#: A heartbeat from further in the future than this shows clocks that differ too much to judge freshness by.
CLOCK_TOLERANCE_MS = 5_000
_LATENCIES = {"latencyP50Ms": 0.5, "latencyP99Ms": 0.99, "latencyMaxMs": 1.0}

_WORKERS_ONLY = note(
    "heartbeats-of-workers",
    "heartbeats are produced to the target itself: they show that the workers run, not that records come from the "
    "source",
)


class Heartbeat(NamedTuple):
    """A decoded heartbeat on the target; `emitted_ms` is the time in its value, since 1970."""

    emitted_ms: int
    partition: int
    offset: int


@dataclass
class Observation:
    """When end offsets of the heartbeat topic were seen, for latencies: records keep the source's timestamp, so that
    their arrival shows only by looking. `ends` is [(ms since 1970, {partition: end offset})], in order."""

    ends: list[tuple[int, Mapping[int, int]]] = field(default_factory=list)

    @property
    def arrived(self) -> int:
        """Records that arrived while looking."""
        return sum(self.ends[-1][1].values()) - sum(self.ends[0][1].values()) if self.ends else 0

    @property
    def resolution_ms(self) -> int:
        """The longest time between two looks: an arrival is known no better than that."""
        times = [at for at, _ in self.ends]
        return max((after - before for before, after in itertools.pairwise(times)), default=0)

    def latencies_ms(self, heartbeats: Sequence[Heartbeat]) -> list[int]:
        """Upper bounds of the latencies of the heartbeats that arrived while looking, ascending."""
        found = []
        for beat in heartbeats:
            if not self.ends or beat.offset < self.ends[0][1].get(beat.partition, 0):
                continue
            seen = next((at for at, ends in self.ends if ends.get(beat.partition, 0) > beat.offset), None)
            if seen is not None:
                found.append(seen - beat.emitted_ms)
        return sorted(found)


class Observer:
    """Looks at the heartbeat topic's end offsets in a thread of its own, while the job goes on; a context manager."""

    def __init__(self, cluster: Cluster, heartbeats: HeartbeatParameters) -> None:
        self.observation = Observation()
        self._cluster, self._heartbeats = cluster, heartbeats
        self._partitions = [
            TopicPartition(heartbeats.target_topic, number)
            for number in range(cluster.partitions([heartbeats.target_topic]).get(heartbeats.target_topic, 0))
        ]
        self._stop = threading.Event()
        self._error: CannotRunError | None = None
        self._thread = threading.Thread(target=self._watch, name="heartbeats", daemon=True)

    @property
    def partitions(self) -> list[TopicPartition]:
        """Partitions of the heartbeat topic on the target; none when it does not exist."""
        return self._partitions

    def __enter__(self) -> Self:
        if self._partitions:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def result(self) -> Observation:
        """The observation when it is complete; raises what the thread met."""
        if self._partitions:
            self._thread.join()
        if self._error is not None:
            raise self._error
        return self.observation

    def _watch(self) -> None:
        seconds = min(OBSERVED_SECONDS_AT_MOST, stale_seconds(self._heartbeats.interval_seconds) + 1)
        try:
            wait_until(self._looked_enough, seconds, POLL_SECONDS)
        except CannotRunError as failure:
            self._error = failure

    def _looked_enough(self) -> bool:
        ends = {each.partition: end for each, end in self._cluster.ends(self._partitions).items()}
        self.observation.ends.append((now_ms(), ends))
        return self.observation.arrived >= OBSERVED_HEARTBEATS or self._stop.is_set()


def now_ms() -> int:
    """Milliseconds since 1970 by this machine's clock."""
    return time.time_ns() // 1_000_000


def stale_seconds(interval_seconds: float) -> float:
    """The age at which the newest heartbeat says that none arrives any more."""
    return max(STALE_INTERVALS * interval_seconds, STALE_FLOOR_SECONDS)


def window_records(interval_seconds: float) -> int:
    """How many of the last heartbeats are read: ten minutes of them, within bounds."""
    low, high = WINDOW_RECORDS
    return min(high, max(low, math.ceil(WINDOW_SECONDS / interval_seconds)))


def check_heartbeats(opened: OpenFlow, observer: Observer) -> CheckOutcome:
    """Read the end of the heartbeat topic once the observation is complete, and judge."""
    parameters = opened.flow.heartbeats
    hops = upstream_hops(opened.target.topics(), opened.flow.separator)
    if not observer.partitions:
        missing = fail(
            "heartbeat-topic-missing",
            f"topic {parameters.target_topic} does not exist on {opened.target.where}: none was ever "
            f"{'replicated' if parameters.produced_to == 'source' else 'produced'}",
        )
        return CheckOutcome(NAME, "no heartbeat topic on the target", {"heartbeats": 0}, (missing,))
    observation = observer.result()
    size = window_records(parameters.interval_seconds)
    seen_at = now_ms()
    ranges = {
        each: OffsetRange(max(at.start, at.end - size), at.end)
        for each, at in opened.target.offsets(observer.partitions).items()
    }
    decoded = records.heartbeats(opened.read(opened.target, ranges))
    frame = transforms.heartbeats_seen(decoded, opened.flow.source.alias, opened.flow.target.alias)
    (row,) = readers.rows(frame, opened.target.where, "reading heartbeats")
    beats = [Heartbeat(each.emitted_ms, each.partition, each.offset) for each in row.seen]
    return judge(parameters, beats, observation, seen_at, row.others, row.undecodable, hops)


def judge(
    parameters: HeartbeatParameters,
    beats: Sequence[Heartbeat],
    observation: Observation,
    now: int,
    others: int = 0,
    undecodable: int = 0,
    hops: Mapping[str, int] | None = None,
) -> CheckOutcome:
    """The outcome for the heartbeats of this flow within the window, at the time `now` (ms since 1970).

    A gap in the past is stated, not failed: it says that a connector paused, while whether records are missing is
    parity's question and whether heartbeats arrive now is answered by the newest one.
    """
    times = sorted({beat.emitted_ms for beat in beats})
    counts: dict[str, int | float] = {
        "heartbeats": len(times),
        "copies": len(beats) - len(times),
        "ofOtherFlows": others,
    }
    findings = _findings_whatever_the_times(parameters, undecodable, hops)
    if not times:
        stopped = fail("no-heartbeat", f"no heartbeat of this flow on topic {parameters.target_topic}")
        return CheckOutcome(NAME, "no heartbeat of this flow", counts, (*findings, stopped))
    age_ms, limit = now - times[-1], stale_seconds(parameters.interval_seconds)
    gaps = gaps_ms(times, parameters.interval_seconds)
    latencies = observation.latencies_ms(beats)
    counts |= {"newestAgeMs": age_ms, "staleAfterMs": round(limit * 1000), "gaps": len(gaps)}
    counts |= {"observed": len(latencies), "latencyResolutionMs": observation.resolution_ms}
    if latencies:
        counts |= {name: percentile(latencies, share) for name, share in _LATENCIES.items()}
    findings += [*_age_findings(age_ms, limit, parameters), *_gap_findings(gaps)]
    samples: list[Mapping[str, Scalar]] = [{"gapStartMs": start, "gapEndMs": end} for start, end in gaps]
    latency = f", latency p50 {counts['latencyP50Ms']} ms, max {counts['latencyMaxMs']} ms" if latencies else ""
    return CheckOutcome(
        NAME,
        f"{len(times)} heartbeats, the newest {age_ms / 1000:.1f} s old{latency} (±{observation.resolution_ms} ms)",
        counts,
        tuple(findings),
        tuple(samples),
    )


def gaps_ms(times: Sequence[int], interval_seconds: float) -> list[tuple[int, int]]:
    """Stretches (start, end) between two heartbeats that are longer than GAP_INTERVALS intervals."""
    longest = GAP_INTERVALS * interval_seconds * 1000
    return [(before, after) for before, after in itertools.pairwise(times) if after - before > longest]


def percentile(ascending: Sequence[int], share: float) -> int:
    """The smallest value that `share` of the values do not exceed (nearest rank)."""
    return ascending[max(0, math.ceil(share * len(ascending)) - 1)]


def _findings_whatever_the_times(
    parameters: HeartbeatParameters, undecodable: int, hops: Mapping[str, int] | None
) -> list[Finding]:
    found = [_topology_note(hops)] if hops else []
    if parameters.produced_to == "target":
        found.append(_WORKERS_ONLY)
    if undecodable:
        found.append(error("heartbeat-undecodable", f"{undecodable} records are no heartbeats", undecodable))
    return found


def _age_findings(age_ms: int, limit_seconds: float, parameters: HeartbeatParameters) -> list[Finding]:
    if age_ms > limit_seconds * 1000:
        return [
            fail(
                "heartbeat-stale",
                f"the newest heartbeat on {parameters.target_topic} is {age_ms / 1000:.1f} s old; one is emitted every "
                f"{parameters.interval_seconds:g} s and {limit_seconds:g} s is the limit: the heartbeat "
                f"{'or the source ' if parameters.produced_to == 'source' else ''}connector does not run",
            )
        ]
    if age_ms < -CLOCK_TOLERANCE_MS:
        ahead = -age_ms / 1000
        return [error("clocks-differ", f"the newest heartbeat is from {ahead:.1f} s in the future: clocks differ")]
    return []


def _gap_findings(gaps: Sequence[tuple[int, int]]) -> list[Finding]:
    if not gaps:
        return []
    longest = max(end - start for start, end in gaps) / 1000
    return [note("heartbeat-gap", f"{len(gaps)} gaps, the longest {longest:.1f} s", len(gaps))]


def _topology_note(hops: Mapping[str, int]) -> Finding:
    named = ", ".join(f"{alias} ({count} hop{'s' if count > 1 else ''})" for alias, count in sorted(hops.items()))
    return note("upstream-clusters", f"heartbeats show these clusters upstream: {named}", len(hops))
