"""A quick validation on two real clusters: what it finds in the newest records, and what it does not claim."""

import pytest

from kafka_replication.components.contract.report import CheckOutcome, Depth, FindingSeverity, Report, Verdict
from kafka_replication.infra.local.endpoints import Endpoints
from kafka_replication.spark.checks.parity import quick
from kafka_replication.spark.report.failover import headline
from tests.spark.outcomes import Check, codes_of, named
from tests.spark.pair_scenes import RECORDS, PairScene
from tests.spark.scenes import Scene, produce, transaction
from tests.topics import remove_records

LONG = 250


def parity(check: Check, scene: Scene) -> CheckOutcome:
    return named(check(scene.parameters()), "parity")


def test_a_quick_validation_is_partial_and_says_how_much_it_compared(
    check_quickly: Check, endpoints: Endpoints
) -> None:
    scene = Scene(endpoints, "quick").replicate(records=LONG)
    scene.translate("quick-a", 245, 241)
    outcome = check_quickly(scene.parameters())
    assert (outcome.verdict, outcome.depth) == (Verdict.PARTIAL, Depth.QUICK), outcome.document()
    found = named(outcome, "parity")
    assert found.verdict is Verdict.PARTIAL
    counts = {name: found.counts[name] for name in ("sourceRecords", "targetRecords", "targetRecordsRead")}
    assert counts == {"sourceRecords": 200, "targetRecords": 200, "targetRecordsRead": 200}
    assert found.counts["offsetsLeftOut"] == 300
    assert found.left_out == (
        "not compared: 300 source offsets before the newest 100 of each partition; records that only the target holds, "
        "duplicates among them"
    )
    assert named(outcome, "offsets-translate").verdict is Verdict.PASS
    assert named(outcome, "nothing-lost-to-retention").verdict is Verdict.PASS
    report = Report("local", "2026-01-02T03:04:05+00:00", 1.0, (outcome,))
    assert report.exit_code == 0
    assert headline(report).startswith("Fail over now: not proven, because ")


def test_a_quick_validation_reports_missing_records_only_among_the_newest(
    check_quickly: Check, endpoints: Endpoints
) -> None:
    scene = Scene(endpoints, "quick-hole").replicate(records=0, partitions=1)
    scene.write(scene.source, scene.name, 0, range(LONG))
    scene.write(scene.target, scene.remote(scene.name), 0, [each for each in range(LONG) if each not in (3, 200, 201)])
    scene.sync(scene.name, 0, (0, 0), (240, 237))
    found = parity(check_quickly, scene)
    assert found.verdict is Verdict.FAIL
    assert codes_of(found, scene.name) == {"missing-records": 2}
    assert "(partition 0 offsets 200 to 201)" in found.findings[0].message


def test_new_records_without_a_timestamp_are_found_on_the_target(check_quickly: Check, endpoints: Endpoints) -> None:
    scene = Scene(endpoints, "quick-untimed").replicate(records=0, partitions=1)
    for number, time_ms in ((number, -1 if number % 2 else scene.began_ms) for number in range(20)):
        produce(scene.source, scene.name, 0, [(None, b"%d" % number, time_ms, [])])
    produce(
        scene.target, scene.remote(scene.name), 0, [(None, b"%d" % number, scene.began_ms, []) for number in range(20)]
    )
    found = parity(check_quickly, scene)
    assert [(each.code, each.count) for each in found.findings] == [("timestamps-not-compared", 1)]
    assert (found.verdict, found.counts["targetRecords"]) == (Verdict.PARTIAL, 20)


def test_late_records_are_a_failure_after_the_time_to_catch_up(check_quickly: Check, endpoints: Endpoints) -> None:
    scene = Scene(endpoints, "quick-late").replicate(partitions=1)
    scene.write(scene.source, scene.name, 0, range(60, 70))
    assert codes_of(parity(check_quickly, scene), scene.name) == {"not-replicated-yet": 10}


def test_resent_records_and_an_expired_head_are_not_a_failure(check_quickly: Check, endpoints: Endpoints) -> None:
    scene = Scene(endpoints, "quick-again").replicate(records=LONG, partitions=1)
    scene.write(scene.target, scene.remote(scene.name), 0, range(200, LONG))
    scene.sync(scene.name, 0, (200, LONG))
    remove_records(scene.target, scene.remote(scene.name), 0, 120)
    found = parity(check_quickly, scene)
    assert found.verdict is Verdict.PARTIAL
    assert found.counts["targetRecordsRead"] == 150


def test_an_open_transaction_is_an_error(check_quickly: Check, endpoints: Endpoints) -> None:
    scene = Scene(endpoints, "quick-open").replicate(partitions=1)
    with transaction(scene, scene.source, scene.name, 0, range(60, 65)):
        assert parity(check_quickly, scene).verdict is Verdict.ERROR


def test_an_old_timestamp_among_the_newest_records_leaves_the_tail_unproven(
    check_quickly: Check, endpoints: Endpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time of such a record does not show where the target holds the newest records."""
    monkeypatch.setattr(quick, "REACH", 50)
    scene = Scene(endpoints, "quick-old").replicate(records=LONG, partitions=1)
    for region, topic in ((scene.source, scene.name), (scene.target, scene.remote(scene.name))):
        scene.write(region, topic, 0, [-1000, *range(LONG, LONG + 80)])
    found = parity(check_quickly, scene)
    assert found.verdict is Verdict.ERROR
    (finding,) = [each for each in found.findings if each.severity is FindingSeverity.ERROR]
    assert finding.code == "tail-not-proven"


def test_a_flow_that_drops_records_is_not_compared_and_the_report_says_so(
    check_quickly: Check, endpoints: Endpoints
) -> None:
    scene = Scene(endpoints, "quick-drops").replicate(partitions=1)
    outcome = check_quickly(scene.parameters(transformed=True, drops=[{"by": "tombstone"}]))
    found = named(outcome, "parity")
    assert (found.verdict, found.counts["sourceRecords"]) == (Verdict.PARTIAL, 0)
    assert found.left_out.startswith(
        "not compared: all 60 source offsets, because the flow's transforms change or drop"
    )


def test_each_direction_of_a_pair_is_compared_by_its_marks(check_quickly: Check, endpoints: Endpoints) -> None:
    scene = PairScene(endpoints, "quick-pair")
    scene.replicate("quick-pair", arrived_in_west=[each for each in range(RECORDS) if each != 30])
    there, back = scene.flows()
    found = named(check_quickly(there, back), "parity")
    assert codes_of(found, "quick-pair") == {"missing-records": 1}
    found = named(check_quickly(back, there), "parity")
    assert found.verdict is Verdict.PARTIAL, found
    assert (found.counts["sourceRecords"], found.counts["targetRecords"]) == (RECORDS, RECORDS)


def test_an_empty_source_is_an_error_as_in_a_full_validation(check_quickly: Check, endpoints: Endpoints) -> None:
    scene = Scene(endpoints, "quick-empty").replicate(records=0)
    assert parity(check_quickly, scene).findings[0].code == "empty-range"
