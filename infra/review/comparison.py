"""Compares a stack of the working tree with an earlier one: changed objects and effects on replication."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from components.changes.all_effects import all_effects
from components.changes.deployment_state import DeploymentState, deployment_state
from components.changes.effect import Effect, Severity, gravest
from components.contract.problems import CannotRunError
from components.contract.wording import number
from components.flows.expansion import ExpandedFlow
from infra.review.bases import Base
from infra.review.drift import Drift
from infra.review.grants import needed_grants
from infra.review.object_changes import ObjectChange, object_changes
from infra.review.required_objects import required_objects
from infra.review.snapshots import Snapshot, current_snapshot, earlier_snapshot
from infra.stack.settings import stack_file, stack_names


@dataclass(frozen=True)
class Comparison:
    """What a change does to one stack; `against` is the report's name for what it is compared with. `drift` exists only
    in a comparison with a cluster: what no longer matches the stack. `grants` are commands that have to run before the
    deployment, `required` are the objects that the stack needs and does not create. `not_asked` says what
    the comparison leaves open, and what answers that. `unjudged` counts changes whose effect is not known.
    """

    stack: str
    against: str
    effects: tuple[Effect, ...]
    objects: tuple[ObjectChange, ...]
    drift: tuple[Drift, ...] = ()
    grants: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    not_asked: str = ""
    unjudged: int = 0

    @property
    def verdict(self) -> str:
        """The highest severity, worded so that it claims nothing about what was not judged."""
        left = f" known, {number(self.unjudged, 'change')} not judged" if self.unjudged else ""
        return f"{self.severity}{left}"

    @property
    def severity(self) -> Severity:
        """The highest severity of all effects and drift."""
        return gravest(each.severity for each in (*self.effects, *self.drift))


def compare_stacks(names: Iterable[str], stacks: Path, base: Base) -> tuple[Comparison, ...]:
    """Compare the named stacks, or all stacks of both sides. Raises CannotRunError for one that neither side has."""
    chosen = tuple(names) or tuple(sorted({*stack_names(stacks), *_names_of(base)}))
    if base.rendered and (base.folder / "kustomization.yaml").is_file() and len(chosen) != 1:
        raise CannotRunError(
            "stack-not-named",
            "an earlier render can be compared with one stack only",
            str(base.folder),
            "It contains the objects of one stack and does not name the stack.",
            "name the stack.",
        )
    return tuple(_compared(stack, stacks, base) for stack in chosen)


def _names_of(base: Base) -> Iterable[str]:
    if not base.rendered:
        return stack_names(base.folder)
    return [] if (base.folder / "kustomization.yaml").is_file() else [each.name for each in base.folder.iterdir()]


def _compared(stack: str, stacks: Path, base: Base) -> Comparison:
    earlier = earlier_snapshot(stack, base)
    if stack_file(stack, stacks).is_file() or not earlier.names:
        current = current_snapshot(stack, stacks, like_rendered=base.rendered)
        return compare(stack, base.label, earlier, current)
    comparison = compare(stack, base.label, earlier, Snapshot())
    return replace(comparison, effects=(_without_file(stack), *comparison.effects))


def _without_file(stack: str) -> Effect:
    what = (
        f"the stack file was removed, which leaves everything running: only `replicate destroy {stack}` removes the "
        "objects, and it needs the file, so run it before this change"
    )
    return Effect(Severity.DATA, "stack-removed", "", f"stacks/Pulumi.{stack}.yaml", what)


def compare(stack: str, label: str, before: Snapshot, after: Snapshot) -> Comparison:
    """Compare two snapshots of a stack. Equal deployments are rendered only if their namespace is removed."""
    old: list[DeploymentState] = []
    new: list[DeploymentState] = []
    objects: list[ObjectChange] = []
    for name in dict.fromkeys((*after.names, *before.names)):
        if name in before.deployments and before.deployments[name] == after.deployments.get(name):
            continue
        earlier, later = before.objects(name), after.objects(name)
        if earlier == later:
            continue
        objects += object_changes(name, earlier, later)
        old += [deployment_state(name, earlier, before.flows(name))] if earlier else []
        new += [deployment_state(name, later, after.flows(name))] if later else []

    for each in _left_without_namespace(before, after, old, new):
        old.append(each)
        new.append(each)

    def place(flow: str, key: str) -> str:
        declared = _declared(flow, before, after)
        return declared.where(key) if declared is not None else ".".join(part for part in (flow, key) if part)

    effects = (*_kubernetes_cluster(before, after), *all_effects(old, new, place))
    ordered = tuple(sorted(effects, key=lambda each: -each.severity.rank))
    return Comparison(
        stack,
        label,
        ordered,
        tuple(objects),
        grants=needed_grants(before, after),
        required=required_objects(before, after, {each.deployment for each in objects}),
    )


def _declared(name: str, before: Snapshot, after: Snapshot) -> ExpandedFlow | None:
    """The flow as the topology declares it now, else as it did: in a replication whose kind has changed, its old keys
    are gone.
    """
    was = before.expanded.get(name)
    of_other_kind = (
        each
        for each in after.expanded.values()
        if was is not None and each.replication == was.replication and each.shape is not was.shape
    )
    return after.expanded.get(name) or next(of_other_kind, was)


def _left_without_namespace(
    before: Snapshot, after: Snapshot, old: Sequence[DeploymentState], new: Sequence[DeploymentState]
) -> Iterator[DeploymentState]:
    """Unchanged deployments in a namespace that another deployment declared and no longer declares."""
    gone = {name for each in old for name in each.namespaces} - {name for each in new for name in each.namespaces}
    for name, deployment in after.deployments.items():
        first = deployment.flows[0]
        if before.deployments.get(name) == deployment and first.namespace in gone:
            yield deployment_state(name, after.objects(name), after.flows(name))


def _kubernetes_cluster(before: Snapshot, after: Snapshot) -> Iterator[Effect]:
    if before.kubernetes is None or after.kubernetes is None or before.kubernetes == after.kubernetes:
        return
    names = [each.kubernetes or "the default of KUBECONFIG" for each in (before, after)]
    what = (
        f"the stack deploys to {names[1]} instead of {names[0]}: if that is another cluster, every object is created "
        "there and then deleted in the old one. Deleting the old KafkaConnectors also deletes the connectors of the "
        "same worker groups; the new operator creates them again when it reconciles, and they continue where they "
        "stopped"
    )
    yield Effect(Severity.RESTART, "kubernetes-cluster-changes", "", "kubernetes:context", what)
