"""The job on the shapes that real clusters hold: a guarded pair, a loop, a split and several source connectors."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from kafka_replication.components.contract.report import FindingSeverity, Verdict
from kafka_replication.infra.local.endpoints import Endpoints
from kafka_replication.infra.local.traffic import create_topics, end_offsets
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from kafka_replication.spark.report.failover import failover_of
from tests.spark.documents import a_guard, without_offset_syncs
from tests.spark.outcomes import Check, failures, named
from tests.spark.pair_scenes import RECORDS, PairScene, Row, copying
from tests.spark.scenes import SYNC_EVERY, Scene, produce


def test_a_guarded_pair_is_proven_in_both_directions(check: Check, endpoints: Endpoints) -> None:
    """With headers that look like marks, null keys and null values, and other records between the replicated ones."""
    scene = PairScene(endpoints, "pair-whole")
    scene.replicate("pair-whole")
    for flow, other in itertools.permutations(scene.flows()):
        outcome = check(flow, other)
        assert outcome.verdict is Verdict.PASS, outcome.document()
        assert [each.name for each in outcome.checks] == ["parity", "nothing-lost-to-retention"]
        parity = named(outcome, "parity")
        assert parity.findings == ()
        assert (parity.counts["sourceRecords"], parity.counts["targetRecords"]) == (RECORDS, RECORDS)
        assert (parity.counts["setAsideOnSource"], parity.counts["setAsideOnTarget"]) == (RECORDS, RECORDS)
        retention = named(outcome, "nothing-lost-to-retention").counts
        assert retention["removedNothing"] == retention["partitions"] > 0
        assert "not translated" in outcome.advice[0]
        assert "must seek by timestamp" in outcome.advice[2]


def marked(row: Row, header: str) -> Row:
    key, value, time_ms, _ = row
    return key, value, time_ms, [(header, None)]


def test_offsets_of_a_guarded_flow_prove_nothing_of_records_that_came_another_way(
    check: Check, endpoints: Endpoints
) -> None:
    """uswest's own record follows those of the flow. Of partition 1, it has not been replicated back yet."""
    scene = Scene(endpoints, "guarded", policy="identity").replicate(records=0)
    guard = a_guard()
    rows: list[Row] = [(None, f"{number}".encode(), scene.began_ms + number, []) for number in range(RECORDS)]
    own: Row = (None, b"own", scene.began_ms + RECORDS, [])
    replicated = [marked(row, guard["mark"]) for row in rows]
    for partition, back in enumerate(([marked(own, guard["filter"])], [])):
        produce(scene.source, "guarded", partition, [*rows, *back])
        produce(scene.target, "guarded", partition, [*replicated, own])
        scene.sync("guarded", partition, *((offset, offset) for offset in range(0, RECORDS, SYNC_EVERY)))
        scene.translate(f"guarded-{partition}", RECORDS, RECORDS, partition)
    outcome = check(scene.parameters(guard=guard))
    offsets = named(outcome, "offsets-translate")
    assert offsets.counts["proven"] == 1
    assert {(each.code, each.severity) for each in offsets.findings} == {
        ("source-record-not-found", FindingSeverity.ERROR),
        ("own-records-not-judged", FindingSeverity.NOTE),
    }
    assert any("(own-records-not-judged)" in why for why in failover_of(outcome).skips.why)
    assert named(outcome, "parity").verdict is Verdict.PASS, outcome.document()


def test_each_fault_of_a_guarded_pair_has_its_own_finding(check: Check, endpoints: Endpoints) -> None:
    """One topic per fault, all on one side: the other direction reports only records that never cross."""
    scene = PairScene(endpoints, "hurt")
    east, west = scene.east, scene.west
    scene.replicate("hurt.lost", [*range(10), *range(11, RECORDS)])
    scene.replicate("hurt.late", range(RECORDS - 3))
    for topic in ("hurt.twice", "hurt.looped", "hurt.forged", "hurt.changed"):
        scene.replicate(topic)
    scene.write("hurt.twice", west, scene.rows(east, [RECORDS - 1]), east)
    scene.write("hurt.looped", west, scene.rows(west, [1, 2]), west, east)
    scene.write("hurt.forged", west, scene.rows(west, [777]), east)
    scene.write("hurt.changed", west, [(b"k", b"v", scene.began_ms, [("replicated-from-useast", b"true")])])
    there, back = scene.flows()
    outcome = named(check(there, back), "parity")
    assert {(each.code, each.message.split(":")[0]) for each in outcome.findings} == {
        ("missing-records", "hurt.lost"),
        ("not-replicated-yet", "hurt.late"),
        ("duplicated-records", "hurt.twice"),
        ("records-loop", "hurt.looped"),
        ("marked-elsewhere", "hurt.forged"),
        ("marked-elsewhere", "hurt.changed"),
    }
    counts = outcome.counts
    assert (counts["missing"], counts["lagging"], counts["duplicated"]) == (1, 3, 1)
    assert (counts["extra"], counts["looped"]) == (2, 2)
    assert "2 records on uswest carry both" in failures(outcome)["records-loop"]
    never_cross = named(check(back, there), "parity").findings
    assert {(each.code, each.message.split(":")[0]) for each in never_cross} == {
        ("marked-elsewhere", "hurt.forged"),
        ("marked-elsewhere", "hurt.changed"),
    }


def test_both_directions_report_records_without_a_mark(check: Check, endpoints: Endpoints) -> None:
    """Such a record does not show where it was written, so both directions report it, whichever ran without a guard."""
    scene = PairScene(endpoints, "unmarked")
    scene.replicate("unmarked", range(RECORDS - 2))
    scene.write("unmarked", scene.west, scene.rows(scene.east, range(RECORDS - 2, RECORDS)))
    for flow, other in itertools.permutations(scene.flows()):
        outcome = named(check(flow, other), "parity")
        assert set(failures(outcome)) == {"records-unmarked"}
        assert (outcome.counts["unmarked"], outcome.counts["missing"], outcome.counts["lagging"]) == (2, 0, 0)


def test_a_pair_in_which_only_one_side_writes_passes(check: Check, endpoints: Endpoints) -> None:
    scene = PairScene(endpoints, "one-sided")
    create_topics(scene.east, {"one-sided": 1})
    create_topics(scene.west, {"one-sided": 1})
    scene.write("one-sided", scene.east, scene.rows(scene.east, range(9)))
    scene.write("one-sided", scene.west, scene.rows(scene.east, range(9)), scene.east)
    there, back = scene.flows()
    outcome = named(check(back, there), "parity")
    assert (outcome.verdict, [each.code for each in outcome.findings]) == (Verdict.PASS, ["nothing-of-its-own"])


def test_a_loop_is_reported_while_it_runs(check: Check, endpoints: Endpoints) -> None:
    """The job reads up to the end offsets of one moment, although both topics keep growing."""
    scene = PairScene(endpoints, "round")
    create_topics(scene.east, {"round": 1})
    create_topics(scene.west, {"round": 1})
    scene.write("round", scene.east, scene.rows(scene.east, range(10)))
    there, back = scene.flows(guarded=False)

    def both_hold_copies() -> None:
        held = {region.alias: end_offsets(region, ["round"])["round", 0] for region in (scene.east, scene.west)}
        if min(held.values()) < 20:
            raise NotYetError(f"records held: {held}")

    with copying(scene.east, scene.west, "round"), copying(scene.west, scene.east, "round"):
        # Records that arrive for the first time are no copies yet.
        wait_for("the records to come by a second time", both_hold_copies, 300)
        outcome = check(there, back)
    parity = named(outcome, "parity")
    assert parity.verdict is Verdict.FAIL
    assert [each.code for each in parity.findings] == ["records-loop"]
    assert "records loop through useast -> uswest -> useast" in failures(parity)["records-loop"]
    assert "copies of 10 records" in failures(parity)["records-loop"]
    assert parity.counts["looping"] == 1


@contextmanager
def writing(scene: PairScene, topic: str) -> Iterator[None]:
    """A producer on useast that writes a new record now and then."""
    stop, numbers = Event(), itertools.count(1000)

    def write() -> None:
        while not stop.wait(0.2):
            scene.write(topic, scene.east, scene.rows(scene.east, [next(numbers)]))

    producer = Thread(target=write)
    producer.start()
    try:
        yield
    finally:
        stop.set()
        producer.join()


def test_a_direction_that_sends_records_twice_is_not_reported_as_a_loop(check: Check, endpoints: Endpoints) -> None:
    """Both directions are declared, but only one runs, and its worker sends records twice while a producer writes."""
    scene = PairScene(endpoints, "half")
    create_topics(scene.east, {"half": 1})
    create_topics(scene.west, {"half": 1})
    scene.write("half", scene.east, scene.rows(scene.east, range(30)))
    there, back = scene.flows(guarded=False)
    with writing(scene, "half"), copying(scene.east, scene.west, "half", times=2):
        outcome = named(check(there, back), "parity")
    assert "records-loop" not in failures(outcome)
    assert outcome.counts["duplicated"] >= 30


def test_only_the_part_of_a_split_that_is_behind_is_named(check: Check, endpoints: Endpoints) -> None:
    scene = Scene(endpoints, "split")
    for topic in ("split-1.a", "split-2.a", "split-2.b"):
        scene.replicate(topic, records=20, partitions=1)
    scene.write(scene.source, "split-2.b", 0, range(20, 27))
    create_topics(scene.source, {"split-2.new": 1})
    scene.write(scene.source, "split-2.new", 0, range(4))
    first, second = (
        scene.parameters(
            name=name, replication="split", shape="split", topics=[rf"{name}\..*"], **without_offset_syncs()
        )
        for name in ("split-1", "split-2")
    )
    assert check(first, second).verdict is Verdict.PASS
    outcome = check(second, first)
    assert named(outcome, "topics-divided").verdict is Verdict.PASS
    found = failures(named(outcome, "parity"))
    assert set(found) == {"topic-not-replicated", "not-replicated-yet", "part-behind"}
    assert found["part-behind"] == (
        "part split-2 (namespace mirror-orders) is 11 records behind in 2 topics: split-2.b by 7, split-2.new by 4"
    )


def test_only_the_source_connector_that_is_behind_is_named(check: Check, endpoints: Endpoints) -> None:
    scene = Scene(endpoints, "several")
    for topic in ("several.bulk", "several.core", "several.both"):
        scene.replicate(topic, records=20, partitions=1)
    scene.write(scene.source, "several.bulk", 0, range(20, 25))
    parts = [
        {"name": "bulk", "connector": "several-source-bulk", "topics": ["several.b.*"]},
        {"name": "core", "connector": "several-source-core", "topics": ["several.core", "several.both"]},
    ]
    outcome = check(scene.parameters(parts=parts, **without_offset_syncs()))
    found = failures(named(outcome, "parity"))
    assert found["part-behind"].startswith("part bulk (connector several-source-bulk) is 5 records behind in 1 topic:")
    assert found["not-replicated-yet"].startswith("several.bulk (part bulk (connector several-source-bulk)): 5 records")
    assert "several.both belongs to" in failures(named(outcome, "topics-divided"))["topic-in-two-parts"]


def test_records_that_transforms_may_have_changed_are_counted_but_not_compared(
    check: Check, endpoints: Endpoints
) -> None:
    scene = Scene(endpoints, "changed").replicate(records=0, partitions=1)
    scene.write(scene.source, "changed", 0, range(20))
    scene.write(scene.target, scene.remote("changed"), 0, range(100, 115))
    outcome = named(check(scene.parameters(transformed=True, **without_offset_syncs())), "parity")
    assert (outcome.verdict, [each.code for each in outcome.findings]) == (Verdict.ERROR, ["records-not-compared"])
    assert (outcome.counts["sourceRecords"], outcome.counts["targetRecords"]) == (20, 15)
