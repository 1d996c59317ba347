"""One row for each group and for each topic of a flow, worst first. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from components.contract.report import Finding, Scalar, Severity
from components.kafka.positions import TopicPartition
from spark.checks.first_pass import FirstPass
from spark.checks.meanings import BEFORE_START, Difference
from spark.checks.parity_findings import target_records
from spark.checks.translation import Position, Proof

Rows = tuple[Mapping[str, Scalar], ...]
_WRONG = {Severity.FAIL, Severity.ERROR}


@dataclass(frozen=True)
class PartitionRecords:
    """How many records each side holds of a partition, and whether they are equal."""

    source: int
    target: int
    equal: bool


def final_partitions(
    first_pass: FirstPass, differences: Sequence[Difference]
) -> dict[TopicPartition, PartitionRecords]:
    """The partitions after their comparison.

    A partition with offsets that could not be read does not count as equal. A partition that is equal from the start
    of the flow on counts as equal.
    """
    found: dict[TopicPartition, list[Difference]] = {each: [] for each in first_pass.disagreeing}
    for difference in differences:
        found[difference.partition].append(difference)
    on_target = {
        each: target_records(sums.records, found[each]) if each in found else first_pass.target[each].records
        for each, sums in first_pass.source.items()
    }
    unequal = {each.partition for each in differences if each.kind != BEFORE_START} | set(first_pass.unread)
    return {
        each: PartitionRecords(sums.records, on_target[each], each not in unequal)
        for each, sums in first_pass.source.items()
    }


def counted_partitions(first_pass: FirstPass) -> dict[TopicPartition, PartitionRecords]:
    """The partitions if nothing is compared after the first pass."""
    unequal = {*first_pass.disagreeing, *first_pass.unread}
    return {
        each: PartitionRecords(sums.records, first_pass.target[each].records, each not in unequal)
        for each, sums in first_pass.source.items()
    }


def totals(partitions: Iterable[PartitionRecords]) -> dict[str, int]:
    every = list(partitions)
    return {
        "sourceRecords": sum(each.source for each in every),
        "targetRecords": sum(each.target for each in every),
        "agreeingPartitions": sum(each.equal for each in every),
    }


def topic_rows(partitions: Mapping[TopicPartition, PartitionRecords]) -> Rows:
    """The topics by source name, those with most unequal partitions first."""
    by_topic: dict[str, list[PartitionRecords]] = {}
    for partition, records in partitions.items():
        by_topic.setdefault(partition.topic, []).append(records)
    order = sorted(by_topic.items(), key=lambda each: (sum(one.equal for one in each[1]) - len(each[1]), each[0]))
    return tuple({"topic": topic, "partitions": len(every), **totals(every)} for topic, every in order)


def group_rows(
    positions: Iterable[Position], proofs: Mapping[Position, Proof], standing: Iterable[tuple[Position, Finding]]
) -> Rows:
    """The groups, those with most failures and errors first, then by records that they read again.

    `standing` has the findings about a position, apart from the finding of its proof.
    """
    wrong = {position for position, finding in standing if finding.severity in _WRONG}
    by_group: dict[str, list[Position]] = {}
    for each in positions:
        by_group.setdefault(each.group, []).append(each)
    rows = [_group_row(group, every, proofs, wrong) for group, every in by_group.items()]
    return tuple(row for *_, row in sorted(rows, key=lambda each: each[:3]))


def _group_row(
    group: str, positions: Sequence[Position], proofs: Mapping[Position, Proof], wrong: set[Position]
) -> tuple[int, int, str, Mapping[str, Scalar]]:
    """The row after its sort key."""
    proven = [proofs[each] for each in positions if each in proofs and proofs[each].proven]
    disproven = {each for each in positions if (proof := proofs.get(each)) and proof.finding is not None}
    bad, again = len(disproven | (wrong & set(positions))), sum(each.read_again for each in proven)
    row: dict[str, Scalar] = {
        "group": group,
        "committedOffsets": len(positions),
        "proven": len(proven),
        "wrong": bad,
        "readAgain": again,
    }
    return -bad, -again, group, row
