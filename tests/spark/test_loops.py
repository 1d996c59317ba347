"""Records that loop are distinguished from records that only seem to, by what arrives on both sides."""

import pytest

from kafka_replication.components.contract.report import FindingSeverity
from kafka_replication.components.kafka.cycles import Cycle
from kafka_replication.components.kafka.positions import TopicPartition
from kafka_replication.spark.checks.loops import Arrivals, Loop, judge, loop_findings
from kafka_replication.spark.read.digests import SOURCE, TARGET
from tests.spark.documents import a_pair

LEDGER = TopicPartition("ledger", 0)
RING = Cycle(tuple(flow.leg for flow in a_pair(guarded=False)))
ROUND = Arrivals(records=300, distinct=10, new=40, returned=40)


def loops(source: Arrivals, target: Arrivals) -> list[Loop]:
    return judge({(SOURCE, LEDGER): source, (TARGET, LEDGER): target}, {"ledger": RING})


@pytest.mark.parametrize(
    ("source", "target"),
    [
        pytest.param(ROUND, ROUND, id="the same ten records again and again"),
        pytest.param(ROUND, Arrivals(330, 40, 70, 40), id="producers write while records loop"),
    ],
)
def test_copies_that_arrive_on_both_sides_are_a_loop(source: Arrivals, target: Arrivals) -> None:
    assert [loop.topic for loop in loops(source, target)] == ["ledger"]


@pytest.mark.parametrize(
    ("source", "target"),
    [
        pytest.param(Arrivals(50, 50, 20, 0), Arrivals(50, 50, 20, 0), id="producers write, a flow replicates"),
        pytest.param(Arrivals(50, 50, 20, 0), Arrivals(60, 50, 20, 10), id="a worker was restarted and sends again"),
        pytest.param(Arrivals(50, 50, 0, 0), Arrivals(90, 50, 40, 40), id="nothing new arrives on the source"),
        pytest.param(Arrivals(300, 10, 0, 0), Arrivals(300, 10, 0, 0), id="a loop that was stopped"),
        pytest.param(Arrivals(95, 90, 50, 5), Arrivals(95, 90, 50, 5), id="a producer sends some records twice"),
        pytest.param(Arrivals(100, 50, 50, 50), Arrivals(50, 50, 0, 0), id="a failback copies everything once"),
    ],
)
def test_arrivals_that_only_look_like_a_loop_are_not_reported(source: Arrivals, target: Arrivals) -> None:
    assert loops(source, target) == []


def test_two_partitions_that_each_repeat_on_one_side_are_not_a_loop() -> None:
    still, other = Arrivals(5, 5, 0, 0), TopicPartition("ledger", 1)
    sides = {(SOURCE, LEDGER): ROUND, (TARGET, LEDGER): still, (SOURCE, other): still, (TARGET, other): ROUND}
    assert judge(sides, {"ledger": RING}) == []


def test_a_loop_is_reported_with_its_path_and_its_copies() -> None:
    (finding,) = loop_findings(loops(ROUND, ROUND), "useast", "uswest")
    assert (finding.code, finding.severity, finding.count) == ("records-loop", FindingSeverity.FAIL, 80)
    assert "ledger: records loop through useast -> uswest -> useast forever" in finding.message
    assert "useast holds 300 copies of 10 records" in finding.message
