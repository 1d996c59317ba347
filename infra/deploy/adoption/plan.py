"""Plans what adoption does to each object, and what it refuses or needs agreement for. Pure."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from kafka_replication.components.changes.deployment_state import deployment_state, worker_cluster
from kafka_replication.components.changes.effect import Effect, Impact
from kafka_replication.components.contract.grouping import grouped
from kafka_replication.components.contract.problems import Problem
from kafka_replication.components.contract.wording import named
from kafka_replication.components.flows.operators import PAUSE, WORKER_KINDS
from kafka_replication.components.kafka.connectors import failures, is_observed
from kafka_replication.components.render.kafka_connectors import ANNOTATION
from kafka_replication.components.render.planned_objects import Manifest
from kafka_replication.infra.deploy.adoption.effects import before_take_over, effects_of
from kafka_replication.infra.deploy.adoption.facts import AdoptionFacts
from kafka_replication.infra.deploy.adoption.moves import MirrorMove, MirrorMoves, moves_of
from kafka_replication.infra.kubernetes.api import Reference, reference
from kafka_replication.infra.kubernetes.managed_fields import PULUMI, FieldOwner, owned_parts, owners, replacing_fields
from kafka_replication.infra.onboard.importing.deployment_changes import effects_of_move
from kafka_replication.infra.onboard.importing.workers import group_names
from kafka_replication.infra.operate.connectors.changes import OFFSETS, connector_in, connector_places, wanted_state
from kafka_replication.infra.review.drift import kubectl
from kafka_replication.infra.review.object_changes import FieldChange, field_changes, identity

RELEASED, REPLACED = "released", "replaced"
#: What can be agreed to: an effect of this severity on a flow, a replaced object, or that a tool has released an
#: object.
AGREEMENTS = (*(impact.value for impact in Impact if impact is not Impact.NONE), REPLACED, RELEASED)

_WHY = {
    Impact.RESTART: "Replication would stop for seconds, or for minutes while workers restart.",
    Impact.RE_READ: "Records would be copied twice, or read again after a failover.",
    Impact.DATA: "Records or offsets would be skipped, left behind or orphaned.",
}


@dataclass(frozen=True)
class AdoptionRefusal:
    """Say why adoption is refused; `agreement` is what to pass to `--agree` to do it anyway, "" if nothing helps."""

    problem: Problem
    agreement: str = ""


def not_agreed(effects: Sequence[Effect]) -> Iterator[AdoptionRefusal]:
    """Yield a refusal for each severity of the effects on a flow."""
    grave = grouped(((one.flow, one.severity), one.code) for one in effects if one.severity is not Impact.NONE)
    for (flow, severity), codes in grave.items():
        agreement = f"{severity}:{flow}"
        what = f"adopting has effects of severity `{severity}`: {', '.join(dict.fromkeys(codes))}"
        remedy = f"correct the topology until it declares what runs, or pass `--agree {agreement}`."
        problem = Problem(f"flow {flow}", "not-agreed", what, _WHY[severity], remedy)
        yield AdoptionRefusal(problem, agreement)


#: What GitOps tools leave on an object that they apply, and the tool's name.
_TOOL_OF_KEY = {
    "argocd.argoproj.io/tracking-id": "argocd",
    "argocd.argoproj.io/instance": "argocd",
    "kustomize.toolkit.fluxcd.io/name": "kustomize-controller",
    "helm.toolkit.fluxcd.io/name": "helm-controller",
}
_RELEASE = {
    "argocd": "make Argo CD release it first, without deleting it: `kubectl delete application NAME -n argocd "
    "--cascade=orphan`",
    "kustomize-controller": "make Flux release it first, without deleting it: set `prune: false` in the Kustomization, "
    "let it reconcile, and delete it",
    "helm-controller": "make Flux release it first, without deleting it: `flux suspend helmrelease NAME`, and then "
    "delete the HelmRelease, because a suspended one is not uninstalled",
}


def managed_elsewhere(live: Iterable[Manifest]) -> Iterator[AdoptionRefusal]:
    """Yield a refusal for each tool that deploys some of these objects."""
    by_tool = grouped((tool, str(reference(body))) for body in live for tool in set(_tools(body)))
    for tool, names in sorted(by_tool.items()):
        first, agreement = named(names), f"{RELEASED}:{tool}"
        if tool == PULUMI:
            problem = Problem(
                first,
                "other-stack-manages",
                "Pulumi deployed it, and it is not in the state of this stack",
                "Another stack, or this one in another backend, would change it back or delete it.",
                "choose the right backend with `pulumi login`; or make the other stack forget it with `pulumi state "
                f"delete URN`, which deletes nothing in the cluster, and then pass `--agree {agreement}`.",
            )
        else:
            what = f"{tool} applies it"
            why = "It would change the object back to what is in Git, or delete it."
            remedy = f"{_RELEASE[tool]}. Then pass `--agree {agreement}`."
            problem = Problem(first, "gitops-manages", what, why, remedy)
        yield AdoptionRefusal(problem, agreement)


def _tools(live: Manifest) -> Iterator[str]:
    """Yield other tools that deploy a live object, as far as the object shows them."""
    for owner in owners(live):
        if owner.by_gitops:
            yield next(tool for tool in _RELEASE if owner.manager.startswith(tool))
        elif owner.manager.startswith(PULUMI):
            yield PULUMI
    metadata = live["metadata"]
    for name in {**(metadata.get("labels") or {}), **(metadata.get("annotations") or {})}:
        if name in _TOOL_OF_KEY:
            yield _TOOL_OF_KEY[name]


def refusals_of(
    facts: AdoptionFacts, effects: Sequence[Effect], replaced: Sequence[Reference], moves: MirrorMoves
) -> Iterator[AdoptionRefusal]:
    """Yield everything that prevents the moves and the adoption. The mirrors that move do not prevent it: they stop
    before the stack copies their topics."""
    problems = [*moves.problems]
    for move in moves.mirrors:
        problems += [*_of_resource(move), *_of_connectors(move), *_running_twice(facts, move)]
        problems += _of_other_mirrors(facts, move, moves)
    yield from map(AdoptionRefusal, dict.fromkeys(problems))
    yield from map(AdoptionRefusal, _not_possible(facts))
    yield from _copied_elsewhere(facts, moves.resources)
    unmanaged = [live for _, _, body, live in facts.objects() if live is not None and identity(body) not in facts.known]
    yield from map(AdoptionRefusal, _of_objects(facts))
    yield from managed_elsewhere(
        [*unmanaged, *(other for other in facts.others if reference(other) in moves.resources)]
    )
    yield from not_agreed(effects)
    yield from map(_replaced, replaced)


def _not_possible(facts: AdoptionFacts) -> Iterator[Problem]:
    where = f"stack {facts.stack}"
    for version, kind in sorted(facts.not_served):
        what = f"the cluster does not serve {kind} in {version}"
        why = "The objects there may have another version, and the stack could neither adopt nor create them."
        remedy = "set `strimzi` in the topology to the version of the operator that runs there."
        yield Problem(where, "kind-not-served", what, why, remedy)
    for name in sorted(facts.without_namespace):
        what = f"there is no namespace `{name}`"
        why = "The topology says that it exists, but nothing can be created in it."
        remedy = f"correct `namespace` in the topology, or create it: `kubectl create namespace {name}`."
        yield Problem(where, "namespace-missing", what, why, remedy)


def _copied_elsewhere(facts: AdoptionFacts, mirrors: Collection[Reference]) -> Iterator[AdoptionRefusal]:
    """Yield refusals of flows that would be created although something else copies between the same clusters."""
    running = {ends: body for body in facts.others if reference(body) not in mirrors for ends in _ends(body)}
    groups = {
        (
            str(worker_cluster(body["spec"]).get("bootstrapServers")),
            group_names(body["kind"], body["spec"])["groupId"],
        ): body
        for body in facts.others
        if body["kind"] in WORKER_KINDS
    }
    for name, deployment in facts.declared.deployments.items():
        objects = facts.declared.objects(name)
        if any(identity(body) in facts.live for body in objects.values() if body["kind"] in WORKER_KINDS):
            continue
        state = deployment_state(name, objects, facts.declared.flows(name))
        ends = {pair for connector in state.connectors if (pair := _addresses(connector.config)) is not None}
        for beside in sorted({reference(running[end]) for end in ends & running.keys()}, key=str):
            yield _beside(facts.stack, deployment.flows[0].name, beside)
        for workers in state.workers:
            if (other := groups.get((workers.target_address, workers.group))) is not None:
                what = (
                    f"its workers are the worker group `{workers.group}`, and the stack would create other workers in "
                    "that group"
                )
                why = "The workers of both would run each other's connectors, which they cannot configure."
                remedy = (
                    "give the stack's resource the name and namespace of this one, or set another `connect.groupId`."
                )
                yield AdoptionRefusal(Problem(str(reference(other)), "worker-group-taken", what, why, remedy))


def _beside(stack: str, flow: str, other: Reference) -> AdoptionRefusal:
    agreement = f"{Impact.RE_READ}:{flow}"
    mirror = f"{other.namespace}/{other.name}" if other.kind == WORKER_KINDS[1] else "NAMESPACE/NAME"
    problem = Problem(
        flow,
        "other-kind-runs",
        f"{other} copies between the same clusters, and the stack declares other resources for this replication",
        "Both would copy every record that both select, and the new one would begin without the other's offsets.",
        "declare the resource that runs, with its kind and names, as `replicate import` does. To turn a "
        f"KafkaMirrorMaker2 into a flow that keeps its offsets: `replicate adopt {stack} --from {mirror}`, in one call "
        f"with every other `--from` of the stack. If {other} copies other topics than this flow, pass `--agree "
        f"{agreement}` instead.",
    )
    return AdoptionRefusal(problem, agreement)


def _ends(body: Manifest) -> Iterator[tuple[str, str]]:
    """Yield the addresses of source and target of each mirror, and of a connector that sets them itself."""
    spec = body["spec"]
    if body["kind"] == "KafkaConnector" and (ends := _addresses(spec.get("config") or {})) is not None:
        yield ends
    clusters: Mapping[str, Manifest] = {str(cluster.get("alias")): cluster for cluster in spec.get("clusters") or []}
    for mirror in spec.get("mirrors") or []:
        source = mirror.get("source") or clusters.get(str(mirror.get("sourceCluster")), {})
        target = spec.get("target") or clusters.get(str(spec.get("connectCluster")), {})
        yield str(source.get("bootstrapServers")), str(target.get("bootstrapServers"))


def _addresses(config: Mapping[str, str]) -> tuple[str, str] | None:
    source, target = (config.get(f"{side}.cluster.bootstrap.servers") for side in ("source", "target"))
    return (source, target) if source is not None and target is not None else None


def _of_objects(facts: AdoptionFacts) -> Iterator[Problem]:
    for _, _, declared, live in facts.objects():
        if live is None or identity(declared) in facts.known:
            continue
        where, metadata = str(reference(live)), live["metadata"]
        if live["kind"] == "Secret":
            what = "the stack creates a Secret of this name, but somebody else has already created it"
            why = "Its values are not compared, and different values would break the login of what runs."
            remedy = "declare the credential as `{secret: NAME, key: KEY}`, which leaves the Secret as it is."
            yield Problem(where, "secret-exists", what, why, remedy)
        if metadata.get("deletionTimestamp"):
            what = f"it was marked for deletion at {metadata['deletionTimestamp']}"
            why = "Nothing can stop a deletion that has begun."
            remedy = "wait until it no longer exists, and run the command again, which then creates it."
            yield Problem(where, "being-deleted", what, why, remedy)
        for owner in metadata.get("ownerReferences") or []:
            what = f"it belongs to {owner.get('kind')} {owner.get('name')}"
            why = "The creator of that object writes this one again, and it is deleted together with its owner."
            remedy = "adopt or replace the owner instead, or remove `metadata.ownerReferences`."
            yield Problem(where, "owned-by-object", what, why, remedy)
        if (metadata.get("annotations") or {}).get(PAUSE) == "true":
            what = f"the annotation `{PAUSE}` keeps the operator from reconciling it"
            why = "Adoption removes the annotation, and the operator would then apply every change that was held back."
            remedy = (
                f"find out why it is there, and remove it first: `kubectl annotate {live['kind'].lower()} "
                f"{metadata['name']} -n {metadata.get('namespace')} {PAUSE}-`."
            )
            yield Problem(where, "reconciliation-held", what, why, remedy)


def _replaced(target: Reference) -> AdoptionRefusal:
    agreement = f"{REPLACED}:{target.name}"
    what = "Pulumi cannot change it in place: it is deleted and created again"
    why = "In between it does not exist, and anything that reads it then fails."
    remedy = f"change it to what the stack declares, or pass `--agree {agreement}`."
    problem = Problem(str(target), "would-be-replaced", what, why, remedy)
    return AdoptionRefusal(problem, agreement)


def _of_resource(move: MirrorMove) -> Iterator[Problem]:
    where, metadata = str(move.resource), move.live["metadata"]
    annotations = metadata.get("annotations") or {}
    if annotations.get(PAUSE) == "true":
        what = f"the annotation `{PAUSE}` keeps the operator from reconciling it"
        why = "Only the operator can stop its connectors."
        remedy = f"find out why it is there, and remove it: `{kubectl('annotate', move.live)} {PAUSE}-`."
        yield Problem(where, "reconciliation-held", what, why, remedy)
    if OFFSETS in annotations:
        what = f"the annotation {OFFSETS}: {annotations[OFFSETS]} is set"
        why = "The operator changes the offsets as soon as the connector is stopped, before they are copied."
        remedy = f"remove the annotation if nobody needs it: `{kubectl('annotate', move.live)} {OFFSETS}-`."
        yield Problem(where, "offsets-armed", what, why, remedy)
    if metadata.get("deletionTimestamp"):
        what = f"it was marked for deletion at {metadata['deletionTimestamp']}"
        why = "Its connectors are deleted with it, so the command cannot stop them and read their last offsets."
        remedy = "find out what prevents the deletion, such as a finalizer."
        yield Problem(where, "being-deleted", what, why, remedy)
    for owner in metadata.get("ownerReferences") or []:
        what = f"it belongs to {owner.get('kind')} {owner.get('name')}"
        why = "The creator of that object writes this one again, which starts its connectors beside the flow."
        remedy = "make its owner stop the connectors, or detach it from its owner: remove `metadata.ownerReferences`."
        yield Problem(where, "owned-by-object", what, why, remedy)


def _of_connectors(move: MirrorMove) -> Iterator[Problem]:
    for place in move.places:
        if wanted_state(move.live, place) == "paused":
            what = f"it is paused in {move.resource}"
            why = "Somebody paused it for a reason that is not known here, but the flow would run."
            remedy = "ask whoever paused it, and resume it; or declare `state: stopped` for it."
            yield Problem(place.name, "mirror-paused", what, why, remedy)
        _, status = connector_in(place, move.live)
        for failure in failures(status):
            part = f"='{place.name}'" if failure.task is None else f"-task='{place.name}:{failure.task}'"
            yield Problem(
                place.name,
                "mirror-failed",
                failure.of(place.name),
                "The operator does not stop a failed connector, and a failed task has not stored its last offsets, "
                "so the flow would copy some records again.",
                "correct the cause and restart it, then run the command again: `"
                f"{kubectl('annotate', move.live)} strimzi.io/restart-connector{part}`.",
            )
    if not is_observed(move.live):
        what = "the operator has not processed its newest change"
        why = "The current state of its connectors is not known."
        remedy = "make sure that the operator runs and watches this namespace, and run the command again."
        yield Problem(str(move.resource), "operator-behind", what, why, remedy)


def _running_twice(facts: AdoptionFacts, move: MirrorMove) -> Iterator[Problem]:
    """Yield a problem if the flow has started although the mirror still copies."""
    if all(wanted_state(move.live, place) == "stopped" for place in move.places):
        return
    for flow in move.flows:
        for place in connector_places(flow):
            live = facts.live_at(place.resource)
            runs = live is not None and live["spec"].get("state", "running") == "running"
            if runs and place.role == "source" and place not in move.waiting:
                yield Problem(
                    place.name,
                    "copied-twice",
                    f"flow `{flow.name}` and {move.title} both copy",
                    "Both copy every record that both select, and neither continues where the other has stopped.",
                    f"stop one of them: `replicate stop {facts.stack} {flow.name}`, or set `state: stopped` for the "
                    "connectors of the mirror.",
                )


def _of_other_mirrors(facts: AdoptionFacts, move: MirrorMove, moves: MirrorMoves) -> Iterator[Problem]:
    """Yield a problem if the offsets of the mirror would replace those of another mirror."""
    for other in moves.mirrors:
        if other is not move and {*other.waiting} & {*move.waiting}:
            shared = next(flow.name for flow in move.flows if flow in other.flows)
            yield Problem(
                str(move.resource),
                "mirrors-share-flow",
                f"{move.title} and {other.title} would both become flow `{shared}`",
                "Both copy topics of that flow, but a flow continues where one mirror has stopped. It would copy "
                "again what the other has copied.",
                "declare a flow for each mirror, with the topics that only this mirror copies, as `replicate import "
                "--as-flows` does. If both copy the same topics, stop one of them, and move the other.",
            )
    for place in move.waiting:
        live = facts.live_at(place.resource)
        mirror = None if live is None else (live["metadata"].get("annotations") or {}).get(ANNOTATION)
        if mirror not in (None, str(move.resource)):
            yield Problem(
                place.name,
                "waits-for-another-mirror",
                f"it waits for the offsets of {mirror}",
                f"Those of {move.resource} would replace them, and records would be copied again.",
                f"continue with `replicate adopt {facts.stack} --from {mirror.split()[-1]}`, or abandon that move "
                f"with `replicate destroy {facts.stack}`.",
            )


class Fate(StrEnum):
    """Name what happens to one object that the stack declares."""

    CREATED = "created"
    EQUAL = "equal"
    CHANGED = "changed"
    REPLACED = "replaced"


@dataclass(frozen=True)
class PlannedTakeOver:
    """Describe what happens to one object: which fields change, who owns which parts, whether Pulumi knows it."""

    object: Reference
    fate: Fate
    fields: tuple[FieldChange, ...] = ()
    owners: Mapping[FieldOwner, tuple[str, ...]] = field(default_factory=dict)
    known: bool = False


@dataclass(frozen=True)
class AdoptionPlan:
    """Describe an adoption. `refusals` are those not agreed to; `unused` agreements match nothing. `searched` are the
    namespaces that were searched for other copying resources, if not the whole cluster. `moves` are the mirrors
    that become flows.
    """

    stack: str
    objects: tuple[PlannedTakeOver, ...]
    effects: tuple[Effect, ...]
    refusals: tuple[AdoptionRefusal, ...]
    unused: tuple[str, ...] = ()
    searched: tuple[str, ...] = ()
    moves: MirrorMoves = field(default_factory=MirrorMoves)

    @property
    def unmanaged(self) -> tuple[Reference, ...]:
        """Return the objects that Pulumi does not know yet and that exist."""
        return tuple(entry.object for entry in self.objects if entry.fate is not Fate.CREATED and not entry.known)

    @property
    def exists(self) -> bool:
        """Whether there is anything to adopt or move."""
        return bool(self.moves.mirrors) or any(entry.fate is not Fate.CREATED for entry in self.objects)

    @property
    def is_done(self) -> bool:
        """Whether the stack manages everything, and everything is as declared."""
        waiting = any(move.waiting for move in self.moves.mirrors)
        return not waiting and all(entry.known and entry.fate is Fate.EQUAL for entry in self.objects)

    @property
    def problems(self) -> tuple[Problem, ...]:
        return tuple(refusal.problem for refusal in self.refusals)


def planned(facts: AdoptionFacts, agreed: Collection[str], mirrors: Sequence[str] = ()) -> AdoptionPlan:
    """Plan for what was seen, with these agreements; KafkaMirrorMaker2s with these names become flows."""
    moves = moves_of(facts, mirrors)
    objects = tuple(_planned(body, live, facts) for _, _, body, live in facts.objects())
    unfinished = [move for move in moves.mirrors if move.waiting]
    effects = effects_of(facts, {flow.name for move in unfinished for flow in move.flows})
    for move in unfinished:
        names = {flow.name for flow in move.flows}
        deployments = facts.declared.deployments.values()
        chosen = [deployment for deployment in deployments if names & {flow.name for flow in deployment.flows}]
        effects += effects_of_move(move.live, move.index, chosen, facts.config_map_data)
    replaced = [entry.object for entry in objects if entry.fate is Fate.REPLACED]
    refusals = tuple(refusals_of(facts, effects, replaced, moves))
    open_refusals = tuple(refusal for refusal in refusals if refusal.agreement not in agreed)
    unused = tuple(sorted(set(agreed) - {refusal.agreement for refusal in refusals}))
    return AdoptionPlan(facts.stack, objects, effects, open_refusals, unused, facts.searched, moves)


def _planned(declared: Manifest, live: Manifest | None, facts: AdoptionFacts) -> PlannedTakeOver:
    target, known = reference(declared), identity(declared) in facts.known
    if live is None:
        return PlannedTakeOver(target, Fate.CREATED, known=known)
    wanted = {key: value for key, value in declared.items() if key != "values"}
    before = before_take_over(live, wanted)
    fields = () if declared["kind"] == "Secret" else tuple(field_changes(before, wanted))
    fate = Fate.CHANGED if fields else Fate.EQUAL
    if fields and any(_at(before, path) != _at(wanted, path) for path in replacing_fields(wanted)):
        fate = Fate.REPLACED
    return PlannedTakeOver(target, fate, fields, owned_parts(live), known)


def _at(body: Mapping[str, object], path: tuple[str, ...]) -> object:
    value: object = body
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value
