"""What faults are made on: the example stacks deployed as one on a local stack of its own, and the job for a flow."""

import getpass
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]  # not in its stubs

from components.contract.parameters import Parameters
from components.contract.report import FlowOutcome
from infra.local.endpoints import ADMIN, Endpoints, Region
from infra.local.traffic import create_topics, end_offsets
from infra.operations.flow_connectors import connector_places
from infra.operations.intervening import carry_out, cluster_of, flow_of_stack, read_live
from infra.operations.interventions import Request, planned
from infra.settings import read_settings, stack_file
from infra.waiting import NotYetError, wait_for
from spark.documents import chosen_flows
from spark.job import Options, run
from tests.local.flows import ARRIVAL_SECONDS, Deployed
from tests.repository import STACKS
from tests.spark import forging
from tests.spark.scenes import CALL_SECONDS, Headers, produce, remove_records

#: The example stacks whose replications are deployed together.
SHAPES = ("local", "local-split", "local-mirrormaker2", "local-pair")
STACK = "local"
WAIT_SECONDS = 180

Row = tuple[bytes | None, bytes | None, int, Headers]


def write_stack(folder: Path, replications: Mapping[str, Any]) -> None:
    """One stack of all shapes and `replications`, with intervals of a second."""
    topology = yaml.safe_load((STACKS / "topologies" / f"{STACK}.yaml").read_text())
    for shape in SHAPES[1:]:
        other = yaml.safe_load((STACKS / "topologies" / f"{shape}.yaml").read_text())
        topology["replications"] |= other["replications"]
    topology["replications"] |= replications
    for replication in topology["replications"].values():
        replication["intervals"] = dict.fromkeys(replication.get("intervals", ()), 1)
    (folder / "topologies").mkdir(parents=True)
    (folder / "topologies" / f"{STACK}.yaml").write_text(yaml.safe_dump(topology, sort_keys=False))
    stack_file(STACK, folder).write_text(stack_file(STACK, STACKS).read_text())


@dataclass
class World:
    """The deployed stack. `began_ms` is the time of the first record that a fault writes, in ms since 1970."""

    deployed: Deployed
    began_ms: int = field(default_factory=lambda: int(time.time() * 1000) - 3_600_000)

    @classmethod
    def of(cls, endpoints: Endpoints, folder: Path) -> "World":
        return cls(Deployed(read_settings(STACK, folder), endpoints))

    @property
    def east(self) -> Region:
        return self.deployed.endpoints.regions["useast"]

    @property
    def west(self) -> Region:
        return self.deployed.endpoints.regions["uswest"]

    def validate(self, flow: str, catch_up_seconds: float = 2) -> FlowOutcome:
        """The outcome of the job for one flow, as `replicate validate --flow` reports it."""
        parameters = Parameters.model_validate(self.deployed.document)
        options = Options(catch_up_seconds=catch_up_seconds, kubeconfig=self.deployed.endpoints.kubeconfig)
        report = run(parameters, chosen_flows(parameters, flow), options)
        assert report.error is None, report.error
        (outcome,) = report.flows
        return outcome

    def connectors(self, flow: str) -> tuple[str, ...]:
        """The names of a flow's connectors."""
        return tuple(place.name for place in connector_places(flow_of_stack(self.deployed.settings, flow)))

    @contextmanager
    def stopped(self, flow: str, connectors: Sequence[str], state: str = "stopped") -> Iterator[None]:
        """Connectors in another state while the body runs, as `replicate stop` and `resume` bring them into it."""
        self._bring(flow, connectors, state)
        try:
            yield
        finally:
            self._bring(flow, connectors, "running")

    def _bring(self, flow: str, connectors: Sequence[str], state: str) -> None:
        settings = self.deployed.settings
        places = [place for place in connector_places(flow_of_stack(settings, flow)) if place.name in connectors]
        request = Request(settings.stack, flow, state, getpass.getuser(), datetime.now(UTC))
        with cluster_of(settings) as api:
            changes = planned(request, places, read_live(api, places))
            carry_out(api, changes, places, WAIT_SECONDS, lambda _: None)


@dataclass(frozen=True)
class Place:
    """A topic and a group of the flow `orders` that belong to one fault; all other names follow from its name."""

    world: World
    name: str
    ending: str = ""

    @property
    def topic(self) -> str:
        return f"payments-{self.name}"

    @property
    def remote(self) -> str:
        return f"useast.{self.topic}"

    @property
    def group(self) -> str:
        return f"checkout-{self.name}{self.ending}"

    def rows(self, numbers: Iterable[int]) -> list[Row]:
        """Records by number: the same number is the same record on both sides. Each has a key."""
        found: list[Row] = []
        for number in numbers:
            headers: Headers = [("h", b"x"), ("null", None)] if number % 3 == 0 else []
            value = None if number % 11 == 10 else f"{self.name} {number}".encode()
            found.append((f"k{number}".encode(), value, self.world.began_ms + number, headers))
        return found

    def write(self, region: Region, numbers: Iterable[int], partition: int = 0) -> None:
        self.write_rows(region, self.rows(numbers), partition)

    def write_rows(self, region: Region, rows: Iterable[Row], partition: int = 0) -> None:
        produce(region, self.remote if region is self.world.west else self.topic, partition, rows)

    def rewrite(self, rows: Iterable[Row], config: Mapping[str, str] | None = None) -> None:
        """Put other records into the remote topic, from offset 0, behind the connector's back."""
        recreate(self.world.west, self.remote, 1, config)
        self.write_rows(self.world.west, rows)

    def expire(self, region: Region, before: int) -> None:
        """Remove the records before an offset, as retention does."""
        remove_records(region, self.remote if region is self.world.west else self.topic, 0, before)

    def forge_checkpoint(self, upstream: int, downstream: int) -> None:
        key = forging.checkpoint_key(self.group, self.remote, 0)
        row = (key, forging.checkpoint_value(upstream, downstream), int(time.time() * 1000), Headers())
        produce(self.world.west, "useast.checkpoints.internal", 0, [row])


def delete_topics(region: Region, topics: Iterable[str]) -> None:
    admin = AdminClient(region.client_config(ADMIN))
    existing = admin.list_topics(timeout=CALL_SECONDS).topics
    if wanted := [topic for topic in topics if topic in existing]:
        for future in admin.delete_topics(wanted, operation_timeout=CALL_SECONDS).values():
            future.result(CALL_SECONDS)


def recreate(region: Region, topic: str, partitions: int, config: Mapping[str, str] | None = None) -> None:
    """Delete a topic and create it again; the connector may create it in between, which is deleted as well."""
    admin = AdminClient(region.client_config(ADMIN))

    def again() -> None:
        delete_topics(region, [topic])
        created = admin.create_topics([NewTopic(topic, partitions, 1, config=dict(config or {}))])
        try:
            created[topic].result(CALL_SECONDS)
        except Exception as error:
            raise NotYetError(str(error)) from error

    wait_for(f"{topic} to be made anew", again, WAIT_SECONDS)
    create_topics(region, {topic: partitions})


def expect_ends(region: Region, ends: Mapping[str, int]) -> None:
    """Wait until the partitions 0 of topics end at these offsets or later."""

    def probe() -> None:
        try:
            found = end_offsets(region, ends)
        except KeyError as error:
            raise NotYetError(f"no topic {error}") from error
        if missing := {topic: found[topic, 0] for topic, end in ends.items() if found[topic, 0] < end}:
            raise NotYetError(str(missing))

    wait_for("records to arrive", probe, ARRIVAL_SECONDS, interval_seconds=0.5)
