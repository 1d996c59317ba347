"""The records of the drills: bursts, transactions, a producer that keeps writing, a worker that is killed."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from threading import Event, Thread

from confluent_kafka import KafkaException, Producer

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.local.endpoints import ADMIN, Endpoints, Region
from kafka_replication.infra.local.parts import operator as operator_part
from kafka_replication.infra.local.traffic import produce, records
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from tests.bench.drill_counting import everything, read_log
from tests.bench.drill_shapes import PARTITIONS, Shape
from tests.local.flows import kill

CROSSING_SECONDS = 300.0
TRANSACTION_SECONDS = 60.0
#: Records of a transaction; every third transaction is aborted.
TRANSACTION = 25


def send(endpoints: Endpoints, shape: Shape, count: int, seed: int, first: int = 0) -> None:
    """Write `count` records to each topic of the shape; in a pair to both sides at once, in different orders."""

    def write(side: int, region: Region) -> None:
        for topic in shape.topics:
            if shape.transactions:
                _send_transactions(region, topic, count, 2 * seed + side, first)
            else:
                produce(region, topic, count, seed=2 * seed + side, first=first)

    regions = _producing(endpoints, shape)
    with ThreadPoolExecutor(len(regions)) as pool:
        list(pool.map(write, range(len(regions)), regions))


def _producing(endpoints: Endpoints, shape: Shape) -> list[Region]:
    source, target = endpoints.regions["useast"], endpoints.regions["uswest"]
    return [source, target] if shape.back else [source]


def _send_transactions(region: Region, topic: str, count: int, seed: int, first: int) -> None:
    producer = Producer({**region.client_config(ADMIN), "transactional.id": f"drill-{topic}"})
    producer.init_transactions(TRANSACTION_SECONDS)
    every = list(records(topic, count, seed, first=first))
    for number, begin in enumerate(range(0, count, TRANSACTION)):
        producer.begin_transaction()
        for index, record in enumerate(every[begin : begin + TRANSACTION], start=begin):
            partition = record.partition(index, PARTITIONS)
            producer.produce(topic, record.value, record.key, partition, headers=list(record.headers))
        if number % 3 == 2:
            producer.flush(TRANSACTION_SECONDS)
            producer.abort_transaction(TRANSACTION_SECONDS)
        else:
            producer.commit_transaction(TRANSACTION_SECONDS)


def send_and_kill(endpoints: Endpoints, shape: Shape, count: int, seed: int) -> None:
    """Write `count` records, and kill the flow's worker once half of them are replicated, before it commits offsets."""
    send(endpoints, shape, count // 2, seed)
    await_crossing(endpoints, shape)
    kill(worker for worker in operator_part.workers() if f"/{shape.flow}-" in worker.name)
    send(endpoints, shape, count - count // 2, seed, first=count // 2)


def send_as_super_user(endpoints: Endpoints, shape: Shape, count: int, seed: int, first: int) -> None:
    """Write records to the source even if writes are denied there."""
    region = endpoints.regions["useast"]
    producer = Producer(region.client_config(ADMIN))
    for topic in shape.topics:
        for number, record in enumerate(records(topic, count, 2 * seed, first=first), start=first):
            partition = record.partition(number, PARTITIONS)
            producer.produce(topic, record.value, record.key, partition, headers=list(record.headers))
    producer.flush(CROSSING_SECONDS)


@contextmanager
def traffic(endpoints: Endpoints, shape: Shape, seed: int, send: Callable[..., None] = send) -> Iterator[Event]:
    """A producer keeps writing while the body runs; set the event to stop it earlier."""
    over = Event()

    def write() -> None:
        first = 0
        while not over.wait(0.2):
            try:
                send(endpoints, shape, 30, seed, first)
            except (CannotRunError, KafkaException):
                # A disaster drill kills the producer's broker, and a fence refuses its records.
                return
            first += 30

    writer = Thread(target=write)
    writer.start()
    try:
        yield over
    finally:
        over.set()
        writer.join()


def await_crossing(endpoints: Endpoints, shape: Shape) -> None:
    """Wait until every committed record of the source is on the target, and in a pair the other way round."""
    source, target = endpoints.regions["useast"], endpoints.regions["uswest"]

    for topic in shape.topics:
        remote = shape.remote(topic)
        wait_for("records to cross", partial(expect_crossed, source, target, topic, remote), CROSSING_SECONDS, 1)
        if shape.back:
            wait_for(
                "records to come back", partial(expect_crossed, target, source, remote, topic), CROSSING_SECONDS, 1
            )


def expect_crossed(ours: Region, theirs: Region, topic: str, remote: str) -> None:
    """Raise NotYetError until every committed record of a topic is on the other side."""
    if missing := everything(read_log(ours, [topic])).keys() - everything(read_log(theirs, [remote])):
        raise NotYetError(f"{len(missing)} records of {topic} have not crossed")
