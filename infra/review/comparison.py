"""A stack of the working tree against what it was: changed objects and effects on replication."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from components.effects.between import effects_between
from components.effects.effect import Effect, Severity, gravest
from components.effects.running import Deployed, deployed
from components.naming import namespace_name
from infra.errors import CannotRunError
from infra.review.bases import Base
from infra.review.drift import Drift
from infra.review.objects import ObjectChange, object_changes
from infra.review.snapshots import Snapshot, current_snapshot, earlier_snapshot
from infra.settings import stack_file, stack_names


@dataclass(frozen=True)
class Comparison:
    """What a change does to one stack; `against` is how reports call what it is compared with.

    `drift` is what no longer matches the stack, where that is what runs.
    """

    stack: str
    against: str
    effects: tuple[Effect, ...]
    objects: tuple[ObjectChange, ...]
    drift: tuple[Drift, ...] = ()

    @property
    def severity(self) -> Severity:
        """The highest of effects and drift."""
        drifted = (each.severity for each in self.drift)
        return max(gravest(self.effects), *drifted, key=lambda each: each.rank) if self.drift else gravest(self.effects)


def compare_stacks(names: Iterable[str], stacks: Path, base: Base) -> tuple[Comparison, ...]:
    """Compare stacks, all of both sides without names; raises CannotRunError for one that neither side has."""
    chosen = tuple(names) or tuple(sorted({*stack_names(stacks), *_names_of(base)}))
    if base.rendered and (base.folder / "kustomization.yaml").is_file() and len(chosen) != 1:
        raise CannotRunError(
            "an earlier render is compared with one stack",
            str(base.folder),
            "It holds the objects of one stack and does not say of which.",
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
        f"the stack has no file any more: Pulumi removes its objects only by `replicate destroy {stack}`, run before, "
        "while the file is there; until then everything goes on as it runs"
    )
    return Effect(Severity.DATA, "stack-removed", "", f"stacks/Pulumi.{stack}.yaml", what)


def compare(stack: str, label: str, before: Snapshot, after: Snapshot) -> Comparison:
    """Compare two snapshots of a stack; deployments that are equal are rendered only if they lose their namespace."""
    old: list[Deployed] = []
    new: list[Deployed] = []
    objects: list[ObjectChange] = []
    for name in dict.fromkeys((*after.names, *before.names)):
        if name in before.deployments and before.deployments[name] == after.deployments.get(name):
            continue
        earlier, later = before.objects(name), after.objects(name)
        if earlier == later:
            continue
        objects += object_changes(name, earlier, later)
        old += [deployed(name, earlier, before.flows(name))] if earlier else []
        new += [deployed(name, later, after.flows(name))] if later else []

    for each in _left_without_namespace(before, after, old, new):
        old.append(each)
        new.append(each)

    def place(flow: str, key: str) -> str:
        known = after.place(flow, key) or before.place(flow, key)
        return known or ".".join(part for part in (flow, key) if part)

    effects = (*_kubernetes_cluster(before, after), *effects_between(old, new, place))
    return Comparison(stack, label, tuple(sorted(effects, key=lambda each: -each.severity.rank)), tuple(objects))


def _left_without_namespace(
    before: Snapshot, after: Snapshot, old: Sequence[Deployed], new: Sequence[Deployed]
) -> Iterator[Deployed]:
    """Deployments that stay as they are in namespaces that others no longer declare."""
    gone = {name for each in old for name in each.namespaces} - {name for each in new for name in each.namespaces}
    for name, deployment in after.deployments.items():
        first = deployment.flows[0]
        if before.deployments.get(name) == deployment and namespace_name(first.workers, first.flow) in gone:
            yield deployed(name, after.objects(name), after.flows(name))


def _kubernetes_cluster(before: Snapshot, after: Snapshot) -> Iterator[Effect]:
    if before.kubernetes is None or after.kubernetes is None or before.kubernetes == after.kubernetes:
        return
    names = [each.kubernetes or "the default of KUBECONFIG" for each in (before, after)]
    what = (
        f"the stack deploys to {names[1]} instead of {names[0]}: if that is another cluster, every object is created "
        "there, then deleted in the first, and worker groups go on where they stood, at the latest when the operator "
        "reconciles: with the old KafkaConnectors it deletes connectors of the same groups"
    )
    yield Effect(Severity.RESTART, "kubernetes-cluster-changes", "", "kubernetes:context", what)
