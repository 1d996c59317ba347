"""What was seen about a flow before a failover, and what would be committed, as plain values."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, TypeAlias

from components.contract.wording import number
from components.kafka.exact_positions import NotProvenError, PartitionPositions
from components.kafka.positions import TopicPartition
from infra.operate.status.facts import ConnectorFacts, NoAnswer, VerdictFacts

#: Whether a number of records read again is exact or a bound.
Bound: TypeAlias = Literal["exactly", "at least", "at most"]


class Mode(StrEnum):
    """The mode of a failover: for `planned` the source's producers are stopped, for `continuous` they keep writing, for
    `disaster` the source is lost.
    """

    PLANNED = "planned"
    CONTINUOUS = "continuous"
    DISASTER = "disaster"


@dataclass(frozen=True)
class Group:
    """A consumer group: its members on each side, its offsets on the source, and its offsets on the target."""

    name: str
    members_on_source: int
    members_on_target: int
    committed: Mapping[TopicPartition, int]
    on_target: Mapping[TopicPartition, int]


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
    before the compared records, and copies that the source no longer holds.
    """

    group: str
    source: TopicPartition
    committed: int
    target: TopicPartition
    offset: int
    read_again: int = 0
    bound: Bound = "exactly"


@dataclass(frozen=True)
class LeftAlone:
    """A group that is left alone, and why."""

    group: str
    why: str


@dataclass(frozen=True)
class CheckedPlan:
    """The preconditions of something."""

    preconditions: tuple[Precondition, ...]

    @property
    def unmet(self) -> tuple[Precondition, ...]:
        return tuple(each for each in self.preconditions if each.met is False)


@dataclass(frozen=True)
class GroupPlan(CheckedPlan):
    """The preconditions, and what would be committed if all are met."""

    moves: tuple[NewPosition, ...]
    left_alone: tuple[LeftAlone, ...]


def unproven(positions: Mapping[TopicPartition, object]) -> str:
    """The first partition without proven positions, the reason, and how many others there are; else empty."""
    found = [(each, why) for each, why in sorted(positions.items()) if isinstance(why, NotProvenError)]
    if not found:
        return ""
    (partition, why), *others = found
    more = f", and {number(len(others), 'other partition')}" if others else ""
    return f"not proven in {partition}: {why}{more}"
