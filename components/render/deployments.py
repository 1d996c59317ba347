"""Flows grouped into deployments, every Kubernetes object of a deployment, and the stack outputs for each flow."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypedDict

from kafka_replication.components.contract.grouping import grouped
from kafka_replication.components.contract.parameters import ConnectorParameters
from kafka_replication.components.flows.expansion import FlowShape
from kafka_replication.components.flows.naming import replication_policy
from kafka_replication.components.flows.resolved import ResolvedFlow, flow_digest
from kafka_replication.components.render.heartbeat_workers import heartbeat_workers
from kafka_replication.components.render.kafka_connect import connect_object
from kafka_replication.components.render.kafka_connectors import (
    connector_config_maps,
    connector_objects,
    connector_roles,
    is_mirrored,
    name_in_connect,
)
from kafka_replication.components.render.kafka_mirror_maker2 import mirror_maker2_objects
from kafka_replication.components.render.metrics import metrics_objects
from kafka_replication.components.render.namespaces import access_objects, namespace_objects
from kafka_replication.components.render.planned_objects import PlannedObject
from kafka_replication.components.render.secrets import secret_objects


class FlowOutputs(TypedDict):
    """What a component exports of a flow; the keys are those of a stack's output `flows`."""

    namespace: str
    connectors: list[str]
    remoteTopics: list[str]
    digest: str


@dataclass(frozen=True)
class Deployment:
    """The flows that share the workers `name`: one flow, or all mirrors of a KafkaMirrorMaker2."""

    name: str
    flows: tuple[ResolvedFlow, ...]

    @cached_property
    def objects(self) -> tuple[PlannedObject, ...]:
        """Every object of the deployment, each after the objects that it needs."""
        if self.flows[0].expanded.shape is FlowShape.MIRROR_MAKER2:
            return mirror_maker2_objects(self.flows)
        return tuple(planned for flow in self.flows for planned in flow_objects(flow))


def deployments(flows: Iterable[ResolvedFlow]) -> tuple[Deployment, ...]:
    """Group flows into deployments, in the order of the flows."""
    by_workers = grouped((flow.workers, flow) for flow in flows)
    return tuple(Deployment(workers, tuple(members)) for workers, members in by_workers.items())


def flow_objects(flow: ResolvedFlow) -> tuple[PlannedObject, ...]:
    """Return the objects of a flow that has a KafkaConnect of its own, each after the objects that it needs."""
    return (
        *namespace_objects(flow),
        *connector_config_maps(flow),
        *secret_objects(flow),
        *access_objects(flow),
        *metrics_objects(flow),
        connect_object(flow),
        *_heartbeat_workers(flow),
        *connector_objects(flow),
    )


def _heartbeat_workers(flow: ResolvedFlow) -> tuple[PlannedObject, ...]:
    """Return the workers that only send the flow's heartbeats, if there are any, and what they may read."""
    sender = heartbeat_workers(flow)
    objects = (*access_objects(sender), *metrics_objects(sender), connect_object(sender)) if sender is not flow else ()
    return tuple(replace(planned, part="heartbeats") for planned in objects)


def flow_outputs(flow: ResolvedFlow) -> FlowOutputs:
    """Return a flow's namespace, connector names, remote topics (patterns stay patterns) and digest; no secrets."""
    return {
        "namespace": flow.namespace,
        "connectors": [connector.connector for connector in declared_connectors(flow)],
        "remoteTopics": [replication_policy(flow.settings).remote(topic) for topic in flow.settings.topics],
        "digest": flow_digest(flow),
    }


def declared_connectors(flow: ResolvedFlow) -> Iterator[ConnectorParameters]:
    """Yield every connector of the flow, the source connectors first."""
    for role, part in connector_roles(flow.settings):
        mirrored, name = is_mirrored(flow, role), name_in_connect(flow, role, part)
        yield ConnectorParameters(
            role=role,
            connector=name,
            api_version=flow.strimzi.api_version,
            kind="KafkaMirrorMaker2" if mirrored else "KafkaConnector",
            object_name=flow.connect_name if mirrored else name,
        )
