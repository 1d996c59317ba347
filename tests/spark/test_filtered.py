"""If each record shows whether the filters of a flow drop it, the flow is compared by the records that they keep."""

import pytest
from pyspark.sql import SparkSession

from kafka_replication.components.contract.parameters import DropsParameters
from kafka_replication.components.contract.report import FindingSeverity, Verdict
from kafka_replication.components.kafka.plugins import (
    HAS_HEADER_KEY,
    KAFKA_TRANSFORMS,
    RECORD_IS_TOMBSTONE,
    TOPIC_NAME_MATCHES,
)
from kafka_replication.components.kafka.record_forms import Step
from kafka_replication.components.kafka.transform_chains import Drops, DropsBy, Effects, Predicate, known_effects
from kafka_replication.infra.local.endpoints import Endpoints
from kafka_replication.spark.checks.parity.check import nothing_to_compare
from kafka_replication.spark.checks.parity.sums import Sums
from kafka_replication.spark.read import digests
from kafka_replication.spark.read.digests import COMPARED, FILTERED, SOURCE, TARGET
from tests.spark.documents import a_flow
from tests.spark.outcomes import Check, codes_of, named
from tests.spark.scenes import Headers, Scene, produce
from tests.spark.test_parity import a_pass
from tests.spark.test_transforms import _RECORDS, NOW

FILTER = Step("drop", f"{KAFKA_TRANSFORMS}Filter", {})
STAMP = Step("stamp", f"{KAFKA_TRANSFORMS}InsertHeader", {"header": "stage", "value.literal": "null"})
TOMBSTONES = Predicate("drop", RECORD_IS_TOMBSTONE, {}, False)
TEST_TOPICS = Predicate("drop", TOPIC_NAME_MATCHES, {"pattern": ".*-test"}, False)


def having(header: str, *, negate: bool = False) -> Predicate:
    return Predicate("drop", HAS_HEADER_KEY, {"name": header}, negate)


@pytest.mark.parametrize(
    ("steps", "known"),
    [
        pytest.param([(FILTER, TOMBSTONES)], Effects(drops=(Drops(DropsBy.TOMBSTONE),)), id="tombstones"),
        pytest.param(
            [(STAMP, TOMBSTONES), (FILTER, having("keep", negate=True))],
            Effects(("stage",), (Drops(DropsBy.HEADER, "keep", True),)),
            id="all without a header, and a header under a condition",
        ),
        pytest.param([(FILTER, TEST_TOPICS)], Effects(drops=(Drops(DropsBy.TOPIC, ".*-test"),)), id="topics"),
        pytest.param([(FILTER, None)], None, id="every record"),
        pytest.param([(STAMP, None), (FILTER, having("stage"))], None, id="a header that the chain changes itself"),
        pytest.param([(FILTER, Predicate("drop", "com.example.Old", {}, False))], None, id="a custom predicate"),
        pytest.param(
            [(FILTER, Predicate("drop", TOPIC_NAME_MATCHES, {"pattern": "("}, False))], None, id="an invalid pattern"
        ),
    ],
)
def test_the_effect_of_a_filter_is_known_if_each_record_shows_whether_it_is_dropped(
    steps: list[tuple[Step, Predicate | None]], known: Effects | None
) -> None:
    assert known_effects(steps) == known


@pytest.mark.parametrize(
    ("drops", "kept"),
    [
        pytest.param(DropsParameters(by=DropsBy.TOMBSTONE), [0, 2], id="tombstones"),
        pytest.param(DropsParameters(by=DropsBy.HEADER, value="h"), [1, 2], id="a header"),
        pytest.param(DropsParameters(by=DropsBy.HEADER, value="h", negate=True), [0], id="all without a header"),
        pytest.param(DropsParameters(by=DropsBy.TOPIC, value="useast\\.ord.*"), [], id="topics by their remote names"),
        pytest.param(DropsParameters(by=DropsBy.TOPIC, value="useast\\.ord"), [0, 1, 2], id="a part of the name"),
    ],
)
def test_only_records_that_the_filter_keeps_are_compared_on_both_sides(
    spark: SparkSession, drops: DropsParameters, kept: list[int]
) -> None:
    given = [(b"v", [("h", None)]), (None, None), (b"v", None)]
    for side, topic in ((SOURCE, "orders"), (TARGET, "useast.orders")):
        rows = [(b"k", value, topic, 0, at, NOW, headers) for at, (value, headers) in enumerate(given)]
        flow = a_flow().model_copy(update={"drops": (drops,)})
        frame = digests.digest_frame(spark.createDataFrame(rows, _RECORDS), side, flow)
        found = {row.offset: (row.topic, row.role) for row in frame.collect()}
        wanted = {at: ("orders", COMPARED if at in kept else FILTERED) for at in range(3)}
        assert found == wanted, side


def test_if_filters_drop_every_source_record_nothing_is_proven() -> None:
    (found,) = nothing_to_compare(a_pass(Sums(filtered=3), Sums()))
    assert (found.code, found.severity) == ("empty-range", FindingSeverity.ERROR)
    assert "the flow's filters drop all 3 records that the source holds" in found.message


def test_a_flow_with_known_filters_is_compared() -> None:
    assert a_flow(transformed=True, drops=[{"by": "tombstone"}]).comparable


def test_lost_and_unexpected_records_of_a_filtered_flow_are_found(check: Check, endpoints: Endpoints) -> None:
    """The job once only counted such records, and passed with any of them missing if that finding was accepted."""
    scene = Scene(endpoints, "sieved")
    for topic in ("sieved", "sieved.lost", "sieved.more"):
        scene.replicate(topic, records=0, partitions=1)
    # Every fifth record is a tombstone, which the filter drops.
    values = [None if each % 5 == 4 else f"{each}".encode() for each in range(20)]
    no_headers: Headers = []
    for topic, lacking in (("sieved", {4, 9, 14, 19}), ("sieved.lost", {4, 9, 11, 14, 19}), ("sieved.more", {4, 9})):
        rows = [(b"k", value, scene.began_ms + at, no_headers) for at, value in enumerate(values)]
        produce(scene.source, topic, 0, rows)
        produce(scene.target, scene.remote(topic), 0, [row for at, row in enumerate(rows) if at not in lacking])
    parity = named(check(scene.parameters(transformed=True, drops=[{"by": "tombstone"}])), "parity")
    assert codes_of(parity, "sieved.lost") == {"missing-records": 1}
    assert codes_of(parity, "sieved") == {}
    general = {each.code: each.count for each in parity.findings if "filters drop" in each.message}
    assert general == {"records-filtered": 12, "filtered-on-target": 2}
    assert parity.verdict is Verdict.FAIL


def test_a_group_skips_no_records_that_the_filter_drops(check: Check, endpoints: Endpoints) -> None:
    """The group continues with the next record that crosses, however many were dropped before it."""
    scene = Scene(endpoints, "gaps")
    dropped = {"gaps": range(40, 160), "gaps.lost": range(40, 150), "gaps.long": range(40, 1_700)}
    for topic, numbers in dropped.items():
        scene.replicate(topic, records=0, partitions=1)
        crossed = max(160, numbers.stop)
        values = [None if at in numbers else b"%d" % at for at in range(crossed + 40)]
        rows = [(b"k", value, scene.began_ms + at, Headers()) for at, value in enumerate(values)]
        produce(scene.source, topic, 0, rows)
        produce(scene.target, scene.remote(topic), 0, rows[:40] + rows[crossed:])
        scene.sync(topic, 0, (39, 39), (crossed, 40))
        scene.translate("gaps-app", 100, 40, topic=topic)
    known = named(check(scene.parameters(transformed=True, drops=[{"by": "tombstone"}])), "offsets-translate")
    # More records than the job reads lie between the committed and the translated offset of the last one.
    assert sorted((each.code, each.count) for each in known.findings if "gaps-app" in each.message) == [
        ("offset-skips-records", 10),
        ("source-record-not-found", 1_600),
    ]
    unknown = named(check(scene.parameters(transformed=True)), "offsets-translate")
    assert {(each.code, each.severity) for each in unknown.findings if "gaps-app" in each.message} == {
        ("source-record-not-found", FindingSeverity.ERROR)
    }
