"""The stack on which faults are made: every shape, deployed together, and the validation job for one of its flows."""

import getpass
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console

from kafka_replication.components.contract.parameters import Parameters
from kafka_replication.components.contract.report import FlowOutcome
from kafka_replication.infra.local import stack
from kafka_replication.infra.local.endpoints import Region
from kafka_replication.infra.local.traffic import LEDGER, ORDERS, SALES, STOCK, make_example_traffic
from kafka_replication.infra.machine.waiting import wait_for
from kafka_replication.infra.operate.connectors.changes import StateRequest, connector_places, planned
from kafka_replication.infra.operate.connectors.operator import carry_out, cluster_of, read_live
from kafka_replication.infra.stack.session import OpenStack
from kafka_replication.infra.stack.settings import read_settings, stack_file
from kafka_replication.spark.command_line import chosen_flows
from kafka_replication.spark.job import Options, run
from tests.local.flows import Deployed
from tests.local.observed import Watch
from tests.repository import STACKS

#: The example stacks whose replications are deployed together.
EXAMPLES = ("local", "local-split", "local-mirrormaker2", "local-pair")
STACK = "local"
WAIT_SECONDS = 180
PAIR = "prefixlessPair"
#: One flow of each shape and one with a transform, with the prefixes of its topics and of its groups.
SHAPES = {
    "flow": ("orders", "payments-", "checkout-"),
    "split": ("traffic-sales", "sales-", "shop-"),
    "mirrorMaker2": ("stock", "stock-", "warehouse-"),
    PAIR: ("ledger-to-uswest", "ledger-", ""),
    "filtered": ("kept", "kept-", "keeper-"),
}
#: A flow that drops records without a value, and sends no heartbeats.
FILTERED = {
    "kind": "flow",
    "source": "useast",
    "target": "uswest",
    "topics": ["kept-.*"],
    "groups": ["keeper-.*"],
    "offsetSyncs": {"lagMax": 10},
    "connectors": {"heartbeat": {"enabled": False}},
    "intervals": dict.fromkeys(
        ("refreshTopicsSeconds", "refreshGroupsSeconds", "emitCheckpointsSeconds", "syncGroupOffsetsSeconds"), 1
    ),
    "transforms": {
        "after": {
            "drop": {
                "type": "org.apache.kafka.connect.transforms.Filter",
                "predicate": {"type": "org.apache.kafka.connect.transforms.predicates.RecordIsTombstone"},
            }
        }
    },
    "connect": {"replicas": 1, "jvmOptions": {"-Xmx": "256m"}},
}


@dataclass(frozen=True)
class Variant:
    """What all flows of the stack have in common. A pair has the identity policy in each.

    `only` names the replications that are deployed; all of them if it is empty.
    """

    policy: str = "default"
    exactly_once: bool = False
    only: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.policy}{', exactly-once' if self.exactly_once else ''}"

    @property
    def plain(self) -> bool:
        """Whether every fault can be made, and not only those that all shapes have in common."""
        return replace(self, only=()) == Variant()

    def topology(self) -> dict[str, Any]:
        """The topology with every shape; all intervals are a second."""
        parts = [yaml.safe_load((STACKS / "topologies" / f"{each}.yaml").read_text()) for each in EXAMPLES]
        found: dict[str, Any] = parts[0]
        for part in parts[1:]:
            found["replications"] |= part["replications"]
        found["replications"]["ledger"]["topics"] = ["ledger", "ledger-.*"]
        for replication in found["replications"].values():
            replication["intervals"] = dict.fromkeys(replication.get("intervals", ()), 1)
            if self.policy != "default" and replication["kind"] != "prefixlessPair":
                replication["policy"] = self.policy
            if self.exactly_once:
                replication["exactlyOnce"] = "enabled"
        if self.plain:
            found["replications"]["kept"] = FILTERED
        if self.only:
            found["replications"] = {name: found["replications"][name] for name in self.only}
        return found


def write_stack(folder: Path, variant: Variant) -> None:
    (folder / "topologies").mkdir(parents=True)
    (folder / "topologies" / f"{STACK}.yaml").write_text(yaml.safe_dump(variant.topology(), sort_keys=False))
    stack_file(STACK, folder).write_text(stack_file(STACK, STACKS).read_text())


@dataclass
class World:
    """The deployed stack. `run` is part of the names of topics and groups, so that runs do not share any.

    `began_ms` is the time of the first record that a fault writes, in ms since 1970.
    """

    deployed: Deployed
    variant: Variant
    run: str
    began_ms: int = field(default_factory=lambda: int(time.time() * 1000) - 3_600_000)

    @property
    def east(self) -> Region:
        return self.deployed.endpoints.regions["useast"]

    @property
    def west(self) -> Region:
        return self.deployed.endpoints.regions["uswest"]

    def validate(self, flow: str, catch_up_seconds: float, only: Mapping[str, tuple[str, ...]]) -> FlowOutcome:
        """The outcome of the job for one flow; `only` are the `topics` and `groups` that it looks at instead."""
        parameters = Parameters.model_validate(self.deployed.document)
        options = Options(catch_up_seconds=catch_up_seconds, kubeconfig=self.deployed.endpoints.kubeconfig)
        chosen = [each.model_copy(update=dict(only)) for each in chosen_flows(parameters, flow)]
        report = run(parameters, chosen, options)
        assert report.error is None, report.error
        (outcome,) = report.flows
        return outcome

    def connectors(self, flow: str) -> tuple[str, ...]:
        """The names of a flow's connectors, the source connectors first."""
        return tuple(place.name for place in connector_places(OpenStack(self.deployed.settings).declared_flow(flow)))

    @contextmanager
    def stopped(self, flow: str, connectors: Sequence[str], state: str = "stopped") -> Iterator[None]:
        """Put connectors into another state while the body runs, as `replicate stop` and `resume` do."""
        try:
            self._bring(flow, connectors, state)
            yield
        finally:
            self._bring(flow, connectors, "running")

    @contextmanager
    def source_stopped(self, flow: str) -> Iterator[None]:
        """Stop the flow's source connectors, and wait until their tasks have ended: they copy records until then."""
        connectors = [each for each in self.connectors(flow) if "source" in each.lower()]
        watch = Watch(flow)
        tasks = frozenset().union(*map(watch.tasks, connectors))
        with self.stopped(flow, connectors):
            wait_for(f"the tasks of {flow} to end", lambda: watch.expect_stopped(tasks), WAIT_SECONDS)
            yield

    def _bring(self, flow: str, connectors: Sequence[str], state: str) -> None:
        stack = OpenStack(self.deployed.settings)
        places = [place for place in connector_places(stack.declared_flow(flow)) if place.name in connectors]
        request = StateRequest(stack.name, flow, state, getpass.getuser(), datetime.now(UTC))
        with stack, cluster_of(stack) as api:
            changes = planned(request, places, read_live(api, places))
            carry_out(api, changes, WAIT_SECONDS, lambda _: None)


@contextmanager
def deployed(local: Path, variant: Variant, console: Console, *, keep: bool) -> Iterator[World]:
    """Deploy all shapes until the body ends; with `keep` they stay, and the next run uses them."""
    quiet = Console(quiet=True)
    folder, mark, what = (
        local / "stacks",
        local / "deployed",
        f"{variant}, {' and '.join(variant.only) or 'every shape'}",
    )
    reused = keep and mark.exists() and mark.read_text() == what
    if not reused:
        stack.down(quiet, purge=True)
        shutil.rmtree(folder, ignore_errors=True)
        mark.unlink(missing_ok=True)
        write_stack(folder, variant)
    try:
        endpoints = stack.up(quiet)
        found = Deployed(read_settings(STACK, folder), endpoints)
        world = World(found, variant, f"{int(time.time()) % 10_000:04}")
        if not reused:
            console.print(f"deploying {what}")
            _deploy(world)
            mark.write_text(what)
        yield world
    finally:
        if not keep:
            mark.unlink(missing_ok=True)
            stack.down(quiet, purge=True)


def _deploy(world: World) -> None:
    traffic(world)
    world.deployed.up()
    traffic(world)


def traffic(world: World, records: int = 60) -> None:
    """Records and commits in the topics of every shape."""
    for example in (ORDERS, SALES, STOCK, LEDGER):
        make_example_traffic(world.east, records, 1, example)
    make_example_traffic(world.west, records, 2, LEDGER)
