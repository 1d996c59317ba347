"""Rehearses a failover on live data with a group that nobody uses, first removing what an earlier drill left of it.

What a drill measured is in a file beside the stack files: the team has it even when Kubernetes does not answer.
"""

import time
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from kafka_replication.components.clients.streams import RecordStream
from kafka_replication.components.contract.parameters import DocumentPart, FlowParameters, Name
from kafka_replication.components.contract.problems import CannotRunError, RefusedError
from kafka_replication.components.contract.wording import named
from kafka_replication.components.kafka.exact_positions import NotProvenError
from kafka_replication.components.kafka.positions import CommittedOffset, OffsetRange, TopicPartition
from kafka_replication.components.kafka.record_identity import identity, without_mark
from kafka_replication.components.kafka.replication_policy import Side
from kafka_replication.infra.machine.waiting import DeadlineError, NotYetError, wait_for
from kafka_replication.infra.operate.flow_access import FlowAccess
from kafka_replication.infra.operate.move.facts import FailoverFacts, Mode, NewPosition, Precondition
from kafka_replication.infra.operate.move.failover_plan import LeftAloneError, group_positions, refuse_unsuited
from kafka_replication.infra.operate.move.groups import FAILOVER, commit_positions, read_groups
from kafka_replication.infra.operate.move.positions import read_positions
from kafka_replication.infra.operate.move.rights import commit_rights
from kafka_replication.infra.operate.partition_logs import Say
from kafka_replication.infra.stack.settings import StackSettings
from kafka_replication.infra.stack.yaml_files import shown

#: How many source records before a position are read, to recognize those that the group reads again.
_BEFORE = 100_000


class DrillStep(DocumentPart):
    """A step of a drill, and how many seconds it took."""

    name: Name
    seconds: float


class DrillRecord(DocumentPart):
    """One drill of a flow. `expected`, `skipped`, `announced` and `read_again` count records: those that the group had
    to read, those that it missed, and re-reads as the failover announced them and as they were. `announced` is a lower
    bound if `announced_at_least`.
    """

    schema_version: int = 1
    flow: Name
    at: Name
    passed: bool
    partitions: int
    expected: int
    skipped: int
    announced: int
    announced_at_least: bool
    read_again: int
    steps: tuple[DrillStep, ...]

    @property
    def seconds(self) -> float:
        return sum(step.seconds for step in self.steps)


def record_file(settings: StackSettings, flow: str) -> Path:
    """Return the file of a flow's newest drill."""
    return settings.stacks / "drills" / f"{settings.stack}.{flow}.json"


def read_record(settings: StackSettings, flow: str) -> DrillRecord | None:
    """Return the newest drill; None if there was none. Raises CannotRunError for a malformed file."""
    path = record_file(settings, flow)
    if not path.is_file():
        return None
    try:
        return DrillRecord.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        at = ".".join(map(str, first["loc"]))
        what = f"the file is not what a drill writes: {at or 'the file'}: {first['msg']}"
        why = "The runbook takes the expected durations from it."
        remedy = f"delete the file, or run `replicate drill {settings.stack} {flow}` again."
        raise CannotRunError("drill-record-unreadable", what, shown(path), why, remedy) from None


def write_record(settings: StackSettings, record: DrillRecord) -> Path:
    """Replace the record of a flow's drill."""
    path = record_file(settings, record.flow)
    path.parent.mkdir(exist_ok=True)
    path.write_text(record.model_dump_json(by_alias=True, indent=2) + "\n")
    return path


@dataclass(frozen=True)
class RecordCount:
    """Says how many records the group had to read on the target, how many it skipped and how many it read again."""

    expected: int
    skipped: int
    read_again: int


def drill_group(flow: str) -> str:
    """Return the name of the group that drills of a flow use."""
    return f"replication-drill-{flow}"


class Drill:
    """One drill with `records` unread in each partition, which may take `catch_up_seconds` to reach the target."""

    def __init__(self, opened: FlowAccess, records: int, catch_up_seconds: float) -> None:
        self.opened, self.flow, self.group = opened, opened.parameters, drill_group(opened.parameters.name)
        self.source, self.target = opened.reader(self.flow.source), opened.reader(self.flow.target)
        self.on_source, self.on_target = opened.writer("source"), opened.writer("target")
        self.records, self.catch_up_seconds = records, catch_up_seconds
        self.steps: list[DrillStep] = []

    def rights(self) -> list[Precondition]:
        """Say whether the connectors' users may commit for the group on both clusters. Raises NoAnswerError, and
        RefusedError if one may not.
        """
        flow = self.flow
        on_source = set(flow.replicated(self.source.topics()))
        on_target = {flow.replication_policy.remote(topic) for topic in on_source}
        sides: dict[Side, set[str]] = {"source": on_source, "target": on_target & set(self.target.topics())}
        asked = [
            right
            for side, topics in sides.items()
            if topics
            for right in commit_rights(self.opened, side, [self.group], topics)
        ]
        if unmet := [right.value for right in asked if right.met is False]:
            why = "A drill commits for its group on both clusters; nothing was changed."
            remedy = "correct it, and run the drill again: a failover needs these rights for real groups, too."
            what = f"preconditions are not met: {'; '.join(unmet)}"
            raise RefusedError("precondition-unmet", what, f"flow {flow.name}", why, remedy)
        return asked

    def run(self, say: Say) -> DrillRecord:
        """Run the drill, and remove its group whatever happens. Raises CannotRunError, NoAnswerError and
        RefusedError.
        """
        refuse_unsuited(self.flow, Mode.PLANNED)
        say("removing what an earlier drill left")
        self._remove_group()
        try:
            return self._rehearse(say)
        finally:
            say("removing the group of the drill")
            self._remove_group()

    def _remove_group(self) -> None:
        """Remove the group, first on the source: a flow that selects every group could otherwise sync it again."""
        self.on_source.delete(self.group)
        self.on_target.delete(self.group)

    @contextmanager
    def _timed(self, name: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.steps.append(DrillStep(name=name, seconds=round(time.monotonic() - began, 2)))

    def _rehearse(self, say: Say) -> DrillRecord:
        with self._timed("group"):
            logs = self._logs()
            chosen = {partition: max(log.start, log.end - self.records) for partition, log in logs.items() if log.size}
            if not chosen:
                why = "A drill rehearses with records that exist, and no topic of the flow has one."
                what = "there is no record to rehearse with"
                raise RefusedError("drill-without-records", what, f"flow {self.flow.name}", why, "produce some first.")
            commits = {partition: CommittedOffset(offset) for partition, offset in chosen.items()}
            self.on_source.commit(self.group, commits)
        with self._timed("positions"):
            moves = self._moves(chosen, say)
        with self._timed("commit"):
            commit_positions(self.on_target, self.target, moves, say)
        with self._timed("read"):
            committed = self.target.committed([self.group])[self.group]
            counts = []
            for place, move in enumerate(moves, start=1):
                say(f"reading on {self.target.alias}: partition {place} of {len(moves)}, {move.target}")
                counts.append(self._settled(replace(move, offset=committed[move.target]), logs[move.source]))
        return self._record(moves, counts)

    def _logs(self) -> dict[TopicPartition, OffsetRange]:
        """Return the source's partitions as the drill begins. Raises RefusedError if one is not on the target."""
        flow, source, policy = self.flow, self.source, self.flow.replication_policy
        logs = source.logs(source.partitions(flow.replicated(source.topics())), committed=flow.exactly_once)
        existing = set(self.target.partitions({policy.remote(partition.topic) for partition in logs}))
        there = {partition: log for partition, log in logs.items() if policy.remote_partition(partition) in existing}
        absent = sorted(partition for partition, log in logs.items() if log.size and partition not in there)
        if absent:
            what = f"{flow.target.alias} does not have {named([policy.remote_partition(at) for at in absent])}"
            why = f"{flow.source.alias} has records there, and a drill speaks for every partition of the flow."
            remedy = (
                "wait until MirrorMaker has created it (`intervals.refreshTopicsSeconds`), and run the drill again."
            )
            raise RefusedError("drill-without-partition", what, f"flow {flow.name}", why, remedy)
        return there

    def _moves(self, partitions: Collection[TopicPartition], say: Say) -> list[NewPosition]:
        """Return the positions that a failover would commit for the group. Raises RefusedError if one is not proven."""
        flow, source, target = self.flow, self.source, self.target
        (group,) = read_groups(flow, FAILOVER, {"source": source, "target": target}, [self.group], partitions)
        wanted = {partition: {offset} for partition, offset in group.committed.items()}
        positions = read_positions(flow, source, target, wanted, say)
        for partition, why in sorted(positions.items()):
            if isinstance(why, NotProvenError):
                raise _without_position(flow, f"its position in {partition} is not proven: {why}")
        try:
            return list(group_positions(flow, group, FailoverFacts((), None, (group,), positions, {})))
        except LeftAloneError as error:
            raise _without_position(flow, str(error)) from None

    def _settled(self, move: NewPosition, source_log: OffsetRange) -> RecordCount:
        """Return the count once no record is missing, or the last count before the time is up."""
        seen: list[RecordCount] = []

        def probe() -> None:
            seen.append(self._count(move, source_log))
            if seen[-1].skipped:
                raise NotYetError(f"{seen[-1].skipped} records missing")

        with suppress(DeadlineError):
            wait_for("the records to reach the target", probe, self.catch_up_seconds, interval_seconds=1)
        return seen[-1]

    def _count(self, move: NewPosition, source_log: OffsetRange) -> RecordCount:
        """Read from the group's position to the end, and compare with the records before the end of `source_log` that
        the group has not consumed. Raises NoAnswerError.
        """
        isolation = self.flow.exactly_once
        end = self.target.logs([move.target], committed=isolation)[move.target].end
        begin = max(source_log.start, move.committed - _BEFORE)
        with self.source.stream(committed=isolation) as on_source:
            consumed = self._records(on_source, move.source, OffsetRange(begin, move.committed))
            to_read = self._records(on_source, move.source, OffsetRange(move.committed, source_log.end))
        with self.target.stream(committed=isolation) as on_target:
            was_read = self._records(on_target, move.target, OffsetRange(move.offset, end))
        more = was_read - to_read
        again = sum(times for record, times in more.items() if record in consumed)
        return RecordCount(to_read.total(), (to_read - was_read).total(), again)

    def _records(self, stream: RecordStream, partition: TopicPartition, offsets: OffsetRange) -> Counter[bytes]:
        """Count a range's records by identity. Without the guard's mark, both clusters of a pair hold equal records."""
        marks = (self.flow.guard.filter, self.flow.guard.mark) if self.flow.guard else ()
        records: Counter[bytes] = Counter()
        for record in stream.records(partition, offsets):
            headers = record.headers
            for mark in marks:
                headers = without_mark(headers, mark)
            records[identity(record.key, record.value, headers, record.time_ms)] += 1
        return records

    def _record(self, moves: list[NewPosition], counts: list[RecordCount]) -> DrillRecord:
        announced, again = sum(move.read_again for move in moves), sum(records.read_again for records in counts)
        at_least = any(move.bound == "at least" for move in moves)
        skipped = sum(records.skipped for records in counts)
        as_announced = again >= announced if at_least else again == announced
        return DrillRecord(
            flow=self.flow.name,
            at=datetime.now(UTC).isoformat(timespec="seconds"),
            passed=skipped == 0 and as_announced,
            partitions=len(moves),
            expected=sum(records.expected for records in counts),
            skipped=skipped,
            announced=announced,
            announced_at_least=at_least,
            read_again=again,
            steps=tuple(self.steps),
        )


def _without_position(flow: FlowParameters, what: str) -> RefusedError:
    why = "A failover would not move a group at this position."
    remedy = "correct it: a failover of real groups needs it, too."
    return RefusedError("drill-without-position", what, f"flow {flow.name}", why, remedy)
