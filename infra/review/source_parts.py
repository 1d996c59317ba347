"""Completes sources that are only a part of what a stack replaces: without namespaces, workers or some connectors."""

from collections.abc import Iterator
from dataclasses import replace

from kafka_replication.components.properties.values import value_text
from kafka_replication.components.render.planned_objects import Manifest
from kafka_replication.infra.onboard.importing.reading import ReadInput, ReadObject
from kafka_replication.infra.review.comparison import Unjudged
from kafka_replication.infra.review.object_changes import Identity, identity
from kafka_replication.infra.review.snapshots import Snapshot

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
