"""Faults in the offsets of a group, and groups that only look faulty."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from threading import Event, Thread

from confluent_kafka import Consumer

from kafka_replication.components.contract.report import Verdict
from kafka_replication.infra.local.endpoints import APP
from kafka_replication.infra.local.traffic import create_topics
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from tests.bench.fault_makers import Make, nothing, running
from tests.bench.fault_places import COMMITTED, RECORDS, Place, expect_synced
from tests.bench.fault_rows import Fault, Making
from tests.bench.fault_stack import World
from tests.local.flows import ARRIVAL_SECONDS
from tests.spark.scenes import CALL_SECONDS

PASS, FAIL, ERROR = Verdict.PASS, Verdict.FAIL, Verdict.ERROR
_GROUPS = 50


def _stuck(place: Place) -> None:
    """The group is at the end, which the newest offset sync translates, but its newest checkpoint is old."""
    place.commit(RECORDS)
    wait_for(f"{place.group} to be translated", lambda: expect_synced(place, COMMITTED + 1), ARRIVAL_SECONDS)
    place.forge_checkpoint(3, 3)


def _checkpoint(upstream: int, downstream: int) -> Make:
    return lambda place: place.forge_checkpoint(upstream, downstream)


def _one_proven(place: Place) -> None:
    """The target has removed records that only one of many groups has consumed."""
    for number in range(_GROUPS):
        place.commit(COMMITTED, f"-{number}")
    place.commit(95)
    wait_for(f"{place.group} to be translated", lambda: expect_synced(place, COMMITTED + 1), ARRIVAL_SECONDS)
    place.expire(place.world.west, 80)


@contextmanager
def _beside(work: Callable[[], None], ended: Event) -> Iterator[None]:
    """Work in another thread until the body ends; then `ended` is set."""
    thread = Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(CALL_SECONDS)


@contextmanager
def _committing(world: World, place: Place) -> Iterator[None]:
    """A group that consumes what is produced, and commits every 200 ms, until the body ends."""
    ended = Event()

    def work() -> None:
        number = RECORDS
        while not ended.wait(0.2):
            place.write(world.east, range(number, number + 10))
            number += 10
            place.commit(number - 5)

    with _beside(work, ended):
        yield


@contextmanager
def _working_there(world: World, place: Place) -> Iterator[None]:
    """The group has a member that consumes on the target."""
    config = {**world.west.client_config(APP), "group.id": place.group, "auto.offset.reset": "earliest"}
    consumer = Consumer({**config, "enable.auto.commit": False})
    consumer.subscribe([place.remote])

    def read() -> None:
        if not consumer.consume(10, timeout=1.0):
            raise NotYetError("nothing consumed")
        consumer.commit(asynchronous=False)

    wait_for("a member on the target", read, ARRIVAL_SECONDS)
    ended = Event()

    def work() -> None:
        while not ended.is_set():
            consumer.consume(1, timeout=0.2)

    with closing(consumer), _beside(work, ended):
        yield


@contextmanager
def _young(world: World, place: Place) -> Iterator[None]:
    create_topics(world.east, {place.topic: 1})
    place.write(world.east, range(10))
    yield


def _group(
    name: str,
    what: str,
    verdict: Verdict,
    making: Making,
    codes: tuple[str, ...] = (),
    words: tuple[str, ...] = (),
    ending: str = "",
    only: Mapping[str, tuple[str, ...]] | None = None,
) -> Fault:
    return Fault(name, what, verdict, making, codes, words, prepares=True, ending=ending, only=only)


def _at(offset: int) -> Callable[[Place], None]:
    return lambda place: place.commit(offset)


_WHERE = ("{group}", "{topic}-0")
GROUP_FAULTS = (
    _group(
        "checkpoint-ahead", "a checkpoint translates 60 to 90", FAIL, running(_checkpoint(COMMITTED, 90)),
        ("offset-skips-records",), (*_WHERE, "skip 30 records"),
    ),
    _group(
        "checkpoint-next", "a checkpoint is one record too far", FAIL, running(_checkpoint(COMMITTED, 61)),
        ("offset-skips-records",), (*_WHERE, "skip 1 record"),
    ),
    _group(
        "checkpoint-beyond", "a checkpoint translates beyond the end of the remote topic", FAIL,
        running(_checkpoint(COMMITTED, 5_000)), ("checkpoint-past-end",), (*_WHERE, "ends at 100"),
    ),
    _group(
        "checkpoint-stuck", "a checkpoint does not follow the group", FAIL, running(_stuck),
        ("checkpoint-behind",), (*_WHERE, "3"),
    ),
    _group(
        "group-ahead-there", "somebody sets the group's offset on the target past its translation", FAIL,
        running(lambda place: place.commit_there(95)), ("group-past-translation",), (*_WHERE, "95", "35 records"),
    ),
    _group(
        "group-reset", "the group is reset to an earlier offset on the source", FAIL, running(_at(10)),
        ("group-past-translation", "checkpoint-ahead"), _WHERE,
    ),
    _group(
        "one-proven", f"the records that prove {_GROUPS} of {_GROUPS + 1} groups' offsets have expired on the target",
        ERROR, running(_one_proven), ("target-expired",), ("{group}-0", "{topic}-0"),
    ),
    _group(
        "group-past-end", "the group commits an offset beyond the end of the source", ERROR, running(_at(5_000)),
        ("committed-past-end",), (*_WHERE, "5000"),
    ),
    _group(
        "group-comma", "a group with a comma in its name", FAIL, running(nothing), ("group-left-out",),
        ("{group}", "comma"), ending=",b",
    ),
    _group("group-colon", "no fault: a group with a colon in its name", PASS, running(nothing), ending=":b"),
    _group("group-coarse", "no fault: a group between two offset syncs", PASS, running(_at(57))),
    _group("group-live", "no fault: a group commits every 200 ms while records are produced", PASS, _committing),
    _group(
        "group-both", "no fault: a group consumes on both sides", PASS, _working_there, ("group-active",), ("{group}",),
    ),
    _group(
        "group-none", "no fault: no group of the flow exists yet", PASS, running(nothing), ("no-group-selected",),
        only={"groups": ("checkout-nobody",)},
    ),
    Fault("topic-young", "no fault: a topic is younger than the refresh interval", PASS, _young, owns=True),
)  # fmt: skip
