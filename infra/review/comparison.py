"""Compares two states of a stack: effects on replication, changed objects, and what the stack needs."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kafka_replication.components.changes.all_effects import all_effects
from kafka_replication.components.changes.deployment_state import DeploymentState
from kafka_replication.components.changes.effect import Effect, Impact, gravest, listed
from kafka_replication.components.contract.grouping import grouped
from kafka_replication.components.contract.problems import CannotRunError, Place, Problem, Severity
from kafka_replication.components.contract.wording import number
from kafka_replication.components.flows.expansion import ExpandedFlow
from kafka_replication.components.render.planned_objects import Manifest
from kafka_replication.components.render.secrets import named_secrets
from kafka_replication.infra.deploy.promotion.rule.plan import FILE_NAME, declared_plan, plan_effects
from kafka_replication.infra.review.acls import acl_phrase, grant_commands, needed_acls
from kafka_replication.infra.review.bases import Base
from kafka_replication.infra.review.object_changes import ChangeKind, Identity, ObjectChange, identity, object_changes
from kafka_replication.infra.review.snapshots import Snapshot, current_snapshot, earlier_snapshot
from kafka_replication.infra.stack.settings import PROJECT, readable_config, stack_file, stack_names, topology_file
from kafka_replication.infra.stack.yaml_files import places_of


@dataclass(frozen=True)
class Drift(Effect):
    """One thing that no longer matches the stack; `by` and `since` are empty if they are unknown."""

    by: str
    since: str
    remedy: str


def required_objects(before: Snapshot, after: Snapshot, changed: Iterable[str]) -> tuple[str, ...]:
    """Return lines with what objects of `after` need and those of `before` did not. `changed` are the deployments that
    differ; others are rendered only if these need something new in their namespace."""
    names = tuple(changed)
    candidates = _required(after, names) - _required(before, names)
    namespaces = {namespace or name for _, namespace, name in candidates}
    old, new = (_required(snapshot, (*names, *_others_in(namespaces, snapshot))) for snapshot in (before, after))
    names_by_title = grouped(
        (f"Secrets in {namespace}" if namespace else f"{kind}s", name)
        for kind, namespace, name in sorted(candidates & (new - old))
    )
    return tuple(f"{title}: {', '.join(names)}" for title, names in names_by_title.items())


def _required(snapshot: Snapshot, names: Iterable[str]) -> set[Identity]:
    """Return the namespaces and Secrets that objects of these deployments name and that are not among the objects."""
    bodies = [body for name in names for body in snapshot.objects(name).values()]
    needed: set[Identity] = set()
    for body in bodies:
        if namespace := body["metadata"].get("namespace"):
            needed.add(("Namespace", "", namespace))
            needed |= {("Secret", *secret) for secret, _ in named_secrets(body, namespace)}
    return needed - set(_made(snapshot, bodies))


def _made(snapshot: Snapshot, bodies: Iterable[Manifest]) -> Iterator[Identity]:
    """Yield what the stack creates, and the Secrets that Strimzi's User Operator writes for its KafkaUsers."""
    for body in bodies:
        kind, namespace, name = identity(body)
        # Whoever applies a GitOps stack gets no value of a Secret from it.
        if kind != "Secret" or not snapshot.by_gitops:
            yield kind, namespace, name
        if body["kind"] == "KafkaUser":
            yield "Secret", namespace, name


def _others_in(namespaces: Collection[str], snapshot: Snapshot) -> Iterator[str]:
    """Yield the deployments in these namespaces, and those that are known only by their objects."""
    yield from snapshot.others
    for name, deployment in snapshot.deployments.items():
        if any(flow.namespace in namespaces for flow in deployment.flows):
            yield name


@dataclass(frozen=True)
class Mistake:
    """A problem after the change, whether the change introduces it, and, in a folder, the objects that it concerns."""

    problem: Problem
    objects: tuple[str, ...] = ()
    is_new: bool = True

    @property
    def is_error(self) -> bool:
        return self.problem.severity is Severity.ERROR

    def __str__(self) -> str:
        return f"{self.problem.severity}: {self.problem}"


@dataclass(frozen=True, order=True)
class Unjudged:
    """A part of a folder whose effect is not known; `obj` is "" for an unreadable file."""

    file: str
    obj: str
    fields: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class Comparison:
    """Says what a change does to one stack, or to one folder of YAML, which `stack` then names. `against` names what it
    is compared with. `known` is False if the two states could not be compared. Only a comparison with a cluster has
    `drift`: what no longer matches the stack. `grants` are commands that have to run before the deployment;
    `unneeded_grants` are ACLs that the stack needs no longer. `required` are the objects that the stack needs and does
    not create. `not_asked` says what the comparison leaves open, and what answers it. `unjudged` are changes whose
    effect is not known, and `unjudged_before` is what was not judged before and has not changed."""

    stack: str
    against: str = ""
    effects: tuple[Effect, ...] = ()
    objects: tuple[ObjectChange, ...] = ()
    drift: tuple[Drift, ...] = ()
    grants: tuple[str, ...] = ()
    unneeded_grants: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    not_asked: str = ""
    mistakes: tuple[Mistake, ...] = ()
    unjudged: tuple[Unjudged, ...] = ()
    unjudged_before: tuple[Unjudged, ...] = ()
    known: bool = True

    @property
    def verdict(self) -> str:
        """Return the highest severity, worded so that it claims nothing about what was not judged."""
        left = f" known, {number(len(self.unjudged), 'change')} not judged" if self.unjudged else ""
        return f"{self.severity}{left}"

    @property
    def severity(self) -> Impact:
        """Return the highest severity of all effects and drift."""
        return gravest(effect.severity for effect in (*self.effects, *self.drift))

    @property
    def has_errors(self) -> bool:
        """Return whether the change introduces an error."""
        return any(mistake.is_error and mistake.is_new for mistake in self.mistakes)


def compare_stacks(names: Iterable[str], stacks: Path, base: Base) -> tuple[Comparison, ...]:
    """Compare the named stacks, or all stacks of both sides. Raises CannotRunError for one that neither side has."""
    of_one_stack = base.rendered and (base.folder / "kustomization.yaml").is_file()
    earlier = [] if base.rendered else list(stack_names(base.folder))
    if base.rendered and not of_one_stack:
        earlier = [folder.name for folder in base.folder.iterdir()]
    chosen = tuple(names) or tuple(sorted({*stack_names(stacks), *earlier}))
    if of_one_stack and len(chosen) != 1:
        what = "an earlier render can be compared with one stack only"
        why = "It contains the objects of one stack and does not name the stack."
        raise CannotRunError("stack-not-named", what, str(base.folder), why, "name the stack.")
    return tuple(_compared(stack, stacks, base) for stack in chosen)


def compare_plans(stacks: Path, base: Base) -> tuple[Comparison, ...]:
    """Compare the promotion plan with an earlier one; nothing if it does not differ, or the base is a render. Raises
    ReplicationError or CannotRunError if one of them cannot be read.
    """
    if base.rendered:
        return ()
    effects = sorted(
        plan_effects(declared_plan(base.folder), declared_plan(stacks)), key=lambda effect: -effect.severity.rank
    )
    return (Comparison(FILE_NAME, base.label, tuple(effects)),) if effects else ()


def _compared(stack: str, stacks: Path, base: Base) -> Comparison:
    earlier = earlier_snapshot(stack, base)
    if stack_file(stack, stacks).is_file() or not earlier.names:
        current = current_snapshot(stack, stacks, like_rendered=base.rendered)
        comparison = compare(stack, base.label, earlier, current)
        return replace(comparison, effects=tuple(placed(comparison.effects, stack, stacks)))
    comparison = compare(stack, base.label, earlier, Snapshot())
    what = (
        f"the stack file was removed, which leaves everything running: only `replicate destroy {stack}` removes the "
        "objects, and it needs the file, so run it before this change"
    )
    removed = Effect(Impact.DATA, "stack-removed", "", f"stacks/Pulumi.{stack}.yaml", what)
    return replace(comparison, effects=(removed, *comparison.effects))


def placed(effects: Sequence[Effect], stack: str, stacks: Path) -> Iterator[Effect]:
    """Yield effects with the file and line of their keys as they are now, or of the nearest keys above them."""
    own = stack_file(stack, stacks)
    topology = topology_file(str((readable_config(own) or {}).get(f"{PROJECT}:topology")), stacks)
    wheres = {effect.where for effect in effects}
    places: dict[str, Place] = {}
    for file, prefix, begins in ((topology, "", "replications."), (own, "config.", ("kubernetes:", f"{PROJECT}:"))):
        keys = [where for where in wheres if where.startswith(begins)]
        places |= zip(keys, places_of([f"{prefix}{key}" for key in keys], file), strict=False)
    for effect in effects:
        place = places.get(effect.where)
        yield replace(effect, place=f"{place.file}:{place.line}") if place else effect


def compare(stack: str, label: str, before: Snapshot, after: Snapshot) -> Comparison:
    """Compare two snapshots of a stack. Equal deployments are rendered only if their namespace is removed."""
    old: list[DeploymentState] = []
    new: list[DeploymentState] = []
    objects: list[ObjectChange] = []
    for name in dict.fromkeys((*after.names, *before.names)):
        if name in before.deployments and before.deployments[name] == after.deployments.get(name):
            continue
        earlier, later = before.objects(name), after.objects(name)
        if earlier == later and before.states.get(name) == after.states.get(name):
            continue
        objects += object_changes(name, earlier, later)
        old += before.state(name)
        new += after.state(name)

    for state in _left_without_namespace(before, after, old, new):
        old.append(state)
        new.append(state)

    def place(flow: str, key: str) -> str:
        declared = _declared(flow, before, after)
        return declared.where(key) if declared is not None else ".".join(part for part in (flow, key) if part)

    effects = (*_kubernetes_cluster(before, after), *_taken_over(objects, after), *all_effects(old, new, place))
    return Comparison(
        stack,
        label,
        tuple(sorted(effects, key=lambda effect: -effect.severity.rank)),
        tuple(objects),
        grants=tuple(grant_commands(needed_acls(before, after))),
        unneeded_grants=tuple(
            f"{acl.cluster}: {acl.principal}: {acl_phrase(acl)}" for acl in needed_acls(after, before)
        ),
        required=required_objects(before, after, {change.deployment for change in objects}),
    )


def _declared(name: str, before: Snapshot, after: Snapshot) -> ExpandedFlow | None:
    """Return the flow as the topology declares it now, else as it did; a changed kind has other keys."""
    was = before.expanded.get(name)
    of_other_kind = (
        flow
        for flow in after.expanded.values()
        if was is not None and flow.replication == was.replication and flow.shape is not was.shape
    )
    return after.expanded.get(name) or next(of_other_kind, was)


def _left_without_namespace(
    before: Snapshot, after: Snapshot, old: Sequence[DeploymentState], new: Sequence[DeploymentState]
) -> Iterator[DeploymentState]:
    """Yield unchanged deployments in a namespace that another deployment declared and no longer declares."""
    gone = {name for state in old for name in state.namespaces} - {name for state in new for name in state.namespaces}
    for name, deployment in after.deployments.items():
        first = deployment.flows[0]
        if before.deployments.get(name) == deployment and first.namespace in gone:
            yield from after.state(name)


def _taken_over(objects: Sequence[ObjectChange], after: Snapshot) -> Iterator[Effect]:
    """Yield an effect for objects that go to another deployment under the same name. A namespace has its own effect."""
    if after.by_gitops:
        return
    earlier = {_place(change): change.deployment for change in objects if change.change is ChangeKind.REMOVED}
    taken = grouped(
        ((earlier[place], change.deployment), place)
        for change in objects
        if change.change is ChangeKind.ADDED and (place := _place(change)) in earlier and change.kind != "Namespace"
    )
    for (old, new), names in taken.items():
        what = (
            f"`{new}` declares {listed(names)}, which `{old}` declared: Pulumi creates objects before it deletes "
            "others, so `up` fails because these still exist. Keep the name of the replication, or give these "
            "objects new names"
        )
        yield Effect(Impact.RESTART, "object-taken-over", new, f"replications.{new}", what)


def _place(change: ObjectChange) -> str:
    return f"{change.kind} {change.namespace}/{change.name}"


def _kubernetes_cluster(before: Snapshot, after: Snapshot) -> Iterator[Effect]:
    if before.kubernetes is None or after.kubernetes is None or before.kubernetes == after.kubernetes:
        return
    names = [snapshot.kubernetes or "the default of KUBECONFIG" for snapshot in (before, after)]
    what = (
        f"the stack deploys to {names[1]} instead of {names[0]}: if that is another cluster, every object is created "
        "there and then deleted in the old one. Deleting the old KafkaConnectors also deletes the connectors of the "
        "same worker groups; the new operator creates them again when it reconciles, and they continue where they "
        "stopped"
    )
    yield Effect(Impact.RESTART, "kubernetes-cluster-changes", "", "kubernetes:context", what)
