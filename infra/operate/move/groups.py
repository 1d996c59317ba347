"""What every move does with groups: read them, compare them again, commit for them.

A failover moves groups from the source to the target, a failback from the target to the source; the `Direction` says
which. No state is kept between two runs: a new run finds what an interrupted one did.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from kafka_replication.components.clients.reader import KafkaReader
from kafka_replication.components.clients.writer import GroupWriter
from kafka_replication.components.contract.parameters import FlowParameters
from kafka_replication.components.contract.problems import CannotRunError, RefusedError
from kafka_replication.components.kafka.positions import CommittedOffset, TopicPartition
from kafka_replication.components.kafka.replication_policy import SIDES, Side
from kafka_replication.components.properties.definitions import nearest
from kafka_replication.infra.operate.flow_access import FlowAccess, Readers
from kafka_replication.infra.operate.move.facts import Group, NewPosition
from kafka_replication.infra.operate.partition_logs import Say


@dataclass(frozen=True)
class Direction:
    """The command that moves groups, the side that they leave, and the side on which they continue."""

    command: str
    origin: Side
    destination: Side


FAILOVER = Direction("failover", "source", "target")
FAILBACK = Direction("failback", "target", "source")


def read_groups(
    flow: FlowParameters,
    direction: Direction,
    readers: Readers,
    names: Sequence[str],
    partitions: Collection[TopicPartition],
) -> tuple[Group, ...]:
    """Return the named groups, or else those that the flow selects, with commits on the side that they leave. Groups of
    Kafka Streams are among them, share groups are not: these commit nothing that can be moved.

    Only commits in these source partitions and their remote partitions count. Raises CannotRunError for a named group
    without any.
    """
    remote = flow.replication_policy.remote_partition
    places = {"source": frozenset(partitions), "target": frozenset(map(remote, partitions))}

    def committed(side: Side, groups: Sequence[str]) -> dict[str, dict[TopicPartition, CommittedOffset]]:
        commits = readers[side].commits(groups)
        return {
            group: {partition: commit for partition, commit in by_partition.items() if partition in places[side]}
            for group, by_partition in commits.items()
        }

    def offsets(side: Side, group: str) -> dict[TopicPartition, int]:
        return {partition: commit.offset for partition, commit in commits[side].get(group, {}).items()}

    streams = {side: frozenset(readers[side].other_groups()) for side in SIDES}
    known = [*readers[direction.origin].groups(), *streams[direction.origin]]
    chosen = list(names) or flow.applications(known)
    commits = {direction.origin: committed(direction.origin, chosen)}
    for name in names:
        if not commits[direction.origin].get(name):
            raise _without_commit(flow, direction, name, known)
    leaving = [group for group, by_partition in sorted(commits[direction.origin].items()) if by_partition]
    members = {side: readers[side].members(leaving) for side in SIDES}
    commits[direction.destination] = committed(direction.destination, leaving)
    return tuple(
        Group(
            name,
            members["source"][name],
            members["target"][name],
            offsets("source", name),
            offsets("target", name),
            {partition: commit.metadata for partition, commit in commits[direction.origin][name].items()},
            name in streams["source"] | streams["target"],
        )
        for name in leaving
    )


def _without_commit(flow: FlowParameters, direction: Direction, name: str, known: Sequence[str]) -> CannotRunError:
    alias = getattr(flow, direction.origin).alias
    topics = "topics" if direction.origin == "source" else "remote topics"
    what = f"group `{name}` has no committed offset on the {topics} of flow `{flow.name}`"
    why = f"Without an offset on the {direction.origin}, there is no position to compute."
    similar = nearest(name, known)
    remedy = f"name `{similar}`." if similar and name not in known else "name a group that consumes these topics."
    return CannotRunError("unknown-group", what, alias, why, remedy)


def expect_unchanged(
    opened: FlowAccess,
    direction: Direction,
    readers: Readers,
    groups: Sequence[Group],
    partitions: Collection[TopicPartition],
    positions: Sequence[NewPosition],
) -> None:
    """Raise RefusedError if a group runs, or has moved since it was read.

    This is the last look before positions are committed.
    """
    names = sorted({position.group for position in positions})
    before = {group.name: group for group in groups}
    new = {(position.group, position.target): position.offset for position in positions}
    for group in read_groups(opened.parameters, direction, readers, names, partitions):
        earlier = before[group.name]
        for partition, offset in group.offsets(direction.destination).items():
            was = earlier.offsets(direction.destination).get(partition, 0)
            if offset > max(new.get((group.name, partition), offset), was):
                what = f"group {group.name} is at {offset} in {partition}, after its position"
                raise changed_meanwhile(opened, what, "find out who moved it")
        changed = group.offsets(direction.origin) != earlier.offsets(direction.origin)
        if changed or group.members_on_source or group.members_on_target:
            raise changed_meanwhile(opened, f"group {group.name} runs, or has committed offsets meanwhile", "stop it")


def changed_meanwhile(opened: FlowAccess, what: str, remedy: str) -> RefusedError:
    """Return the refusal to commit positions that were computed for an earlier state."""
    why = "The positions were computed for the earlier state. Nothing was committed."
    where = f"flow {opened.flow.name}"
    return RefusedError("changed-meanwhile", what, where, why, f"{remedy}, and run the command again.")


def commit_positions(writer: GroupWriter, reader: KafkaReader, positions: Sequence[NewPosition], say: Say) -> None:
    """Commit for one group after the other, and read the offsets back.

    The metadata of each offset stays what the application has committed, as MirrorMaker also copies it. Raises
    CannotRunError, and RefusedError if a different offset is there afterwards.
    """
    by_group: dict[str, dict[TopicPartition, CommittedOffset]] = {}
    for position in positions:
        commit = CommittedOffset(position.offset, position.metadata)
        by_group.setdefault(position.group, {})[position.target] = commit
    for number, (group, offsets) in enumerate(by_group.items(), start=1):
        say(f"committing for {group} ({number} of {len(by_group)})")
        writer.commit(group, offsets)
    committed = reader.committed(by_group)
    for position in positions:
        if (now := committed.get(position.group, {}).get(position.target)) != position.offset:
            what = f"{position.group} is at {now} in {position.target}, not at {position.offset}"
            why = "Somebody moved the group while its position was being committed."
            remedy = "stop the group, and run the command again."
            raise RefusedError("read-back-differs", what, reader.alias, why, remedy)
