"""The state machines repeat Spark's comparison in plain Python; on random logs both must find the same."""

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from pyspark.sql import Row, SparkSession

from kafka_replication.spark.read import digests
from kafka_replication.spark.read.digests import COMPARED, PLACED_MODULUS, SOURCE, TARGET
from kafka_replication.spark.read.pairs import (
    differing_records,
    marked_elsewhere,
    newest_by_key,
    out_of_turn,
    paired,
    reordered,
)
from tests.model import pair_machine
from tests.model.logs import APART_MS, Log, by_key, differences, digest, is_tombstone, key_of, sums
from tests.model.pair_machine import MARKS, OTHER, REGIONS, Pair
from tests.spark.documents import a_flow
from tests.spark.summed import sums_of_sides

SCENES = 300
NOW = datetime(2026, 1, 2, tzinfo=UTC)
_DIGESTS = (
    "side string, role string, topic string, partition int, offset bigint, digest bigint, time_ms bigint, "
    "key_digest bigint, tombstone boolean"
)
_RECORDS = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, "
    "headers array<struct<key: string, value: binary>>"
)
#: Records, first and last offset of each kind of difference.
Kinds = dict[str, tuple[int, int, int]]


def two_logs(draw: random.Random) -> tuple[Log, Log]:
    """A source's log, and a target's log that lacks, repeats or reorders some of its records, or has foreign ones."""
    numbers = draw.sample(range(40), draw.randint(0, 12))
    source = [each for each in numbers for _ in range(draw.choice((1, 1, 1, 2)))]
    target = [each for each in source for _ in range(draw.choice((0, 1, 1, 1, 1, 2)))]
    target += draw.sample(range(40, 60), draw.choice((0, 0, 1, 3)))
    if draw.random() < 0.5:
        at, to = draw.randint(0, len(target)), draw.randint(0, len(target))
        target = target[at:] + target[:at] if draw.random() < 0.5 else target[:to] + target[to:][::-1]
    if source and draw.random() < 0.3:
        target.insert(draw.randint(0, len(target)), draw.choice(source))
    return _at_offsets(draw, source), _at_offsets(draw, target)


def _at_offsets(draw: random.Random, numbers: Sequence[int]) -> Log:
    """The records in this order, with gaps between some of their offsets."""
    begin = draw.randint(0, 30)
    return list(zip(sorted(draw.sample(range(begin, begin + 40), len(numbers))), numbers, strict=True))


def kinds_of(rows: Sequence[Row]) -> Mapping[int, Kinds]:
    found: dict[int, Kinds] = defaultdict(dict)
    for row in rows:
        found[row.partition][row.kind] = (row.records, row.first, row.last)
    return found


def test_the_plain_python_comparison_of_records_agrees_with_spark(spark: SparkSession) -> None:
    draw = random.Random(12)
    scenes = [two_logs(draw) for _ in range(SCENES)]
    rows = [
        (side, COMPARED, "orders", scene, at, digest(number), number * APART_MS, key_of(number), is_tombstone(number))
        for scene, logs in enumerate(scenes)
        for side, log in zip((SOURCE, TARGET), logs, strict=True)
        for at, number in log
    ]
    frame = spark.createDataFrame(rows, _DIGESTS).cache()
    judged = spark.createDataFrame(
        [("orders", scene, None, 0) for scene in range(SCENES)],
        "topic string, partition int, judged_end bigint, started bigint",
    )
    pairs = paired(frame)
    found = differing_records(pairs, judged).unionByName(reordered(pairs)).unionByName(out_of_turn(pairs))
    compared = kinds_of(found.collect())
    newest = kinds_of(newest_by_key(frame, judged).collect())
    summed = {(row.side, row.partition): row for row in sums_of_sides(frame)}
    assert {kind for each in compared.values() for kind in each} == {
        *("missing", "missing-head", "missing-hole", "missing-tail"),
        *("duplicated", "extra", "extra-head", "reordered", "copied-out-of-turn", "copied-at-end"),
    }
    for scene, (source, target) in enumerate(scenes):
        by_position = {each.kind: (each.records, each.first, each.last) for each in differences(source, target)}
        assert compared.get(scene, {}) == by_position, f"scene {scene}: {source} {target}"
        assert newest.get(scene, {}) == {
            each.kind: (each.records, each.first, each.last) for each in by_key(source, target)
        }
        for side, log in ((SOURCE, source), (TARGET, target)):
            model, row = sums(log), summed.get((side, scene))
            if row is None:
                assert model.records == 0
                continue
            assert (row.records, row.low, row.oldest_ms, row.first, row.low_placed % PLACED_MODULUS) == (
                *(model.records, model.low, model.oldest_ms, model.first, model.low_placed),
            )


def a_pair(draw: random.Random) -> Pair:
    """Both regions after users wrote records, some with marks, connectors replicated, and retention removed records."""
    pair, marks = Pair(), list(MARKS.values())
    for _ in range(draw.randint(1, 14)):
        region = draw.choice(REGIONS)
        match draw.choice(("produce", "produce", "mark", "copy", "replicate", "replicate", "expire")):
            case "produce":
                pair.produce(region)
            case "mark":
                pair.produce(region, tuple(draw.choices(marks, k=draw.randint(1, 2))))
            case "copy" if pair.logs[region]:
                pair.produce(region, draw.choice(pair.logs[region]).marks)
            case "replicate":
                pair.replicate(region, draw.randint(1, 12))
            case "expire":
                pair.starts[region] = draw.randint(pair.starts[region], pair.positions[region])
            case _:
                pass
    return pair


def test_the_pair_machine_finds_the_same_marks_as_spark(spark: SparkSession) -> None:
    draw = random.Random(12)
    pairs, source = [a_pair(draw) for _ in range(SCENES)], REGIONS[0]
    frames = []
    for side, region in ((SOURCE, source), (TARGET, OTHER[source])):
        rows = [
            (None, str(each.number).encode(), "orders", scene, at, NOW, [(mark, None) for mark in each.marks])
            for scene, pair in enumerate(pairs)
            for at, each in pair.held(region)
        ]
        flow = a_flow(policy="identity").model_copy(update={"guard": pair_machine.guard_of(source)})
        frames.append(digests.digest_frame(spark.createDataFrame(rows, _RECORDS), side, flow))
    frame = frames[0].unionByName(frames[1]).cache()
    logs = spark.createDataFrame(
        [("orders", scene, *(pair.starts[each] for each in REGIONS)) for scene, pair in enumerate(pairs)],
        "topic string, partition int, source_start bigint, target_start bigint",
    )
    marked = kinds_of(marked_elsewhere(frame, logs).collect())
    by_place = {(row.partition, row.side, row.offset): row for row in frame.collect()}
    assert len({kind for each in marked.values() for kind in each}) == 3
    for scene, pair in enumerate(pairs):
        seen = pair_machine.seen(pair, source)
        assert {(each.side, each.offset): each.role for each in seen} == {
            (side, offset): row.role for (at, side, offset), row in by_place.items() if at == scene
        }
        # The digests are different numbers, but they are equal for the same records.
        both = {(each.digest, by_place[scene, each.side, each.offset].digest) for each in seen}
        assert len({here for here, _ in both}) == len({there for _, there in both}) == len(both)
        starts = (pair.starts[each] for each in REGIONS)
        found = pair_machine.marked_by_others(seen, *starts)
        assert marked.get(scene, {}) == {each.kind: (each.records, each.first, each.last) for each in found}
