"""Where a validation stopped comparing the records of both sides, so that the next one can continue from there. Pure.

It is published with the verdict. May be imported by anything; imports nothing of ours but positions.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr, model_validator

from components.contract.compressed import compressed, read_entry

#: The entry of the ConfigMap, in its binaryData.
EVIDENCE = "evidence.json.gz"
VERSION = 1


class Proven(NamedTuple):
    """How far both sides of a partition were found equal. The source records before offset `source` are on the target
    before offset `target`, in the same order; all other source records are at `target` or later. Both logs began at
    `…_start` when they were first compared as a whole, at `since` (seconds since 1970). `records` is the number of
    source records compared. `unmoved`: this holds only as long as neither log has removed records since.
    """

    source_start: int
    source: int
    target_start: int
    target: int
    records: int
    since: int
    unmoved: bool = False

    @property
    def dense(self) -> bool:
        """Whether each offset of the source held a record that was compared."""
        return self.records == self.source - self.source_start


@dataclass(frozen=True)
class ProvenTopic:
    """The proven partitions of a topic, by number, and Kafka's id of the topic on each side."""

    source_id: str
    target_id: str
    compacted: bool
    partitions: Mapping[int, Proven]


@dataclass(frozen=True)
class Evidence:
    """The proven topics of a flow, by name on the source. `digest` is that of the model that was deployed."""

    digest: str
    topics: Mapping[str, ProvenTopic]


Offset: TypeAlias = Annotated[StrictInt, Field(ge=0, lt=1 << 63)]
_Row: TypeAlias = tuple[Offset, Offset, Offset, Offset, Offset, Offset, StrictBool]


class _Topic(BaseModel):
    model_config = ConfigDict(extra="forbid")
    source_id: StrictStr
    target_id: StrictStr
    compacted: StrictBool
    partitions: dict[int, _Row]

    @model_validator(mode="after")
    def _positions_follow_the_starts(self) -> "_Topic":
        for number, row in self.partitions.items():
            proven = Proven(*row)
            if number < 0 or proven.source < proven.source_start or proven.target < proven.target_start:
                raise ValueError(f"partition {number} ends before it begins")
            if not 0 < proven.records <= proven.source - proven.source_start:
                raise ValueError(f"partition {number} has {proven.records} records, which do not fit its offsets")
        return self


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid")
    version: Literal[1]
    digest: StrictStr
    topics: dict[str, _Topic]


def packed_evidence(evidence: Evidence) -> bytes:
    """The evidence in the form that `read_evidence` reads, not yet in base64."""
    topics = {
        name: {
            "source_id": each.source_id,
            "target_id": each.target_id,
            "compacted": each.compacted,
            "partitions": dict(each.partitions),
        }
        for name, each in evidence.topics.items()
    }
    return compressed({"version": VERSION, "digest": evidence.digest, "topics": topics})


def read_evidence(data: Mapping[str, str]) -> Evidence | None:
    """The evidence among the entries of a ConfigMap; None if there is none. Raises ValueError if it cannot be read."""
    if EVIDENCE not in data:
        return None
    found = read_entry(data[EVIDENCE], _Document, VERSION, 1)
    topics = {
        name: ProvenTopic(
            each.source_id,
            each.target_id,
            each.compacted,
            {number: Proven(*row) for number, row in each.partitions.items()},
        )
        for name, each in found.topics.items()
    }
    return Evidence(found.digest, topics)
