"""A flow between two brokers in this process, with an operator that obeys at once, to test failover commands."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from kafka_replication.components.clients.errors import NoAnswerError
from kafka_replication.components.clients.reader import KafkaReader
from kafka_replication.components.clients.writer import Access, GroupWriter, MissingReads, TopicAcls
from kafka_replication.components.contract.parameters import ClusterParameters
from kafka_replication.components.flows.resolved import ResolvedFlow
from kafka_replication.components.kafka.acls import AclEntry
from kafka_replication.components.kafka.positions import CommittedOffset, TopicPartition
from kafka_replication.components.kafka.replication_policy import Side
from kafka_replication.components.render.deployments import deployments
from kafka_replication.components.topology.parsing import parse_topology
from kafka_replication.infra.commands.console import err, out
from kafka_replication.infra.kubernetes.api import KubernetesApi, Object, Reference, reference
from kafka_replication.infra.operate.connectors.changes import connector_places
from kafka_replication.infra.operate.flow_access import FlowAccess
from kafka_replication.infra.operate.move.disaster import DisasterFailover
from kafka_replication.infra.operate.move.facts import Mode
from kafka_replication.infra.operate.move.failover import Failover
from kafka_replication.infra.operate.move.fence import FencedFailover
from kafka_replication.infra.operate.move.run import MoveCall
from kafka_replication.infra.stack.session import OpenStack
from kafka_replication.infra.stack.settings import StackSettings
from tests.builders import a_flow, a_topology
from tests.components.clients.brokers import Cluster, Reader


class KilledError(Exception):
    """Ends the run at once, like a SIGKILL."""


@dataclass
class Operator:
    """Kubernetes with an operator that carries out every change at once; it calls `before_patch` before each patch."""

    objects: dict[Reference, Object] = field(default_factory=dict)
    before_patch: Callable[[], None] = lambda: None

    def within(self, _: tuple[float, float]) -> "Operator":
        return self

    def get(self, wanted: Reference) -> Object | None:
        return self.objects.get(wanted)

    def patch(self, wanted: Reference, operations: list[Object]) -> Object:
        self.before_patch()
        body = self.objects[wanted]
        for each in operations:
            *parents, last = each["path"].strip("/").split("/")
            place: Any = body
            for parent in parents:
                place = place[int(parent)] if isinstance(place, list) else place[parent]
            place[last] = each["value"]
        self.report(body)
        return body

    def state(self, name: str) -> str:
        """The state of a connector, as the operator reports it."""
        return str(self.reported()[name]["connector"]["state"])

    def reported(self) -> dict[str, Object]:
        found: dict[str, Object] = {}
        for body in self.objects.values():
            status = body["status"]
            several = status.get("connectors") or [{**status["connectorStatus"], "name": body["metadata"]["name"]}]
            found |= {each["name"]: each for each in several}
        return found

    @staticmethod
    def report(body: Object) -> None:
        """Report that every connector is in its desired state."""
        body["metadata"] |= {"resourceVersion": "7", "generation": 1}
        status = {"observedGeneration": 1, "conditions": [{"type": "Ready", "status": "True"}]}
        if body["kind"] == "KafkaConnector":
            body["spec"].setdefault("state", "running")
            body["status"] = {**status, "connectorStatus": _status(body["spec"])}
            return
        several = []
        for mirror in body["spec"]["mirrors"]:
            for role in ("source", "checkpoint"):
                name = f"{mirror['source']['alias']}->{body['spec']['target']['alias']}.Mirror{role.title()}Connector"
                several.append({"name": name, **_status(mirror[f"{role}Connector"])})
        body["status"] = {**status, "connectors": several}


def _status(spec: Object) -> Object:
    state = str(spec.get("state", "running")).upper()
    tasks = [{"id": 0, "state": "RUNNING"}] if state == "RUNNING" else []
    return {"connector": {"state": state}, "tasks": tasks}


class Writer(GroupWriter):
    """Commits until it is killed. Its brokers know no rights: it lacks those that are `missing`."""

    killed_before: str = ""
    missing: MissingReads = MissingReads()

    def missing_reads(self, *_: Iterable[str]) -> MissingReads:
        return self.missing

    def commit(self, group: str, offsets: Mapping[TopicPartition, CommittedOffset]) -> None:
        if group == self.killed_before:
            raise KilledError
        super().commit(group, offsets)


@dataclass
class Acls(TopicAcls):
    """The ACLs of a cluster, which no broker enforces; at first everybody may read and write."""

    alias: str
    entries: list[AclEntry] = field(default_factory=lambda: [AclEntry("User:app", "TOPIC", "LITERAL", "*", "ALL")])
    found: Access = field(default_factory=Access)
    #: Called after each change.
    after_change: Callable[[], object] = lambda: None

    def access(self) -> Access:
        return replace(self.found, entries=tuple(self.entries) if self.found.seen else ())

    def add(self, entries: Sequence[AclEntry]) -> None:
        self.entries += [each for each in entries if each not in self.entries]
        self.after_change()

    def delete(self, entries: Sequence[AclEntry]) -> None:
        self.entries[:] = [each for each in self.entries if each not in entries]
        self.after_change()

    @property
    def denied(self) -> list[str]:
        return [each.name for each in self.entries if (each.principal, each.permission) == ("User:*", "DENY")]


@dataclass(frozen=True)
class Night(FlowAccess):
    """A scene of two brokers."""

    source: Cluster
    target: Cluster
    operator: Operator
    members: dict[str, int]
    dead: set[str]
    killed_before: list[str]
    #: Before each new reader of the target, the first of these is removed and called.
    on_target: list[Callable[[], object]] = field(default_factory=list)
    #: The ACLs of useast.
    acls: Acls = field(default_factory=lambda: Acls("useast"))
    #: What the connectors' user lacks on either side.
    missing: list[MissingReads] = field(default_factory=lambda: [MissingReads()])

    @property
    def api(self) -> KubernetesApi:
        return cast(KubernetesApi, self.operator)

    def kubernetes(self) -> AbstractContextManager[KubernetesApi]:
        @contextmanager
        def api() -> Iterator[KubernetesApi]:
            yield self.api

        return api()

    def reader(self, cluster: ClusterParameters) -> KafkaReader:
        if cluster.alias in self.dead:
            return Silent(cluster.alias, self.source.config)
        if cluster.alias == "uswest" and self.on_target:
            self.on_target.pop(0)()
        broker = self.source if cluster.alias == "useast" else self.target
        return Reader(cluster.alias, broker.config, self.members)

    def topic_acls(self, side: Side) -> TopicAcls:
        alias = (self.parameters.source if side == "source" else self.parameters.target).alias
        if alias in self.dead:
            raise NoAnswerError(f"Kafka cluster {alias}: ACLs could not be asked")
        return self.acls if alias == self.acls.alias else Acls(alias)

    def writer(self, side: Side) -> GroupWriter:
        cluster = self.source if getattr(self.parameters, side).alias == "useast" else self.target
        writer = Writer(getattr(self.parameters, side).alias, cluster.config)
        (writer.missing,) = self.missing
        writer.killed_before = self.killed_before[0] if self.killed_before else ""
        return writer

    def positions(self, remote: TopicPartition) -> dict[str, int]:
        """The groups' offsets in a remote partition."""
        found = Reader("uswest", self.target.config).committed(self.members)
        return {group: offsets[remote] for group, offsets in found.items() if remote in offsets}

    @property
    def checkpoint(self) -> str:
        """The name of the flow's checkpoint connector."""
        return next(place.name for place in connector_places(self.flow) if place.role == "checkpoint")


class Silent(Reader):
    """A cluster that does not answer."""

    def topics(self) -> dict[str, int]:
        raise NoAnswerError(f"Kafka cluster {self.alias} does not answer: Connection refused")


def a_night(
    flow: ResolvedFlow, source: Cluster, target: Cluster, groups: Mapping[str, Mapping[TopicPartition, int]]
) -> Night:
    """The scene of a flow whose groups have these offsets on the source."""
    declared = [dict(each.manifest) for one in deployments([flow]) for each in one.objects]
    wanted = [each for each in declared if each["kind"] in ("KafkaConnector", "KafkaMirrorMaker2")]
    operator = Operator({reference(each): deepcopy(each) for each in wanted})
    for body in operator.objects.values():
        operator.report(body)
    for group, offsets in groups.items():
        source.commit(group, offsets)
    topology = parse_topology(a_topology(a_flow()))
    settings = StackSettings("night", Path("stacks"), topology, None, local=False, values={}, secret_keys=frozenset())
    members = dict.fromkeys(groups, 0)
    return Night(OpenStack(settings), flow, source, target, operator, members, set(), [])


def a_call(**given: Any) -> MoveCall:
    return MoveCall(out, err, "night", **{"watch_seconds": 0, "wait_seconds": 5, **given})


def fail_over(night: Night, mode: Mode = Mode.PLANNED, **given: Any) -> None:
    call = a_call(mode=mode, **given)
    (DisasterFailover(call, night) if mode is Mode.DISASTER else Failover(call, night)).run()


def fail_over_fenced(night: Night, **given: Any) -> None:
    FencedFailover(a_call(**given), night).run()
