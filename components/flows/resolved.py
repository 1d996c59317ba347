"""A flow with its two clusters and their addresses, from which objects and the job's parameters are rendered, and the
digests of what it replicates and how.

Digests are equal in all environments that should behave alike. They include aliases, derived names, topics, groups,
policies, transforms, states and all properties. They leave out what naturally differs between environments: addresses,
credentials, sizes, inherited names, where workers run and how they are monitored.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka_replication.components.contract.problems import Problem, ReplicationError
from kafka_replication.components.flows.expansion import ExpandedFlow, expand
from kafka_replication.components.flows.heartbeats import Heartbeats, heartbeats_on
from kafka_replication.components.flows.naming import SecretUse, connect_name, namespace_name, secret_name
from kafka_replication.components.flows.operators import Strimzi, StrimziApi, strimzi
from kafka_replication.components.kafka.replication_policy import Side
from kafka_replication.components.topology.clusters import (
    TOKEN_TRUST_KEY,
    Cluster,
    ConfigValue,
    KeystoreTrust,
    OAuthAuthentication,
    credentials,
)
from kafka_replication.components.topology.model import Flow, Topology


@dataclass(frozen=True)
class ResolvedFlow:
    """One flow, ready to be rendered, with plain addresses. Its workers belong to the cluster `workers_on`."""

    expanded: ExpandedFlow
    source: Cluster
    target: Cluster
    strimzi: Strimzi
    heartbeats: Heartbeats = field(default=Heartbeats(), compare=False, repr=False)
    workers_on: Side = "target"

    @property
    def name(self) -> str:
        return self.expanded.name

    @property
    def settings(self) -> Flow:
        return self.expanded.settings

    @property
    def workers(self) -> str:
        """Name of the Connect workers that run the flow; the names of their objects derive from it."""
        return self.expanded.workers

    @property
    def connect_name(self) -> str:
        """Name of the KafkaConnect or KafkaMirrorMaker2 of these workers."""
        return connect_name(self.workers, self.settings)

    @property
    def namespace(self) -> str:
        """Kubernetes namespace of the flow's objects."""
        return namespace_name(self.workers, self.settings)

    def own_secret(self, side: Side, use: SecretUse = "credentials") -> str:
        """Name of the Secret with a cluster's credentials from the stack's configuration; mirrors that share workers
        share their target's.
        """
        return secret_name(self.expanded.owner if side == "target" else self.name, side, use)

    @property
    def heartbeat_topics(self) -> frozenset[str]:
        """Heartbeat topics on the source: its own and those from further upstream."""
        return self.heartbeats.on(self.settings.source)

    @property
    def heartbeats_on(self) -> Side:
        """The cluster that heartbeats are produced to."""
        return heartbeats_on(self.expanded, in_mirrors=self.api.has_heartbeat_mirrors)

    @property
    def api(self) -> StrimziApi:
        return self.strimzi.api

    def cluster(self, side: Side) -> Cluster:
        return self.source if side == "source" else self.target

    def alias(self, side: Side) -> str:
        return self.settings.source if side == "source" else self.settings.target


def bootstrap_address(cluster: Cluster) -> str:
    """Return the bootstrap servers of a resolved cluster."""
    if isinstance(cluster.bootstrap_servers, ConfigValue):
        raise TypeError(f"bootstrap servers of configuration key {cluster.bootstrap_servers.config} are not resolved")
    return cluster.bootstrap_servers


def resolve_flows(topology: Topology, region: str | None, addresses: Mapping[str, str]) -> tuple[ResolvedFlow, ...]:
    """Return a region's flows (None: all) of a checked topology; raises ReplicationError for missing addresses."""
    operator, flows = strimzi(topology.strimzi), expand(topology)
    chosen = [flow for flow in flows if region is None or topology.clusters[flow.settings.target].region == region]
    aliases = {alias for flow in chosen for alias in (flow.settings.source, flow.settings.target)}
    clusters = {alias: topology.clusters[alias] for alias in sorted(aliases)}
    missing: list[Problem] = []
    for alias, cluster in clusters.items():
        value = cluster.bootstrap_servers
        if isinstance(value, ConfigValue) and value.config in addresses:
            clusters[alias] = cluster.model_copy(update={"bootstrap_servers": addresses[value.config]})
        elif isinstance(value, ConfigValue):
            missing.append(missing_config(f"clusters.{alias}.bootstrapServers", value.config, secret=False))
    if missing:
        raise ReplicationError(missing)
    heartbeats = Heartbeats(flows, operator.api.has_heartbeat_mirrors)
    return tuple(
        ResolvedFlow(flow, clusters[flow.settings.source], clusters[flow.settings.target], operator, heartbeats)
        for flow in sorted(chosen, key=lambda flow: flow.name)
    )


def missing_config(where: str, key: str, *, secret: bool) -> Problem:
    """Return the problem of a configuration key that a cluster names and a program does not pass."""
    argument, read = ("secrets", "require_secret") if secret else ("addresses", "require")
    return Problem(
        where,
        "missing-config",
        f"configuration key `{key}` is not set",
        "A cluster names it as `{config: KEY}`.",
        f"add `{key}` to `{argument}`; in Python: `{argument}={{'{key}': pulumi.Config().{read}('{key}')}}`.",
    )


def config_secrets(cluster: Cluster) -> dict[SecretUse, dict[str, ConfigValue]]:
    """Return the credentials in the stack's configuration, by their key in the rendered Secret of each use."""
    held: dict[str, object] = {**credentials(cluster.authentication)}
    if isinstance(cluster.authentication, OAuthAuthentication):
        held[TOKEN_TRUST_KEY] = cluster.authentication.trust
    trust = cluster.tls.trust if cluster.tls else None
    held |= {"truststore.password": trust.password} if isinstance(trust, KeystoreTrust) else {"ca.crt": trust}
    by_use: dict[SecretUse, Mapping[str, object]] = {"credentials": held}
    if (validation := cluster.validation) is not None:
        by_use["validation"] = {**credentials(validation.authentication), "ca.crt": validation.trust}
    if cluster.keeper is not None:
        by_use["keeper"] = credentials(cluster.keeper.authentication)
    return {
        use: {key: value for key, value in values.items() if isinstance(value, ConfigValue)}
        for use, values in by_use.items()
    }


def config_keys(topology: Topology) -> frozenset[str]:
    """Return the keys of a stack's configuration that the clusters of a topology read."""
    return frozenset(value.config for cluster in topology.clusters.values() for value in config_values(cluster))


def config_values(cluster: Cluster) -> Iterator[ConfigValue]:
    """Yield all addresses and credentials of a cluster that come from the stack's configuration."""
    if isinstance(cluster.bootstrap_servers, ConfigValue):
        yield cluster.bootstrap_servers
    for values in config_secrets(cluster).values():
        yield from values.values()


#: Settings of the workers for their size, placement and monitoring.
_WORKERS = {
    *("replicas", "resources", "jvm_options", "image", "image_pull_secret", "build", "plugins"),
    *("template", "rack", "readiness_probe", "liveness_probe", "logging", "metrics", "tracing"),
    *("name", "group_id", "storage_topics", "labels", "annotations"),
}
#: Settings of a connector for its size, and inherited names.
_CONNECTOR = {"tasks_max", "name", "labels", "annotations"}
#: Settings of a flow for its size and placement, not for what it does.
_ENVIRONMENT: Mapping[str, Any] = {
    "namespace": True,
    "quota": True,
    # What the validation job accepts does not change what is replicated.
    "validation": True,
    # Nor do the objectives that alerts check.
    "objectives": True,
    "connect": _WORKERS,
    "connectors": {
        "source": _CONNECTOR,
        "sources": {"__all__": _CONNECTOR},
        "checkpoint": _CONNECTOR,
        "heartbeat": _CONNECTOR,
    },
    "tuning": {"round_trip_milliseconds", "acknowledge_milliseconds", "bytes_per_second_per_partition"},
}

#: Keys that later releases added. While they are not set, they do not count, so published verdicts stay valid.
_ADDED = {
    *("converters", "transforms", "topics_exclude", "start_from", "offset_syncs"),
    *("plugin_version", "policy_class", "topic_filter_class", "group_filter_class"),
    *("default_groups_exclude", "on_loss"),
}


def flow_digest(flow: ResolvedFlow) -> str:
    """Return `sha256:` and the hex digest of the flow's canonical JSON."""
    return _digest(_content(flow.expanded, flow.api))


def flow_digests(topology: Topology) -> dict[str, str]:
    """Return the digest of every flow of a topology by name; it needs neither addresses nor configuration."""
    api = strimzi(topology.strimzi).api
    return {flow.name: _digest(_content(flow, api)) for flow in expand(topology)}


def model_digest(topology: Topology) -> str:
    """Return the digest of all flows of a topology, the same in every region that deploys part of it."""
    return _digest(flow_digests(topology))


def _content(flow: ExpandedFlow, api: StrimziApi) -> dict[str, Any]:
    return {
        "name": flow.name,
        # The kind of workload that runs the flow decides under which names Connect stores its offsets.
        "replication": flow.replication,
        "shape": flow.shape.value,
        "api": api.value,
        "flow": _without_added(flow.settings.model_dump(mode="json", exclude=_ENVIRONMENT)),
        "order": _order(flow.settings),
    }


def _without_added(dumped: Any) -> Any:
    if not isinstance(dumped, dict):
        return dumped
    return {key: _without_added(value) for key, value in dumped.items() if value is not None or key not in _ADDED}


def _order(flow: Flow) -> dict[str, list[str]]:
    """Return the order of named settings whose order matters, because canonical JSON sorts the names."""
    own = {name: part.transforms for name, part in flow.connectors.sources.items() if part.transforms is not None}
    return {
        "before": list(flow.transforms.before),
        "after": list(flow.transforms.after),
        "sources": list(flow.connectors.sources),
        **{f"before of {name}": list(transforms.before) for name, transforms in own.items()},
        **{f"after of {name}": list(transforms.after) for name, transforms in own.items()},
    }


def _digest(content: Mapping[str, Any]) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(canonical.encode()).hexdigest()}"
