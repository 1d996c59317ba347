"""What the target alone shows about a flow whose source does not answer. Only reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from components.clients.errors import NoAnswerError
from components.clients.reader import KafkaReader, Read
from components.contract.evidence import KeptPositions
from components.contract.parameters import FlowParameters
from components.kafka import mirror_records
from components.kafka.mirror_records import Checkpoint
from components.kafka.positions import OffsetRange, TopicPartition
from infra.operate.move.facts import Group
from infra.operate.status.facts import Unasked, VerdictFacts
from infra.operate.status.kafka_facts import heartbeat_ms

#: How many of a partition's newest offsets are read, to learn when and how fast its records arrived.
_NEWEST = 100


@dataclass(frozen=True)
class Tail:
    """The end of a remote partition: `newest_ms` is the time of its newest record, None if it has none.

    `sample` is how many of the newest records were read, `oldest_ms` the time of the oldest of these.
    """

    end: int
    newest_ms: int | None = None
    oldest_ms: int | None = None
    sample: int = 0

    def per_second(self, until_ms: int) -> float | None:
        """How many records a second arrived between the oldest record of the sample and that time; None if unknown. The
        interval does not end at the newest record: otherwise an old burst would count as the current rate.
        """
        if self.oldest_ms is None or until_ms <= self.oldest_ms:
            return None
        return (self.sample - 1) / ((until_ms - self.oldest_ms) / 1000)


@dataclass(frozen=True)
class Translated:
    """A group's newest checkpoint in a remote partition, and when it was written, in ms since 1970."""

    checkpoint: Checkpoint
    written_ms: int


@dataclass(frozen=True)
class Silence:
    """Why the source could not be asked; `refused` if it answers but refuses the login or a permission."""

    reason: str
    refused: bool = False


@dataclass(frozen=True)
class Evidence:
    """Everything that the target shows. `source` says why the source cannot be asked; None if it can.

    `tails` are by source partition, `checkpoints` by group and remote partition. The `committed` offsets of the groups
    are empty, because they were on the source. `kept` has the positions that a validation has published, or says why
    there are none; `logs` and `topic_ids` of the target are by source partition and topic.
    """

    now_ms: int
    source: Silence | None
    verdict: VerdictFacts | Unasked | None
    heartbeat_ms: int | None
    tails: Mapping[TopicPartition, Tail]
    groups: tuple[Group, ...]
    checkpoints: Mapping[tuple[str, TopicPartition], Translated]
    kept: KeptPositions | str = "no validation has published any"
    logs: Mapping[TopicPartition, OffsetRange] = field(default_factory=dict)
    topic_ids: Mapping[str, str] = field(default_factory=dict)


def why_silent(flow: FlowParameters, source: KafkaReader) -> Silence | None:
    """Why the ends of the source's logs are not known; None if they are."""
    try:
        source.logs(source.partitions(flow.replicated(source.topics())))
    except NoAnswerError as error:
        return Silence(str(error), error.refused)
    return None


def read_evidence(
    flow: FlowParameters,
    target: KafkaReader,
    names: Sequence[str],
    source: Silence | None,
    verdict: VerdictFacts | Unasked | None,
    now_ms: int,
    kept: KeptPositions | str,
) -> Evidence:
    """Ask the target for everything; `names` are the groups to move, by default those that the flow selects."""
    policy = flow.replication_policy
    topics = flow.replicated(name for each in target.topics() if policy.remote(name := policy.original(each)) == each)
    remote = target.partitions(policy.remote(topic) for topic in topics)
    original = {each: TopicPartition(policy.original(each.topic), each.partition) for each in remote}
    checkpoints = _checkpoints(flow, target)
    translated = {group for group, partition in checkpoints if partition in original}
    known = translated | set(target.groups())
    chosen = sorted(names or (flow.group_selection.of(known) if flow.groups else known))
    members, committed = target.members(chosen), target.committed(chosen)
    groups = []
    for each in chosen:
        ours = {partition: offset for partition, offset in committed.get(each, {}).items() if partition in original}
        if ours or each in translated or names:
            groups.append(Group(each, 0, members.get(each, 0), {}, ours))
    tails = {original[each]: tail for each, tail in _tails(flow, target, remote).items()}
    logs = {original[each]: log for each, log in target.logs(remote).items()}
    ids: dict[str, str] = {}
    if not isinstance(kept, str):
        # A failover is not refused only because the target does not report the ids of its topics.
        try:
            found = target.topic_ids({each.topic for each in remote} & {policy.remote(each) for each in kept.topics})
            ids = {policy.original(name): each for name, each in found.items()}
        except NoAnswerError as error:
            kept = f"the published positions cannot be used: {error}"
    beat = heartbeat_ms(flow, target) if flow.heartbeats.enabled else None
    return Evidence(now_ms, source, verdict, beat, tails, tuple(groups), checkpoints, kept, logs, ids)


def _checkpoints(flow: FlowParameters, target: KafkaReader) -> dict[tuple[str, TopicPartition], Translated]:
    if not flow.checkpoints.enabled:
        return {}
    found = {}
    for read in target.records(flow.checkpoints.topic):
        each = mirror_records.checkpoint(read.key, read.value)
        if each is not None:
            found[each.group, each.partition] = Translated(each, read.time_ms)
    return found


def _tails(
    flow: FlowParameters, target: KafkaReader, partitions: Sequence[TopicPartition]
) -> dict[TopicPartition, Tail]:
    logs = target.logs(partitions)
    ranges = {each: OffsetRange(max(log.start, log.end - _NEWEST), log.end) for each, log in logs.items()}
    read: dict[TopicPartition, list[Read]] = {}
    for each in target.read("the newest records", ranges):
        # In a pair, the target's own records say nothing about the source.
        if flow.guard is None or flow.guard.mark in each.headers:
            read.setdefault(each.partition, []).append(each)
    return {each: _tail(log.end, read.get(each, [])) for each, log in logs.items()}


def _tail(end: int, read: Sequence[Read]) -> Tail:
    if not read:
        return Tail(end)
    times = [each.time_ms for each in read]
    return Tail(end, max(times), min(times), len(read))
