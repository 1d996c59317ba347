"""A topic and a group for one fault, healthy at first, and functions that change them behind the connectors' back."""

import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]  # not in its stubs

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.local.endpoints import ADMIN, Region
from kafka_replication.infra.local.traffic import create_topics, end_offsets
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from tests.bench.fault_stack import PAIR, SHAPES, WAIT_SECONDS, Variant, World
from tests.commits import commit
from tests.local.flows import ARRIVAL_SECONDS
from tests.local.observed import committed
from tests.spark import forging
from tests.spark.scenes import CALL_SECONDS, Headers, produce
from tests.topics import delete_topics, remove_records

RECORDS = 100
COMMITTED = 60
EVERY = range(RECORDS)
_MARK = ("replicated-from-useast", None)
Row = tuple[bytes | None, bytes | None, int, Headers]


def names_of(fault: str, shape: str, variant: Variant, ending: str = "") -> dict[str, str]:
    """The names of a fault's topic, remote topic and group."""
    _, topics, groups = SHAPES[shape]
    same = shape == PAIR or variant.policy == "identity"
    topic = topics + fault
    return {"topic": topic, "remote": topic if same else f"useast.{topic}", "group": groups + fault + ending}


@dataclass(frozen=True)
class Place:
    """A topic and a group of a shape's flow; all names are derived from the fault's."""

    world: World
    fault: str
    shape: str = "flow"
    ending: str = ""

    @property
    def flow(self) -> str:
        return SHAPES[self.shape][0]

    @property
    def topic(self) -> str:
        return self.names["topic"]

    @property
    def remote(self) -> str:
        return self.names["remote"]

    @property
    def group(self) -> str:
        return self.names["group"]

    @property
    def paired(self) -> bool:
        return self.shape == PAIR

    @property
    def names(self) -> Mapping[str, str]:
        return names_of(f"{self.fault}-{self.world.run}", self.shape, self.world.variant, self.ending)

    @property
    def only(self) -> Mapping[str, tuple[str, ...]]:
        """What the job must look at: this topic and the groups whose names begin with the group's name."""
        return {"topics": (self.topic,)} | ({} if self.paired else {"groups": (f"{self.group}.*",)})

    def rows(self, numbers: Iterable[int]) -> list[Row]:
        """Records by number: the same number is the same record on both sides. Each has a key."""
        found: list[Row] = []
        for number in numbers:
            headers: Headers = [("h", b"x"), ("null", None)] if number % 3 == 0 else []
            value = None if number % 11 == 10 else f"{self.fault} {number}".encode()
            found.append((f"k{number}".encode(), value, self.world.began_ms + number, headers))
        return found

    def write(self, region: Region, numbers: Iterable[int], partition: int = 0) -> None:
        self.write_rows(region, self.rows(numbers), partition)

    def write_rows(self, region: Region, rows: Iterable[Row], partition: int = 0) -> None:
        """Write the rows to this region's topic; on the target of a pair they look like its connector's."""
        west = region is self.world.west
        if west and self.paired:
            rows = [(*row[:3], [*row[3], _MARK]) for row in rows]
        produce(region, self.remote if west else self.topic, partition, rows)

    def rewrite(self, rows: Iterable[Row], config: Mapping[str, str] | None = None) -> None:
        """Replace the records of the remote topic, from offset 0."""
        recreate(self.world.west, self.remote, 1, config)
        self.write_rows(self.world.west, rows)

    def expire(self, region: Region, before: int) -> None:
        """Remove the records before an offset, as retention does."""
        remove_records(region, self.remote if region is self.world.west else self.topic, 0, before)

    def checkpoint_key(self, ending: str = "") -> bytes:
        return forging.checkpoint_key(self.group + ending, self.remote, 0)

    def forge_checkpoint(self, upstream: int, downstream: int, ending: str = "") -> None:
        row = (
            self.checkpoint_key(ending),
            forging.checkpoint_value(upstream, downstream),
            int(time.time() * 1000),
            Headers(),
        )
        produce(self.world.west, "useast.checkpoints.internal", 0, [row])

    def commit(self, offset: int, ending: str = "") -> None:
        commit(self.world.east, self.group + ending, {(self.topic, 0): offset})

    def commit_there(self, offset: int, ending: str = "", partition: int = 0) -> None:
        commit(self.world.west, self.group + ending, {(self.remote, partition): offset})

    def translated(self, ending: str = "") -> int:
        """The group's offset on the target; -1 without one."""
        return committed(self.world.west, self.group + ending, self.remote).get(0, -1)

    def remove(self) -> None:
        delete_topics(self.world.east, [self.topic])
        delete_topics(self.world.west, [self.remote])


def prepare(
    places: Sequence[Place], rows: Mapping[str, Sequence[Row]], configs: Mapping[str, Mapping[str, str]]
) -> None:
    """Create the topics, let the connectors replicate `rows`, and commit 60 for each group, until it is translated.

    `rows` and `configs` are by topic.
    """
    if not places:
        return
    world = places[0].world
    for config in (dict(each) for each in {tuple(configs[place.topic].items()) for place in places}):
        create_topics(world.east, {each.topic: 1 for each in places if dict(configs[each.topic]) == config}, config)
    # In two steps, so that there is an offset sync before the offsets that the groups have committed.
    for part in (slice(0, COMMITTED - 10), slice(COMMITTED - 10, None)):
        for place in places:
            place.write_rows(world.east, rows[place.topic][part])
        expect_ends(world.west, {place.remote: len(rows[place.topic][: part.stop]) for place in places})
    groups = [place for place in places if not place.paired]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda place: place.commit(COMMITTED), groups))
    for place in groups:
        if "," not in place.group:
            wait_for(f"{place.group} to be translated", partial(expect_synced, place, 0), ARRIVAL_SECONDS)


def expect_synced(place: Place, offset: int, ending: str = "") -> None:
    found = place.translated(ending)
    if found < offset:
        raise NotYetError(f"its offset on the target is {found}")


def recreate(region: Region, topic: str, partitions: int, config: Mapping[str, str] | None = None) -> None:
    """Delete a topic and create it again; if the connector creates it in between, that one is deleted as well."""
    admin = AdminClient(region.client_config(ADMIN))

    def again() -> None:
        delete_topics(region, [topic])
        created = admin.create_topics([NewTopic(topic, partitions, 1, config=dict(config or {}))])
        try:
            created[topic].result(CALL_SECONDS)
        except Exception as error:
            raise NotYetError(str(error)) from error

    def ready() -> None:
        try:
            create_topics(region, {topic: partitions})
        except CannotRunError as error:
            # The broker that answers may not know this topic yet.
            raise NotYetError(str(error)) from error

    wait_for(f"{topic} to be made anew", again, WAIT_SECONDS)
    wait_for(f"{topic} to be ready", ready, WAIT_SECONDS)


def expect_ends(region: Region, ends: Mapping[str, int], partition: int = 0) -> None:
    """Wait until this partition of each topic ends at this offset or later."""

    def probe() -> None:
        try:
            found = end_offsets(region, ends)
        except KeyError as error:
            raise NotYetError(f"no topic {error}") from error
        at = {topic: found.get((topic, partition), -1) for topic in ends}
        if missing := {topic: at[topic] for topic, end in ends.items() if at[topic] < end}:
            raise NotYetError(str(missing))

    wait_for("records to arrive", probe, ARRIVAL_SECONDS)
