"""What a validation proved, stored with the published verdict: where it stopped comparing the records of both sides, so
that the next one can continue from there, and where each consumer group would continue on the target if the source were
lost.

Each is a document in a ConfigMap's binaryData: JSON, compressed. May be imported by anything; imports nothing of ours
but the rules of Kafka and the base of the documents.
"""

import base64
import gzip
import itertools
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Annotated, Any, NamedTuple, TypeAlias, TypeVar

from pydantic import (
    AfterValidator,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    TypeAdapter,
    ValidationError,
    model_validator,
    with_config,
)

from kafka_replication.components.contract.grouping import grouped
from kafka_replication.components.contract.parameters import DocumentPart
from kafka_replication.components.contract.wording import agreeing
from kafka_replication.components.kafka.proven_positions import ProvenPosition, Span


def _with_zone(time: str) -> str:
    if datetime.fromisoformat(time).tzinfo is None:
        raise ValueError("a time without a zone")
    return time


#: ISO 8601 with a zone; without one it could not be compared with other times.
Time: TypeAlias = Annotated[StrictStr, AfterValidator(_with_zone)]
#: How far the clocks of two machines may differ if one validates and the other validates or promotes the same flow.
CLOCKS_APART = timedelta(minutes=1)


T = TypeVar("T")


def compressed(document: object) -> bytes:
    """Return the document, not yet in base64. Equal documents give equal bytes."""
    return gzip.compress(json.dumps(document, separators=(",", ":")).encode(), mtime=0)


def uncompressed(entry: str) -> Any:
    """Return the document of an entry. Raises ValueError if it cannot be unpacked."""
    try:
        return json.loads(gzip.decompress(base64.b64decode(entry, validate=True)))
    except (OSError, EOFError, ValueError, zlib.error, RecursionError) as error:
        raise ValueError("not compressed JSON in base64") from error


def read_entry(entry: str, kind: TypeAdapter[T], version: int, count: int) -> T:
    """Return the document of an entry. Raises ValueError with the reason, which says `it` if `count` is 1, and else
    `they`.
    """
    try:
        document = uncompressed(entry)
    except ValueError as error:
        raise ValueError(agreeing(count, "[it|they] cannot be unpacked")) from error
    if isinstance(document, dict) and document.pop("version", None) != version:
        raise ValueError(agreeing(count, "another release of the job wrote [it|them]"))
    try:
        return kind.validate_python(document)
    except ValidationError as error:
        raise ValueError(agreeing(count, "[its|their] content is invalid")) from error


#: The entry of the ConfigMap, in its binaryData.
EVIDENCE = "evidence.json.gz"
EVIDENCE_VERSION = 1


Offset: TypeAlias = Annotated[StrictInt, Field(ge=0, lt=1 << 63)]


class Proven(NamedTuple):
    """How far both sides of a partition were found equal. The source records before offset `source` are on the target
    before offset `target`, in the same order; all other source records are at `target` or later. Both logs began at
    `…_start` when they were first compared as a whole, at `since` (seconds since 1970). `records` is the number of
    source records compared. `unmoved`: this holds only as long as neither log has removed records since.
    """

    source_start: Offset
    source: Offset
    target_start: Offset
    target: Offset
    records: Offset
    since: Offset
    unmoved: StrictBool

    @property
    def dense(self) -> bool:
        """Return whether each offset of the source held a record that was compared."""
        return self.records == self.source - self.source_start


def _fitting(partitions: Mapping[int, Proven]) -> Mapping[int, Proven]:
    for number, proven in partitions.items():
        if number < 0 or proven.source < proven.source_start or proven.target < proven.target_start:
            raise ValueError(f"partition {number} ends before it begins")
        if not 0 < proven.records <= proven.source - proven.source_start:
            raise ValueError(f"partition {number} has {proven.records} records, which do not fit its offsets")
    return partitions


@with_config(extra="forbid", hide_input_in_errors=True)
@dataclass(frozen=True)
class ProvenTopic:
    """The proven partitions of a topic, by number, and Kafka's id of the topic on each side."""

    source_id: StrictStr
    target_id: StrictStr
    compacted: StrictBool
    partitions: Annotated[Mapping[int, Proven], AfterValidator(_fitting)]


@with_config(extra="forbid", hide_input_in_errors=True)
@dataclass(frozen=True)
class ParityEvidence:
    """The proven topics of a flow, by name on the source. `digest` identifies the model that was deployed."""

    digest: StrictStr
    topics: Mapping[str, ProvenTopic]


_EVIDENCE = TypeAdapter(ParityEvidence)


def packed_evidence(evidence: ParityEvidence) -> bytes:
    """Return the evidence in the form that `read_evidence` reads, not yet in base64."""
    topics = {name: vars(topic) for name, topic in evidence.topics.items()}
    return compressed({"version": EVIDENCE_VERSION, "digest": evidence.digest, "topics": topics})


def read_evidence(data: Mapping[str, str]) -> ParityEvidence | None:
    """Return the evidence among the entries of a ConfigMap; None if there is none. Raises ValueError if it cannot be
    read.
    """
    if EVIDENCE not in data:
        return None
    return read_entry(data[EVIDENCE], _EVIDENCE, EVIDENCE_VERSION, 1)


#: The entry of the ConfigMap, in its binaryData.
POSITIONS = "positions.json.gz"
POSITIONS_VERSION = 1


class Translated(NamedTuple):
    """A group's committed offset on the source. `offset` is MirrorMaker's translation of it; None if not proven."""

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
Positions: TypeAlias = Mapping[tuple[str, str, int], ProvenPosition]


@dataclass(frozen=True)
class PublishedPositions:
    """What was proven at `time` (ISO 8601) of the model with this digest.

    `left_out` committed offsets have no position here: nothing was proven about them, or there was no room.
    """

    digest: str
    time: str
    topics: Mapping[str, SpannedTopic] = field(default_factory=dict)
    positions: Positions = field(default_factory=dict)
    left_out: int = 0

    def worst(self) -> list[tuple[tuple[str, str, int], ProvenPosition]]:
        """Return the positions, those with the most records to read again first."""
        return sorted(self.positions.items(), key=lambda item: (-item[1].read_again, item[0]))


class _PositionsPartition(DocumentPart):
    """`groups` holds indexes into the document's `groups`; `shifts` is the position on the target minus `committed`."""

    span: tuple[Offset, Offset, Offset, Offset, StrictBool]
    groups: tuple[Offset, ...] = ()
    committed: tuple[Offset, ...] = ()
    shifts: tuple[StrictInt, ...] = ()
    again: tuple[Offset, ...] = ()

    @model_validator(mode="after")
    def _rows_are_whole(self) -> "_PositionsPartition":
        if len({len(column) for column in (self.groups, self.committed, self.shifts, self.again)}) > 1:
            raise ValueError("a group lacks a number")
        if any(committed + shift < 0 for committed, shift in zip(self.committed, self.shifts, strict=True)):
            raise ValueError("a position is negative")
        span = Span(*self.span)
        if span.source < span.source_start or span.target < span.target_start:
            raise ValueError("a span ends before it begins")
        if span.dense and span.source - span.source_start != span.target - span.target_start:
            raise ValueError("a dense span has different lengths on source and target")
        return self


class _PositionsTopic(DocumentPart):
    source_id: StrictStr
    target_id: StrictStr
    partitions: dict[int, _PositionsPartition]


class _PositionsDocument(DocumentPart):
    digest: StrictStr
    time: Time
    groups: tuple[StrictStr, ...]
    topics: dict[str, _PositionsTopic]
    left_out: Offset = 0

    @model_validator(mode="after")
    def _groups_have_names(self) -> "_PositionsDocument":
        every = (partition for topic in self.topics.values() for partition in topic.partitions.values())
        if any(index >= len(self.groups) for partition in every for index in partition.groups):
            raise ValueError("a group has no name")
        return self


_POSITIONS = TypeAdapter(_PositionsDocument)


def packed_positions(published: PublishedPositions, most_bytes: int) -> bytes | None:
    """Return the positions in the form that `read_positions` reads, not yet in base64; None if not even the spans fit.
    If the positions do not all fit, those with the most records to read again stay; a reader computes the others from
    the spans.
    """
    packed = _packed_positions(published)
    while len(packed) > most_bytes and published.positions:
        count = int(len(published.positions) * 0.9 * most_bytes / len(packed))
        left_out = published.left_out + len(published.positions) - count
        published = replace(published, positions=dict(itertools.islice(published.worst(), count)), left_out=left_out)
        packed = _packed_positions(published)
    return packed if len(packed) <= most_bytes else None


def _packed_positions(published: PublishedPositions) -> bytes:
    groups = {group: index for index, group in enumerate(sorted({group for group, *_ in published.positions}))}
    rows = grouped(
        ((topic, partition), (groups[group], position))
        for (group, topic, partition), position in published.positions.items()
    )
    topics = {
        name: {
            "sourceId": topic.source_id,
            "targetId": topic.target_id,
            "partitions": {
                number: {"span": span, **_columns(sorted(rows.get((name, number), [])))}
                for number, span in topic.spans.items()
            },
        }
        for name, topic in published.topics.items()
    }
    document = {
        "version": POSITIONS_VERSION,
        "digest": published.digest,
        "time": published.time,
        "groups": list(groups),
        "topics": topics,
        "leftOut": published.left_out,
    }
    return compressed(document)


def _columns(rows: list[tuple[int, ProvenPosition]]) -> dict[str, list[int]]:
    if not rows:
        return {}
    return {
        "groups": [index for index, _ in rows],
        "committed": [position.committed for _, position in rows],
        "shifts": [position.offset - position.committed for _, position in rows],
        "again": [position.read_again for _, position in rows],
    }


def read_positions(data: Mapping[str, str]) -> PublishedPositions | None:
    """Return the positions among the entries of a ConfigMap; None if there are none. Raises ValueError if
    unreadable.
    """
    if POSITIONS not in data:
        return None
    document = read_entry(data[POSITIONS], _POSITIONS, POSITIONS_VERSION, 2)
    topics = {
        name: SpannedTopic(
            topic.source_id,
            topic.target_id,
            {number: Span(*partition.span) for number, partition in topic.partitions.items()},
        )
        for name, topic in document.topics.items()
    }
    return PublishedPositions(document.digest, document.time, topics, dict(_positions(document)), document.left_out)


def _positions(document: _PositionsDocument) -> Iterator[tuple[tuple[str, str, int], ProvenPosition]]:
    for name, topic in document.topics.items():
        for number, partition in topic.partitions.items():
            for index, committed, shift, again in zip(
                partition.groups, partition.committed, partition.shifts, partition.again, strict=True
            ):
                yield (document.groups[index], name, number), ProvenPosition(committed, committed + shift, again)
