"""Checks a stack against the other stacks of its project: no two may deploy the same flow, worker group or object, or
replicate the same topics.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from kafka_replication.components.contract.grouping import grouped
from kafka_replication.components.contract.problems import CannotRunError, Problem, ReplicationError, Severity
from kafka_replication.components.contract.wording import named
from kafka_replication.components.flows.expansion import ExpandedFlow, expand
from kafka_replication.components.flows.naming import (
    STORAGE_ROLES,
    connect_name,
    group_id,
    namespace_name,
    replication_policy,
    storage_topic_name,
)
from kafka_replication.components.flows.selections import each_source, source_key, topic_selection
from kafka_replication.components.kafka.overlap import Disjoint, SharedName, Undecided, overlap_of_selections
from kafka_replication.components.topology.clusters import ConfigValue
from kafka_replication.components.topology.model import Topology
from kafka_replication.components.topology.parsing import parse_topology
from kafka_replication.infra.stack.settings import (
    PROJECT,
    SHARES_WITH,
    StackSettings,
    readable_config,
    stack_file,
    stack_names,
    topology_file,
)
from kafka_replication.infra.stack.yaml_files import load_yaml, placed

_GROUP = (
    "The workers of both would join one worker group, or write to the same storage topics: each side would overwrite "
    "and stop the other's connectors."
)


class _Deployed:
    """What one stack deploys, by the names of its flows."""

    def __init__(self, stack: str, config: Mapping[str, object], topology: Topology, values: Mapping[str, str]) -> None:
        self.stack, self.topology, self.region = stack, values["topology"], values.get("region")
        self.access = (str(config.get("kubernetes:context") or ""), str(config.get("kubernetes:kubeconfig") or ""))
        self.shares_with = frozenset(name.strip() for name in values.get(SHARES_WITH, "").split(",")) - {""}
        self.flows = {
            flow.name: _Workers(flow, topology, values)
            for flow in expand(topology)
            if (target := topology.clusters.get(flow.settings.target)) is not None
            and self.region in (None, target.region)
        }


class _Workers:
    """The workers of a flow: the servers of both clusters, their group and storage topics, and where they run. Clusters
    whose address nobody can read here, because it is encrypted, are known by their name in the topology.
    """

    def __init__(self, flow: ExpandedFlow, topology: Topology, values: Mapping[str, str]) -> None:
        settings = flow.settings
        self.flow = flow
        self.source_servers = _servers(settings.source, topology, values)
        self.servers = _servers(settings.target, topology, values)
        topics = (storage_topic_name(flow.workers, settings, role) for role in STORAGE_ROLES)
        self.names_in_kafka = frozenset((f"group {group_id(flow.workers, settings)}", *topics))
        self.place = (namespace_name(flow.owner, settings), connect_name(flow.workers, settings))


def check_other_stacks(settings: StackSettings) -> Iterator[Problem]:
    """Yield what a stack deploys although another one of the project does, each with its place; unreadable files and
    stacks of the local stack are left out.
    """
    if settings.local or settings.without_stack is not None:
        return
    own_file = stack_file(settings.stack, settings.stacks)
    config = readable_config(own_file) or {}
    own = _Deployed(settings.stack, config, settings.topology, settings.values)
    others = stack_names(settings.stacks)
    yield from placed(_unknown_stacks(own, others), own_file)
    for name in others:
        other = _read(name, settings.stacks) if name != settings.stack else None
        if other is None or name in own.shares_with or settings.stack in other.shares_with:
            continue
        shared = [(flow, _sharing(workers, other)) for flow, workers in own.flows.items()]
        clashes = {flow: theirs for flow, theirs in shared if theirs}
        if clashes and own.topology == other.topology:
            yield from placed([_deployed_twice(own, other, list(clashes))], own_file)
        elif clashes:
            yield from placed(_shared_groups(own, other, clashes), settings.topology_file)
        else:
            yield from placed(_shared_topics(own, other), settings.topology_file)
            yield from placed(_shared_cluster(own, other), own_file)


def _unknown_stacks(own: _Deployed, known: Iterable[str]) -> Iterator[Problem]:
    for name in sorted(own.shares_with - {*known}):
        what, why = f"`{name}` has no stack file", f"The stacks are: {', '.join(known)}."
        remedy = "name the other stack, or several with a comma between them."
        yield Problem(f"config.{PROJECT}:{SHARES_WITH}", "unknown-stack", what, why, remedy)


def _read(stack: str, stacks: Path) -> _Deployed | None:
    """Return what another stack deploys; None if its files cannot be read, which their own check reports."""
    config = readable_config(stack_file(stack, stacks)) or {}
    file = topology_file(str(config.get(f"{PROJECT}:topology")), stacks)
    if str(config.get(f"{PROJECT}:local")).lower() == "true" or not file.is_file():
        return None
    changed = file.stat()
    topology = _topology(file, changed.st_mtime_ns, changed.st_size)
    plain = {key: value for key, value in config.items() if not isinstance(value, Mapping)}
    values = {str(key).removeprefix(f"{PROJECT}:"): str(value) for key, value in plain.items()}
    return None if topology is None else _Deployed(stack, config, topology, values)


@lru_cache(maxsize=64)
def _topology(file: Path, _changed: int, _size: int) -> Topology | None:
    """Return a topology, read once while its file does not change."""
    try:
        return parse_topology(load_yaml(file))
    except (ReplicationError, CannotRunError, OSError):
        return None


def _servers(alias: str, topology: Topology, values: Mapping[str, str]) -> frozenset[str]:
    unread = f"{alias} of {values['topology']}"
    address = topology.clusters[alias].bootstrap_servers if alias in topology.clusters else unread
    text = values.get(address.config, unread) if isinstance(address, ConfigValue) else address
    return frozenset(server.strip().lower() for server in text.split(",")) - {""}


def _sharing(own: _Workers, other: _Deployed) -> list[str]:
    """Return the flows of another stack whose workers share a group or storage topics on the same target."""
    return [
        flow
        for flow, theirs in other.flows.items()
        if own.servers & theirs.servers and own.names_in_kafka & theirs.names_in_kafka
    ]


def _quoted(names: Iterable[str]) -> str:
    return named([f"`{name}`" for name in names])


def _on_purpose(other: _Deployed) -> str:
    return f"If it is on purpose, set `{PROJECT}:{SHARES_WITH}: {other.stack}`."


def _deployed_twice(own: _Deployed, other: _Deployed, flows: list[str]) -> Problem:
    what = f"stack `{other.stack}` also deploys {_quoted(flows)} of the topology `{own.topology}`"
    remedy = (
        f"delete one of the two stack files, set a `{PROJECT}:region` of its own in each, or, for another "
        f"environment, name its own topology in `{PROJECT}:topology`. {_on_purpose(other)}"
    )
    return Problem(f"config.{PROJECT}:topology", "deployed-twice", what, _GROUP, remedy)


def _shared_groups(own: _Deployed, other: _Deployed, clashes: Mapping[str, list[str]]) -> Iterator[Problem]:
    by_target = grouped((own.flows[flow].flow.settings.target, flow) for flow in clashes)
    for alias, flows in sorted(by_target.items()):
        theirs = dict.fromkeys(flow for mine in flows for flow in clashes[mine])
        yield Problem(
            f"clusters.{alias}.bootstrapServers",
            "worker-group-shared",
            f"the workers of {_quoted(flows)} share a worker group or storage topics on this cluster with those of "
            f"{_quoted(theirs)} of the topology `{other.topology}`, which stack `{other.stack}` deploys",
            _GROUP,
            "correct the address if the topology was copied, or give one of them another `connect.groupId` and other "
            f"`connect.storageTopics`. {_on_purpose(other)}",
        )


def _shared_topics(own: _Deployed, other: _Deployed) -> Iterator[Problem]:
    """Yield a problem for each flow whose topics another stack replicates to the same names on the same cluster."""
    for ours in own.flows.values():
        for theirs in other.flows.values():
            if ours.servers & theirs.servers and ours.source_servers & theirs.source_servers:
                yield from _topics_of_both(ours.flow, theirs.flow, other)


def _topics_of_both(ours: ExpandedFlow, theirs: ExpandedFlow, other: _Deployed) -> Iterator[Problem]:
    overlaps = [
        (overlap, ours.where(source_key(ours.settings, part, "topics")))
        for part, settings in each_source(ours.settings)
        for _, of_other in each_source(theirs.settings)
        if replication_policy(settings).prefix_of("") == replication_policy(of_other).prefix_of("")
        for selections in [(topic_selection(settings, ours.kafka), topic_selection(of_other, theirs.kafka))]
        for overlap in [overlap_of_selections(*selections)]
        if not isinstance(overlap, Disjoint)
    ]
    if not overlaps:
        return
    overlap, where = min(overlaps, key=lambda overlap: isinstance(overlap[0], Undecided))
    is_certain = isinstance(overlap, SharedName)
    topics = f"`{overlap.example}`" if isinstance(overlap, SharedName) else "a topic that both may select"
    yield Problem(
        where,
        "topics-overlap" if is_certain else "topics-may-overlap",
        f"`{theirs.name}` of the topology `{other.topology}`, which stack `{other.stack}` deploys, also replicates "
        f"{topics} from `{ours.settings.source}` to `{ours.settings.target}`",
        "Every record of a topic that both select would be written twice.",
        f"add the topic to `topicsExclude` of one of them, or delete one of the two flows. {_on_purpose(other)}",
        Severity.ERROR if is_certain else Severity.WARNING,
    )


def _shared_cluster(own: _Deployed, other: _Deployed) -> Iterator[Problem]:
    """Yield a problem if two stacks would write to the same namespace of one Kubernetes cluster."""
    if own.access != other.access:
        return
    ours, theirs = ({workers.place for workers in one.flows.values()} for one in (own, other))
    same_objects, namespaces = ours & theirs, {place for place, _ in ours} & {place for place, _ in theirs}
    if not same_objects and (not namespaces or own.region == other.region):
        return
    context = f"the Kubernetes context `{own.access[0]}`" if own.access[0] else "no Kubernetes context"
    yield Problem(
        "config.kubernetes:context",
        "kubernetes-context-shared",
        f"stack `{other.stack}` has {context}, too, and also deploys into {_quoted(sorted(namespaces))}",
        "Both would be deployed to one Kubernetes cluster, and the objects of one would replace those of the other."
        if same_objects
        else "Both would be deployed to one Kubernetes cluster, although Connect should run beside its target.",
        f"set `kubernetes:context` in each stack file, or another `namespace.name`. {_on_purpose(other)}",
        # Without a context, somebody may switch clusters before each deployment.
        Severity.ERROR if any(own.access) else Severity.WARNING,
    )
