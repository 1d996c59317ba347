"""The records that `replicate keep` writes to a compacted topic on the target: for each consumer group, where it would
continue there once the source is lost.

May be imported by anything; imports nothing of ours but the rules of Kafka and the base of the documents.
"""

import json
import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal, NamedTuple, TypeAlias

from pydantic import Field, StrictInt, StrictStr
from pydantic.alias_generators import to_camel

from kafka_replication.components.contract.parameters import DocumentPart
from kafka_replication.components.kafka.mirror_records import Checkpoint, Checkpoints
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.components.kafka.record_identity import KafkaRecord

VERSION: Literal[1] = 1
_Offset: TypeAlias = Annotated[StrictInt, Field(ge=0, lt=1 << 63)]


def positions_topic(flow: str) -> str:
    """Return the name of the topic. MirrorMaker takes topics whose names begin and end like this for its own, so no
    flow copies it.
    """
    return f"mm2-positions.{flow}.internal"


class KeptPosition(NamedTuple):
    """A group's `committed` offset on the source, and the `offset` of the remote partition at which it continues.

    `topic_id` is Kafka's id of the remote topic. The remote partition ended at `offset`, and afterwards the source
    partition ended at `source_end`, at or before `committed`. `metadata` is what the application has stored with its
    offset.
    """

    committed: int
    offset: int
    topic_id: str
    source_end: int
    metadata: str = ""


class _Value(DocumentPart):
    version: Literal[1] = VERSION
    committed: _Offset
    offset: _Offset
    topic_id: StrictStr
    source_end: _Offset
    metadata: StrictStr = ""


class Look(DocumentPart):
    """A look that has asked all groups: for their offsets after `at_ms` (ms since 1970, the keeper's clock), when every
    checkpoint before the offset `checkpoints` had been written. By then each group had committed what its newest record
    says; about a group without a record, nothing is known. In a pair, the positions take the other half's offset syncs
    before the offset `syncs` into account; left out while there are none.
    """

    version: Literal[1] = VERSION
    at_ms: _Offset
    checkpoints: _Offset
    syncs: Annotated[_Offset, Field(exclude_if=operator.not_)] = 0


#: The keys of a position in JSON, in the order of its fields.
_VALUE = tuple(to_camel(name) for name in _Value.model_fields)
_ENCODER = json.JSONEncoder(separators=(",", ":"))


class _Key(DocumentPart):
    flow: StrictStr
    group: StrictStr
    topic: StrictStr
    partition: _Offset


class PositionKey(NamedTuple):
    """A group, and a partition of the source."""

    group: str
    partition: TopicPartition


def position_record(flow: str, key: PositionKey, position: KeptPosition | None) -> tuple[bytes, bytes | None]:
    """Return key and value of a record; without a position, of a tombstone."""
    named = {"flow": flow, "group": key.group, "topic": key.partition.topic, "partition": key.partition.partition}
    if position is None:
        return _json(named), None
    return _json(named), _json(dict(zip(_VALUE, (VERSION, *position), strict=True)))


def look_record(flow: str, look: Look) -> tuple[bytes, bytes]:
    """Return key and value of the record that ends a look."""
    return _json({"flow": flow}), _json(look.document())


def _json(document: Mapping[str, object]) -> bytes:
    return _ENCODER.encode(document).encode()


@dataclass(frozen=True)
class KeptPositions:
    """The newest position of each group and partition of the source, and the newest look.

    `unreadable` counts the records that another release or somebody else wrote.
    """

    positions: Mapping[PositionKey, KeptPosition] = field(default_factory=dict)
    look: Look | None = None
    unreadable: int = 0

    def of(self, topic_ids: Mapping[str, str], logs: Mapping[TopicPartition, OffsetRange]) -> "KeptPositions":
        """Return those that still belong to the remote logs; `topic_ids` and `logs` are by topic and partition of the
        source. A log that ends before one of its positions has lost its end since. It may also hold other records at
        the lower positions, so none of them counts.
        """
        same = {
            key: position
            for key, position in self.positions.items()
            if topic_ids.get(key.partition.topic) == position.topic_id and key.partition in logs
        }
        cut = {key.partition for key, position in same.items() if position.offset > logs[key.partition].end}
        valid = {key: position for key, position in same.items() if key.partition not in cut}
        return replace(self, positions=valid)


def kept_positions(flow: str, records: Iterable[KafkaRecord]) -> KeptPositions:
    """Return the newest positions of a flow; the records are in order."""
    positions: dict[PositionKey, KeptPosition] = {}
    look, look_key, unreadable = None, _json({"flow": flow}), 0
    for record in records:
        try:
            if record.key == look_key:
                look = Look.model_validate_json(record.value or b"")
                continue
            named = _Key.model_validate_json(record.key or b"")
            key = PositionKey(named.group, TopicPartition(named.topic, named.partition))
            if position_record(flow, key, None)[0] != record.key:
                raise ValueError
            # An older value of this key does not count any more, even if this one cannot be read.
            positions.pop(key, None)
            if record.value is not None:
                value = _Value.model_validate_json(record.value)
                positions[key] = KeptPosition(*(getattr(value, name) for name in KeptPosition._fields))
        except ValueError:
            unreadable += 1
    return KeptPositions(positions, look, unreadable)


def newest_checkpoint(
    group: str, source: TopicPartition, remote: TopicPartition, kept: KeptPositions, checkpoints: Checkpoints
) -> Checkpoint | None:
    """Return the newest of what the keeper and MirrorMaker's checkpoints say about a group, in the form of a
    checkpoint; None if both say nothing.

    If the keeper looked after the newest checkpoint was written, the group is where the keeper saw it; otherwise it is
    where the checkpoint says. The offsets of the checkpoints' topic decide which came first, so no clock matters. A
    kept offset skips nothing unless the group has been set back since. MirrorMaker's translation counts in that case,
    and where no offset is kept. Otherwise it does not count, even if it is further ahead, because it is wrong after the
    remote topic was created again, and while a task sends records again.
    """
    position, look = kept.positions.get(PositionKey(group, source)), kept.look
    at, known = checkpoints.newest.get((group, remote), (-1, None))
    if position is None or look is None:
        return known
    seen = Checkpoint(position.committed, position.offset, look.at_ms, position.metadata)
    if known is None:
        return seen
    later, set_back = at >= look.checkpoints, known.upstream < seen.upstream
    translated = not position.source_end and (later or known.upstream <= seen.upstream)
    if translated or (later and set_back):
        return known
    return known._replace(downstream=seen.downstream) if later else seen
