"""Where each consumer group continues on the target, stored in published verdicts for the day when the source is lost.

May be imported by anything; imports nothing of ours but the rules of Kafka.
"""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, TypeAlias

from pydantic import StrictBool, StrictInt, StrictStr, model_validator

from components.contract.clusters import Model
from components.contract.compressed import compressed, read_entry
from components.contract.evidence import Offset
from components.contract.times import Time
from components.kafka.proven_positions import KeptPosition, Span

#: The entry of the ConfigMap, in its binaryData.
POSITIONS = "positions.json.gz"
VERSION = 1


class Translated(NamedTuple):
    """A group's offset on the source. `offset` is MirrorMaker's translation of it; None if that was not proven."""

    group: str
    topic: str
    partition: int
    committed: int
    offset: int | None
    read_again: int


@dataclass(frozen=True)
class SpannedTopic:
    """The proven spans of a topic by partition, and Kafka's id of the topic on each side."""

    source_id: str
    target_id: str
    spans: Mapping[int, Span]


#: By group, topic on the source, and partition.
Positions: TypeAlias = Mapping[tuple[str, str, int], KeptPosition]


@dataclass(frozen=True)
class KeptPositions:
    """What was proven at `time` (ISO 8601) of the model with this digest.

    `left_out` committed offsets have no position here: nothing was proven about them, or there was no room.
    """

    digest: str
    time: str
    topics: Mapping[str, SpannedTopic] = field(default_factory=dict)
    positions: Positions = field(default_factory=dict)
    left_out: int = 0

    def worst(self) -> list[tuple[tuple[str, str, int], KeptPosition]]:
        """The positions, those with the most records to read again first."""
        return sorted(self.positions.items(), key=lambda each: (-each[1].read_again, each[0]))


class _Partition(Model):
    """`groups` holds indexes; `shifts` holds the position on the target minus the committed offset."""

    span: tuple[Offset, Offset, Offset, Offset, StrictBool]
    groups: tuple[Offset, ...] = ()
    committed: tuple[Offset, ...] = ()
    shifts: tuple[StrictInt, ...] = ()
    again: tuple[Offset, ...] = ()

    @model_validator(mode="after")
    def _rows_are_whole(self) -> "_Partition":
        if len({len(each) for each in (self.groups, self.committed, self.shifts, self.again)}) > 1:
            raise ValueError("a group lacks a number")
        if any(committed + shift < 0 for committed, shift in zip(self.committed, self.shifts, strict=True)):
            raise ValueError("a position is negative")
        span = Span(*self.span)
        if span.source < span.source_start or span.target < span.target_start:
            raise ValueError("a span ends before it begins")
        if span.dense and span.source - span.source_start != span.target - span.target_start:
            raise ValueError("a dense span has different lengths on source and target")
        return self


class _Topic(Model):
    source_id: StrictStr
    target_id: StrictStr
    partitions: dict[int, _Partition]


class _Document(Model):
    version: Literal[1]
    digest: StrictStr
    time: Time
    groups: tuple[StrictStr, ...]
    topics: dict[str, _Topic]
    left_out: Offset = 0

    @model_validator(mode="after")
    def _groups_have_names(self) -> "_Document":
        every = (each for topic in self.topics.values() for each in topic.partitions.values())
        if any(index >= len(self.groups) for each in every for index in each.groups):
            raise ValueError("a group has no name")
        return self


def packed_positions(kept: KeptPositions, most_bytes: int) -> bytes | None:
    """The positions in the form that `read_positions` reads, not yet in base64; None if not even the spans fit. If
    there are too many, those with the most records to read again are kept; the spans still give the others.
    """
    packed = _packed(kept)
    while len(packed) > most_bytes and kept.positions:
        count = int(len(kept.positions) * 0.9 * most_bytes / len(packed))
        left_out = kept.left_out + len(kept.positions) - count
        kept = replace(kept, positions=dict(itertools.islice(kept.worst(), count)), left_out=left_out)
        packed = _packed(kept)
    return packed if len(packed) <= most_bytes else None


def _packed(kept: KeptPositions) -> bytes:
    groups = {group: index for index, group in enumerate(sorted({group for group, *_ in kept.positions}))}
    rows: dict[tuple[str, int], list[tuple[int, KeptPosition]]] = {}
    for (group, topic, partition), position in kept.positions.items():
        rows.setdefault((topic, partition), []).append((groups[group], position))
    topics = {
        name: {
            "sourceId": topic.source_id,
            "targetId": topic.target_id,
            "partitions": {
                number: {"span": span, **_columns(sorted(rows.get((name, number), [])))}
                for number, span in topic.spans.items()
            },
        }
        for name, topic in kept.topics.items()
    }
    document = {
        "version": VERSION,
        "digest": kept.digest,
        "time": kept.time,
        "groups": list(groups),
        "topics": topics,
        "leftOut": kept.left_out,
    }
    return compressed(document)


def _columns(rows: list[tuple[int, KeptPosition]]) -> dict[str, list[int]]:
    if not rows:
        return {}
    return {
        "groups": [index for index, _ in rows],
        "committed": [each.committed for _, each in rows],
        "shifts": [each.offset - each.committed for _, each in rows],
        "again": [each.read_again for _, each in rows],
    }


def read_positions(data: Mapping[str, str]) -> KeptPositions | None:
    """The positions among the entries of a ConfigMap; None if there are none. Raises ValueError if unreadable."""
    if POSITIONS not in data:
        return None
    found = read_entry(data[POSITIONS], _Document, VERSION, 2)
    topics = {
        name: SpannedTopic(
            topic.source_id,
            topic.target_id,
            {number: Span(*each.span) for number, each in topic.partitions.items()},
        )
        for name, topic in found.topics.items()
    }
    return KeptPositions(found.digest, found.time, topics, dict(_positions(found)), found.left_out)


def _positions(document: _Document) -> Iterator[tuple[tuple[str, str, int], KeptPosition]]:
    for name, topic in document.topics.items():
        for number, each in topic.partitions.items():
            for index, committed, shift, again in zip(
                each.groups, each.committed, each.shifts, each.again, strict=True
            ):
                yield (document.groups[index], name, number), KeptPosition(committed, committed + shift, again)
