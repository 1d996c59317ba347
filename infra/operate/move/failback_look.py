"""Looks at a flow before a failback: groups on the target, and the records that prove their positions on the source."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from components.clients.reader import KafkaReader
from components.contract.parameters import FlowParameters
from components.contract.problems import CannotRunError
from components.kafka.exact_positions import NotProvenError
from components.kafka.positions import TopicPartition
from components.kafka.return_positions import PartitionBack, positions_back
from components.properties.definitions import nearest
from components.render.acls import flows_without_addresses
from infra.operate.move.facts import Group
from infra.operate.move.failback import FailbackFacts
from infra.operate.move.failover_look import OpenFlow
from infra.operate.move.positions import LEADS
from infra.operate.move.source_only import source_only
from infra.operate.partition_logs import PartitionLog, Say, walk_partitions


def look_back(scene: OpenFlow, names: Sequence[str], say: Say) -> FailbackFacts:
    """Look at everything. Raises NoAnswerError, and CannotRunError for a group that never consumed on the target."""
    flow = scene.parameters
    source, target = scene.reader(flow.source), scene.reader(flow.target)
    topics = flow.replicated(source.topics())
    remote = {flow.replication_policy.remote_partition(each): each for each in source.partitions(topics)}
    existing = {each: remote[each] for each in target.partitions({each.topic for each in remote}) if each in remote}
    say("asking for the groups on both sides")
    groups = groups_on_target(flow, source, target, names, existing)
    # Partitions without a group may also have records that only the source has.
    wanted: dict[TopicPartition, set[int]] = {each: set() for each in existing.values()}
    for group in groups:
        for partition, offset in group.on_target.items():
            wanted[existing[partition]].add(offset)
    own = target.logs(target.partitions(topics))
    own_records: dict[str, int] = {}
    for partition, log in own.items():
        own_records[partition.topic] = own_records.get(partition.topic, 0) + log.size
    left_at = {each: {group.committed.get(each, 0) for group in groups} for each in existing.values()}
    found = read_positions_back(flow, source, target, wanted, left_at, say)
    backs = {each: back for each, back in found.items() if isinstance(back, PartitionBack)}
    tails = {each: back.only_here for each, back in backs.items()}
    gaps = {each: back.gaps for each, back in backs.items()}
    alone = source_only(source, tails, gaps, say, committed=flow.exactly_once)
    unknown = {each: why for each, why in found.items() if isinstance(why, NotProvenError) and not wanted[each]}
    positions = {each: back for each, back in found.items() if wanted[each]}
    return FailbackFacts(groups, positions, own_records, alone, unknown)


def reverse_flows(scene: OpenFlow) -> list[str]:
    """The stack's flows from the target to the source."""
    ends = (scene.flow.settings.target, scene.flow.settings.source)
    flows = flows_without_addresses(scene.settings.topology, None)
    return [flow.name for flow in flows if (flow.settings.source, flow.settings.target) == ends]


def groups_on_target(
    flow: FlowParameters,
    source: KafkaReader,
    target: KafkaReader,
    names: Sequence[str],
    partitions: Mapping[TopicPartition, TopicPartition],
) -> tuple[Group, ...]:
    """The named groups, or else those that the flow selects, with commits in these remote partitions."""
    known = target.groups()
    chosen = list(names) or (flow.group_selection.of(known) if flow.groups else known)
    there = {group: _within(offsets, partitions) for group, offsets in target.committed(chosen).items()}
    for name in names:
        if not there.get(name):
            similar = nearest(name, [each for each in known if each != name])
            raise CannotRunError(
                "unknown-group",
                f"group `{name}` has no committed offset on the remote topics of flow `{flow.name}`",
                flow.target.alias,
                "There is no position that could be translated back.",
                f"name `{similar}`." if similar else "name a group that consumes these topics.",
            )
    moving = [group for group, offsets in sorted(there.items()) if offsets]
    members, members_there = source.members(moving), target.members(moving)
    here, origins = source.committed(moving), set(partitions.values())
    return tuple(
        Group(each, members[each], members_there[each], _within(here.get(each, {}), origins), there[each])
        for each in moving
    )


def _within(offsets: Mapping[TopicPartition, int], partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
    chosen = set(partitions)
    return {partition: offset for partition, offset in offsets.items() if partition in chosen}


def read_positions_back(
    flow: FlowParameters,
    source: KafkaReader,
    target: KafkaReader,
    committed: Mapping[TopicPartition, Iterable[int]],
    left_at: Mapping[TopicPartition, Collection[int]],
    say: Say,
) -> dict[TopicPartition, PartitionBack | NotProvenError]:
    """The positions on the source of offsets that were committed on the target, by source partition.

    Groups had committed `left_at` on the source before they left. Each partition is read once, however many offsets
    there are. Raises NoAnswerError.
    """

    def walk(origin: PartitionLog, copies: PartitionLog, offsets: list[int]) -> PartitionBack | NotProvenError:
        return walk_back(origin, copies, offsets, left_at[origin.partition])

    return walk_partitions(flow, source, target, committed, say, walk)


def walk_back(
    origin: PartitionLog,
    copies: PartitionLog,
    committed: list[int],
    left_at: Collection[int],
    leads: Sequence[int | None] = LEADS,
) -> PartitionBack | NotProvenError:
    """Walk from a little before the lowest position; if nothing is proven, from further back."""
    if not committed and not copies.log.end:
        return PartitionBack({}, origin.log)
    why = NotProvenError("the remote partition no longer has any records")
    lowest = committed[0] if committed else copies.log.end
    for lead in leads:
        start = copies.log.start if lead is None else max(copies.log.start, lowest - lead)
        first = next(copies.records(min(start, copies.log.end)), None)
        if first is not None:
            # If the record was sent again, its first copy is further back and has the same timestamp.
            start = min(start, copies.not_before(first))
            # Timestamps may be out of order: the last walk reads everything.
            begin = origin.log.start if start == copies.log.start else origin.not_before(first)
            records = copies.records(start), origin.records(begin)
            try:
                back = positions_back(
                    committed, *records, origin.log.end, remote_start=copies.log.start, left_at=left_at
                )
                if not back.passed_over or start == copies.log.start:
                    return back
            except NotProvenError as error:
                why = error
        if start == copies.log.start:
            break
    return why
