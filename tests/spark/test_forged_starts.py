"""Flows that start at latest, on two real clusters: what is before the start, and what is missing after it."""

import pytest

from components.contract.report import FlowOutcome, Verdict
from infra.local.endpoints import Endpoints
from tests.spark.outcomes import Check, failures, named
from tests.spark.scenes import Scene, remove_records

#: Source offset at which the forged flows start.
START, END = 20, 60


def started(endpoints: Endpoints, name: str, held: range = range(START, END)) -> Scene:
    """Records 0 to END in the partition, of which the target holds `held`; syncs from START on; a group after it."""
    scene = Scene(endpoints, name).replicate(records=0, partitions=1)
    scene.write(scene.source, name, 0, range(END))
    scene.write(scene.target, scene.remote(name), 0, held)
    scene.sync(name, 0, (START, 0), (START + 30, 30))
    scene.translate(f"{name}-after", 55, 31)
    return scene


def codes(outcome: FlowOutcome, check: str) -> set[str]:
    return {each.code for each in named(outcome, check).findings}


def test_records_before_the_start_are_counted_and_pass(check: Check, endpoints: Endpoints) -> None:
    scene = started(endpoints, "begun")
    scene.commit("begun-before", 5)
    remove_records(scene.source, "begun", 0, 3)
    outcome = check(scene.parameters(startFrom="latest"))
    assert outcome.verdict is Verdict.PASS, outcome.document()
    parity = named(outcome, "parity")
    assert {each.code: each.count for each in parity.findings} == {"before-the-start": START - 3}
    assert (parity.counts["beforeStart"], parity.counts["agreeingPartitions"]) == (START - 3, 1)
    assert f"{START - 3} before the flow's start" in parity.summary
    (group,) = named(outcome, "offsets-translate").findings
    assert (group.code, group.count) == ("group-before-the-start", START - 5)
    assert "group begun-before on begun-0" in group.message
    assert named(outcome, "nothing-lost-to-retention").counts["lost"] == 0


def test_the_same_clusters_fail_for_a_flow_from_the_earliest(check: Check, endpoints: Endpoints) -> None:
    outcome = check(started(endpoints, "whole-owed").parameters())
    assert list(failures(named(outcome, "parity"))) == ["missing-records"]


@pytest.mark.parametrize(
    ("name", "held", "code"),
    [
        pytest.param("holed", [*range(START, 40), *range(45, END)], "missing-records", id="a hole"),
        pytest.param("headless", range(START + 4, END), "missing-records", id="the first that a sync shows"),
        pytest.param("tailless", range(START, END - 6), "not-replicated-yet", id="the newest"),
    ],
)
def test_records_missing_after_the_start_fail(
    check: Check, endpoints: Endpoints, name: str, held: range, code: str
) -> None:
    outcome = check(started(endpoints, name, held).parameters(startFrom="latest"))
    found = failures(named(outcome, "parity"))
    assert list(found) == [code]
    assert codes(outcome, "parity") == {"before-the-start", code}


def test_a_partition_that_was_never_replicated_neither_passes_nor_fails(check: Check, endpoints: Endpoints) -> None:
    """The records of `quiet` are all older than what the flow has replicated, which is only a note."""
    scene = started(endpoints, "idle")
    for topic, numbers in (("idle.quiet", range(START)), ("idle.newer", range(END))):
        scene.replicate(topic, records=0, partitions=1)
        scene.write(scene.source, topic, 0, numbers)
    parity = named(check(scene.parameters(startFrom="latest")), "parity")
    assert parity.verdict is Verdict.ERROR
    assert {(each.code, each.message.split(":")[0], each.count) for each in parity.findings} == {
        ("before-the-start", "idle", START),
        ("nothing-since-the-start", "idle.quiet", START),
        ("start-not-proven", "idle.newer", END),
    }


def test_a_flow_that_has_replicated_nothing_yet_does_not_pass(check: Check, endpoints: Endpoints) -> None:
    scene = Scene(endpoints, "unbegun").replicate(records=0, partitions=1)
    scene.write(scene.source, "unbegun", 0, range(END))
    scene.commit("unbegun-a", 5)
    outcome = check(scene.parameters(startFrom="latest"))
    assert outcome.verdict is Verdict.ERROR
    assert codes(outcome, "parity") == {"start-not-proven"}
    offsets = {each.code: each.message for each in named(outcome, "offsets-translate").findings}
    assert set(offsets) == {"group-before-the-start", "nothing-proven"}
    assert "commit an offset after the start" in offsets["nothing-proven"]
