"""What a deployment makes Connect run, read from KafkaConnectors and ConfigMaps or from a KafkaMirrorMaker2."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from kafka_replication.components.flows.operators import CLUSTER_LABEL
from kafka_replication.components.kafka.connectors import ROLE_OF_CLASS
from kafka_replication.components.kafka.patterns import alternatives
from kafka_replication.components.kafka.replication_policy import KNOWN_POLICIES, Policy, ReplicationPolicy
from kafka_replication.components.properties.values import value_text
from kafka_replication.components.render.api_versions import GROUP_FIELDS
from kafka_replication.components.render.connector_config import GUARD_FILTER
from kafka_replication.components.render.planned_objects import PART_OF, Manifest, ObjectRole
from kafka_replication.components.render.secrets import CONFIG_MAP_PROVIDER
from kafka_replication.components.render.validation_jobs import VALIDATION_KINDS


@dataclass(frozen=True)
class DeployedWorkers:
    """The workers of one KafkaConnect or KafkaMirrorMaker2.

    `group` is the Connect group, `offsets_topic` is the topic with its source offsets, and `target_address` is the
    bootstrap address of the cluster that holds them. `config` leaves out the names of the group and its topics. `pods`
    holds everything in the spec whose change restarts the pods. `names_group`: whether the group has its own fields,
    which the API `v1` requires.
    """

    kind: str
    api_version: str
    name: str
    namespace: str
    group: str
    offsets_topic: str
    target_address: str
    replicas: int
    config: Mapping[str, Any]
    pods: Mapping[str, Any]
    logging: Any = None
    names_group: bool = True


@dataclass(frozen=True)
class DeployedConnector:
    """A connector as Connect runs it.

    `role` is "source", "checkpoint" or "heartbeat"; `part` distinguishes several source connectors of a flow. `config`
    is the configuration with values in place of placeholders, `submitted` what the operator compares and sends to
    Connect.
    """

    flow: str
    role: str
    part: str
    name: str
    workers: DeployedWorkers
    state: str
    config: Mapping[str, str]
    submitted: Mapping[str, Any]

    @property
    def source_alias(self) -> str:
        return self.config.get("source.cluster.alias", "")

    @property
    def target_alias(self) -> str:
        return self.config.get("target.cluster.alias", "")

    @property
    def source_address(self) -> str:
        return self.config.get("source.cluster.bootstrap.servers", "")

    @cached_property
    def topics(self) -> tuple[str, ...]:
        return self.names("topics")

    def names(self, key: str) -> tuple[str, ...]:
        """Return the names or patterns that a property lists; `a|b` is one entry that lists two."""
        entries = (entry for entry in self.config.get(key, "").split(",") if entry)
        return tuple(dict.fromkeys(name for entry in entries for name in alternatives(entry)))

    @property
    def topics_key(self) -> str:
        """Key of the flow that selects the topics of a source connector."""
        return f"connectors.sources.{self.part}.topics" if self.part else "topics"

    @property
    def guarded(self) -> bool:
        """Whether the loop guard is among the transforms."""
        return GUARD_FILTER in self.names("transforms")

    @property
    def beside_source(self) -> bool:
        """Whether a heartbeat connector runs on its source's workers; it always writes to `target.cluster.`."""
        return self.workers.target_address == self.config.get("target.cluster.bootstrap.servers")

    @property
    def emits(self) -> bool:
        """Whether a checkpoint or heartbeat connector has a task. Source: MirrorCheckpointConnector.taskConfigs."""
        return self.is_on(f"emit.{self.role}s.enabled")

    def is_on(self, switch: str) -> bool:
        """Return whether a property that is on by default has not been switched off."""
        return self.config.get(switch, "true").lower() != "false"

    @property
    def identity_policy(self) -> bool:
        return KNOWN_POLICIES.get(self.config.get("replication.policy.class", "")) is Policy.IDENTITY

    @property
    def policy(self) -> ReplicationPolicy:
        kind = Policy.IDENTITY if self.identity_policy else Policy.DEFAULT
        separator = self.config.get("replication.policy.separator", ".")
        return ReplicationPolicy(kind, separator, self.source_alias, self.target_alias)

    @property
    def start_from(self) -> str:
        """`earliest` or `latest`: where a partition without an offset in Connect starts."""
        return "earliest" if self.stops else self.config.get("source.consumer.auto.offset.reset", "earliest")

    @property
    def stops(self) -> bool:
        """Whether the connector stops where the source has deleted records that had not crossed."""
        return self.config.get("source.consumer.auto.offset.reset") == "none"


@dataclass(frozen=True)
class DeploymentState:
    """Everything in a deployment from which the effects of a change are derived."""

    name: str
    workers: tuple[DeployedWorkers, ...] = ()
    connectors: tuple[DeployedConnector, ...] = ()
    namespaces: frozenset[str] = frozenset()
    quotas: Mapping[str, Manifest] = field(default_factory=dict)
    users: Mapping[str, Manifest] = field(default_factory=dict)
    monitoring: Mapping[tuple[str, str], Manifest] = field(default_factory=dict)
    validation: Mapping[tuple[str, str], Manifest] = field(default_factory=dict)

    @property
    def first_flow(self) -> str:
        """Name of the flow under which effects on the whole deployment are reported."""
        return next((connector.flow for connector in self.connectors), self.name)


#: Fields of a worker resource that do not affect its pods. The operator sets log levels in running workers.
#: Source: Strimzi KafkaConnectAssemblyOperator, AbstractConnectOperator.
_NOT_IN_PODS = frozenset({"replicas", "logging", "bootstrapServers", "config", "template", "connectCluster", "mirrors"})
_NOT_IN_PODS |= {"target", "clusters", *GROUP_FIELDS.values()}
_MONITORING_KINDS = frozenset({"PodMonitor", "PrometheusRule"})
_POD_TEMPLATES = frozenset({"pod", "connectContainer", "initContainer"})
#: A changed offsets topic has more effects than a restart.
_STORAGE_TOPICS = ("config.storage.topic", "status.storage.topic")
#: Property of a connector -> field of a mirror.
_TOPICS = {"topics": "topicsPattern", "topics.exclude": "topicsExcludePattern"}
_GROUPS = {"groups": "groupsPattern", "groups.exclude": "groupsExcludePattern"}
_PLACEHOLDER = re.compile(rf"\$\{{{CONFIG_MAP_PROVIDER}:(?P<namespace>[^/}}]+)/(?P<name>[^:}}]+):(?P<key>[^}}]+)\}}")

#: Prefixes of a source's properties that decide the connection of a mirror's connectors.
_LOGIN = ("security.", "sasl.", "ssl.")

#: The objects of a deployment by role and part.
Objects = Mapping[str, Manifest]


def deployment_state(name: str, objects: Objects, flows_by_source: Mapping[str, str] | None = None) -> DeploymentState:
    """Return what objects make Connect run; `flows_by_source` names flows, which a KafkaMirrorMaker2 does not."""
    workers = {body["metadata"]["name"]: _workers(body) for body in _of_kind(objects, "KafkaConnect").values()}
    mirrors = [(body, _workers(body)) for body in _of_kind(objects, "KafkaMirrorMaker2").values()]
    config_maps = {
        (body["metadata"]["namespace"], body["metadata"]["name"]): body["data"]
        for body in _of_kind(objects, "ConfigMap").values()
    }
    connectors = [
        _connector(key, body, workers[cluster], config_maps)
        for key, body in _of_kind(objects, "KafkaConnector").items()
        if (cluster := body["metadata"]["labels"].get(CLUSTER_LABEL)) in workers
    ]
    connectors += [connector for body, group in mirrors for connector in _mirrored(body, group, flows_by_source or {})]
    return DeploymentState(
        name,
        (*workers.values(), *(group for _, group in mirrors)),
        tuple(connectors),
        frozenset(body["metadata"]["name"] for body in _of_kind(objects, "Namespace").values()),
        _of_kind(objects, "ResourceQuota") | _of_kind(objects, "LimitRange"),
        {body["metadata"]["name"]: body for body in _of_kind(objects, "KafkaUser").values()},
        {
            (body["kind"], body["metadata"]["name"]): body
            for key, body in objects.items()
            if body["kind"] in _MONITORING_KINDS or key == ObjectRole.DASHBOARD
        },
        {
            (body["kind"], body["metadata"]["labels"].get(PART_OF, name)): body
            for key, body in objects.items()
            if body["kind"] in VALIDATION_KINDS or key == ObjectRole.EXPORTER
        },
    )


def _of_kind(objects: Objects, kind: str) -> dict[str, Manifest]:
    return {key: body for key, body in objects.items() if body["kind"] == kind}


def _workers(body: Manifest) -> DeployedWorkers:
    """Read the workers of a KafkaConnect or KafkaMirrorMaker2, in either API version."""
    spec = body["spec"]
    cluster = worker_cluster(spec)
    config = dict(cluster.get("config", {}))
    pods = {key: value for key, value in spec.items() if key not in _NOT_IN_PODS}
    pods |= {f"template.{key}": value for key, value in spec.get("template", {}).items() if key in _POD_TEMPLATES}
    # A new name for one of these topics reaches the workers through their configuration.
    pods |= {GROUP_FIELDS[key]: cluster.get(GROUP_FIELDS[key]) or config.get(key) for key in _STORAGE_TOPICS}
    pods |= {f"{end.get('alias', '')}.{key}": end.get(key) for end in _ends(spec) for key in ("tls", "authentication")}
    return DeployedWorkers(
        body["kind"],
        body["apiVersion"],
        body["metadata"]["name"],
        body["metadata"]["namespace"],
        str(cluster.get("groupId") or config.get("group.id", "")),
        str(cluster.get("offsetStorageTopic") or config.get("offset.storage.topic", "")),
        str(cluster.get("bootstrapServers", "")),
        int(spec.get("replicas", 1)),
        {key: value for key, value in config.items() if key not in GROUP_FIELDS},
        {key: value for key, value in pods.items() if value is not None},
        spec.get("logging"),
        "groupId" in cluster,
    )


def worker_cluster(spec: Manifest) -> Manifest:
    """Return the part of the spec of a KafkaConnect or KafkaMirrorMaker2 that names the workers' cluster and group.

    Beside `target`, the operator ignores what is left of the older form. Source: Strimzi
    KafkaMirrorMaker2Cluster.validateAndUpdateToNewAPI.
    """
    if "connectCluster" in spec and not spec.get("target"):
        clusters = spec.get("clusters") or ()
        return next((cluster for cluster in clusters if cluster.get("alias") == spec["connectCluster"]), {})
    return spec.get("target") or spec


def _ends(spec: Manifest) -> Iterator[Manifest]:
    """Yield the clusters whose certificates and logins the operator gives to the workers of a KafkaMirrorMaker2."""
    yield from spec.get("clusters", ())
    if "target" in spec:
        yield spec["target"]
        yield from (mirror["source"] for mirror in spec["mirrors"])


def _connector(
    key: str, body: Manifest, workers: DeployedWorkers, config_maps: Mapping[tuple[str, str], Mapping[str, str]]
) -> DeployedConnector:
    spec = body["spec"]

    def value(placeholder: re.Match[str]) -> str:
        data = config_maps.get((placeholder["namespace"], placeholder["name"]), {})
        return str(data.get(placeholder["key"], placeholder[0]))

    # The revision of credentials is not a property; it explains why a connector restarts.
    revisions = {
        f"{side}.credentials.revision": data["credentials.revision"]
        for side in ("source", "target")
        for (_, name), data in config_maps.items()
        if "credentials.revision" in data and f"/{name}:alias}}" in str(spec["config"].get(f"{side}.cluster.alias"))
    }
    config = {name: _PLACEHOLDER.sub(value, value_text(given)) for name, given in spec["config"].items()}
    role = ROLE_OF_CLASS.get(spec["class"].rpartition(".")[2], "")
    return DeployedConnector(
        body["metadata"]["labels"].get(PART_OF, ""),
        role,
        key.removeprefix(f"{role}-connector").removeprefix("-") if role == "source" else "",
        body["metadata"]["name"],
        workers,
        spec.get("state", "running"),
        config | revisions,
        {**spec["config"], "class": spec["class"], "tasksMax": spec.get("tasksMax")},
    )


def _mirrored(body: Manifest, workers: DeployedWorkers, flows: Mapping[str, str]) -> Iterator[DeployedConnector]:
    """Yield the connectors that the operator creates for a KafkaMirrorMaker2. Source: KafkaMirrorMaker2Connectors."""
    spec, name = body["spec"], body["metadata"]["name"]
    target = worker_cluster(spec)
    by_alias = {cluster["alias"]: cluster for cluster in spec.get("clusters", ())}
    for mirror in spec["mirrors"]:
        source = mirror.get("source") or by_alias[mirror["sourceCluster"]]
        presumed_flow = name if len(spec["mirrors"]) == 1 else f"{name}-from-{source['alias']}"
        flow = flows.get(source["alias"], presumed_flow)
        ends = {"source": source, "target": target}
        logins = {f"{side}.{key}": end.get(key) for side, end in ends.items() for key in ("tls", "authentication")}
        # If one of these changes, the operator restarts every connector of the mirror.
        given_to_all = {key: mirror[name] for key, name in (_TOPICS | _GROUPS).items() if name in mirror}
        for kind, role in ROLE_OF_CLASS.items():
            connector = mirror.get(f"{role}Connector")
            if connector is None:
                continue
            passed = (entry for entry in (source.get("config") or {}).items() if entry[0].startswith(_LOGIN))
            config = {f"source.cluster.{key}": value_text(value) for key, value in passed}
            config |= {key: value_text(value) for key, value in (connector.get("config") or {}).items()}
            config |= {
                f"{side}.cluster.{key}": end[field]
                for side, end in ends.items()
                for key, field in (("alias", "alias"), ("bootstrap.servers", "bootstrapServers"))
            }
            read = {"source": _TOPICS, "checkpoint": _TOPICS | _GROUPS}.get(role, {})
            config |= {key: mirror[name] for key, name in read.items() if name in mirror}
            yield DeployedConnector(
                flow,
                role,
                "",
                f"{source['alias']}->{target['alias']}.{kind}",
                workers,
                connector.get("state", "running"),
                config,
                {**config, **given_to_all, "class": kind, "tasksMax": connector.get("tasksMax"), **logins},
            )
