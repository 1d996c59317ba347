"""Names: aliases, what Kubernetes and Kafka accept, and the names that no two objects may share."""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kafka_replication.components.checks.heartbeats import sending_workers
from kafka_replication.components.contract.problems import Problem
from kafka_replication.components.flows.expansion import ExpandedFlow, FlowShape
from kafka_replication.components.flows.naming import (
    STORAGE_ROLES,
    connect_name,
    connector_name,
    group_id,
    heartbeat_workers_name,
    namespace_name,
    replication_policy,
    storage_topic_name,
)
from kafka_replication.components.flows.operators import CLUSTER_LABEL, USES_CONNECTOR_RESOURCES, strimzi
from kafka_replication.components.flows.selections import all_topics
from kafka_replication.components.kafka.replication_policy import is_readable
from kafka_replication.components.kafka.topic_names import LONGEST_NAME, has_topic_characters_only, is_name
from kafka_replication.components.properties.definitions import nearest
from kafka_replication.components.render.kafka_connectors import connector_roles
from kafka_replication.components.render.planned_objects import MANAGED_BY, PART_OF
from kafka_replication.components.topology.clusters import LABEL, LABEL_LENGTH, SUBDOMAIN, SUBDOMAIN_LENGTH
from kafka_replication.components.topology.connectors import Connector
from kafka_replication.components.topology.model import Topology

#: The longest derived name that must be a label is that of the REST API's Service. If the heartbeats of a
#: KafkaMirrorMaker2 have their own workers, both names count.
_LONGEST_SUFFIX = "-connect-api"
_SHORTER_REMOTE_NAME = "shorten the source's alias or use `policy: identity`."
_LONGEST_MIRROR_SUFFIX = "-mirrormaker2-api"


def check_aliases(topology: Topology, flow: ExpandedFlow) -> Iterator[Problem]:
    """A flow's source and target exist, differ, and form topic names that the replication policy can read."""
    settings = flow.settings
    for key, alias in (("source", settings.source), ("target", settings.target)):
        if alias not in topology.clusters:
            yield _unknown_alias(flow.where(key), alias, sorted(topology.clusters))
    if settings.source == settings.target:
        yield Problem(
            flow.where("target"),
            "equal-aliases",
            f"source and target are both `{settings.source}`",
            "Such a flow would only copy topics within one cluster. With the identity policy, it would replicate its "
            "own records endlessly.",
            "name another cluster's alias.",
        )
    if not has_topic_characters_only(settings.separator):
        yield Problem(
            flow.where("separator"),
            "separator-breaks-topic-names",
            f"the separator is {settings.separator!r}",
            "Topic names may contain only ASCII letters, digits, `.`, `_` and `-`.",
            "set `separator: '.'`.",
        )
    for key, alias in (("source", settings.source), ("target", settings.target)):
        if alias in topology.clusters and not (
            has_topic_characters_only(alias) and is_readable(alias, settings.separator)
        ):
            yield Problem(
                flow.where(key),
                "alias-breaks-topic-names",
                f"the alias is `{alias}` and the separator is `{settings.separator}`",
                "The replication policy takes everything before the first separator of a remote topic as the source's "
                "alias, so MirrorMaker would not recognize cycles and upstream topics.",
                "use an alias of letters, digits, `-` or `_` that neither contains the separator nor ends with the "
                "beginning of it.",
            )


def _unknown_alias(where: str, alias: str, known: list[str]) -> Problem:
    plain = {name.lower(): name for name in known}
    near = [plain[match] for match in difflib.get_close_matches(alias.lower(), plain, n=1)]
    return Problem(
        where,
        "unknown-alias",
        f"no cluster has the alias `{alias}`",
        f"The topology has these clusters: {', '.join(known) or 'none'}.",
        f"did you mean `{near[0]}`?" if near else "name one of these, or add the cluster under `clusters`.",
    )


def check_names(topology: Topology, flow: ExpandedFlow) -> Iterator[Problem]:
    """The names that derive from a flow's name are valid in Kubernetes, and its remote topics are in Kafka."""
    name, settings, where = flow.workers, flow.settings, flow.where()
    namespace = namespace_name(name, settings)
    if not re.fullmatch(LABEL, name):
        if re.fullmatch(LABEL, flow.replication):
            yield _not_a_label(flow.where("target"), "alias of a target, from which names derive,", settings.target)
        else:
            yield _not_a_label(where, "replication's name", flow.replication)
    elif settings.namespace.name is not None and not re.fullmatch(LABEL, namespace):
        yield _not_a_label(flow.where("namespace.name"), "namespace's name", namespace)
    yield from _check_lengths(topology, flow, namespace)
    for topic in all_topics(settings):
        remote = replication_policy(settings).remote(topic)
        if is_name(topic) and len(remote) > LONGEST_NAME:
            remedy = (
                _SHORTER_REMOTE_NAME if remote != topic else "correct it; no cluster can have a topic of this name."
            )
            yield topic_too_long(flow.where("topics"), remote, remedy)


def topic_too_long(where: str, remote: str, remedy: str = _SHORTER_REMOTE_NAME) -> Problem:
    """Return the problem of a topic that the target refuses because of its name."""
    return Problem(
        where,
        "topic-name-too-long",
        f"the remote topic `{remote}` has {len(remote)} characters",
        f"Kafka allows at most {LONGEST_NAME}, so the topic cannot be created on the target.",
        remedy,
    )


def _check_lengths(topology: Topology, flow: ExpandedFlow, namespace: str) -> Iterator[Problem]:
    sender = sending_workers(topology, flow)
    name = connect_name(flow.workers, flow.settings)
    mirrors = flow.shape is FlowShape.MIRROR_MAKER2
    derived = [f"{name}{_LONGEST_MIRROR_SUFFIX if mirrors else _LONGEST_SUFFIX}"]
    if sender != flow.workers:
        derived.append(f"{sender}{_LONGEST_SUFFIX}")
    if mirrors and flow.settings.connectors.heartbeat.enabled:
        derived.append(f"{heartbeat_workers_name(flow.workers)}{_LONGEST_SUFFIX}")
    given = flow.settings.namespace.name is not None
    # A group name that the topology sets is used only in Kafka; a derived one is also a label.
    group = () if flow.settings.connect.group_id else (group_id(flow.workers, flow.settings),)
    names = (*derived, *group, *(() if given else (namespace,)))
    own = [text for text in names if len(text) > LABEL_LENGTH]
    if own:
        of_alias = f", or the alias `{flow.part}`, which these names contain," if flow.part in topology.clusters else ""
        yield _too_long(flow.where(), max(own, key=len), f"shorten the replication's name{of_alias}")
    if given and len(namespace) > LABEL_LENGTH:
        yield _too_long(flow.where("namespace.name"), namespace, "shorten it")


def _too_long(where: str, text: str, remedy: str) -> Problem:
    return Problem(
        where,
        "name-too-long",
        f"`{text}` has {len(text)} characters",
        f"It becomes a Kubernetes name or label, which may have at most {LABEL_LENGTH}.",
        f"{remedy} by at least {len(text) - LABEL_LENGTH}.",
    )


def _not_a_label(where: str, what: str, text: str) -> Problem:
    return Problem(
        where,
        "name-not-kubernetes",
        f"the {what} is `{text}`",
        "Kubernetes names consist of lower-case letters, digits and `-`, and begin and end with a letter or digit "
        "(RFC 1123).",
        f"rename it, for example to `{re.sub('[^a-z0-9-]+', '-', text.lower()).strip('-') or 'orders'}`.",
    )


def _check_namespaces(topology: Topology, flows: Iterable[ExpandedFlow]) -> Iterator[Problem]:
    created: dict[tuple[str, str], ExpandedFlow] = {}
    for flow in flows:
        target = topology.clusters.get(flow.settings.target)
        if target is None or not flow.settings.namespace.create:
            continue
        name = namespace_name(flow.owner, flow.settings)
        first = created.setdefault((target.region, name), flow)
        if first.owner != flow.owner:
            yield Problem(
                flow.where("namespace.create"),
                "namespace-created-twice",
                f"both this replication and {first.where()} create the namespace `{name}`",
                "Pulumi and kustomize refuse to register an object twice, and removing one replication would delete "
                "the other's objects with the namespace.",
                "set `create: false` next to `name` in all replications but one, or create the namespace elsewhere. "
                "For a pair, set `createNamespaces: false`.",
            )


_OWNED = frozenset({MANAGED_BY, PART_OF, CLUSTER_LABEL, USES_CONNECTOR_RESOURCES})


@dataclass(frozen=True)
class _Given:
    """A name, and where the topology sets it or would set it."""

    name: str
    flow: ExpandedFlow
    key: str

    @property
    def where(self) -> str:
        return self.flow.where(self.key)


def check_inherited_names(topology: Topology, flows: Sequence[ExpandedFlow]) -> Iterator[Problem]:
    """No two worker groups, storage topics, resources, connectors or namespaces in the same place share a name."""
    deployed = {flow.workers: flow for flow in flows}
    yield from _check_groups(deployed.values())
    yield from _check_storage_topics(deployed.values())
    yield from _check_resources(topology, deployed.values())
    yield from _check_connectors(topology, flows)
    yield from _check_namespaces(topology, flows)
    for flow in flows:
        yield from _check_unused(topology, flow)
        yield from _check_labels(flow)


def _check_groups(deployed: Iterable[ExpandedFlow]) -> Iterator[Problem]:
    seen: dict[tuple[str, str], ExpandedFlow] = {}
    for flow in deployed:
        group = group_id(flow.workers, flow.settings)
        other = seen.setdefault((flow.settings.target, group), flow)
        if other is not flow:
            yield Problem(
                flow.where("connect.groupId"),
                "worker-group-shared",
                f"its worker group `{group}` on `{flow.settings.target}` is also that of {other.where()}",
                "The workers of both would form one group and share the connectors of both, with storage topics and "
                "logins that belong to only one of them.",
                "give one of them another `connect.groupId`. If it already runs, copy its offsets first, or it "
                "replicates everything again.",
            )


def _check_storage_topics(deployed: Iterable[ExpandedFlow]) -> Iterator[Problem]:
    seen: dict[tuple[str, str], _Given] = {}
    for flow in deployed:
        for role in STORAGE_ROLES:
            topic = storage_topic_name(flow.workers, flow.settings, role)
            given = _Given(topic, flow, f"connect.storageTopics.{role}")
            other = seen.setdefault((flow.settings.target, topic), given)
            if other is given:
                continue
            yield Problem(
                given.where,
                "storage-topic-shared",
                f"the storage topic `{topic}` on `{flow.settings.target}` is also {other.where}",
                "Workers treat every record in a storage topic as their own, even one of another group or in another "
                "format.",
                "give each its own topic. If the workers already run, copy the records of the topic first, or they "
                "replicate everything again.",
            )


def _check_resources(topology: Topology, deployed: Iterable[ExpandedFlow]) -> Iterator[Problem]:
    seen: dict[tuple[str, ...], ExpandedFlow] = {}
    for flow in deployed:
        kind = "KafkaMirrorMaker2" if flow.shape is FlowShape.MIRROR_MAKER2 else "KafkaConnect"
        name = connect_name(flow.workers, flow.settings)
        namespace = namespace_name(flow.workers, flow.settings)
        other = seen.setdefault((_region(topology, flow), namespace, kind, name), flow)
        if other is not flow:
            yield Problem(
                flow.where("connect.name"),
                "resource-name-shared",
                f"its {kind} is `{name}` in namespace `{namespace}`, as is that of {other.where()}",
                "Both would be the same object, so Kubernetes would keep only the one that is written last.",
                "give one of them another `connect.name`, or another namespace.",
            )


def _check_connectors(topology: Topology, flows: Iterable[ExpandedFlow]) -> Iterator[Problem]:
    seen: dict[tuple[str, str, str], _Given] = {}
    for flow in flows:
        namespace = namespace_name(flow.workers, flow.settings)
        for given in _connectors(topology, flow):
            other = seen.setdefault((_region(topology, flow), namespace, given.name), given)
            # Replications whose workers share a name are reported separately.
            alike = flow.name == other.flow.name and flow is not other.flow
            if other is not given and not alike:
                yield Problem(
                    given.where,
                    "connector-name-shared",
                    f"the connector's name is `{given.name}`, as is that of {other.where} in namespace `{namespace}`",
                    "Both would be the same KafkaConnector, so Kubernetes would keep only the one that is written "
                    "last.",
                    "give one of them another `name`. A connector that already runs keeps its offsets only under "
                    "its current name.",
                )


def _connectors(topology: Topology, flow: ExpandedFlow) -> Iterator[_Given]:
    """Yield the KafkaConnectors of a flow; the operator creates and names the connectors of a KafkaMirrorMaker2."""
    heartbeats_only = flow.shape is FlowShape.MIRROR_MAKER2
    for role, part in connector_roles(flow.settings):
        if not heartbeats_only or (role == "heartbeat" and not strimzi(topology.strimzi).api.has_heartbeat_mirrors):
            key = f"connectors.sources.{part}" if part else f"connectors.{role}"
            yield _Given(connector_name(flow.name, flow.settings, role, part), flow, key)


def _region(topology: Topology, flow: ExpandedFlow) -> str:
    cluster = topology.clusters.get(flow.settings.target)
    return cluster.region if cluster else ""


def _check_unused(topology: Topology, flow: ExpandedFlow) -> Iterator[Problem]:
    """A name, a label or an annotation of an object that the stack does not create."""
    namespace = flow.settings.namespace
    for key in ("labels", "annotations"):
        if getattr(namespace, key) and not namespace.create:
            yield Problem(
                flow.where(f"namespace.{key}"),
                "name-without-effect",
                f"`{key}` is set for a namespace that the stack does not create",
                "Only whoever creates the namespace sets its labels and annotations.",
                "set it there, or let the stack create the namespace.",
            )
    of_operator = flow.shape is FlowShape.MIRROR_MAKER2
    divided = bool(flow.settings.connectors.sources)
    unused = {
        "source": of_operator or divided,
        "checkpoint": of_operator,
        "heartbeat": of_operator and strimzi(topology.strimzi).api.has_heartbeat_mirrors,
    }
    why = (
        "The operator creates the connectors of a KafkaMirrorMaker2 and names them after their clusters."
        if of_operator
        else "Each of `connectors.sources` is a KafkaConnector of its own."
    )
    for role, is_unused in unused.items():
        connector: Connector = getattr(flow.settings.connectors, role)
        for key in ("name", "labels", "annotations") if is_unused else ():
            if getattr(connector, key):
                yield Problem(
                    flow.where(f"connectors.{role}.{key}"),
                    "name-without-effect",
                    f"`{key}` is set for a connector that has no KafkaConnector of its own",
                    why,
                    "remove it." if of_operator else "set it for each of `connectors.sources`.",
                )


def _check_labels(flow: ExpandedFlow) -> Iterator[Problem]:
    """The project sets its own labels and those that Strimzi reads."""
    for path, given in label_maps(flow):
        yield from check_labels(flow.where(path), given)
        for key in sorted(_OWNED & given.keys()):
            yield Problem(
                flow.where(f"{path}.{key}"),
                "owned-label",
                f"`{key}` is set",
                "The project sets it itself, so this value would have no effect.",
                "remove it.",
            )


#: Where labels say which pods a namespace admits, and what they may say. Source: Pod Security Admission.
_POD_SECURITY = "pod-security.kubernetes.io"
_LABEL_VALUE = r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?"
_MODES, _LEVELS = ("enforce", "audit", "warn"), ("privileged", "baseline", "restricted")


def check_labels(where: str, given: Mapping[str, str]) -> Iterator[Problem]:
    """Kubernetes accepts these labels, or the keys of these annotations."""
    for key, value in given.items():
        if wrong := _bad_label(key, None if where.lower().endswith("annotations") else value):
            what, why, remedy = wrong
            yield Problem(f"{where}.{key}", "bad-label", what, why, remedy)


def _bad_label(key: str, value: str | None) -> tuple[str, str, str] | None:
    """Return what is wrong with a label, why, and the remedy; the value of an annotation is free, and None here."""
    domain, _, name = key.rpartition("/")
    if len(name) > LABEL_LENGTH or len(domain) > SUBDOMAIN_LENGTH or not re.fullmatch(f"({SUBDOMAIN})?", domain):
        why = f"Kubernetes accepts at most {LABEL_LENGTH} characters, after an optional DNS name and a slash."
        return f"the key `{key}` is not valid", why, "correct it."
    if value is None:
        return None
    if len(value) > LABEL_LENGTH or not re.fullmatch(_LABEL_VALUE, value):
        accepted = f"at most {LABEL_LENGTH} letters, digits, `-`, `_` and `.`"
        why = f"Kubernetes accepts {accepted}, which begin and end with a letter or a digit."
        remedy = "shorten or correct it, or make it an annotation, whose value is free."
        return f"the value `{value}` of a label is not valid", why, remedy
    return _pod_security(name, value) if domain == _POD_SECURITY else None


def _pod_security(name: str, value: str) -> tuple[str, str, str] | None:
    if name in _MODES and value not in _LEVELS:
        level, why = nearest(value, _LEVELS), f"Kubernetes would refuse the namespace: levels are {', '.join(_LEVELS)}."
        return f"Pod Security has no level `{value}`", why, f"did you mean `{level}`?" if level else "set one of these."
    if name.removesuffix("-version") not in _MODES:
        near, why = nearest(name, _MODES) or "enforce", "Kubernetes ignores it, so the namespace is not protected."
        return f"Pod Security has no label `{name}`", why, f"did you mean `{_POD_SECURITY}/{near}`?"
    if name not in _MODES and not re.fullmatch(r"latest|v1\.\d+", value):
        why, remedy = "Kubernetes would refuse the namespace.", "set `latest` or a version such as `v1.31`."
        return f"Pod Security has no version `{value}`", why, remedy
    return None


def label_maps(flow: ExpandedFlow) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the labels and annotations of a flow's own resources, each map with its path."""
    connectors = flow.settings.connectors
    owners: dict[str, object] = {"connect": flow.settings.connect, "namespace": flow.settings.namespace}
    owners |= {f"connectors.{role}": getattr(connectors, role) for role in ("source", "checkpoint", "heartbeat")}
    owners |= {f"connectors.sources.{part}": source for part, source in connectors.sources.items()}
    for path, owner in owners.items():
        for key in ("labels", "annotations"):
            yield f"{path}.{key}", getattr(owner, key)
