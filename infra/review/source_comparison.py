"""Compares stacks with sources that an import reads: what deploying a stack instead of what runs would change. Sources
that are only a part of what a stack replaces, without namespaces, workers or some connectors, are completed first.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from kafka_replication.components.changes.effect import Effect, Impact
from kafka_replication.components.contract.grouping import grouped
from kafka_replication.components.contract.problems import ReplicationError
from kafka_replication.components.contract.wording import agreeing
from kafka_replication.components.flows.expansion import expand
from kafka_replication.components.flows.operators import CLUSTER_LABEL, USES_CONNECTOR_RESOURCES
from kafka_replication.components.flows.selections import topic_selection
from kafka_replication.components.kafka.connections import entries
from kafka_replication.components.kafka.overlap import Disjoint, overlap_of_selections
from kafka_replication.components.kafka.patterns import Selection
from kafka_replication.components.properties.values import value_text
from kafka_replication.components.render.deployments import Deployment
from kafka_replication.components.render.planned_objects import Manifest
from kafka_replication.components.topology.clusters import Cluster
from kafka_replication.components.topology.parsing import parse_topology
from kafka_replication.infra.onboard.importing.deployment_changes import ImportChanges, changes_of_deployments
from kafka_replication.infra.onboard.importing.flows import Imported
from kafka_replication.infra.onboard.importing.left_out import LeftOut
from kafka_replication.infra.onboard.importing.reading import (
    ReadInput,
    ReadObject,
    ReadProperties,
    ends_as_source,
    read_objects,
)
from kafka_replication.infra.onboard.importing.topologies import imported_topologies
from kafka_replication.infra.onboard.importing.workers import CONVERTERS
from kafka_replication.infra.review.bases import stack_files_of
from kafka_replication.infra.review.comparison import Comparison, Unjudged, compare, placed
from kafka_replication.infra.review.object_changes import ChangeKind, FieldChange, Identity, ObjectChange, identity
from kafka_replication.infra.review.snapshots import Snapshot, current_snapshot
from kafka_replication.infra.stack.settings import stack_names

#: Namespace of objects that name none, until they are compared with a stack.
NO_NAMESPACE = "(no namespace)"
_LACKING = "The input lacks these, so they are taken as the stack declares them, and not compared"
_OTHER_GROUP = "If their worker group is another, every record is copied again."
_WORKERS = frozenset({"KafkaConnect", "KafkaMirrorMaker2"})


def completed(read: ReadInput, current: Snapshot, source: str) -> tuple[ReadInput, list[str], list[Unjudged]]:
    """Return the input with the stack's namespaces for what names none, and with the stack's own objects where only
    the connectors of a deployment were read; notes on that, and the objects that were added, as `fields`."""
    namespaces = {flow.namespace for deployment in current.deployments.values() for flow in deployment.flows}
    namespace = namespaces.pop() if len(namespaces) == 1 else "default"
    whole = ReadInput(
        dedicated=[replace(given, namespace=namespace) for given in read.dedicated],
        workers=[replace(given, namespace=namespace) for given in read.workers],
        rest=list(read.rest),
        left_out=list(read.left_out),
        namespace=namespace,
    )
    objects = [body for name in current.deployments for body in current.objects(name).values()]
    places = {(body["kind"], body["metadata"]["name"]): body["metadata"].get("namespace", "") for body in objects}
    assumed = []
    for given in read.objects:
        if given.namespace == NO_NAMESPACE:
            own = places.get((given.kind, given.name)) or places.get(("KafkaConnect", given.workers)) or namespace
            given = replace(given, body={**given.body, "metadata": {**given.body["metadata"], "namespace": own}})
            assumed.append(given.label)
        whole.keep(given)
    added = {
        name: [ReadObject(source, body) for body in _lacking(name, current, whole)] for name in current.deployments
    }
    whole.objects += [one for ones in added.values() for one in ones]
    lacking = {name: tuple(one.label for one in ones if one.kind != "ConfigMap") for name, ones in added.items()}
    unjudged = [Unjudged(source, name, labels, f"{_LACKING}.") for name, labels in lacking.items() if labels]
    notes = [f"These have no `metadata.namespace`, so the stack's is assumed: {', '.join(assumed)}."] if assumed else []
    if unjudged:
        all_lacking = ", ".join(label for part in unjudged for label in part.fields)
        notes.append(f"{_LACKING}: {all_lacking}. {_OTHER_GROUP}")
    return whole, notes, unjudged


def _lacking(name: str, current: Snapshot, whole: ReadInput) -> Iterator[Manifest]:
    """Yield the workers of a deployment whose connectors were read without them, and what else these need."""
    declared: dict[Identity, Manifest] = {identity(body): body for body in current.objects(name).values()}
    read = {identity(given.body) for given in whole.objects}
    reported = {} if whole.workers or whole.of("KafkaConnect") else {given.name: given for _, given in whole.rest}
    running = {connector.name for state in current.state(name) for connector in state.connectors}
    if any(place[0] in _WORKERS and place in read for place in declared):
        return
    connectors = {place: body for place, body in declared.items() if place[0] == "KafkaConnector"}
    present = {place: body for place, body in connectors.items() if place in read or place[2] in reported}
    if not connectors and running & reported.keys():
        # Only the resource itself can be compared with a KafkaMirrorMaker2.
        whole.rest = [(file, given) for file, given in whole.rest if given.name not in running]
        yield from (body for body in declared.values() if body["kind"] == "KafkaMirrorMaker2")
    if not present:
        return
    _set_converters(present, whole)
    # An answer with states is one on all connectors.
    every = any(reported[place[2]].state is not None for place in present if place[2] in reported)
    for place, body in declared.items():
        if place[0] in {"KafkaConnect", "ConfigMap"} or (place in connectors.keys() - present.keys() and not every):
            yield body


def _set_converters(declared: dict[Identity, Manifest], whole: ReadInput) -> None:
    """Give connectors without a converter that of the stack: the converter of their workers is unknown."""
    own = {
        place: {key: value_text(value) for key, value in body["spec"]["config"].items() if ".converter" in key}
        for place, body in declared.items()
    }
    by_name = {name: converters for (_, _, name), converters in own.items()}
    for index, given in enumerate(whole.objects):
        config = own.get(identity(given.body), {}) | given.config
        if config != given.config:
            whole.objects[index] = replace(given, body={**given.body, "spec": {**given.spec, "config": config}})
    whole.rest = [
        (file, replace(given, config=by_name.get(given.name, {}) | dict(given.config))) for file, given in whole.rest
    ]


_NOT_COMPARED = "Only workers and connectors are compared, with Kafka's defaults filled in."
_IGNORED = "connectors-not-managed"
_NOT_JUDGED = "No rule says what these values do to records or offsets."


def are_sources(against: Sequence[str]) -> bool:
    """Return whether these name what an import reads, and neither stack files, an earlier render nor a git ref."""
    first = Path(against[0])
    if len(against) > 1 or against[0] == "-" or (first.is_file() and ends_as_source(first)):
        return True
    return first.is_dir() and stack_files_of(first) is None and any(map(ends_as_source, first.rglob("*")))


def compare_with_sources(names: Iterable[str], stacks: Path, sources: Sequence[str]) -> tuple[Comparison, ...]:
    """Compare the named stacks, or all, with the sources. Raises CannotRunError if nothing in them replicates, and
    ReplicationError for a stack with mistakes.
    """
    read = read_objects(sources, NO_NAMESPACE)
    label = ", ".join("standard input" if source == "-" else source for source in sources)
    found = [
        _compared(name, current_snapshot(name, stacks), label, read) for name in tuple(names) or stack_names(stacks)
    ]
    return tuple(replace(one, effects=tuple(placed(one.effects, one.stack, stacks))) for one in found)


def _compared(stack: str, current: Snapshot, label: str, given: ReadInput) -> Comparison:
    read, assumptions, lacking = completed(given, current, label)
    topologies, notes = imported_topologies(read, None, "imported")
    added_objects = {obj for part in lacking for obj in part.fields}
    left_out = [note for note in notes if note.obj not in added_objects]
    running = [replication for topology in topologies for replication in topology.imported]
    pairs = {replication.name: _successor(replication, current) for replication in running}
    replaced = {name: deployment for name, deployment in pairs.items() if deployment is not None}
    new = {name: deployment for name, deployment in current.deployments.items() if deployment not in replaced.values()}
    of_stack = [
        _with_unsaid(replication, replaced[replication.name]) for replication in running if replication.name in replaced
    ]
    changes = changes_of_deployments(of_stack, replaced, read.of("ConfigMap"))
    added = compare(stack, label, Snapshot(), Snapshot(new, by_gitops=current.by_gitops))
    staying = [replication for replication in running if replication.name not in replaced]
    effects = (
        *added.effects,
        *(effect for change in changes for effect in change.effects),
        *_beside(staying, new.values()),
    )
    return replace(
        added,
        effects=tuple(sorted(effects, key=lambda effect: -effect.severity.rank)),
        objects=(*added.objects, *(found for change in changes for found in _objects(change, replaced[change.name]))),
        unjudged=(*_unjudged(changes, of_stack), *lacking),
        not_asked=" ".join((_NOT_COMPARED, *assumptions, *_left_alone(staying, left_out), *_unknown(staying))),
    )


def _beside(staying: Sequence[Imported], new: Iterable[Deployment]) -> Iterator[Effect]:
    """Yield an effect for each new flow of which something that keeps running replicates a topic as well."""
    running = [(_label(replication), *flow) for replication in staying for flow in _flows(replication)]
    for flow in (flow for deployment in new for flow in deployment.flows):
        selection = topic_selection(flow.settings, flow.expanded.kafka)
        same = dict.fromkeys(
            label
            for label, source, target, other in running
            if source & _servers(flow.source)
            and target & _servers(flow.target)
            and not isinstance(overlap_of_selections(selection, other), Disjoint)
        )
        if same:
            what = (
                f"{', '.join(same)} {agreeing(len(same), '[keeps|keep]')} running between the same clusters, and each "
                "record of a topic that both select is written twice"
            )
            yield Effect(Impact.DATA, "runs-beside", flow.name, flow.expanded.where("topics"), what)


def _flows(running: Imported) -> list[tuple[set[str], set[str], Selection]]:
    """Return the servers and topics of each flow of what was read; none if it has mistakes, which an import names."""
    replications = {running.name: running.replication}
    document = {"strimzi": running.strimzi, "clusters": running.clusters, "replications": replications}
    try:
        topology = parse_topology(document)
    except ReplicationError:
        return []
    clusters = topology.clusters
    ends = ((flow, flow.settings.source, flow.settings.target) for flow in expand(topology))
    return [
        (_servers(clusters[source]), _servers(clusters[target]), topic_selection(flow.settings, flow.kafka))
        for flow, source, target in ends
        if {source, target} <= clusters.keys()
    ]


def _unknown(staying: Sequence[Imported]) -> Iterator[str]:
    """Say of what keeps running nobody can tell whether it replicates a topic of the stack."""
    unknown = [
        _label(replication)
        for replication in staying
        if not (flows := _flows(replication)) or not all(source and target for source, target, _ in flows)
    ]
    if unknown:
        yield f"Whether a record is then written twice is unknown for {', '.join(dict.fromkeys(unknown))}."


def _servers(cluster: Cluster) -> set[str]:
    address = cluster.bootstrap_servers
    return {server.lower() for server in entries(address) if server} if isinstance(address, str) else set()


def _label(replication: Imported) -> str:
    return replication.read[0].label or replication.name


def _successor(running: Imported, current: Snapshot) -> Deployment | None:
    """Return the deployment with the same workers, else with a connector of the same name. Where no object was read,
    return the one with the name of the replication; for a dedicated MirrorMaker, else the only one between its aliases.
    """
    workers, *connectors = (identity(read.body) for read in running.read)
    declared = [
        (deployment, {identity(planned.manifest) for planned in deployment.objects})
        for deployment in current.deployments.values()
    ]
    same = [deployment for deployment, own in declared if workers in own]
    if isinstance(running.read[0], ReadProperties):
        names = {(kind, name) for kind, _, name in connectors}
        same = [deployment for deployment, own in declared if names & {(kind, name) for kind, _, name in own}]
        same += [deployment for deployment, _ in declared if deployment.name == running.name]
        ends = running.replication["source"], running.replication["target"]
        between = [
            deployment
            for deployment, _ in declared
            if ends in {(flow.settings.source, flow.settings.target) for flow in deployment.flows}
        ]
        # Connectors that Connect reports have names of their own, by which they keep running.
        same += between if len(between) == 1 and not any(read.label for read in running.read) else []
    return next(iter((*same, *(deployment for deployment, own in declared if own & {*connectors}))), None)


def _with_unsaid(running: Imported, deployment: Deployment) -> Imported:
    """Return what was read of workers without an object as if it had the stack's name, size and version."""
    workers, *connectors = running.read
    body = next(planned.manifest for planned in deployment.objects if planned.manifest["kind"] in CONVERTERS)
    if not isinstance(workers, ReadProperties) or body["kind"] != workers.kind:
        return running
    known = {key: body["spec"][key] for key in ("replicas", "version") if key in body["spec"]}
    spec = {**known, **workers.body["spec"]}
    metadata = {key: body["metadata"][key] for key in ("name", "namespace")}
    labels = {CLUSTER_LABEL: metadata["name"]}
    read: list[ReadObject] = [replace(workers, body={**workers.body, "metadata": metadata, "spec": spec})]
    for connector in connectors:
        own = {"name": connector.name, "namespace": metadata["namespace"], "labels": labels}
        read.append(replace(connector, body={**connector.body, "metadata": own}))
    return replace(running, read=read)


def _objects(changes: ImportChanges, deployment: Deployment) -> Iterator[ObjectChange]:
    settings = grouped((setting.obj, setting) for setting in changes.differences)
    for obj, (first, *others) in settings.items():
        kind, _, name = obj.partition(" ")
        change = ChangeKind.CHANGED
        if not first.key:
            change = ChangeKind.ADDED if first.before is None else ChangeKind.REMOVED
        fields = tuple(FieldChange(setting.key, *setting.shown) for setting in (first, *others) if setting.key)
        namespace = deployment.flows[0].namespace
        yield ObjectChange(change, deployment.name, "properties", kind, namespace, name, fields)


def _unjudged(changes: Sequence[ImportChanges], running: Sequence[Imported]) -> Iterator[Unjudged]:
    files = {replication.name: replication.read[0].file for replication in running}
    for change in changes:
        if change.decisive and not change.changes_records:
            keys = tuple(f"{setting.obj}: {setting.key}" for setting in change.decisive)
            yield Unjudged(files[change.name], change.name, keys, _NOT_JUDGED)


def _left_alone(staying: Sequence[Imported], left_out: Sequence[LeftOut]) -> Iterator[str]:
    if staying:
        names = ", ".join(map(_label, staying))
        yield f"The stack does not declare these, so deploying it leaves them running: {names}."
    ignored = [item.obj for item in left_out if item.code == _IGNORED]
    if ignored:
        why = f"Whether these run their KafkaConnectors is unknown, because `{USES_CONNECTOR_RESOURCES}` is not `true`"
        yield f"{why}: {', '.join(ignored)}."
    if unread := [item for item in left_out if not item.harmless and item.code != _IGNORED]:
        places = "; ".join(f"{item.where} ({item.code})" for item in unread)
        yield f"These parts of the input could not be compared: {places}."
