"""Faults where records are changed or dropped on purpose: by a user's transform, and by a pair's guard."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kafka_replication.components.contract.report import Verdict
from kafka_replication.infra.local.traffic import create_topics
from tests.bench.fault_places import Place, expect_ends
from tests.bench.fault_rows import Fault, Making, at
from tests.bench.fault_stack import World
from tests.spark.scenes import Headers

PASS, FAIL, ERROR = Verdict.PASS, Verdict.FAIL, Verdict.ERROR
_SENT = 1_000
_KEPT = sum(number % 11 != 10 for number in range(_SENT))
_FIRST = 110


def _filtered(then: Callable[[Place], None]) -> Making:
    """1,000 records in a flow that drops those without a value; then its source connector is stopped."""

    @contextmanager
    def making(world: World, place: Place) -> Iterator[None]:
        create_topics(world.east, {place.topic: 1})
        place.write(world.east, range(_FIRST))
        expect_ends(world.west, {place.remote: sum(number % 11 != 10 for number in range(_FIRST))})
        then(place)
        yield

    return making


@contextmanager
def _cut_off(world: World, place: Place) -> Iterator[None]:
    """A tenth of the records is replicated when the connector stops; the rest is still due."""
    with _filtered(lambda _: None)(world, place), world.source_stopped(place.flow):
        place.write(world.east, range(_FIRST, _SENT))
        yield


def _all_there(place: Place) -> None:
    place.write(place.world.east, range(_FIRST, _SENT))
    expect_ends(place.world.west, {place.remote: _KEPT})


def _all_but_one_lost(place: Place) -> None:
    _all_there(place)
    place.rewrite(place.rows([_SENT - 1]))


@contextmanager
def _marked_elsewhere(world: World, place: Place) -> Iterator[None]:
    """Users write records that already carry the mark of the other half, so the guard drops them."""
    mark: Headers = [("replicated-from-uswest", None)]
    rows = [(*row[:3], [*row[3], *mark]) for row in place.rows(range(100, 105))]
    place.write_rows(world.east, rows)
    yield


TRANSFORM_FAULTS = (
    Fault(
        "kept-stopped", f"a flow that drops records: its source connector is stopped when 100 of {_KEPT} have arrived",
        FAIL, _cut_off, ("connector-stopped",), ("kept-source",), flow="kept", shape="filtered", owns=True,
    ),
    Fault(
        "kept-lost", f"a flow that drops records: all but one of {_KEPT} kept records are lost on the target",
        FAIL, _filtered(_all_but_one_lost), ("missing-records",), at(), flow="kept", shape="filtered",
        owns=True,
    ),
    Fault(
        "kept-healthy", "no fault: a flow that drops records without a value works",
        PASS, _filtered(_all_there), (), (), flow="kept", shape="filtered", owns=True,
    ),
    Fault(
        "pair-marked", "a pair: 5 records of users carry the mark of the other direction, and never cross", FAIL,
        _marked_elsewhere, ("marked-elsewhere",), ("{topic}:", "5 records"),
        flow="ledger-to-uswest", shape="prefixlessPair", prepares=True,
    ),
)  # fmt: skip
