"""One row for each group and topic: worst first, as the report and its page show them."""

from kafka_replication.components.contract.report import ROWS, CheckOutcome, error, note
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.spark.checks.offsets.check import group_rows
from kafka_replication.spark.checks.offsets.position_proof import Position, PositionProof
from kafka_replication.spark.checks.parity.differences import Difference
from kafka_replication.spark.checks.parity.findings import PartitionRecords, final_partitions, topic_rows
from kafka_replication.spark.checks.parity.first_pass import FirstPass
from kafka_replication.spark.checks.parity.sums import Sums

ORDERS, PAYMENTS = TopicPartition("orders", 0), TopicPartition("payments", 3)


def test_groups_with_findings_come_first_then_those_that_read_most_again() -> None:
    calm, busy, noted, broken = (Position(group, ORDERS, 9) for group in ("calm", "busy", "noted", "broken"))
    proofs = {
        calm: PositionProof(None, 4, 1),
        busy: PositionProof(None, 4, 5),
        noted: PositionProof(None, 4, 3),
        broken: PositionProof(error("target-expired", "…")),
    }
    rows = group_rows(proofs, proofs, [(noted, note("group-active", "…"))])
    assert [(row["group"], row["wrong"], row["readAgain"]) for row in rows] == [
        ("broken", 1, 0),
        ("busy", 0, 5),
        ("noted", 0, 3),
        ("calm", 0, 1),
    ]


def test_a_groups_row_counts_an_untranslated_offset_and_one_past_its_translation_as_wrong() -> None:
    first, second, third = (Position("checkout", TopicPartition("orders", each), 9) for each in range(3))
    rows = group_rows(
        [first, second, third],
        {first: PositionProof(None, 4, 2), third: PositionProof(None, 4, 2)},
        [
            (second, error("no-offset-sync", "…")),
            (third, error("group-past-translation", "…")),
        ],
    )
    assert rows == ({"group": "checkout", "committedOffsets": 3, "proven": 2, "wrong": 2, "readAgain": 4},)


def test_topics_that_differ_come_first_with_the_records_of_each_side() -> None:
    logs = {each: OffsetRange(0, 10) for each in (ORDERS, PAYMENTS)}
    sums = {ORDERS: Sums(10), PAYMENTS: Sums(10, 1, 1)}
    first_pass = FirstPass(logs, logs, sums, {**sums, PAYMENTS: Sums(7)}, 0.1)
    rows = topic_rows(final_partitions(first_pass, [Difference(PAYMENTS, "missing-tail", 3, 7, 9)]))
    assert rows == (
        {"topic": "payments", "partitions": 1, "sourceRecords": 10, "targetRecords": 7, "agreeingPartitions": 0},
        {"topic": "orders", "partitions": 1, "sourceRecords": 10, "targetRecords": 10, "agreeingPartitions": 1},
    )


def test_the_report_says_how_many_rows_it_leaves_out() -> None:
    rows = topic_rows({TopicPartition(f"t{each}", 0): PartitionRecords(1, 1, True) for each in range(ROWS + 7)})
    document = CheckOutcome("parity", "", {}, rows=rows).document()
    assert isinstance(document["rows"], list)
    assert (len(document["rows"]), document["rowsLeftOut"]) == (ROWS, 7)
