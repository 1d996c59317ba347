"""Transactions that are open while the job runs: it waits for them, and reports those that nobody ends."""

from contextlib import AbstractContextManager

import pytest

from kafka_replication.components.contract.report import CheckOutcome, FindingSeverity, Verdict
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.infra.local.endpoints import Endpoints, Region
from kafka_replication.spark.checks.parity.first_pass import open_transaction_findings, unread
from tests.spark.outcomes import Check, CheckWhile, Doing, codes_of, failures, named
from tests.spark.scenes import RECORDS, Scene, transaction

ORDERS = TopicPartition("orders", 0)
OPEN = 15


def open_transaction(scene: Scene, region: Region, topic: str, partition: int = 0) -> AbstractContextManager[Doing]:
    """The records after RECORDS, in a transaction that stays open until the yielded function commits it."""
    return transaction(scene, region, topic, partition, range(RECORDS, RECORDS + OPEN))


def test_offsets_from_the_first_open_transaction_on_count_as_unread() -> None:
    other = TopicPartition("orders", 1)
    logs = {ORDERS: OffsetRange(3, 40), other: OffsetRange(0, 70)}
    assert unread(logs, {ORDERS: 55, other: 60}) == {ORDERS: OffsetRange(40, 55)}


def test_an_open_transaction_is_reported_with_its_place_and_a_remedy() -> None:
    found = {TopicPartition("orders", 2): OffsetRange(7, 9), ORDERS: OffsetRange(40, 55)}
    one, other = open_transaction_findings({**found, TopicPartition("bills", 1): OffsetRange(0, 4)}, "useast")
    assert (one.code, one.severity, one.count) == ("open-transaction", FindingSeverity.ERROR, 4)
    assert one.message.startswith("bills on useast: 4 offsets in 1 partition cannot be read")
    assert other.count == 17
    assert "partition 0 from offset 40 on, 15 offsets; partition 2 from offset 7 on, 2 offsets" in other.message
    assert "so does an exactly-once source connector" in other.message
    assert "kafka-transactions.sh abort --topic orders --partition 0 --start-offset 40" in other.message


def test_transactions_that_stay_open_on_the_source_are_an_error(check: Check, endpoints: Endpoints) -> None:
    """Everything before them is equal: a pass would hide that the rest was never read. The connector of one topic reads
    uncommitted records."""
    scene = Scene(endpoints, "source-open")
    one, other = "source-open.committed", "source-open.uncommitted"
    for topic in (one, other):
        scene.replicate(topic)
    scene.write(scene.target, scene.remote(other), 0, range(RECORDS, RECORDS + OPEN))
    with open_transaction(scene, scene.source, one), open_transaction(scene, scene.source, other):
        outcome = named(check(scene.parameters()), "parity")
    assert outcome.verdict is Verdict.ERROR, outcome
    reported = sorted((each.code, each.message.split()[0].rstrip(":")) for each in outcome.findings)
    assert reported == [("open-transaction", one), ("open-transaction", other), ("records-not-judged", other)], outcome
    where = f" on useast: {OPEN} offsets in 1 partition cannot be read (partition 0 from offset {RECORDS}"
    assert all(where in each.message for each in outcome.findings if each.code == "open-transaction"), outcome
    counts = outcome.counts
    assert (counts["sourceRecords"], counts["agreeingPartitions"]) == (4 * RECORDS, 2)
    assert counts["unreadOffsets"] == 2 * OPEN


@pytest.fixture(scope="module")
def hidden(check: Check, endpoints: Endpoints) -> CheckOutcome:
    """One check of two topics: one has an open transaction on the source after records that the target lacks, the other
    has an open transaction on the target that hides records."""
    scene = Scene(endpoints, "hidden")
    lost, waiting = "hidden.lost", "hidden.waiting"
    scene.replicate(lost, records=0)
    scene.write(scene.source, lost, 0, range(RECORDS))
    scene.write(scene.target, scene.remote(lost), 0, [*range(10), *range(13, RECORDS)])
    scene.replicate(waiting)
    scene.write(scene.source, waiting, 1, range(RECORDS, RECORDS + OPEN))
    on_source = open_transaction(scene, scene.source, lost)
    with on_source, open_transaction(scene, scene.target, scene.remote(waiting), 1):
        return named(check(scene.parameters()), "parity")


def test_missing_records_before_an_open_transaction_are_reported(hidden: CheckOutcome) -> None:
    assert "hidden.lost: 3 records" in failures(hidden)["missing-records"]
    assert "partition 0 offsets 10 to 12" in failures(hidden)["missing-records"]
    where = f"hidden.lost on useast: {OPEN} offsets in 1 partition cannot be read"
    assert [each.code for each in hidden.findings if each.message.startswith(where)] == ["open-transaction"]


def test_a_transaction_that_stays_open_on_the_target_is_reported_with_the_records_it_hides(
    hidden: CheckOutcome,
) -> None:
    assert set(failures(hidden)) == {"missing-records", "not-replicated-yet"}
    assert codes_of(hidden, "hidden.waiting") == {"not-replicated-yet": OPEN}
    where = f"useast.hidden.waiting on uswest: {OPEN} offsets in 1 partition cannot be read (partition 1 from"
    assert [each.code for each in hidden.findings if each.message.startswith(where)] == ["open-transaction"]


def test_records_before_an_open_transaction_are_counted_and_those_in_it_are_not(hidden: CheckOutcome) -> None:
    both = RECORDS + 2 * RECORDS
    assert (hidden.counts["sourceRecords"], hidden.counts["targetRecords"]) == (both + OPEN, both - 3)


def test_all_records_of_a_transaction_that_is_committed_in_time_are_counted(
    check_while: CheckWhile, endpoints: Endpoints
) -> None:
    scene = Scene(endpoints, "source-late").replicate()
    with open_transaction(scene, scene.source, scene.name) as commit:

        def end() -> None:
            commit()
            scene.write(scene.target, scene.remote(scene.name), 0, range(RECORDS, RECORDS + OPEN))

        outcome = named(check_while(scene.parameters(), "for open transactions", end), "parity")
    assert outcome.verdict is Verdict.PASS, outcome
    counts, records = outcome.counts, 2 * RECORDS + OPEN
    assert (counts["sourceRecords"], counts["targetRecords"], counts["agreeingPartitions"]) == (records, records, 2)
    assert counts["unreadOffsets"] == 0


def test_the_job_waits_for_and_counts_records_that_the_target_commits_in_time(
    check_while: CheckWhile, endpoints: Endpoints
) -> None:
    scene = Scene(endpoints, "target-late").replicate()
    scene.write(scene.source, scene.name, 1, range(RECORDS, RECORDS + OPEN))
    with open_transaction(scene, scene.target, scene.remote(scene.name), 1) as commit:
        outcome = named(check_while(scene.parameters(), "waiting up to", commit), "parity")
    assert outcome.verdict is Verdict.PASS, outcome
    counts, records = outcome.counts, 2 * RECORDS + OPEN
    assert (counts["sourceRecords"], counts["targetRecords"], counts["agreeingPartitions"]) == (records, records, 2)
