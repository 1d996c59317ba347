"""Objects and fields that are not as a stack declares them although no deployment changed them. Pure.

The owner of a field tells an edit from a change that is not deployed yet: a deployer owns what it declared. The engine
creates an object after the objects that it waits for, so an object that exists as declared shows that those were
created too. Pulumi's state, which would show an interrupted deployment, is not read.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from kafka_replication.components.changes.deployment_state import worker_cluster
from kafka_replication.components.changes.effect import Impact
from kafka_replication.components.contract.grouping import grouped
from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.contract.published_verdict import (
    PublishedVerdict,
    config_map_name,
    entries,
    read_verdict,
)
from kafka_replication.components.contract.report import Verdict
from kafka_replication.components.contract.temporary_states import temporary_states
from kafka_replication.components.contract.wording import agreeing, number
from kafka_replication.components.flows.expansion import expand
from kafka_replication.components.flows.operators import PAUSE, REPLICATING_KINDS, STRIMZI_GROUP, WORKER_KINDS
from kafka_replication.components.kafka.connectors import ROLE_OF_CLASS, failures, is_observed
from kafka_replication.components.render.planned_objects import PART_OF, Manifest
from kafka_replication.components.topology.clusters import ConfigValue
from kafka_replication.infra.kubernetes.api import reference
from kafka_replication.infra.kubernetes.managed_fields import (
    PULUMI,
    FieldOwner,
    Path,
    is_deployed,
    newest_writer,
    owner_of,
    owners,
    status_time,
)
from kafka_replication.infra.kubernetes.preconditions import condition
from kafka_replication.infra.kubernetes.readiness import REPORTED, wanted_connectors, why_not_ready
from kafka_replication.infra.review.comparison import Drift
from kafka_replication.infra.review.live_objects import former, whole
from kafka_replication.infra.review.object_changes import FieldChange, field_changes, identity
from kafka_replication.infra.review.reports import value_text
from kafka_replication.infra.review.snapshots import Objects
from kafka_replication.infra.stack.settings import StackSettings


def drift_at(
    severity: Impact, code: str, flow: str, live: Manifest, what: str, remedy: str, by: FieldOwner | None = None
) -> Drift:
    """Return a finding at an object, and who caused it if Kubernetes knows."""
    who, since = (by.manager, by.since) if by is not None else ("", "")
    return Drift(severity, code, flow, str(reference(live)), what, who, since, remedy)


def kubectl(verb: str, live: Manifest) -> str:
    """Return a kubectl command for an object, without what follows the name."""
    namespace = live["metadata"].get("namespace")
    place = f" -n {namespace}" if namespace else ""
    return f"kubectl {verb} {live['kind'].lower()} {live['metadata']['name']}{place}"


@dataclass(frozen=True)
class Deployer:
    """Who deploys a stack again: Pulumi, or the tool that applies what is rendered."""

    stack: str
    by_gitops: bool

    def remedy(self, why: str = "without it, Pulumi compares with its state and sees nothing to do") -> str:
        """Return the remedy for an object that is not as it was deployed."""
        if self.by_gitops:
            return "let the tool that applies what `replicate render` writes, such as Argo CD or Flux, apply it again."
        return f"`replicate up {self.stack} --refresh`: {why}."


def undeclared(live: Manifest) -> Iterator[Drift]:
    """Yield an object with our labels that the stack does not declare and nobody deployed."""
    if is_deployed(live):
        return
    by = next((owner.manager for owner in owners(live)), "")
    metadata = live["metadata"]
    flow = metadata["labels"].get(PART_OF, "")
    what = f"has the labels of {flow}, but {flow} does not declare it, and no deployment created it"
    remedy = f"delete it: `{kubectl('delete', live)}`, or remove our labels from it."
    since = metadata.get("creationTimestamp", "")
    yield Drift(Impact.RESTART, "object-undeclared", flow, str(reference(live)), what, by, since, remedy)


def edited(deployer: Deployer, flow: str, declared: Manifest, live: Manifest) -> Iterator[Drift]:
    """Yield declared fields that somebody changed by hand, and fields added to a Strimzi resource's spec. A removed
    field has no owner, so it is not drift. All of a list belongs to whoever wrote it last."""
    is_strimzi = declared["apiVersion"].startswith(f"{STRIMZI_GROUP}/")
    for path, wanted, seen in _differing(declared, live):
        owner = owner_of(live, path)
        is_added = wanted is _UNDECLARED
        if owner is None or owner.deploys or (is_added and not (is_strimzi and path[0] == "spec")):
            continue
        for change in field_changes(None if is_added else wanted, seen, ".".join(path)):
            if is_added:
                yield _addition(flow, live, path, change, owner)
            elif (announced := _announced(deployer.stack, flow, live, change)) is not None:
                yield announced
            else:
                now = f"is {value_text(change.after)}" if change.after is not None else "was removed"
                before = f"declares {value_text(change.before)}" if change.before is not None else "does not declare it"
                what = f"{change.path} {now}, and the stack {before}"
                yield drift_at(Impact.RESTART, "field-edited", flow, live, what, deployer.remedy(), owner)


def written_by_hand(deployer: Deployer, flow: str, live: Manifest, keys: Collection[str]) -> Iterator[Drift]:
    """Yield the keys of our Secret that somebody last wrote outside a deployment; its values are never read."""
    for key in keys:
        owner = owner_of(live, ("data", key))
        if owner is not None and not owner.deploys:
            what = f"data.{key} was written by hand, so its value may differ from the stack's (values are not compared)"
            yield drift_at(Impact.DATA, "secret-written", flow, live, what, deployer.remedy(), owner)


def _announced(stack: str, flow: str, live: Manifest, change: FieldChange) -> Drift | None:
    """Return a state announced as temporary; None for other fields or a different state."""
    for name, temporary in temporary_states(live).items():
        if change.after == temporary.state and _is_state_of(name, live, change.path):
            now = datetime.now(UTC)
            severity = Impact.DATA if temporary.expired(now) else Impact.RESTART
            what = f"connector {name} is {temporary.text(now)}, and the stack declares {value_text(change.before)}"
            remedy = f"`replicate resume {stack} {temporary.flow} --connector '{name}'`."
            since = temporary.at.isoformat(timespec="seconds")
            where = str(reference(live))
            return Drift(severity, "temporary-state", flow, where, what, temporary.by, since, remedy)
    return None


def _is_state_of(connector: str, live: Manifest, path: str) -> bool:
    """Return whether the field at the path is the state of the connector."""
    if live["kind"] == "KafkaConnector":
        return path == "spec.state"
    source, _, kind = connector.rpartition(".")
    alias, role = source.partition("->")[0], ROLE_OF_CLASS.get(kind, "")
    return path == f"spec.mirrors[{alias}].{role}Connector.state"


def _addition(flow: str, live: Manifest, path: Path, change: FieldChange, owner: FieldOwner) -> Drift:
    pointer = "/".join(step.replace("~", "~0").replace("/", "~1") for step in path)
    patch = f'[{{"op":"remove","path":"/{pointer}"}}]'
    otherwise = (
        "Otherwise it stays until a deployment changes this resource: Pulumi then takes over what kubectl wrote."
        if owner.yields
        else "No deployment removes it, because somebody else owns the field."
    )
    command = f"{kubectl('patch', live)} --type=json -p '{patch}'"
    remedy = f"remove it: `{command}`, or declare it in the topology. {otherwise}"
    what = f"{change.path} is {value_text(change.after)}, and the stack does not declare it"
    return drift_at(Impact.RESTART, "field-added", flow, live, what, remedy, owner)


_UNDECLARED = object()


def _differing(declared: Any, live: Any, path: Path = ()) -> Iterator[tuple[Path, Any, Any]]:
    """Yield live fields with another value than the declared one; a list is one field, because its writer owns all of
    it."""
    for key, seen in live.items():
        wanted = declared.get(key, _UNDECLARED)
        if isinstance(wanted, Mapping) and isinstance(seen, Mapping):
            yield from _differing(wanted, seen, (*path, key))
        elif seen != wanted:
            yield (*path, key), wanted, seen


def missing_objects(
    deployer: Deployer,
    deployment: str,
    objects: Objects,
    there: Objects,
    waits: Mapping[str, Collection[str]],
    gone: Collection[str],
    proven: Mapping[str, str],
) -> Iterator[Drift]:
    """Yield drift for the missing objects of a deployment that partly exists: `there`, by key. `gone` are keys left by
    an earlier deployment. `proven` says when each flow was validated with its declared digest."""
    unknown = []
    for key, body in objects.items():
        if key in there or key in gone:
            continue
        flow = body["metadata"]["labels"][PART_OF]
        later = next((other for other in there if key in waits.get(other, ()) and there[other] == objects[other]), None)
        if later is not None:
            yield _deleted(deployer, flow, body, f"{reference(objects[later])}, which is deployed after it, exists")
        elif body["kind"] in REPLICATING_KINDS and flow in proven:
            yield _deleted(deployer, flow, body, f"the validation of {proven[flow]} found this model deployed")
        else:
            unknown.append(body)
    if unknown:
        yield _incomplete(deployer, deployment, objects, unknown)


def _deleted(deployer: Deployer, flow: str, body: Manifest, why: str) -> Drift:
    what = f"was deleted: {why}"
    return drift_at(Impact.DATA, "object-missing", flow, body, what, deployer.remedy())


def _incomplete(deployer: Deployer, deployment: str, objects: Objects, unknown: list[Manifest]) -> Drift:
    names = ", ".join(str(reference(body)) for body in unknown)
    count = len(unknown)
    missing = agreeing(count, "[does|do] not exist, and nothing shows that [it|they] ever did")
    what = (
        f"{count} of {len(objects)} objects {missing}: {names}. A deployment was interrupted, is still running or has "
        f"not started, or somebody deleted {agreeing(count, '[it|them]')}"
    )
    remedy = deployer.remedy("it continues an interrupted deployment and creates deleted objects again")
    flow = unknown[0]["metadata"]["labels"][PART_OF]
    return Drift(Impact.DATA, "deployment-incomplete", flow, f"deployment {deployment}", what, "", "", remedy)


def by_flow(flows: Mapping[str, str], config_maps: Iterable[Manifest]) -> dict[str, Manifest]:
    """Return published ConfigMaps by flow; `flows` maps each flow's name to its namespace."""
    by_place = {(body["metadata"]["namespace"], body["metadata"]["name"]): body for body in config_maps}
    places = {flow: (namespace, config_map_name(flow)) for flow, namespace in flows.items()}
    return {flow: by_place[place] for flow, place in places.items() if place in by_place}


def validated(digests: Mapping[str, str], published: Mapping[str, Manifest]) -> dict[str, str]:
    """Return when each flow was last validated with its declared digest; flows that were not are missing."""
    data = {flow: body.get("data") or {} for flow, body in published.items()}
    return {flow: str(entry["time"]) for flow, entry in data.items() if entry.get("digest") == digests[flow]}


_CODES = frozenset({"foreign-topic", "foreign-partitions"})
_REMEDY = (
    "find out who uses the topic; if nobody does, delete it on the target and validate again with "
    "`replicate validate {stack} --publish`."
)


def topic_drift(stack: str, published: Mapping[str, Manifest]) -> Iterator[Drift]:
    """Yield the drift that published validations report. Raises CannotRunError for one that cannot be read."""
    for flow, body in published.items():
        where = f"ConfigMap {body['metadata']['namespace']}/{body['metadata']['name']}"
        try:
            verdict = read_verdict(entries(body))
        except (KeyError, TypeError, ValueError) as error:
            what = f"the published validation cannot be read: {error!r}"
            why = "It was edited by hand, or written by another version of this project."
            remedy = "delete it and validate the stack again."
            raise CannotRunError("verdict-unreadable", what, f"stack {stack}, {where}", why, remedy) from error
        if verdict.verdict is not Verdict.PASS:
            yield _not_passed(stack, flow, where, verdict)
        for finding in (
            published for check in verdict.checks for published in check.findings if published.code in _CODES
        ):
            seen = finding.message.partition(" Remedy: ")[0].rstrip(".")
            what = f"{seen} (seen by the validation of {verdict.time})"
            yield Drift(Impact.NONE, finding.code, flow, where, what, "", "", _REMEDY.format(stack=stack))


def _not_passed(stack: str, flow: str, where: str, verdict: PublishedVerdict) -> Drift:
    """Return the drift of a flow that runs as declared but whose newest validation did not pass."""
    failed = verdict.verdict is Verdict.FAIL
    codes = []
    for check in (each for each in verdict.checks if each.verdict is verdict.verdict):
        named = dict.fromkeys(finding.code for finding in check.findings if finding.severity == check.verdict.value)
        codes.append(f"{check.name} ({', '.join(named)})")
    outcome = "failed" if failed else "could not check everything" if codes else "could not run"
    what = f"the newest published validation {outcome}{': ' if codes else ''}{'; '.join(codes)}"
    remedy = f"`replicate validate {stack} --flow {flow} --publish` says what to do, and replaces this verdict."
    severity, code = (Impact.DATA, "validation-failed") if failed else (Impact.NONE, "validation-unproven")
    return Drift(severity, code, flow, where, what, "the validation job", verdict.time, remedy)


CODE = "replication-not-deleted"


@dataclass(frozen=True)
class Territory:
    """Holds what a stack deploys: names of flows and replications, and the addresses of the targets in its region."""

    names: frozenset[str]
    servers: frozenset[str]


def territory(settings: StackSettings, values: Mapping[str, str]) -> Territory:
    """Return the territory of a stack; `values` are those of its configuration, which may hold addresses."""
    topology, region = settings.topology, settings.region
    targets = {alias: cluster for alias, cluster in topology.clusters.items() if region in (None, cluster.region)}
    addresses = [
        values.get(given.config, "") if isinstance(given := cluster.bootstrap_servers, ConfigValue) else given
        for cluster in targets.values()
    ]
    flows = [flow for flow in expand(topology) if flow.settings.target in targets]
    names = {name for flow in flows for name in (flow.name, flow.replication)}
    return Territory(frozenset(names), frozenset(server for address in addresses for server in _servers(address)))


def undeleted_replications(
    live: Iterable[Manifest], known: Iterable[str], own: Territory, others: Sequence[Territory]
) -> dict[str, Objects]:
    """Return objects, by role and part, of each replication that no stack declares; `known` are declared ones."""
    declared = {*known, ""}
    groups = grouped(((body["metadata"].get("labels") or {}).get(PART_OF, ""), body) for body in live)
    undeleted = {}
    for name, objects in sorted((name, objects) for name, objects in groups.items() if name not in declared):
        workers = [body for body in objects if body["kind"] in WORKER_KINDS]
        addresses = (worker_cluster(body.get("spec") or {}).get("bootstrapServers") or "" for body in workers)
        servers = frozenset(server for address in addresses for server in _servers(str(address)))
        by_pulumi = any(owner.manager.startswith(PULUMI) for body in objects for owner in owners(body))
        elsewhere = any(name in other.names and servers & other.servers for other in others)
        if servers & own.servers and not elsewhere and not by_pulumi:
            undeleted[name] = _by_key(objects)
    return undeleted


def _servers(address: str) -> frozenset[str]:
    return frozenset(filter(None, (server.strip() for server in address.split(","))))


def _by_key(objects: Sequence[Manifest]) -> Objects:
    by_key: dict[str, Manifest] = {}
    for key, live in former(objects, {}, {}):
        free = key if key not in by_key else f"{live['kind'].lower()} {'/'.join(identity(live)[1:])}"
        by_key[free] = whole(live)
    return by_key


def not_deleted(stack: str, name: str, objects: Objects) -> Drift:
    """Return the finding that a replication still exists."""
    workers = [body for body in objects.values() if body["kind"] in WORKER_KINDS]
    places = ", ".join(str(reference(worker)) for worker in workers)
    more = len(objects) - len(workers)
    others = f" and {number(more, 'more object')}" if more else ""
    exist = agreeing(len(objects), "[exists, and no stack declares it|exist, and no stack declares them]")
    what = f"{places}{others} {exist}: `{name}` keeps replicating as before, and no check or validation covers it"
    namespaces = sorted({body["metadata"].get("namespace", "") for body in objects.values()} - {""})
    commands = "; ".join(
        f"`kubectl delete kafkaconnector,kafkaconnect,kafkamirrormaker2,role,rolebinding,configmap -n {namespace} "
        f"-l {PART_OF}={name}`"
        for namespace in namespaces
    )
    remedy = (
        f"let Argo CD or Flux prune it if it is not needed, or delete it: {commands}. Otherwise declare it in the "
        f"topology of stack {stack} again."
    )
    return Drift(Impact.DATA, CODE, name, f"replication {name}", what, "", "", remedy)


def running_otherwise(stack: str, flow: str, live: Manifest, flows: Mapping[str, str]) -> Iterator[Drift]:
    """Yield what a resource's status reports: another state than wanted, failures, not Ready. `flows` is by source."""
    paused = (live["metadata"].get("annotations") or {}).get(PAUSE) == "true"
    if paused:
        owner = owner_of(live, ("metadata", "annotations", PAUSE))
        what = f"the annotation {PAUSE} stops the operator: no change takes effect, and the status is not updated"
        remedy = f"`{kubectl('annotate', live)} {PAUSE}-`."
        yield drift_at(Impact.DATA, "reconciliation-paused", flow, live, what, remedy, owner)
    findings: list[Drift] = []
    for name, wanted, status in wanted_connectors(live):
        alias, arrow, _ = name.partition("->")
        of_flow = flows[alias] if arrow and alias in flows else flow
        restart = f"replicate restart {stack} {of_flow} --connector '{name}'"
        findings += _of_connector(flow, live, name, wanted, status, restart)
    yield from findings
    if not paused:
        yield from _not_ready(flow, live, explained=bool(findings))


def _of_connector(
    flow: str, live: Manifest, name: str, wanted: str, status: Mapping[str, Any], restart: str
) -> Iterator[Drift]:
    """Yield what is wrong with a connector: another state than wanted, a failure, or no task."""
    seen = (status.get("connector") or {}).get("state", "")
    if seen in REPORTED.values() and seen != REPORTED[wanted] and is_observed(live):
        by, since = "Connect's REST interface", status_time(live)
        what = f"connector {name} is {seen}, and its spec says {wanted}: it was changed through {by}"
        remedy = (
            "wait for the next reconciliation: the operator has asked Connect to correct the state, and asks again "
            "then. If the state stays, read the logs of the operator and the Connect workers."
        )
        yield Drift(Impact.DATA, "connector-state", flow, str(reference(live)), what, by, since, remedy)
    for failure in failures(status):
        what = f"connector {failure.of(name)}"
        task = "" if failure.task is None else f" --task {failure.task}"
        remedy = f"correct the cause, then restart it: `{restart}{task}`."
        yield drift_at(Impact.DATA, "connector-failed", flow, live, what, remedy)
    # It selects no topic that exists, not even heartbeats, or it could not list the topics.
    source = "MirrorSourceConnector" in (live["spec"].get("class") or name)
    if source and wanted == "running" and seen == "RUNNING" and "tasks" in status and not status["tasks"]:
        what = (
            f"connector {name} runs without a task, so it replicates nothing: no topic that it selects exists, or a "
            "login is refused"
        )
        remedy = (
            "check the address and login of the source, and that its topics exist; the Connect workers' log names a "
            f"refused login. Then restart it: `{restart}`."
        )
        yield drift_at(Impact.DATA, "connector-without-task", flow, live, what, remedy)


def _not_ready(flow: str, live: Manifest, *, explained: bool) -> Iterator[Drift]:
    """Yield a resource that is not Ready, unless another finding has already explained why."""
    where = str(reference(live))
    if not (why := why_not_ready(where, live)):
        return
    if not is_observed(live):
        writer = newest_writer(live, "spec")
        remedy = "wait a few seconds; if nothing changes, check that the operator runs and watches this namespace."
        yield drift_at(Impact.DATA, "not-ready", flow, live, why, remedy, writer)
    elif not explained:
        remedy = "read the object's status and the operator's log."
        since = condition(live, "NotReady").get("lastTransitionTime", "")
        yield Drift(Impact.DATA, "not-ready", flow, where, why, "", since, remedy)
