"""What Connect runs according to a deployment's objects: worker groups, connectors, and the values that these read.

KafkaConnectors with their ConfigMaps and a KafkaMirrorMaker2 come to the same.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from components.specs.clients import CONFIG_MAP_PROVIDER
from components.specs.planned import Manifest
from components.specs.transforms import GUARD_FILTER

#: Fields of a worker resource that decide nothing about its pods. Log levels are set in running workers.
#: Source: Strimzi KafkaConnectAssemblyOperator, AbstractConnectOperator.
_NOT_IN_PODS = frozenset({"replicas", "logging", "bootstrapServers", "config", "template", "connectCluster", "mirrors"})
_NOT_IN_PODS |= {"target", "clusters", "groupId", "configStorageTopic", "offsetStorageTopic", "statusStorageTopic"}
_POD_TEMPLATES = frozenset({"pod", "connectContainer", "initContainer"})
_GROUP_PROPERTIES = frozenset({"group.id", "config.storage.topic", "offset.storage.topic", "status.storage.topic"})
_PLACEHOLDER = re.compile(rf"\$\{{{CONFIG_MAP_PROVIDER}:(?P<namespace>[^/}}]+)/(?P<name>[^:}}]+):(?P<key>[^}}]+)\}}")
_ROLES = {
    "MirrorSourceConnector": "source",
    "MirrorCheckpointConnector": "checkpoint",
    "MirrorHeartbeatConnector": "heartbeat",
}

#: Objects of a deployment by role and part.
Objects = Mapping[str, Manifest]


@dataclass(frozen=True)
class Workers:
    """A Connect worker group: its resource, where it keeps its offsets, and what its pods are made of.

    `target` is the address of the cluster that it belongs to; `config` its properties without the group's names.
    """

    kind: str
    api_version: str
    name: str
    namespace: str
    group: str
    offsets_topic: str
    target: str
    replicas: int
    config: Mapping[str, Any]
    pods: Mapping[str, Any]
    logging: Any = None


@dataclass(frozen=True)
class Connector:
    """A connector as Connect runs it; `config` is what it reads, `given` what the operator compares and hands over.

    `part` tells several source connectors of a flow apart.
    """

    flow: str
    role: str
    part: str
    name: str
    workers: Workers
    state: str
    config: Mapping[str, str]
    given: Mapping[str, Any]

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
        """A property that lists names or patterns."""
        return tuple(name for name in self.config.get(key, "").split(",") if name)

    @property
    def topics_key(self) -> str:
        """Key of the flow that says which topics a source connector reads."""
        return f"connectors.sources.{self.part}.topics" if self.part else "topics"

    @property
    def guarded(self) -> bool:
        return GUARD_FILTER in self.names("transforms")

    @property
    def emits(self) -> bool:
        """Whether a checkpoint or heartbeat connector has a task. Source: MirrorCheckpointConnector.taskConfigs."""
        return self.is_on(f"emit.{self.role}s.enabled")

    def is_on(self, switch: str) -> bool:
        """Whether a property that is on by default was not switched off."""
        return self.config.get(switch, "true").lower() != "false"

    @property
    def identity_policy(self) -> bool:
        return self.config.get("replication.policy.class", "").endswith("IdentityReplicationPolicy")

    @property
    def separator(self) -> str:
        return self.config.get("replication.policy.separator", ".")

    def remote(self, topic: str) -> str:
        """Name of a topic on the target. Source: DefaultReplicationPolicy.formatRemoteTopic."""
        return topic if self.identity_policy else f"{self.source_alias}{self.separator}{topic}"

    @property
    def start(self) -> str:
        """Where a partition begins that Connect keeps no offset of."""
        return self.config.get("source.consumer.auto.offset.reset", "earliest")


@dataclass(frozen=True)
class Deployed:
    """Everything of a deployment that effects are told from."""

    name: str
    workers: tuple[Workers, ...] = ()
    connectors: tuple[Connector, ...] = ()
    namespaces: frozenset[str] = frozenset()
    quotas: Mapping[str, Manifest] = field(default_factory=dict)
    users: Mapping[str, Manifest] = field(default_factory=dict)


def deployed(name: str, objects: Objects, mirrors_of: Mapping[str, str] | None = None) -> Deployed:
    """What the objects of a deployment run.

    `mirrors_of` gives the flow of each mirror of a KafkaMirrorMaker2 by its source; the resource does not name them.
    """
    workers = {each["metadata"]["name"]: _workers(each) for each in _of_kind(objects, "KafkaConnect").values()}
    mirrors = [(each, _workers(each)) for each in _of_kind(objects, "KafkaMirrorMaker2").values()]
    held = {
        (each["metadata"]["namespace"], each["metadata"]["name"]): each["data"]
        for each in _of_kind(objects, "ConfigMap").values()
    }
    connectors = [
        _connector(key, body, workers[cluster], held)
        for key, body in _of_kind(objects, "KafkaConnector").items()
        if (cluster := body["metadata"]["labels"].get("strimzi.io/cluster")) in workers
    ]
    connectors += [connector for body, group in mirrors for connector in _mirrored(body, group, mirrors_of or {})]
    return Deployed(
        name,
        (*workers.values(), *(group for _, group in mirrors)),
        tuple(connectors),
        frozenset(each["metadata"]["name"] for each in _of_kind(objects, "Namespace").values()),
        _of_kind(objects, "ResourceQuota") | _of_kind(objects, "LimitRange"),
        {each["metadata"]["name"]: each for each in _of_kind(objects, "KafkaUser").values()},
    )


def _of_kind(objects: Objects, kind: str) -> dict[str, Manifest]:
    return {key: each for key, each in objects.items() if each["kind"] == kind}


def _workers(body: Manifest) -> Workers:
    """A worker group of either resource, in either API version."""
    spec = body["spec"]
    cluster = _worker_cluster(spec)
    config = dict(cluster.get("config", {}))
    pods = {key: value for key, value in spec.items() if key not in _NOT_IN_PODS}
    pods |= {f"template.{key}": value for key, value in spec.get("template", {}).items() if key in _POD_TEMPLATES}
    pods |= {f"{end.get('alias', '')}.{key}": end.get(key) for end in _ends(spec) for key in ("tls", "authentication")}
    return Workers(
        body["kind"],
        body["apiVersion"],
        body["metadata"]["name"],
        body["metadata"]["namespace"],
        str(cluster.get("groupId") or config.get("group.id", "")),
        str(cluster.get("offsetStorageTopic") or config.get("offset.storage.topic", "")),
        str(cluster.get("bootstrapServers", "")),
        int(spec.get("replicas", 1)),
        {key: value for key, value in config.items() if key not in _GROUP_PROPERTIES},
        {key: value for key, value in pods.items() if value is not None},
        spec.get("logging"),
    )


def _worker_cluster(spec: Manifest) -> Manifest:
    """Where a resource says which cluster its workers belong to."""
    if "connectCluster" in spec:
        return next((each for each in spec["clusters"] if each["alias"] == spec["connectCluster"]), {})
    found: Manifest = spec.get("target", spec)
    return found


def _ends(spec: Manifest) -> Iterator[Manifest]:
    """Clusters whose certificates and logins the operator gives to the workers of a KafkaMirrorMaker2."""
    yield from spec.get("clusters", ())
    if "target" in spec:
        yield spec["target"]
        yield from (mirror["source"] for mirror in spec["mirrors"])


def _connector(
    key: str, body: Manifest, workers: Workers, held: Mapping[tuple[str, str], Mapping[str, str]]
) -> Connector:
    spec = body["spec"]

    def value(found: re.Match[str]) -> str:
        of_map = held.get((found["namespace"], found["name"]), {})
        return str(of_map.get(found["key"], found[0]))

    # The revision of credentials is no property: it is read to say why a connector starts again.
    revisions = {
        f"{side}.credentials.revision": data["credentials.revision"]
        for side in ("source", "target")
        for (_, name), data in held.items()
        if "credentials.revision" in data and f"/{name}:alias}}" in str(spec["config"].get(f"{side}.cluster.alias"))
    }
    config = {name: _PLACEHOLDER.sub(value, _text(given)) for name, given in spec["config"].items()}
    role = _ROLES.get(spec["class"].rpartition(".")[2], "")
    return Connector(
        body["metadata"]["labels"].get("app.kubernetes.io/part-of", ""),
        role,
        key.removeprefix(f"{role}-connector").removeprefix("-") if role == "source" else "",
        body["metadata"]["name"],
        workers,
        spec.get("state", "running"),
        config | revisions,
        {**spec["config"], "class": spec["class"], "tasksMax": spec.get("tasksMax")},
    )


def _mirrored(body: Manifest, workers: Workers, flows: Mapping[str, str]) -> Iterator[Connector]:
    """Connectors that the operator makes of a KafkaMirrorMaker2. Source: KafkaMirrorMaker2Connectors."""
    spec, name = body["spec"], body["metadata"]["name"]
    target = _worker_cluster(spec)
    by_alias = {each["alias"]: each for each in spec.get("clusters", ())}
    for mirror in spec["mirrors"]:
        source = mirror.get("source") or by_alias[mirror["sourceCluster"]]
        presumed = name if len(spec["mirrors"]) == 1 else f"{name}-from-{source['alias']}"
        flow = flows.get(source["alias"], presumed)
        for kind, role in _ROLES.items():
            connector = mirror.get(f"{role}Connector")
            if connector is None:
                continue
            config = {key: _text(value) for key, value in connector["config"].items()}
            config |= _ends_of_mirror(source, target) | _selection(mirror, role)
            yield Connector(
                flow,
                role,
                "",
                f"{source['alias']}->{target['alias']}.{kind}",
                workers,
                connector.get("state", "running"),
                config,
                {**config, "class": kind, "tasksMax": connector.get("tasksMax"), **_logins(source, target)},
            )


def _ends_of_mirror(source: Manifest, target: Manifest) -> dict[str, str]:
    return {
        "source.cluster.alias": source["alias"],
        "source.cluster.bootstrap.servers": source["bootstrapServers"],
        "target.cluster.alias": target["alias"],
        "target.cluster.bootstrap.servers": target["bootstrapServers"],
    }


def _logins(source: Manifest, target: Manifest) -> dict[str, Any]:
    ends = {"source": source, "target": target}
    return {f"{side}.{key}": end.get(key) for side, end in ends.items() for key in ("tls", "authentication")}


def _selection(mirror: Manifest, role: str) -> dict[str, str]:
    fields = {"topics": "topicsPattern", "topics.exclude": "topicsExcludePattern"}
    if role == "checkpoint":
        fields |= {"groups": "groupsPattern", "groups.exclude": "groupsExcludePattern"}
    if role == "heartbeat":
        return {}
    return {key: mirror[name] for key, name in fields.items() if name in mirror}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
