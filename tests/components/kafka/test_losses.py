"""What retention deletes before it crosses: when to warn, and how many offsets are gone for certain."""

import pytest

from kafka_replication.components.kafka.losses import (
    Deletion,
    Gap,
    LogMemory,
    Replaced,
    Retention,
    deletion,
    gap,
    passed_over,
)
from kafka_replication.components.kafka.mirror_records import OffsetSync
from kafka_replication.components.kafka.positions import TopicPartition
from kafka_replication.components.kafka.topic_sync import TopicSetting

HOUR_MS = 3_600_000
HOUR = Retention(HOUR_MS, None)


@pytest.mark.parametrize(
    ("policy", "ms", "size", "retention"),
    [
        pytest.param("delete", "3600000", "-1", HOUR, id="by age"),
        pytest.param("compact,delete", "3600000", "500", Retention(HOUR_MS, 500), id="compacted, and by age and size"),
        pytest.param("compact", "3600000", "500", Retention(None, None), id="compacted only"),
        pytest.param("delete", "-1", "-1", Retention(None, None), id="kept for ever"),
    ],
)
def test_a_topic_deletes_records_only_as_its_settings_say(
    policy: str, ms: str, size: str, retention: Retention
) -> None:
    texts = {"cleanup.policy": policy, "retention.ms": ms, "retention.bytes": size}
    assert Retention.of({name: TopicSetting(text, "DEFAULT_CONFIG") for name, text in texts.items()}) == retention


@pytest.mark.parametrize(
    ("written_ms", "retention", "expected"),
    [
        pytest.param(1_000, HOUR, Deletion(1_000 + HOUR_MS, 1_000 + HOUR_MS * 3 // 4), id="after three quarters"),
        pytest.param(1_000, Retention(60_000, None), Deletion(61_000, 121_000), id="never before two minutes"),
        pytest.param(1_000, Retention(None, 500), None, id="not by age"),
        pytest.param(-1, HOUR, None, id="a record without a timestamp"),
    ],
)
def test_a_record_is_near_its_deletion_in_the_last_quarter_of_its_retention(
    written_ms: int, retention: Retention, expected: Deletion | None
) -> None:
    assert deletion(written_ms, retention) == expected


@pytest.mark.parametrize(
    ("start", "position", "newest", "target_end", "retention", "expected"),
    [
        pytest.param(50, 50, OffsetSync(49, 49), 50, HOUR, None, id="the next record is still there"),
        pytest.param(80, 50, OffsetSync(49, 49), 50, HOUR, Gap(30, 30), id="all since the sync are missing"),
        pytest.param(80, 50, OffsetSync(39, 20), 31, HOUR, Gap(30, 30), id="a sync from before the position"),
        pytest.param(80, 50, OffsetSync(49, 49), 70, HOUR, Gap(10, 30), id="some may have crossed since"),
        pytest.param(80, 50, OffsetSync(39, 20), 25, HOUR, Gap(30, 30), id="offsets without a record before it"),
        pytest.param(80, 50, OffsetSync(49, 49), 500, HOUR, Gap(0, 30), id="all may have crossed since"),
        pytest.param(80, 50, None, 50, HOUR, Gap(0, 30), id="without a sync"),
        pytest.param(80, 50, OffsetSync(49, 49), None, HOUR, Gap(0, 30), id="without a remote topic"),
        pytest.param(80, 50, OffsetSync(49, 49), 49, HOUR, Gap(0, 30), id="the target lost the record of the sync"),
        pytest.param(80, 50, OffsetSync(49, 49), 50, Retention(60_000, None), Gap(0, 30), id="records live a minute"),
        pytest.param(80, 50, OffsetSync(49, 49), 50, Retention(None, None), Gap(0, 30), id="applications delete them"),
        pytest.param(80, 50, OffsetSync(49, 49), 50, Retention(None, 500), Gap(30, 30), id="deleted by size"),
    ],
)  # fmt: skip
def test_only_offsets_that_the_target_has_no_room_for_are_lost_for_certain(
    start: int,
    position: int,
    newest: OffsetSync | None,
    target_end: int | None,
    retention: Retention,
    expected: Gap | None,
) -> None:
    assert gap(start, position, newest, target_end, retention) == expected


@pytest.mark.parametrize(
    ("newest", "start", "retention", "expected"),
    [
        pytest.param(OffsetSync(90, 60), 80, HOUR, Gap(30, 30), id="as many as it skipped are deleted"),
        pytest.param(OffsetSync(95, 60), 80, HOUR, Gap(30, 30), id="a record further on was skipped as well"),
        pytest.param(OffsetSync(75, 60), 80, HOUR, Gap(15, 25), id="later records do not count"),
        pytest.param(OffsetSync(90, 90), 80, HOUR, None, id="all have crossed"),
        pytest.param(OffsetSync(90, 60), 50, HOUR, None, id="the source still holds them"),
        pytest.param(OffsetSync(90, 20), 80, HOUR, None, id="the remote topic was created again"),
        pytest.param(OffsetSync(49, 49), 80, HOUR, None, id="it has not gone on"),
        pytest.param(OffsetSync(90, 60), 80, Retention(None, None), None, id="applications delete them"),
        pytest.param(OffsetSync(90, 60), 80, Retention(HOUR_MS, 500), None, id="size may decide"),
        pytest.param(OffsetSync(90, 60, HOUR_MS), 80, HOUR, None, id="they may have expired since"),
    ],
)  # fmt: skip
def test_offsets_without_a_copy_between_two_syncs_were_passed_over_if_they_are_deleted(
    newest: OffsetSync, start: int, retention: Retention, expected: Gap | None
) -> None:
    assert passed_over(OffsetSync(49, 49), newest, start, retention) == expected


P, Q = TopicPartition("orders", 0), TopicPartition("bills", 0)
IDS = {"orders": "a", "bills": "b"}
ANEW = {**IDS, "orders": "c"}


@pytest.mark.parametrize(
    ("looks", "proven", "expected"),
    [
        pytest.param([(IDS, 70, 0), (IDS, 75, 70)], {}, Replaced(), id="logs grow"),
        pytest.param([(ANEW, 3, 0)], {}, Replaced(), id="the first look knows nothing"),
        pytest.param([(IDS, 70, 0), (ANEW, 80, 0)], {}, Replaced(("orders",)), id="created again since a look"),
        pytest.param([(IDS, 7, 0), (ANEW, 3, 0), (ANEW, 9, 5)], {}, Replaced(("orders",)), id="and looked at again"),
        pytest.param([(ANEW, 80, 0)], {"orders": "a"}, Replaced(("orders",)), id="created again since it was proven"),
        pytest.param([(IDS, 70, 0), (ANEW, 3, 0)], {"orders": "c"}, Replaced(), id="proven since"),
        pytest.param([(IDS, 70, 0), (IDS, 60, 0)], {}, Replaced((), (P,)), id="shorter than at a look"),
        pytest.param([(IDS, 70, 0), (IDS, 60, 0), (IDS, 65, 0)], {}, Replaced((), (P,)), id="and growing again"),
        pytest.param([(IDS, 70, 0), (IDS, 60, 0), (IDS, 70, 0)], {}, Replaced(), id="grown again"),
        pytest.param([(IDS, 70, 71)], {}, Replaced((), (P,)), id="shorter than the records that are known of it"),
        pytest.param([(IDS, 70, 70)], {}, Replaced(), id="as long as they say"),
    ],
)  # fmt: skip
def test_a_replaced_topic_or_log_is_found_by_what_was_there_before(
    looks: list[tuple[dict[str, str], int, int]], proven: dict[str, str], expected: Replaced
) -> None:
    memory = LogMemory()
    found = [memory.look(ids, {P: end, Q: 5}, proven, {P: reached}) for ids, end, reached in looks]
    assert found[-1] == expected
