"""Source topics with offsets that hold no record: markers, aborted records, compaction. One topic for each case."""

from collections.abc import Iterable

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as KafkaPartition

from kafka_replication.components.contract.report import FlowOutcome
from kafka_replication.infra.local.endpoints import Endpoints, Region
from kafka_replication.infra.local.traffic import create_topics
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from tests.spark.outcomes import Check, codes_of, failures, named
from tests.spark.scenes import CALL_SECONDS, Headers, Scene, produce, transaction
from tests.topics import remove_records

#: Numbers of records that have a key: a compacted topic accepts no others.
KEYED = range(8, 14)


def commit_on_source(scene: Scene, topic: str, numbers: Iterable[int], end: int) -> None:
    """Write records in a transaction; its marker takes the offset before `end`."""
    with transaction(scene, scene.source, topic, 0, numbers) as commit:
        commit()
    expect_end(scene.source, topic, end)


def abort_on_source(scene: Scene, topic: str, numbers: Iterable[int], end: int) -> None:
    with transaction(scene, scene.source, topic, 0, numbers):
        pass
    expect_end(scene.source, topic, end)


def expect_end(region: Region, topic: str, end: int) -> None:
    """Wait for the marker: a broker writes it after it has answered."""
    consumer = Consumer({**region.client_config("app"), "group.id": "nobody", "isolation.level": "read_committed"})

    def reached() -> None:
        _, seen = consumer.get_watermark_offsets(KafkaPartition(topic, 0), CALL_SECONDS)
        if seen != end:
            raise NotYetError(f"the end is {seen}")

    try:
        wait_for(f"{topic} to end at {end}", reached, CALL_SECONDS)
    finally:
        consumer.close()


@pytest.fixture(scope="module")
def ended(check: Check, endpoints: Endpoints) -> FlowOutcome:
    """A flow with the topics below, checked once."""
    scene = Scene(endpoints, "ended")
    names = ("marker", "abort", "long", "skip", "replicated", "emptied", "removed")
    for topic in (f"ended.{name}" for name in names):
        scene.replicate(topic, records=0, partitions=1)
    translate_past_gap(scene, "marker")
    translate_past_gap(scene, "abort", aborted=40)
    translate_past_gap(scene, "long", aborted=1_100)
    translate_past_gap(scene, "skip", skipped=2)
    replicate_aborted(scene, "ended.replicated")
    scene.translate("ended-aborted", 15, 12, topic="ended.replicated")
    for topic, removed in (("ended.emptied", 10), ("ended.removed", 11)):
        expire(scene, topic, removed)
    compact = {"cleanup.policy": "compact"}
    for topic in ("ended.absent", "ended.changed"):
        create_topics(scene.source, {topic: 1}, compact)
        create_topics(scene.target, {scene.remote(topic): 1}, compact)
        scene.write(scene.source, topic, 0, KEYED)
    scene.write(scene.target, scene.remote("ended.changed"), 0, (number + 98 for number in KEYED))
    whole = ["a1", "a2", "c1", "c", "b1"]
    compacted_sides(scene, "ended.apart", source=whole, target=["a2", "c", "b1"])
    compacted_sides(scene, "ended.behind", source=["a2", "c", "b1"], target=["a1", "c1", "b1", "d1"])
    return check(scene.parameters())


def compacted_sides(scene: Scene, topic: str, source: list[str], target: list[str]) -> None:
    """Two sides of a compacted topic; each record is a letter for its key and a digit for its value, if it has one.

    What a side lacks was there and has left its offsets: aborted records leave such offsets at once.
    """
    longer = max(len(source), len(target))
    for region, name, held in ((scene.source, topic, source), (scene.target, scene.remote(topic), target)):
        create_topics(region, {name: 1}, {"cleanup.policy": "compact"})
        if len(held) < longer:
            with transaction(scene, region, name, 0, KEYED[: longer - len(held)]):
                pass
            expect_end(region, name, longer - len(held) + 1)
        rows = [(each[:1].encode(), each[1:].encode() or None, scene.began_ms, Headers()) for each in held]
        produce(region, name, 0, rows)


def translate_past_gap(scene: Scene, name: str, aborted: int = 0, skipped: int = 0) -> None:
    """A consumer that committed the offset after its last record stands at a marker. No record lies between it and the
    translated offset, unless some are `skipped`."""
    topic = f"ended.{name}"
    upstream = 11 + (aborted + 1 if aborted else 0)
    commit_on_source(scene, topic, range(10), 11)
    if aborted:
        abort_on_source(scene, topic, range(500, 500 + aborted), upstream)
    scene.write(scene.source, topic, 0, range(10, 20))
    scene.write(scene.target, scene.remote(topic), 0, range(20))
    scene.sync(topic, 0, (0, 0), (9, 9), (upstream, 10))
    scene.translate(f"ended-{name}", 10, 10 + skipped, topic=topic)


def replicate_aborted(scene: Scene, topic: str) -> None:
    """Five aborted records reached the target, and one that the source never had."""
    scene.write(scene.source, topic, 0, range(10))
    abort_on_source(scene, topic, range(10, 15), 16)
    scene.write(scene.source, topic, 0, range(20, 30))
    scene.write(scene.target, scene.remote(topic), 0, [*range(15), *range(20, 30), 777])
    scene.sync(topic, 0, (0, 0), (16, 15))


def expire(scene: Scene, topic: str, removed: int) -> None:
    """A replicated transaction of ten records and a marker; the source has deleted its first `removed` offsets."""
    commit_on_source(scene, topic, range(10), 11)
    scene.write(scene.target, scene.remote(topic), 0, range(10))
    scene.sync(topic, 0, (0, 0), (9, 9))
    remove_records(scene.source, topic, 0, removed)


def deliver(scene: Scene, topic: str, *transactions: Iterable[int]) -> None:
    """What an exactly-once flow writes: records in transactions, each with a marker."""
    for numbers in transactions:
        with transaction(scene, scene.target, scene.remote(topic), 0, numbers) as commit:
            commit()


@pytest.mark.parametrize(
    "name",
    ["marker", "abort", "long", "aborted"],
    ids=["a marker", "an aborted transaction", "more aborted records than are read", "a replicated aborted record"],
)
def test_offsets_without_a_record_do_not_count_as_skipped_records(ended: FlowOutcome, name: str) -> None:
    outcome = named(ended, "offsets-translate")
    assert (outcome.counts["proven"], outcome.counts["readAgain"]) == (4, 0), outcome
    assert not [each.message for each in outcome.findings if f"group ended-{name} " in each.message]


def test_a_skipped_record_after_a_marker_is_reported(ended: FlowOutcome) -> None:
    (skips,) = failures(named(ended, "offsets-translate")).values()
    assert "group ended-skip on ended.skip-0" in skips
    assert "the group would skip 2 records" in skips


def test_replicated_records_of_an_aborted_transaction_are_reported_with_the_cause(ended: FlowOutcome) -> None:
    assert codes_of(named(ended, "parity"), "ended.replicated") == {"aborted-records": 5, "extra-records": 1}
    assert failures(named(ended, "parity")).keys() >= {"aborted-records", "extra-records"}


@pytest.mark.parametrize(
    ("topic", "unsure"),
    [
        pytest.param("ended.emptied", {}, id="only a marker is left"),
        pytest.param("ended.removed", {"possible-markers": 1}, id="nothing is left"),
    ],
)
def test_replicated_records_that_expired_on_the_source_are_not_counted_as_lost(
    ended: FlowOutcome, topic: str, unsure: dict[str, int]
) -> None:
    assert list(codes_of(named(ended, "parity"), topic)) == ["expired-on-source"]
    retention = named(ended, "nothing-lost-to-retention")
    assert codes_of(retention, f"{topic}-0") == unsure
    assert retention.counts["lost"] == 0


def test_a_compacted_topic_that_was_never_replicated_is_reported(ended: FlowOutcome) -> None:
    """Compaction keeps the newest record of each key, so it never explains why there is none."""
    parity = named(ended, "parity")
    assert codes_of(parity, "ended.absent") == {"not-replicated-yet": 6}
    assert codes_of(parity, "ended.changed") == {"compacted-apart": 12, "keys-undeleted": 5, "missing-records": 5}
    assert failures(parity).keys() >= {"not-replicated-yet", "missing-records"}


def test_sides_that_compacted_differently_are_judged_by_the_newest_record_of_each_key(ended: FlowOutcome) -> None:
    parity = named(ended, "parity")
    assert codes_of(parity, "ended.apart") == {"compacted-apart": 2}
    behind = {each.code: each.message for each in parity.findings if each.message.startswith("ended.behind:")}
    assert behind.keys() == {"compacted-apart", "keys-outdated", "keys-undeleted"}
    assert "ended.behind: 1 key has a different value on uswest than on useast" in behind["keys-outdated"]
    assert "partition 0 offset 2" in behind["keys-outdated"]
    undeleted = [each.message for each in parity.findings if each.code == "keys-undeleted"]
    assert sum("ended.behind: 1 key " in each for each in undeleted) == 2


def test_lost_records_are_reported_although_exactly_once_markers_take_offsets(
    check: Check, endpoints: Endpoints
) -> None:
    """Offset syncs count a marker as a record: in the second topic, two lost records and two markers cancel out."""
    scene = Scene(endpoints, "exact")
    for name in ("seen", "hidden", "kept"):
        scene.replicate(f"exact.{name}", records=0, partitions=1)
        scene.write(scene.source, f"exact.{name}", 0, range(60))
    deliver(scene, "exact.seen", range(10), range(30, 60))
    scene.sync("exact.seen", 0, (0, 0), (30, 11))
    deliver(scene, "exact.hidden", range(5), range(5, 10), range(12, 60))
    scene.sync("exact.hidden", 0, (0, 0), (12, 12))
    deliver(scene, "exact.kept", range(5), range(5, 60))
    scene.sync("exact.kept", 0, (0, 0), (5, 6))
    for name, removed in (("seen", 30), ("hidden", 12), ("kept", 20)):
        remove_records(scene.source, f"exact.{name}", 0, removed)
    retention = named(check(scene.parameters(exactlyOnce=True)), "nothing-lost-to-retention")
    assert retention.counts["lost"] == 22
    found = sorted(each.message.partition(" never")[0] for each in retention.findings)
    assert found == [
        "exact.hidden-0: 2 of the source offsets 1 to 11",
        "exact.seen-0: 20 of the source offsets 1 to 29",
    ]
