"""A flow that is changed case by case: what the review announces for each change, and what Connect and Kafka show."""

import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from kafka_replication.components.changes.deployment_state import deployment_state
from kafka_replication.infra.local.endpoints import Endpoints, Region
from kafka_replication.infra.local.traffic import create_topics, end_offsets, produce
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from kafka_replication.infra.review.bases import Base
from kafka_replication.infra.review.comparison import Comparison, compare_stacks
from kafka_replication.infra.review.snapshots import current_snapshot
from kafka_replication.infra.stack.settings import read_settings
from tests.commits import commit
from tests.local.flows import ARRIVAL_SECONDS, Deployed, grant_mirror
from tests.local.observed import Contents, Watch, committed, contents

CASES = Path(__file__).parent.parent / "infra" / "review" / "cases"
STACK = "local-split"
"""A stack of the example files whose name is free here; its topology is replaced."""

PARTITIONS = 2
#: Effects that name connectors which restart.
RESTARTS = {"connector-restarts", "credentials-are-read-anew"}
#: Effects that replace all workers, and with them every connector.
OTHER_WORKERS = {"connect-rolls", "namespace-changes", "worker-group-changes", "kind-changes"}


@dataclass
class Scenario:
    """One flow on the local stack, the topology that describes it, and how many records its topics hold."""

    stacks: Path
    endpoints: Endpoints
    topology: dict[str, Any]
    name: str = "parcels"
    produced: dict[str, int] = field(default_factory=dict)

    @property
    def source(self) -> Region:
        return self.endpoints.regions["useast"]

    @property
    def target(self) -> Region:
        return self.endpoints.regions["uswest"]

    @property
    def replication(self) -> dict[str, Any]:
        """The flow as the topology describes it; a change edits it."""
        found: dict[str, Any] = self.topology["replications"][self.name]
        return found

    def remote(self, topic: str) -> str:
        """Name of a topic on the target, as the topology is now."""
        return topic if self.replication.get("policy") == "identity" else f"{self.replication['source']}.{topic}"

    @property
    def deployed(self) -> Deployed:
        return Deployed(read_settings(STACK, self.stacks), self.endpoints)

    @contextmanager
    def change(self, cases: str, edit: Callable[[], object]) -> Iterator[None]:
        """Make the change of one or more cases of the review, and deploy it; the body checks what it did to records.

        `cases` are names separated by spaces. The announced effects must be those of the cases. Connectors that are
        announced to restart have restarted with their tasks before the body begins. At its end, exactly the announced
        connectors and workers must have restarted.
        """
        before, flow = self.connectors(), self.name
        announced = self._announced(edit)
        self._expect_the_cases(cases.split(), announced, {"orders": flow, "sales": self.name})
        watch = Watch(flow, self.name)
        self.deploy()
        restarting = self._restarting(announced, before)
        _awaited(f"{sorted(restarting)} to be made anew", lambda: watch.expect_made(restarting))
        yield
        happened = watch.happened()
        codes = {effect.code for effect in announced.effects}
        assert bool(happened.ended) is bool(codes & OTHER_WORKERS), happened
        assert bool(happened.began) is bool(codes & {*OTHER_WORKERS, "connect-scales"}), happened
        # A connector that moves to a new worker is created again there.
        assert happened.connectors == restarting or "connect-scales" in codes, happened

    def _expect_the_cases(self, cases: list[str], announced: Comparison, names: Mapping[str, str]) -> None:
        """`names` are the flow's names by those that it has in the cases; `sales` is the one that it gets."""
        said = {each for case in cases for each in yaml.safe_load((CASES / f"{case}.yaml").read_text())["effects"]}
        # The session's stack has a flow `orders` already.
        wanted = sorted(
            re.sub(r"replications\.(orders|sales)\b", lambda name: f"replications.{names[name[1]]}", each)
            for each in said
        )
        effects = sorted(f"{each.severity} {each.code} at {each.where}" for each in announced.effects)
        assert effects == wanted, f"{effects} is announced, not {wanted}"

    def _announced(self, edit: Callable[[], object]) -> Comparison:
        before = self.stacks.with_name(f"{self.stacks.name}-before")
        shutil.rmtree(before, ignore_errors=True)
        shutil.copytree(self.stacks, before)
        edit()
        self.write()
        (comparison,) = compare_stacks([STACK], self.stacks, Base("what runs", before))
        return comparison

    def _restarting(self, announced: Comparison, before: frozenset[str]) -> frozenset[str]:
        """The connectors that are new or announced to restart; all connectors if the workers are replaced."""
        now = self.connectors()
        if any(effect.code in OTHER_WORKERS for effect in announced.effects):
            return now
        said = [each.what for each in announced.effects if each.code in RESTARTS]
        return frozenset(name for name in now if name not in before or any(f"`{name}`" in what for what in said))

    def connectors(self) -> frozenset[str]:
        """Names of the connectors that the topology describes."""
        snapshot = current_snapshot(STACK, self.stacks)
        return frozenset(
            connector.name
            for name in snapshot.names
            for connector in deployment_state(name, snapshot.objects(name), snapshot.flows(name)).connectors
        )

    def write(self) -> None:
        file = self.stacks / "topologies" / f"{STACK}.yaml"
        file.write_text(yaml.safe_dump(self.topology, sort_keys=False))

    def deploy(self) -> None:
        """Deploy the topology as it is, and wait until the operator calls everything Ready."""
        stack = self.deployed
        flow = stack.flow(self.name)
        if flow.settings.source not in self.endpoints.regions:
            grant_mirror(self.endpoints, flow, "useast")
        stack.up()

    def expect_state(self, connector: str, state: str) -> None:
        """Wait until Connect shows a connector, and each task of it, in this state."""

        def read() -> None:
            found = Watch(self.name).running()[connector]
            states = {found.state, *(task["state"] for task in found.status["tasks"])}
            if states != {state}:
                raise NotYetError(f"{connector} is {' and '.join(sorted(states))}")

        _awaited(f"{connector} to be {state}", read)

    def produce(self, *topics: str, count: int = 6) -> None:
        """Produce more records to the topics, or to all topics if none is named; creates missing ones."""
        for topic in topics or tuple(self.produced):
            create_topics(self.source, {topic: PARTITIONS})
            produce(self.source, topic, count, seed=1, first=self.produced.get(topic, 0))
            self.produced[topic] = self.produced.get(topic, 0) + count

    def commit_all(self, group: str, topic: str) -> dict[int, int]:
        """Commit the end of a topic of the source for a group; returns where that is."""
        ends = end_offsets(self.source, [topic])
        commit(self.source, group, ends)
        return {partition: end for (_, partition), end in ends.items()}

    def expect_records(self, remote: str, wanted: Contents) -> None:
        """Wait until a topic of the target holds these records, and assert that it holds no others."""
        _awaited(f"{remote} to be filled", lambda: self._expect_last(remote, wanted))
        found = contents(self.target, remote)
        assert found == wanted, f"{remote} holds {_lengths(found)} records, not {_lengths(wanted)} or not in this order"

    def _expect_last(self, remote: str, wanted: Contents) -> None:
        found = contents(self.target, remote)
        if any(len(found.get(each, ())) < len(ids) for each, ids in wanted.items()):
            raise NotYetError(f"{remote} holds {_lengths(found)} records, not yet {_lengths(wanted)}")

    def expect_committed(self, group: str, remote: str, wanted: dict[int, int]) -> None:
        """Wait until a group's offsets on the target are these."""

        def read() -> None:
            found = committed(self.target, group, remote)
            if found != wanted:
                raise NotYetError(f"group {group} stands at {found} in {remote}, not at {wanted}")

        _awaited(f"offsets of {group}", read)


def _awaited(what: str, probe: Callable[[], object]) -> None:
    wait_for(what, probe, ARRIVAL_SECONDS)


def _lengths(found: Contents) -> dict[int, int]:
    return {partition: len(ids) for partition, ids in found.items()}
