"""The findings of parity and the rows of its table, from the differences between the two sides."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from kafka_replication.components.contract.grouping import grouped
from kafka_replication.components.contract.report import SAMPLES, Finding, Scalar
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.spark.checks.parity import meanings
from kafka_replication.spark.checks.parity.differences import (
    BEFORE_START,
    CHANGED_COPY,
    NEWEST,
    ON_TARGET_ONLY,
    UNCOUNTED,
    UNREPLICATED,
    Difference,
    Sides,
    meaning,
)
from kafka_replication.spark.checks.parity.first_pass import FirstPass

#: A difference, and what it means.
Found = tuple[meanings.Meaning, Difference]


def with_meanings(differences: Iterable[Difference], sides: Mapping[TopicPartition, Sides]) -> Iterator[Found]:
    return ((meaning(difference, sides[difference.partition]), difference) for difference in differences)


def undecided(
    differences: Sequence[Difference], sides: Mapping[TopicPartition, Sides], *why: meanings.Meaning
) -> set[TopicPartition]:
    """Return the partitions with records that are not judged for one of these reasons, such as `meanings.COMPACTED`."""
    return {difference.partition for what, difference in with_meanings(differences, sides) if what in why}


def lags(found: Iterable[Found]) -> dict[str, int]:
    """Return the number of records per topic that have not reached the target yet."""
    behind: Counter[str] = Counter()
    for what, difference in found:
        if what == meanings.LAGGING:
            behind[difference.partition.topic] += difference.records
    return behind


def target_records(source_records: int, differences: Iterable[Difference]) -> int:
    """Return how many records of a partition with `source_records` and these differences the target holds."""
    return source_records + sum(
        -difference.records
        if difference.kind.startswith("missing") or difference.kind in UNREPLICATED | {"unmarked"}
        else difference.records
        for difference in differences
        if difference.kind not in UNCOUNTED | NEWEST.keys()
    )


def unread_on_source(
    differences: Sequence[Difference], sides: Mapping[TopicPartition, Sides]
) -> dict[TopicPartition, OffsetRange]:
    """Return the unreadable source offsets that may hold records which seem to be only on the target."""
    return {
        difference.partition: offsets
        for difference in differences
        if difference.kind in ON_TARGET_ONLY | NEWEST.keys()
        and (offsets := sides[difference.partition].source_unread) is not None
    }


def unread_on_target(
    differences: Sequence[Difference], sides: Mapping[TopicPartition, Sides]
) -> dict[TopicPartition, OffsetRange]:
    """Return, by source partition, unreadable target offsets that may hold records which seem to be missing there."""
    return {
        difference.partition: offsets
        for difference in differences
        if (difference.kind.startswith("missing") or difference.kind in NEWEST)
        and (offsets := sides[difference.partition].target_unread) is not None
    }


def parity_findings(
    differences: Sequence[Difference],
    sides: Mapping[TopicPartition, Sides],
    source: str,
    target: str,
    labels: Mapping[str, str] = MappingProxyType({}),
) -> list[Finding]:
    """Return the findings. `source` and `target` are aliases; `labels` replace the names of topics."""
    counted = (difference for difference in differences if difference.kind != CHANGED_COPY)
    return findings_by_meaning(with_meanings(counted, sides), labels, source=source, target=target)


def findings_by_meaning(
    found: Iterable[Found],
    labels: Mapping[str, str] = MappingProxyType({}),
    **names: str,
) -> list[Finding]:
    """Return one finding per topic and meaning, which names partitions and offsets. `names` are those of its text."""
    alike = grouped(((difference.partition.topic, what), difference) for what, difference in found)
    findings = []
    for (topic, what), members in sorted(alike.items(), key=lambda item: (item[0][0], item[0][1].code)):
        count = sum(member.records for member in members)
        where = "; ".join(member.place for member in sorted(members)[:SAMPLES])
        text = f"{labels.get(topic, topic)}: {what.sentence(count, **names)} ({where})"
        findings.append(Finding(what.code, what.severity, text, count))
    return findings


def parity_samples(differences: Sequence[Difference]) -> tuple[Mapping[str, Scalar], ...]:
    """Return up to SAMPLES differing records, taken from each difference in turn, so that a large one does not hide
    others.
    """
    turns: list[tuple[int, dict[str, Scalar], tuple[int, int, str]]] = [
        (
            turn,
            {"topic": difference.partition.topic, "partition": difference.partition.partition, "kind": difference.kind},
            sample,
        )
        for difference in differences
        for turn, sample in enumerate(difference.samples)
    ]
    chosen = sorted(turns, key=lambda sample: sample[0])[:SAMPLES]
    return tuple(
        {**where, "offset": offset, "timestampMs": time_ms, "digest": digest}
        for _, where, (offset, time_ms, digest) in chosen
    )


Rows = tuple[Mapping[str, Scalar], ...]


@dataclass(frozen=True)
class PartitionRecords:
    """How many records each side holds of a partition, and whether they are equal."""

    source: int
    target: int
    equal: bool


def final_partitions(
    first_pass: FirstPass, differences: Sequence[Difference] | None
) -> dict[TopicPartition, PartitionRecords]:
    """Return the partitions after their comparison; `differences` are None if only the first pass compares.

    A partition with offsets that could not be read does not count as equal. A partition that is equal from the start
    of the flow on counts as equal.
    """
    on_target = {partition: sums.records for partition, sums in first_pass.target.items()}
    unequal = {*first_pass.disagreeing, *first_pass.unread}
    if differences is not None:
        members = grouped((difference.partition, difference) for difference in differences)
        for partition in first_pass.disagreeing:
            on_target[partition] = target_records(first_pass.source[partition].records, members.get(partition, ()))
        decisive = {difference.partition for difference in differences if difference.kind != BEFORE_START}
        unequal = decisive | set(first_pass.unread)
    return {
        partition: PartitionRecords(sums.records, on_target[partition], partition not in unequal)
        for partition, sums in first_pass.source.items()
    }


def totals(partitions: Iterable[PartitionRecords]) -> dict[str, int]:
    every = list(partitions)
    return {
        "sourceRecords": sum(partition.source for partition in every),
        "targetRecords": sum(partition.target for partition in every),
        "agreeingPartitions": sum(partition.equal for partition in every),
    }


def topic_rows(partitions: Mapping[TopicPartition, PartitionRecords]) -> Rows:
    """Return the topics by source name, those with most unequal partitions first."""
    by_topic = grouped((partition.topic, records) for partition, records in partitions.items())
    order = sorted(by_topic.items(), key=lambda item: (sum(one.equal for one in item[1]) - len(item[1]), item[0]))
    return tuple({"topic": topic, "partitions": len(every), **totals(every)} for topic, every in order)
