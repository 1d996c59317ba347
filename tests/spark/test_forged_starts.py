"""Flows that start at latest, on two real clusters: records before the start, and records missing after it."""

from collections.abc import Iterable

import pytest

from kafka_replication.components.contract.report import FlowOutcome, Verdict
from kafka_replication.infra.local.endpoints import Endpoints
from tests.spark.outcomes import Check, codes_of, failures, named
from tests.spark.scenes import Scene
from tests.topics import remove_records

#: Source offset at which the forged flows start.
START, END = 20, 60


def start(scene: Scene, topic: str, held: Iterable[int]) -> None:
    """Write records 0 to END to the source and `held` to the target, with offset syncs from START on."""
    scene.replicate(topic, records=0, partitions=1)
    scene.write(scene.source, topic, 0, range(END))
    scene.write(scene.target, scene.remote(topic), 0, held)
    scene.sync(topic, 0, (START, 0), (START + 30, 30))


def codes(outcome: FlowOutcome, check: str) -> set[str]:
    return {each.code for each in named(outcome, check).findings}


@pytest.fixture(scope="module")
def begun(endpoints: Endpoints) -> Scene:
    """A flow whose target has every record from START on."""
    scene = Scene(endpoints, "begun")
    start(scene, "begun", range(START, END))
    scene.translate("begun-after", 55, 31)
    scene.commit("begun-before", 5)
    remove_records(scene.source, "begun", 0, 3)
    return scene


def test_records_before_the_start_are_counted_and_pass(check: Check, begun: Scene) -> None:
    outcome = check(begun.parameters(startFrom="latest"))
    assert outcome.verdict is Verdict.PASS, outcome.document()
    parity = named(outcome, "parity")
    assert {each.code: each.count for each in parity.findings} == {"before-the-start": START - 3}
    assert (parity.counts["beforeStart"], parity.counts["agreeingPartitions"]) == (START - 3, 1)
    assert f"{START - 3} before the flow's start" in parity.summary
    (group,) = named(outcome, "offsets-translate").findings
    assert (group.code, group.count) == ("group-before-the-start", START - 5)
    assert "group begun-before on begun-0" in group.message
    assert named(outcome, "nothing-lost-to-retention").counts["lost"] == 0


def test_on_the_same_clusters_a_flow_from_earliest_reports_missing_records(check: Check, begun: Scene) -> None:
    outcome = check(begun.parameters(groups=["nobody-.*"]))
    assert list(failures(named(outcome, "parity"))) == ["missing-records"]


@pytest.fixture(scope="module")
def broken(check: Check, endpoints: Endpoints) -> FlowOutcome:
    """A flow with one topic for each way in which records can be missing, checked once.

    The records of `quiet` are all older than what the flow has replicated, which is only a note; some of `newer` are
    not.
    """
    scene = Scene(endpoints, "broken")
    start(scene, "broken.hole", [*range(START, 40), *range(45, END)])
    start(scene, "broken.head", range(START + 4, END))
    start(scene, "broken.tail", range(START, END - 6))
    for topic, numbers in (("broken.quiet", range(START)), ("broken.newer", range(END))):
        scene.replicate(topic, records=0, partitions=1)
        scene.write(scene.source, topic, 0, numbers)
    return check(scene.parameters(startFrom="latest"))


@pytest.mark.parametrize(
    ("topic", "code", "count"),
    [
        pytest.param("broken.hole", "missing-records", 5, id="a hole"),
        pytest.param("broken.head", "missing-records", 4, id="the first that a sync shows"),
        pytest.param("broken.tail", "not-replicated-yet", 6, id="the newest"),
    ],
)
def test_records_missing_after_the_start_fail(broken: FlowOutcome, topic: str, code: str, count: int) -> None:
    parity = named(broken, "parity")
    assert parity.verdict is Verdict.FAIL
    assert codes_of(parity, topic) == {"before-the-start": START, code: count}


@pytest.mark.parametrize(
    ("topic", "code", "count"),
    [
        pytest.param("broken.quiet", "nothing-since-the-start", START, id="older than every replicated record"),
        pytest.param("broken.newer", "start-not-proven", END, id="as new as replicated records"),
    ],
)
def test_a_partition_that_was_never_replicated_neither_passes_nor_fails(
    broken: FlowOutcome, topic: str, code: str, count: int
) -> None:
    assert codes_of(named(broken, "parity"), topic) == {code: count}
    assert code not in failures(named(broken, "parity"))


def test_a_flow_that_has_replicated_nothing_yet_does_not_pass(check: Check, endpoints: Endpoints) -> None:
    scene = Scene(endpoints, "unbegun").replicate(records=0, partitions=1)
    scene.write(scene.source, "unbegun", 0, range(END))
    scene.commit("unbegun-a", 5)
    outcome = check(scene.parameters(startFrom="latest"))
    assert outcome.verdict is Verdict.ERROR
    parity = named(outcome, "parity")
    assert (parity.verdict, codes(outcome, "parity")) == (Verdict.ERROR, {"start-not-proven"})
    offsets = {each.code: each.message for each in named(outcome, "offsets-translate").findings}
    assert set(offsets) == {"group-before-the-start", "nothing-proven"}
    assert "all are before the flow's start" in offsets["nothing-proven"]
