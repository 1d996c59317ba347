"""A flow whose transforms only insert or drop headers is compared by everything but those headers."""

import pytest
from pyspark.sql import SparkSession

from kafka_replication.components.contract.report import Verdict
from kafka_replication.components.kafka.record_forms import Step
from kafka_replication.components.kafka.transform_chains import Effects, known_effects
from kafka_replication.infra.local.endpoints import Endpoints
from kafka_replication.spark.read import digests
from kafka_replication.spark.read.digests import SOURCE
from tests.spark.documents import a_flow
from tests.spark.outcomes import Check, codes_of, named
from tests.spark.scenes import Headers, Scene, produce
from tests.spark.test_transforms import _RECORDS, NOW

_CONNECT = "org.apache.kafka.connect.transforms"
STAMP = Step("stamp", f"{_CONNECT}.InsertHeader", {"header": "stage", "value.literal": "null"})
CLEAN = Step("clean", f"{_CONNECT}.DropHeaders", {"headers": "trace, span"})
MASK = Step("mask", f"{_CONNECT}.MaskField$Value", {"fields": "name"})


@pytest.mark.parametrize(
    ("steps", "changed"),
    [
        pytest.param([STAMP, CLEAN], Effects(("span", "stage", "trace")), id="headers alone"),
        pytest.param([STAMP, MASK], None, id="something else as well"),
        pytest.param([Step("own", "com.example.Stamp", {})], None, id="an unknown class"),
        pytest.param([], Effects(), id="no transform"),
    ],
)
def test_the_effect_of_transforms_is_known_only_if_they_insert_or_drop_headers(
    steps: list[Step], changed: Effects | None
) -> None:
    assert known_effects((step, None) for step in steps) == changed


def test_a_flow_is_compared_unless_its_transforms_do_more_than_change_headers() -> None:
    assert a_flow().comparable
    assert a_flow(transformed=True, changedHeaders=["stage"]).comparable
    assert not a_flow(transformed=True).comparable


def test_digests_ignore_headers_that_transforms_change(spark: SparkSession) -> None:
    headers: list[list[tuple[str, bytes | None]] | None] = [
        [("h", b"1"), ("trace", b"t")],
        [("h", b"1"), ("stage", None)],
        [("h", b"2"), ("stage", None)],
        [("stage", None)],
        None,
    ]
    rows = [(b"k", b"v", "orders", 0, at, NOW, each) for at, each in enumerate(headers)]
    flow = a_flow().model_copy(update={"changed_headers": ("stage", "trace")})
    frame = digests.digest_frame(spark.createDataFrame(rows, _RECORDS), SOURCE, flow)
    one, same, other, without, none = (row.digest for row in frame.orderBy("offset").collect())
    assert (one == same, one == other, without == none) == (True, False, True)


def test_a_lost_record_of_a_flow_that_changes_headers_is_reported(check: Check, endpoints: Endpoints) -> None:
    """The job once only counted such records, and passed with any of them missing if that finding was accepted."""
    scene = Scene(endpoints, "stamped").replicate(records=0, partitions=1)
    scene.replicate("stamped.lost", records=0, partitions=1)
    for topic, kept in (("stamped", range(20)), ("stamped.lost", [*range(10), *range(11, 20)])):
        for region, name, numbers, stamp in (
            (scene.source, topic, range(20), []),
            (scene.target, scene.remote(topic), kept, [("stage", None)]),
        ):
            headers: Headers = [("h", b"x"), *stamp]
            produce(region, name, 0, [(None, f"{each}".encode(), scene.began_ms + each, headers) for each in numbers])
    outcome = check(scene.parameters(transformed=True, changedHeaders=["stage"]))
    parity = named(outcome, "parity")
    assert codes_of(parity, "stamped.lost") == {"missing-records": 1}
    assert codes_of(parity, "stamped") == {}
    assert [each.code for each in parity.findings if each.message.startswith("stage: not compared")] == [
        "headers-not-compared"
    ]
    assert parity.verdict is Verdict.FAIL
