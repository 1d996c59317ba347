"""Why adoption is refused, and which agreements allow it. Pure."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from components.changes.deployment_state import deployment_state
from components.changes.effect import Effect, Severity
from components.contract.problems import Problem
from components.flows.operators import PAUSE, WORKER_KINDS
from components.render.planned_objects import Manifest
from infra.deploy.adoption.agreements import REPLACED, Refusal, not_agreed
from infra.deploy.adoption.facts import Facts
from infra.deploy.adoption.other_managers import managed_elsewhere
from infra.kubernetes.api import Reference, reference
from infra.onboard.importing.effective import group_names
from infra.review.object_changes import identity


def refusals_of(
    facts: Facts, effects: Sequence[Effect], replaced: Sequence[Reference], moved: Collection[Reference] = ()
) -> Iterator[Refusal]:
    """Everything that prevents the adoption of what was seen. The KafkaMirrorMaker2s of `moved` do not: they stop
    before the stack copies their topics.
    """
    yield from _not_possible(facts)
    yield from _copied_elsewhere(facts, moved)
    yield from _of_objects(facts)
    taken = [live for _, _, body, live in facts.objects() if live is not None and identity(body) not in facts.known]
    yield from managed_elsewhere([*taken, *(each for each in facts.others if reference(each) in moved)])
    yield from not_agreed(effects)
    for each in replaced:
        yield _replaced(each)


def _not_possible(facts: Facts) -> Iterator[Refusal]:
    where = f"stack {facts.stack}"
    for version, kind in sorted(facts.not_served):
        yield Refusal(
            Problem(
                where,
                "kind-not-served",
                f"the cluster does not serve {kind} in {version}",
                "The objects there may have another version, and the stack could neither adopt nor create them.",
                "set `strimzi` in the topology to the version of the operator that runs there.",
            )
        )
    for name in sorted(facts.without_namespace):
        yield Refusal(
            Problem(
                where,
                "namespace-missing",
                f"there is no namespace `{name}`",
                "The topology says that it exists, but nothing can be created in it.",
                f"correct `namespace` in the topology, or create it: `kubectl create namespace {name}`.",
            )
        )


def _copied_elsewhere(facts: Facts, moved: Collection[Reference]) -> Iterator[Refusal]:
    """Flows that would be created although something else copies between the same clusters."""
    running = {ends: body for body in facts.others if reference(body) not in moved for ends in _ends(body)}
    groups = {group: body for body in facts.others if (group := _group(body)) is not None}
    for name, deployment in facts.declared.deployments.items():
        objects = facts.declared.objects(name)
        if any(identity(body) in facts.live for body in objects.values() if body["kind"] in WORKER_KINDS):
            continue
        state = deployment_state(name, objects, facts.declared.flows(name))
        ends = {each for connector in state.connectors if (each := _addresses(connector.config)) is not None}
        for other in sorted({reference(running[each]) for each in ends & running.keys()}, key=str):
            yield _beside(facts.stack, deployment.flows[0].name, other)
        for workers in state.workers:
            if (workers.target_address, workers.group) in groups:
                yield _same_group(groups[workers.target_address, workers.group], workers.group)


def _beside(stack: str, flow: str, other: Reference) -> Refusal:
    agreement = f"{Severity.RE_READ}:{flow}"
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
    return Refusal(problem, agreement)


def _same_group(other: Manifest, group: str) -> Refusal:
    return Refusal(
        Problem(
            str(reference(other)),
            "worker-group-taken",
            f"its workers are the worker group `{group}`, and the stack would create other workers in that group",
            "The workers of both would run each other's connectors, which they cannot configure.",
            "give the stack's resource the name and namespace of this one, or set another `connect.groupId`.",
        )
    )


def _group(body: Manifest) -> tuple[str, str] | None:
    """Address of the cluster and name of the worker group of a KafkaConnect or KafkaMirrorMaker2."""
    if body["kind"] not in WORKER_KINDS:
        return None
    spec = body["spec"]
    clusters = {each["alias"]: each for each in spec.get("clusters") or []}
    at: Manifest = clusters.get(spec.get("connectCluster")) or spec.get("target") or spec
    return str(at.get("bootstrapServers")), group_names(body["kind"], spec)["groupId"]


def _ends(body: Manifest) -> Iterator[tuple[str, str]]:
    """Addresses of source and target of each mirror, and of a connector that sets them itself."""
    spec = body["spec"]
    if body["kind"] == "KafkaConnector" and (found := _addresses(spec.get("config") or {})) is not None:
        yield found
    clusters: Mapping[str, Manifest] = {str(each.get("alias")): each for each in spec.get("clusters") or []}
    for mirror in spec.get("mirrors") or []:
        source = mirror.get("source") or clusters.get(str(mirror.get("sourceCluster")), {})
        target = spec.get("target") or clusters.get(str(spec.get("connectCluster")), {})
        yield str(source.get("bootstrapServers")), str(target.get("bootstrapServers"))


def _addresses(config: Mapping[str, str]) -> tuple[str, str] | None:
    found = [config.get(f"{side}.cluster.bootstrap.servers") for side in ("source", "target")]
    return (found[0], found[1]) if found[0] is not None and found[1] is not None else None


def _of_objects(facts: Facts) -> Iterator[Refusal]:
    for _, _, declared, live in facts.objects():
        if live is None or identity(declared) in facts.known:
            continue
        where, metadata = str(reference(live)), live["metadata"]
        if live["kind"] == "Secret":
            yield Refusal(
                Problem(
                    where,
                    "secret-exists",
                    "the stack creates a Secret of this name, but somebody else has already created it",
                    "Its values are not compared, and different values would break the login of what runs.",
                    "declare the credential as `{secret: NAME, key: KEY}`, which leaves the Secret as it is.",
                )
            )
        if metadata.get("deletionTimestamp"):
            yield Refusal(
                Problem(
                    where,
                    "being-deleted",
                    f"it was marked for deletion at {metadata['deletionTimestamp']}",
                    "Nothing can stop a deletion that has begun.",
                    "wait until it no longer exists, and run the command again, which then creates it.",
                )
            )
        for owner in metadata.get("ownerReferences") or []:
            yield Refusal(
                Problem(
                    where,
                    "owned-by-object",
                    f"it belongs to {owner.get('kind')} {owner.get('name')}",
                    "The creator of that object writes this one again, and it is deleted together with its owner.",
                    "adopt or replace the owner instead, or remove `metadata.ownerReferences`.",
                )
            )
        if (metadata.get("annotations") or {}).get(PAUSE) == "true":
            yield Refusal(
                Problem(
                    where,
                    "reconciliation-held",
                    f"the annotation `{PAUSE}` keeps the operator from reconciling it",
                    "Adoption removes the annotation, and the operator would then apply every change that was held "
                    "back.",
                    "find out why it is there, and remove it first: `kubectl annotate "
                    f"{live['kind'].lower()} {metadata['name']} -n {metadata.get('namespace')} {PAUSE}-`.",
                )
            )


def _replaced(each: Reference) -> Refusal:
    agreement = f"{REPLACED}:{each.name}"
    problem = Problem(
        str(each),
        "would-be-replaced",
        "Pulumi cannot change it in place: it is deleted and created again",
        "In between it does not exist, and anything that reads it then fails.",
        f"change it to what the stack declares, or pass `--agree {agreement}`.",
    )
    return Refusal(problem, agreement)
