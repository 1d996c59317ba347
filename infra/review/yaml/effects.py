"""Effects that only published objects have: requests to the operator, labels, ConfigMaps, namespaces. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence

from components.changes.deployment_state import DeployedConnector, DeploymentState
from components.changes.effect import Effect, Impact, listed
from infra.review.object_changes import ChangeKind, FieldChange
from infra.review.yaml.objects import IdentifiedChange, Identity
from infra.review.yaml.states import FolderWorkers

#: Annotations that ask the operator for something; `_requested` says what each does.
REQUESTS = re.compile(
    r"metadata\.annotations\.strimzi\.io/(restart|restart-connector|restart-task|restart-connector-task"
    r"|manual-rolling-update|connector-offsets)"
)
_OFFSETS = "connector-offsets"
_LABEL = re.compile(r"metadata\.labels(\..*)?")
#: Labels that a chart or Flux changes with each release. Source: Strimzi Labels.STRIMZI_LABELS_EXCLUSION_PATTERN.
_NOT_ON_PODS = re.compile(r"metadata\.labels\.(app\.kubernetes\.io/(?!part-of).*|kustomize\.toolkit\.fluxcd\.io.*)")
_AUTO_RESTART = re.compile(r"spec\.(mirrors\[[^]]*\]\.\w+Connector\.)?autoRestart(\..*)?")


def object_effects(
    changes: Sequence[IdentifiedChange], deployments: Mapping[Identity, str], workers: Sequence[FolderWorkers]
) -> Iterator[Effect]:
    """Yield the effects of fields that are not part of what Connect runs. `deployments` are those of the objects."""
    for change in changes:
        flow = deployments.get(change.identity)
        if flow is not None and change.kind != "ConfigMap":
            yield from _requested(change, flow)
            yield from _of_fields(change, flow)
        elif change.kind == "ConfigMap":
            yield from _read_later(change, workers)
        elif change.kind == "Namespace" and change.shown.change is ChangeKind.REMOVED:
            yield from _namespace(change, workers)


def _requested(change: IdentifiedChange, flow: str) -> Iterator[Effect]:
    for field in change.shown.fields:
        asked = REQUESTS.fullmatch(field.path)
        if asked is None or field.after is None:
            continue
        who = f"{change.kind} `{change.identity[2]}`"
        if asked[1] != _OFFSETS:
            what = f"`strimzi.io/{asked[1]}: {field.after}` makes the operator restart {who}, or part of it, once"
            yield Effect(Impact.RESTART, "restart-requested", flow, "", what)
        elif field.after == "list":
            what = f"the operator writes the offsets of {who} into a ConfigMap once"
            yield Effect(Impact.NONE, "offsets-listed", flow, "", what)
        else:
            what = (
                f"`strimzi.io/{_OFFSETS}: {field.after}` makes the operator change the offsets of {who} as soon as "
                "the connector is stopped: records are replicated again, or skipped"
            )
            yield Effect(Impact.DATA, "offsets-requested", flow, "", what)


def _of_fields(change: IdentifiedChange, flow: str) -> Iterator[Effect]:
    def paths(matches: re.Pattern[str]) -> list[str]:
        return [field.path for field in change.shown.fields if matches.fullmatch(field.path)]

    if restarts := paths(_AUTO_RESTART):
        what = f"the operator restarts failed tasks of `{change.identity[2]}` differently ({listed(restarts)})"
        yield Effect(Impact.NONE, "auto-restart-changes", flow, "", what)
    if change.kind == "KafkaConnector":
        return
    unused = paths(_NOT_ON_PODS)
    if labels := [path for path in paths(_LABEL) if path not in unused]:
        what = (
            f"{change.kind} `{change.identity[2]}` rolls: the operator gives its labels to the pods, so its workers "
            f"restart one by one ({listed(labels)})"
        )
        yield Effect(Impact.RESTART, "connect-rolls", flow, "", what)
    elif unused:
        what = (
            f"the operator does not give {listed(unused)} to the pods, unless it runs with its own "
            "`STRIMZI_LABELS_EXCLUSION_PATTERN`"
        )
        yield Effect(Impact.NONE, "labels-kept-from-pods", flow, "", what)


def connectors_reading(field: FieldChange, change: IdentifiedChange, workers: Sequence[FolderWorkers]) -> list[str]:
    """Return the connectors that read a key of a ConfigMap in their configuration."""
    _, namespace, name = change.identity
    key = field.path.removeprefix("data.")
    names = []
    for worker in workers:
        home = rf"{re.escape(namespace)}/" if worker.read.namespace != namespace else rf"({re.escape(namespace)}/)?"
        place = re.compile(rf"\$\{{[\w-]+:{home}{re.escape(name)}:{re.escape(key)}\}}")
        names += [read.name for read in worker.objects if place.search(str(read.body.get("spec")))]
    return sorted(set(names))


def _read_later(change: IdentifiedChange, workers: Sequence[FolderWorkers]) -> Iterator[Effect]:
    readers = {name: None for field in change.shown.fields for name in connectors_reading(field, change, workers)}
    if not readers:
        return
    flow = next(worker.name for worker in workers for read in worker.objects if read.name in readers)
    what = (
        f"ConfigMap `{change.identity[2]}` has other values for {listed(list(readers))}. No connector restarts "
        "because of that: the other effects of these values occur at the next restart"
    )
    yield Effect(Impact.NONE, "config-map-read-later", flow, "", what)


def _namespace(change: IdentifiedChange, workers: Sequence[FolderWorkers]) -> Iterator[Effect]:
    name = change.identity[2]
    for worker in workers:
        if worker.read.namespace == name:
            what = (
                f"namespace {name} is removed from the folder, and workers run in it: if the tool that applies the "
                "folder prunes removed objects, everything in the namespace is deleted, and replication stops"
            )
            yield Effect(Impact.DATA, "namespace-deleted", worker.name, "", what)
            return


def effects_at_rest(before: Sequence[DeploymentState], after: Sequence[DeploymentState]) -> Iterator[Effect]:
    """Yield the connectors that change while they are not running."""
    old = {(state.name, connector.name): connector for state in before for connector in state.connectors}
    for state in after:
        for connector in state.connectors:
            earlier = old.get((state.name, connector.name))
            if earlier is not None and _changes_at_rest(earlier, connector):
                what = f"connector `{connector.name}` is {connector.state}: its change takes effect when it runs again"
                yield Effect(Impact.NONE, "takes-effect-later", connector.flow, "", what)


def _changes_at_rest(before: DeployedConnector, after: DeployedConnector) -> bool:
    return before.submitted != after.submitted and "running" not in (before.state, after.state)
