"""Groups of a topic that Kafka's own cleaner has compacted since they committed, on both sides alike."""

import pytest

from kafka_replication.components.clients.reader import KafkaReader
from kafka_replication.components.contract.report import Verdict
from kafka_replication.components.kafka.positions import TopicPartition
from kafka_replication.infra.local.endpoints import Endpoints, Region
from kafka_replication.infra.local.traffic import create_topics
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from tests.spark.outcomes import Check, named
from tests.spark.scenes import CALL_SECONDS, Headers, Scene, produce

NAME, RECORDS, KEYS = "cleaned", 100, 3
COMPACTED = {
    "cleanup.policy": "compact,delete",
    "segment.ms": "100",
    "min.cleanable.dirty.ratio": "0",
    "max.compaction.lag.ms": "100",
}


def write(scene: Scene, region: Region, topic: str, numbers: range) -> None:
    rows = [(f"k{number % KEYS}".encode(), b"%d" % number, scene.began_ms + number, Headers()) for number in numbers]
    produce(region, topic, 0, rows)


def left(region: Region, topic: str) -> list[int]:
    """The offsets of the records that a partition still holds."""
    reader = KafkaReader(region.alias, region.client_config("admin"))
    try:
        logs = reader.logs([TopicPartition(topic, 0)])
        return [record.offset for record in reader.read("what is left", logs.items())]
    finally:
        reader.close()


@pytest.fixture
def cleaned(endpoints: Endpoints) -> Scene:
    """Of records 0 to 99 and one that rolled the segment, the newest of each key is left: 97, 98, 99, and 100."""
    scene = Scene(endpoints, NAME)
    create_topics(scene.source, {scene.syncs_topic: 1})
    create_topics(scene.target, {scene.checkpoints_topic: 1})
    sides = ((scene.source, NAME), (scene.target, scene.remote(NAME)))
    for region, topic in sides:
        create_topics(region, {topic: 1}, COMPACTED)
        write(scene, region, topic, range(RECORDS))
    scene.sync(NAME, 0, *((offset, offset) for offset in range(0, RECORDS, 10)))

    def compacted() -> None:
        for region, topic in sides:
            offsets = left(region, topic)
            if len(offsets) > 2 * KEYS:
                raise NotYetError(f"{topic} holds {len(offsets)} records")

    # Only a record that is later by its own timestamp rolls the segment, and the last segment is never compacted.
    for region, topic in sides:
        produce(region, topic, 0, [(b"k0", b"last", scene.began_ms + 60_000, Headers())])
    wait_for("both sides to be compacted", compacted, CALL_SECONDS, interval_seconds=1)
    return scene


def test_a_group_whose_records_are_compacted_away_on_both_sides_is_proven(check: Check, cleaned: Scene) -> None:
    cleaned.translate("cleaned-coarse", 45, 41)
    # `failover` has committed the exact position, where no record is left either.
    cleaned.translate("cleaned-exact", 45, 41)
    cleaned.commit_on_target("cleaned-exact", 45)
    cleaned.translate("cleaned-end", 101, 91)
    cleaned.translate("cleaned-skips", 45, 41)
    cleaned.commit_on_target("cleaned-skips", 99)
    outcome = named(check(cleaned.parameters()), "offsets-translate")
    assert [each.message.split(". The group has")[0] for each in outcome.findings] == [
        "group cleaned-skips on cleaned-0: its offset on the target is 99, which is source offset 99, but it committed "
        "45 on the source: 2 records would be skipped"
    ]
    assert (outcome.verdict, outcome.counts["proven"]) == (Verdict.FAIL, 4)
