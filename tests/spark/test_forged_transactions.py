"""Sources with ended transactions: offsets without a record, and aborted records."""

from collections.abc import Iterable

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as KafkaPartition

from components.contract.report import Verdict
from infra.local.endpoints import Endpoints
from infra.local.traffic import create_topics
from infra.waiting import NotYetError, wait_for
from tests.spark.outcomes import Check, failures, named
from tests.spark.scenes import CALL_SECONDS, Scene, remove_records, transaction

#: Numbers of records with a key, which a compacted topic takes only.
KEYED = range(8, 14)


def a_scene(endpoints: Endpoints, name: str) -> Scene:
    return Scene(endpoints, name).replicate(records=0, partitions=1)


def commit_on_source(scene: Scene, numbers: Iterable[int], end: int) -> None:
    """Records in a transaction, and the marker that takes the offset before `end`."""
    with transaction(scene, scene.source, scene.name, 0, numbers) as commit:
        commit()
    expect_end(scene, end)


def abort_on_source(scene: Scene, numbers: Iterable[int], end: int) -> None:
    with transaction(scene, scene.source, scene.name, 0, numbers):
        pass
    expect_end(scene, end)


def expect_end(scene: Scene, end: int) -> None:
    """Wait for the marker: a broker writes it after it has answered."""
    consumer = Consumer(
        {**scene.source.client_config("app"), "group.id": "nobody", "isolation.level": "read_committed"}
    )

    def reached() -> None:
        _, seen = consumer.get_watermark_offsets(KafkaPartition(scene.name, 0), CALL_SECONDS)
        if seen != end:
            raise NotYetError(f"the end is {seen}")

    try:
        wait_for(f"{scene.name} to end at {end}", reached, CALL_SECONDS)
    finally:
        consumer.close()


@pytest.mark.parametrize("aborted", [0, 40], ids=["a marker", "an aborted transaction"])
def test_offsets_without_a_record_are_not_skipped(check: Check, endpoints: Endpoints, aborted: int) -> None:
    """A consumer that commits the offset after its last record is at a marker: there is no record between it and the
    record at the translated offset."""
    scene = a_scene(endpoints, f"gap-{aborted}")
    upstream = 11 + (aborted + 1 if aborted else 0)
    commit_on_source(scene, range(10), 11)
    if aborted:
        abort_on_source(scene, range(500, 500 + aborted), upstream)
    scene.write(scene.source, scene.name, 0, range(10, 20))
    scene.write(scene.target, scene.remote(scene.name), 0, range(20))
    scene.sync(scene.name, 0, (0, 0), (9, 9), (upstream, 10))
    scene.translate(f"{scene.name}-a", 10, 10)
    outcome = named(check(scene.parameters()), "offsets-translate")
    assert (outcome.verdict, outcome.counts["proven"], outcome.counts["readAgain"]) == (Verdict.PASS, 1, 0), outcome


def test_a_skipped_record_after_a_marker_is_reported(check: Check, endpoints: Endpoints) -> None:
    scene = a_scene(endpoints, "gap-and-skip")
    commit_on_source(scene, range(10), 11)
    scene.write(scene.source, scene.name, 0, range(10, 20))
    scene.write(scene.target, scene.remote(scene.name), 0, range(20))
    scene.sync(scene.name, 0, (0, 0), (9, 9), (11, 10))
    scene.translate("gap-and-skip-a", 10, 12)
    found = failures(named(check(scene.parameters()), "offsets-translate"))
    assert "the group would skip 2 records" in found["offset-skips-records"]


def test_replicated_records_of_an_aborted_transaction_are_reported_with_the_cause(
    check: Check, endpoints: Endpoints
) -> None:
    scene = a_scene(endpoints, "aborted")
    scene.write(scene.source, scene.name, 0, range(10))
    abort_on_source(scene, range(10, 15), 16)
    scene.write(scene.source, scene.name, 0, range(20, 30))
    scene.write(scene.target, scene.remote(scene.name), 0, [*range(15), *range(20, 30), 777])
    scene.sync(scene.name, 0, (0, 0), (16, 15))
    outcome = named(check(scene.parameters()), "parity")
    found = failures(outcome)
    assert set(found) == {"aborted-records", "extra-records"}, outcome
    assert found["aborted-records"].startswith("aborted: 5 records")
    assert found["extra-records"].startswith("aborted: 1 records")


def test_a_source_that_holds_no_record_but_a_marker_is_not_said_to_have_lost_one(
    check: Check, endpoints: Endpoints
) -> None:
    scene = a_scene(endpoints, "marker-only")
    commit_on_source(scene, range(10), 11)
    scene.write(scene.target, scene.remote(scene.name), 0, range(10))
    scene.sync(scene.name, 0, (0, 0), (9, 9))
    scene.replicate("marker-only.other", partitions=1)
    remove_records(scene.source, scene.name, 0, 10)
    outcome = check(scene.parameters())
    assert [each.code for each in named(outcome, "parity").findings] == ["expired-on-source"]
    remove_records(scene.source, scene.name, 0, 11)
    outcome = check(scene.parameters())
    assert [each.code for each in named(outcome, "parity").findings] == ["expired-on-source"]
    retention = named(outcome, "nothing-lost-to-retention")
    assert (retention.verdict, [each.code for each in retention.findings]) == (Verdict.ERROR, ["possible-markers"])


def test_a_compacted_topic_that_was_never_replicated_is_reported(check: Check, endpoints: Endpoints) -> None:
    """Compaction keeps the newest record of each key, so it never explains why there is none."""
    scene = Scene(endpoints, "compacted").replicate(partitions=1)
    compact = {"cleanup.policy": "compact"}
    for topic in ("compacted.absent", "compacted.changed"):
        create_topics(scene.source, {topic: 1}, compact)
        create_topics(scene.target, {scene.remote(topic): 1}, compact)
        scene.write(scene.source, topic, 0, KEYED)
    scene.write(scene.target, scene.remote("compacted.changed"), 0, (number + 98 for number in KEYED))
    found = failures(named(check(scene.parameters()), "parity"))
    assert found["not-replicated-yet"].startswith("compacted.absent: 6 records")
    assert found["records-differ"].startswith("compacted.changed: 6 records")
