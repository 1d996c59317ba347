"""A group before many offsets of the source skips the records among them; the job looks whether there are any."""

import pytest

from kafka_replication.components.clients.errors import ClusterError, ClusterErrors
from kafka_replication.components.contract.report import CheckOutcome
from kafka_replication.spark.checks.offsets.check import check_offsets
from kafka_replication.spark.checks.offsets.readings import read_syncs
from tests.spark.memory import ORDERS, MemoryFlow


def before_aborted(
    *among: tuple[int, int], committed: int = 100, crossed: int = 100, last: tuple[int, ...] = (7, 8)
) -> MemoryFlow:
    """A stopped group before a transaction of 1,200 records, which was aborted. Each of `among` is the place and the
    number of a committed record among them. The checkpoint is at the first of the `last` records, which follow.
    """
    flow = MemoryFlow()
    flow.source.produce(ORDERS, range(1_000, 1_100))
    for at in range(1_200):
        flow.source.produce(ORDERS, [number for place, number in among if place == at])
        flow.source.produce(ORDERS, [5_000 + at], aborted=True)
    flow.source.mark(ORDERS)
    upstream = flow.source.ends([ORDERS])[ORDERS]
    flow.source.produce(ORDERS, last)
    flow.target.produce(flow.remote, [*range(1_000, 1_000 + crossed), *(number for _, number in among), *last])
    downstream = crossed + len(among)
    flow.sync((0, 0), *([(upstream, downstream)] if len(set(last)) == len(last) else []))
    flow.translate(committed, downstream)
    return flow


def outcome_of(flow: MemoryFlow) -> CheckOutcome:
    opened = flow.opened
    return check_offsets(opened, read_syncs(opened), 0)


@pytest.mark.parametrize("committed", [100, 101, 1_300], ids=["before it", "in it", "at its marker"])
def test_a_group_at_an_aborted_transaction_of_many_records_skips_nothing(committed: int) -> None:
    """The offsets in between counted as skipped records, if they were more than the job reads."""
    outcome = outcome_of(before_aborted(committed=committed))
    assert (outcome.findings, outcome.counts["proven"], outcome.counts["readAgain"]) == ((), 1, 0)


@pytest.mark.parametrize(
    ("among", "committed", "skips"),
    [
        pytest.param([(600, 6)], 100, "up to 1202 records", id="in the middle"),
        pytest.param([(0, 6)], 100, "up to 1202 records", id="at the group's offset"),
        pytest.param([(1_190, 6)], 100, "1 record", id="where the job has read"),
        pytest.param([], 99, "up to 1202 records", id="the one before the transaction"),
    ],
)
def test_a_group_that_skips_a_record_beside_many_aborted_ones_fails(
    among: list[tuple[int, int]], committed: int, skips: str
) -> None:
    (finding,) = outcome_of(before_aborted(*among, committed=committed)).findings
    assert finding.code == "offset-skips-records"
    assert finding.message.endswith(f"the group would skip {skips}")


def test_equal_records_after_many_aborted_ones_do_not_show_which_of_them_the_group_skips() -> None:
    (finding,) = outcome_of(before_aborted(last=(7, 7))).findings
    assert finding.code == "source-record-not-found"


def test_records_that_could_not_be_looked_for_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise ClusterErrors("useast", "127.0.0.1:9092").error("the records could not be read", None)

    flow = before_aborted()
    monkeypatch.setattr(flow.source, "first_records", refuse)
    with pytest.raises(ClusterError):
        outcome_of(flow)
