"""A failover from the first look to the last commit, between two brokers within this process and a small operator."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from components.contract.clusters import ClusterParameters
from components.contract.problems import RefusedError
from components.flows.resolved import ResolvedFlow
from components.kafka.positions import TopicPartition
from components.render.job_parameters import flow_parameters
from components.render.kafka_connectors import connector_objects
from components.topology.parsing import parse_topology
from infra.commands.failover import Call, after_disaster, with_both
from infra.kubernetes.api import KubernetesApi, Object, Reference, reference
from infra.operations.facts import UnaskedError
from infra.operations.failover_facts import Mode
from infra.operations.failover_looking import Scene
from infra.operations.group_writer import GroupWriter
from infra.operations.kafka_reader import KafkaReader
from infra.settings import StackSettings
from tests.builders import a_flow, a_resolved_flow, a_topology
from tests.infra.operations.brokers import Cluster, Reader

FLOW = a_resolved_flow(topics=["orders"], groups=["checkout-.*"])
ORDERS, REMOTE = TopicPartition("orders", 0), TopicPartition("useast.orders", 0)
GROUPS = {"checkout-app": 4, "checkout-web": 10}


class KilledError(Exception):
    """Nothing goes on after it, as after a SIGKILL."""


@dataclass
class Operator:
    """Kubernetes with an operator that carries out every change at once; `hooks` are called before a patch."""

    objects: dict[Reference, Object] = field(default_factory=dict)
    before_patch: Callable[[], None] = lambda: None

    def get(self, wanted: Reference) -> Object | None:
        return self.objects.get(wanted)

    def patch(self, wanted: Reference, operations: list[Object]) -> Object:
        self.before_patch()
        body = self.objects[wanted]
        for each in operations:
            *parents, last = each["path"].strip("/").split("/")
            place: dict[str, Any] = body
            for parent in parents:
                place = place[parent]
            place[last] = each["value"]
        self.report(body)
        return body

    def state(self, name: str) -> str:
        return str(next(each for each in self.objects.values() if each["metadata"]["name"] == name)["spec"]["state"])

    @staticmethod
    def report(body: Object) -> None:
        state = str(body["spec"].setdefault("state", "running")).upper()
        tasks = [{"id": 0, "state": "RUNNING"}] if state == "RUNNING" else []
        body["metadata"] |= {"resourceVersion": "7", "generation": 1}
        connector = {"connector": {"state": state}, "tasks": tasks}
        ready = {"type": "Ready", "status": "True"}
        body["status"] = {"observedGeneration": 1, "connectorStatus": connector, "conditions": [ready]}


class Writer(GroupWriter):
    """Commits until it is killed."""

    killed_before: str = ""

    def commit(self, group: str, offsets: Mapping[TopicPartition, int], tag: str) -> None:
        if group == self.killed_before:
            raise KilledError
        super().commit(group, offsets, tag)


@dataclass(frozen=True)
class Night(Scene):
    """A scene of two brokers."""

    source: Cluster
    target: Cluster
    operator: Operator
    members: dict[str, int]
    dead: set[str]
    killed_before: list[str]

    def kubernetes(self) -> AbstractContextManager[KubernetesApi]:
        @contextmanager
        def api() -> Iterator[KubernetesApi]:
            yield self.api

        return api()

    def reader(self, cluster: ClusterParameters) -> KafkaReader:
        if cluster.alias in self.dead:
            return Silent(cluster.alias, self.source.config)
        broker = self.source if cluster.alias == "useast" else self.target
        return Reader(cluster.alias, broker.config, self.members)

    def writer(self) -> GroupWriter:
        writer = Writer("uswest", self.target.config)
        writer.killed_before = self.killed_before[0] if self.killed_before else ""
        return writer

    def positions(self) -> dict[str, int]:
        """The groups' offsets in the remote partition."""
        found = Reader("uswest", self.target.config).committed(GROUPS)
        return {group: offsets[REMOTE] for group, offsets in found.items() if REMOTE in offsets}


class Silent(Reader):
    """A cluster that is gone."""

    def topics(self) -> dict[str, int]:
        raise UnaskedError(f"Kafka cluster {self.alias} does not answer: Connection refused")


@pytest.fixture
def night() -> Night:
    """Twelve records that have crossed, of which three were sent twice, and two groups on the source."""
    source, target = Cluster(), Cluster()
    source.hold("orders", [(each, "") for each in range(12)])
    target.hold("useast.orders", [(each, "") for each in [*range(8), *range(5, 12)]])
    for group, offset in GROUPS.items():
        GroupWriter("useast", source.config).commit(group, {ORDERS: offset}, "")
    return _scene(FLOW, source, target)


def _scene(flow: ResolvedFlow, source: Cluster, target: Cluster) -> Night:
    operator = Operator({reference(each.manifest): deepcopy(dict(each.manifest)) for each in connector_objects(flow)})
    for body in operator.objects.values():
        operator.report(body)
    api = cast(KubernetesApi, operator)
    topology = parse_topology(a_topology(a_flow()))
    settings = StackSettings("night", Path("stacks"), topology, None, local=False, values={}, secret_keys=frozenset())
    members = dict.fromkeys(GROUPS, 0)
    return Night(settings, flow, flow_parameters(flow), api, source, target, operator, members, set(), [])


def call(night: Night, **given: Any) -> Call:
    wanted = {"groups": (), "watch_seconds": 0, "wait_seconds": 5, "dry_run": False, "as_json": False}
    return Call(**{"settings": night.settings, "flow": "orders", "mode": "planned", **wanted, **given})


def test_every_group_goes_on_at_its_record(night: Night, capsys: pytest.CaptureFixture[str]) -> None:
    with_both(call(night), night, Mode.PLANNED)
    assert night.positions() == {"checkout-app": 4, "checkout-web": 13}
    assert night.operator.state("orders-checkpoint") == "stopped"
    assert night.operator.state("orders-source") == "running"
    said = capsys.readouterr().out
    assert "✓ 2 positions committed on uswest and read back" in said
    assert "Leave the checkpoint connector stopped: `replicate resume night orders`" in said


def test_a_dry_run_changes_nothing(night: Night, capsys: pytest.CaptureFixture[str]) -> None:
    with_both(call(night, dry_run=True), night, Mode.PLANNED)
    assert (night.positions(), night.operator.state("orders-checkpoint")) == ({}, "running")
    assert "checkout-web: orders-0 at 10 -> useast.orders-0 at 13, nothing read again" in capsys.readouterr().out


def test_a_producer_that_writes_after_the_look_undoes_everything(night: Night) -> None:
    night.operator.before_patch = lambda: night.source.hold("orders", [(99, "")])
    with pytest.raises(RefusedError, match="a producer wrote to orders-0: it ends at 13, and ended at 12"):
        with_both(call(night), night, Mode.PLANNED)
    assert (night.positions(), night.operator.state("orders-checkpoint")) == ({}, "running")


def test_a_group_that_starts_after_the_look_undoes_everything(night: Night) -> None:
    night.operator.before_patch = lambda: night.members.update({"checkout-web": 1})
    with pytest.raises(RefusedError, match="group checkout-web runs"):
        with_both(call(night), night, Mode.PLANNED)
    assert (night.positions(), night.operator.state("orders-checkpoint")) == ({}, "running")


def test_a_run_that_was_killed_is_finished_by_the_next(night: Night) -> None:
    def kill() -> None:
        night.operator.before_patch = lambda: None
        raise KilledError

    night.operator.before_patch = kill
    for before in ("", "checkout-app", "checkout-web"):
        night.killed_before[:] = [before]
        with pytest.raises(KilledError):
            with_both(call(night), night, Mode.PLANNED)
    assert night.positions() == {"checkout-app": 4}
    night.killed_before.clear()
    with_both(call(night), night, Mode.PLANNED)
    assert night.positions() == {"checkout-app": 4, "checkout-web": 13}


def test_what_has_not_crossed_keeps_the_groups_where_they_are(night: Night) -> None:
    night.source.hold("orders", [(12, "")])
    with pytest.raises(RefusedError, match="drained: 1 record not on the target yet: 1 of orders-0"):
        with_both(call(night), night, Mode.PLANNED)
    with_both(call(night, mode="continuous"), night, Mode.CONTINUOUS)
    assert night.positions() == {"checkout-app": 4, "checkout-web": 13}
    assert night.operator.state("orders-checkpoint") == "running"


def test_a_group_that_has_worked_on_the_target_is_left_alone(night: Night, capsys: pytest.CaptureFixture[str]) -> None:
    GroupWriter("uswest", night.target.config).commit("checkout-web", {REMOTE: 14}, "")
    with_both(call(night), night, Mode.PLANNED)
    assert night.positions() == {"checkout-app": 4, "checkout-web": 14}
    assert "group checkout-web is left alone: it is at 14 in useast.orders-0 on uswest" in capsys.readouterr().out


def test_the_last_evidence_decides_when_the_source_is_gone(night: Night, capsys: pytest.CaptureFixture[str]) -> None:
    GroupWriter("uswest", night.target.config).commit("checkout-web", {REMOTE: 9}, "")
    night.target.hold("useast.heartbeats", [])
    night.dead.add("useast")
    after_disaster(call(night, mode="disaster"), night)
    said = " ".join(capsys.readouterr().out.split())
    assert "✓ source Kafka cluster useast does not answer: Connection refused" in said
    assert "read again checkout-web: at most 6 records" in said
    assert "0 positions had to be committed on uswest" in said
    assert "checkout-web subscribes to orders, useast.orders" in said
    assert night.positions() == {"checkout-web": 9}


def test_a_source_that_answers_is_no_disaster(night: Night) -> None:
    with pytest.raises(RefusedError, match="useast answers, so exact positions can be computed"):
        after_disaster(call(night, mode="disaster"), night)
