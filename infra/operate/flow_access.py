"""One flow of an open stack, with the clients of its Kubernetes cluster and of its Kafka clusters."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from kafka_replication.components.clients.errors import NoAnswerError
from kafka_replication.components.clients.login import Purpose
from kafka_replication.components.clients.reader import KafkaReader
from kafka_replication.components.clients.writer import GroupWriter, TopicAcls, TopicWriter
from kafka_replication.components.contract.parameters import ClusterParameters, FlowParameters
from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.flows.resolved import ResolvedFlow
from kafka_replication.components.kafka.replication_policy import Side
from kafka_replication.components.render.flow_acls import flows_without_addresses
from kafka_replication.components.render.job_parameters import connector_login, keeper_login
from kafka_replication.infra.kubernetes.api import KubernetesApi
from kafka_replication.infra.operate.connectors.operator import cluster_of
from kafka_replication.infra.operate.status.kubernetes_facts import Objects, needed_objects, read_objects
from kafka_replication.infra.stack.session import QUICK, OpenStack

_READING = Purpose("The command reads both clusters of a flow with the login of the validation job.")
_FENCING = Purpose("The command changes ACLs with the login of the connectors.")
_KEEPING = Purpose("The keeper writes positions on the target with its own login, or else the connectors'.")

_THREADS = 4

Readers: TypeAlias = Mapping[Side, KafkaReader]


@dataclass(frozen=True)
class FlowAccess:
    """A flow, its Kubernetes cluster and its Kafka clusters."""

    stack: OpenStack
    flow: ResolvedFlow

    @property
    def parameters(self) -> FlowParameters:
        return self.stack.parameters(self.flow)

    @property
    def api(self) -> KubernetesApi:
        """Return the flow's cluster, to look at it."""
        return self.stack.kubernetes.within(QUICK)

    def reverse_flows(self) -> list[ResolvedFlow]:
        """Return the topology's flows from the target to the source, of any stack, without addresses."""
        ends = (self.flow.settings.target, self.flow.settings.source)
        flows = flows_without_addresses(self.stack.settings.topology)
        return [flow for flow in flows if (flow.settings.source, flow.settings.target) == ends]

    def objects(self) -> Objects:
        """Return what Kubernetes reports about the flow."""
        with ThreadPoolExecutor(_THREADS) as pool:
            return read_objects(self.api, needed_objects([self.flow]), pool)

    def kubernetes(self) -> AbstractContextManager[KubernetesApi]:
        """Return the flow's cluster, to change connectors; inside, an ApiError becomes a CannotRunError."""
        return cluster_of(self.stack)

    def reader(self, cluster: ClusterParameters) -> KafkaReader:
        """Return the reader of a cluster, which asks for its topics again."""
        reader = self.stack.kafka(KafkaReader, cluster, _READING)
        reader.forget()
        return reader

    def readers(self) -> Readers:
        """Return the readers of both sides."""
        return {"source": self.reader(self.parameters.source), "target": self.reader(self.parameters.target)}

    def keeper_readers(self) -> Readers:
        """Return the readers of both sides with the keeper's own login where it has one."""
        sides: dict[Side, ClusterParameters] = {"source": self.parameters.source, "target": self.parameters.target}
        return {side: self.reader(keeper_login(self.flow, side) or login) for side, login in sides.items()}

    def topic_acls(self, side: Side) -> TopicAcls:
        """Return the ACLs of topics, which the connectors' user may change only if it was given the right."""
        return self.stack.kafka(TopicAcls, connector_login(self.flow, side), _FENCING)

    def writer(self, side: Side) -> GroupWriter:
        """Return what commits on one side with the connectors' login, which needs the right to do so for each group."""
        purpose = Purpose(f"The command commits offsets on the {side} with the login of the connectors.")
        return self.stack.kafka(GroupWriter, connector_login(self.flow, side), purpose)

    def topic_writer(self, topic: str) -> TopicWriter:
        """Return the keeper's writer of a topic on the target; it ends every earlier one."""
        login = keeper_login(self.flow, "target") or connector_login(self.flow, "target")
        return self.stack.kafka(partial(TopicWriter, topic), login, _KEEPING)


@contextmanager
def open_flow(stack: OpenStack, name: str, otherwise: str = "") -> Iterator[FlowAccess]:
    """Open a flow. Inside, a NoAnswerError becomes a CannotRunError, whose remedy ends with `otherwise`."""
    flow = stack.flow(name)
    try:
        yield FlowAccess(stack, flow)
    except NoAnswerError as error:
        why = "Positions are computed from what the clusters say now."
        check = f"`replicate status {stack.name}` shows what answers"
        remedy = f"correct it and run the command again; {check}. {otherwise}"
        raise CannotRunError("not-answered", str(error), f"flow {name}", why, remedy.strip()) from None
