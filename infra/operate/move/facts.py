"""What was seen about a flow before a failover, and what would be committed, as plain values."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, TypeAlias

from kafka_replication.components.contract.problems import NoAnswer
from kafka_replication.components.contract.wording import named, number
from kafka_replication.components.kafka.exact_positions import NotProvenError, PartitionPositions
from kafka_replication.components.kafka.positions import TopicPartition
from kafka_replication.components.kafka.replication_policy import Side
from kafka_replication.infra.operate.status.facts import ConnectorFacts, VerdictFacts

#: Whether a number of records read again is exact or a bound.
Bound: TypeAlias = Literal["exactly", "at least", "at most"]
#: How many positions the text shows.
_SHOWN = 40


class Mode(StrEnum):
    """The mode of a failover: for `planned` the source's producers are stopped, for `continuous` they keep writing, for
    `disaster` the source is lost.
    """

    PLANNED = "planned"
    CONTINUOUS = "continuous"
    DISASTER = "disaster"


@dataclass(frozen=True)
class Group:
    """A consumer group: its members on each side, its offsets on the source, and its offsets on the target.

    `metadata` is what its application committed with the offsets on the side that it leaves. `streams`: it is a streams
    group on either side (KIP-1071), and then its members are not known.
    """

    name: str
    members_on_source: int
    members_on_target: int
    committed: Mapping[TopicPartition, int]
    on_target: Mapping[TopicPartition, int]
    metadata: Mapping[TopicPartition, str] = field(default_factory=dict)
    streams: bool = False

    def offsets(self, side: Side) -> Mapping[TopicPartition, int]:
        return self.committed if side == "source" else self.on_target


@dataclass(frozen=True)
class Growth:
    """A source partition to which something was written while it was watched: its end before and after."""

    partition: TopicPartition
    before: int
    after: int


@dataclass(frozen=True)
class FailoverFacts:
    """Everything that a planned or continuous failover looks at.

    `positions` and the source's `ends` are by source partition; each end has a position too. `missing` are remote
    partitions that do not exist. `open` are source partitions with an open transaction, whose records the flow may
    still have to copy. `watched_seconds` is how long the source's ends were watched.
    """

    connectors: tuple[ConnectorFacts, ...] | NoAnswer
    verdict: VerdictFacts | NoAnswer | None
    groups: tuple[Group, ...]
    positions: Mapping[TopicPartition, PartitionPositions | NotProvenError]
    ends: Mapping[TopicPartition, int]
    missing: tuple[TopicPartition, ...] = ()
    grown: tuple[Growth, ...] = ()
    open: tuple[TopicPartition, ...] = ()
    watched_seconds: float = 0


@dataclass(frozen=True)
class Precondition:
    """One precondition with its value. `met` is None if it is only information."""

    name: str
    value: str
    met: bool | None = True


@dataclass(frozen=True)
class NewPosition:
    """A position to commit: the group is at `committed` on the source and continues at `offset` on the target. `bound`
    says whether `read_again` is exact or a bound. In a pair, two kinds of records are not counted: those sent again
    before the compared records, and copies that the source no longer holds. `metadata` is what the application
    committed with its offset.
    """

    group: str
    source: TopicPartition
    committed: int
    target: TopicPartition
    offset: int
    read_again: int = 0
    bound: Bound = "exactly"
    metadata: str = ""

    @property
    def text(self) -> str:
        """Return a line such as "checkout-web: orders-0 at 412 -> useast.orders-0 at 398, …"."""
        return f"{self.group}: {self.source} at {self.committed} -> {self.target} at {self.offset}, {self._read_again}"

    @property
    def _read_again(self) -> str:
        if not self.read_again:
            return "some records may be read again" if self.bound == "at least" else "nothing read again"
        bound = "" if self.bound == "exactly" else f"{self.bound} "
        return f"{bound}{number(self.read_again, 'record')} read again"


@dataclass(frozen=True)
class CheckedPlan:
    """The preconditions of a move; subclasses add what would be changed if all are met."""

    preconditions: tuple[Precondition, ...]

    @property
    def unmet(self) -> tuple[Precondition, ...]:
        return tuple(precondition for precondition in self.preconditions if precondition.met is False)

    def lines(self) -> Iterator[str]:
        """Yield what would be changed, one line each."""
        yield from ()

    def warnings(self) -> Iterator[str]:
        """Yield what would be left as it is."""
        yield from ()

    def document(self, *, committed: bool) -> dict[str, object]:
        """Return the plan as JSON, version 1. `committed` says whether it was carried out."""
        shown = [{"name": item.name, "value": item.value, "met": item.met} for item in self.preconditions]
        return {"version": 1, "committed": committed, "preconditions": shown}


@dataclass(frozen=True)
class GroupPlan(CheckedPlan):
    """The preconditions, what would be committed if all are met, and why groups are left alone."""

    positions: tuple[NewPosition, ...]
    left_alone: Mapping[str, str]

    def lines(self) -> Iterator[str]:
        for position in self.positions[:_SHOWN]:
            yield position.text
        if len(self.positions) > _SHOWN:
            yield f"and {len(self.positions) - _SHOWN} more positions, which `--json` lists"

    def warnings(self) -> Iterator[str]:
        for group, why in self.left_alone.items():
            yield f"group {group} is left alone: {why}"

    def document(self, *, committed: bool) -> dict[str, object]:
        positions = [
            {
                "group": position.group,
                "source": str(position.source),
                "sourceOffset": position.committed,
                "target": str(position.target),
                "targetOffset": position.offset,
                "readAgain": position.read_again,
                "readAgainIs": position.bound,
            }
            for position in self.positions
        ]
        left_alone = [{"group": group, "why": why} for group, why in self.left_alone.items()]
        return {**super().document(committed=committed), "positions": positions, "leftAlone": left_alone}


def streams_groups(groups: Iterable[Group], positions: Iterable[NewPosition]) -> Iterator[Precondition]:
    """Yield a precondition that names the Kafka Streams groups to move: whether they run cannot be seen."""
    moved = {position.group for position in positions}
    if names := [group.name for group in groups if group.streams and group.name in moved]:
        value = f"{named(names)}: stop every instance first, because this command cannot see whether one runs"
        yield Precondition("streams", value, met=None)


def unproven(positions: Mapping[TopicPartition, object]) -> str:
    """Return the first partition without proven positions, the reason, and how many others there are; else empty."""
    errors = [(partition, why) for partition, why in sorted(positions.items()) if isinstance(why, NotProvenError)]
    if not errors:
        return ""
    (partition, why), *others = errors
    more = f", and {number(len(others), 'other partition')}" if others else ""
    return f"not proven in {partition}: {why}{more}"
