"""What a change does to the objects around Connect; monitoring and validation never affect workers."""

from collections.abc import Iterator, Mapping
from typing import Any

from kafka_replication.components.changes.deployment_state import DeployedConnector, DeploymentState
from kafka_replication.components.changes.effect import Effect, Impact, listed
from kafka_replication.components.changes.stack_change import StackChange, effects_on_sources
from kafka_replication.components.contract.wording import number
from kafka_replication.components.render.metrics import FORMS
from kafka_replication.components.render.planned_objects import Manifest

#: Properties that decide the names and labels of a source connector's metrics, with their defaults.
_NAMES_METRICS = {"add.source.alias.to.metrics": "false", FORMS: "legacy"}


def namespace_and_user_effects(change: StackChange) -> Iterator[Effect]:
    """Yield what happens to namespaces, quotas and KafkaUsers."""
    yield from _namespaces(change)
    old, new = ({deployment.name: deployment for deployment in side} for side in (change.before, change.after))
    for name in {**new, **old}:
        before, after = old.get(name, DeploymentState(name)), new.get(name, DeploymentState(name))
        quotas = [{key: quota["spec"] for key, quota in side.quotas.items()} for side in (before, after)]
        if name in old and name in new and quotas[0] != quotas[1]:
            what = "the namespace's quota changes: running pods stay, but new pods must fit into the new quota"
            yield Effect(Impact.NONE, "quota-changes", after.first_flow, "quota", what)
        yield from _users(before.users, after.users, name)


def _namespaces(change: StackChange) -> Iterator[Effect]:
    """Yield what happens to namespaces in which workers run, whichever deployment declares the namespace."""
    old, new = (
        {namespace: deployment for deployment in side for namespace in deployment.namespaces}
        for side in (change.before, change.after)
    )
    used_before, used_after = (
        {workers.namespace: deployment for deployment in side for workers in deployment.workers}
        for side in (change.before, change.after)
    )
    for namespace in sorted((old.keys() - new.keys()) & used_after.keys()):
        what = (
            f"namespace {namespace} is deleted with everything in it, including objects of others, while workers still "
            "run there: replication stops until it exists again"
        )
        yield Effect(Impact.DATA, "namespace-deleted", used_after[namespace].first_flow, "namespace.create", what)
    for namespace in sorted(old.keys() - new.keys() - used_after.keys()):
        what = (
            f"namespace {namespace} is deleted with everything in it, also Secrets and other objects that this stack "
            "did not create"
        )
        yield Effect(Impact.DATA, "namespace-deleted", old[namespace].first_flow, "namespace.create", what)
    for namespace in sorted((new.keys() - old.keys()) & used_before.keys()):
        what = f"namespace {namespace} is created by this stack; `up` fails if it exists already"
        yield Effect(Impact.NONE, "namespace-created", new[namespace].first_flow, "namespace.create", what)
    for namespace in sorted(new.keys() & old.keys()):
        if new[namespace].name != old[namespace].name:
            owner, earlier_owner = new[namespace].first_flow, old[namespace].first_flow
            what = (
                f"namespace {namespace} is created for `{owner}` instead of `{earlier_owner}`: `up` creates objects "
                "before it deletes others, so it fails because the namespace still exists; "
                f"give `{owner}` another namespace"
            )
            yield Effect(Impact.NONE, "namespace-taken-over", owner, "namespace.create", what)


def _users(before: Mapping[str, Manifest], after: Mapping[str, Manifest], deployment: str) -> Iterator[Effect]:
    for user in sorted({*before, *after}):
        old, new = before.get(user), after.get(user)
        if new is None:
            what = f"the User Operator deletes user `{user}` and its ACLs: clients that log in as it are refused"
            yield Effect(Impact.DATA, "user-removed", deployment, "", what)
        elif old is None:
            acls = number(len(_acls(new)), "ACL")
            what = f"the User Operator creates user `{user}` with {acls} and removes any other ACLs of that user"
            yield Effect(Impact.NONE, "user-added", deployment, "", what)
        else:
            yield from _changed_user(user, old, new, deployment)


def _changed_user(user: str, old: Manifest, new: Manifest, deployment: str) -> Iterator[Effect]:
    if removed := [acl for acl in _acls(old) if acl not in _acls(new)]:
        what = f"user `{user}` loses {number(len(removed), 'ACL')} that no flow needs any longer: {listed(removed)}"
        yield Effect(Impact.NONE, "acls-removed", deployment, "", what)
    if added := [acl for acl in _acls(new) if acl not in _acls(old)]:
        what = f"user `{user}` gets {number(len(added), 'ACL')}: {listed(added)}"
        yield Effect(Impact.NONE, "acls-added", deployment, "", what)
    if old["spec"].get("authentication") != new["spec"].get("authentication"):
        what = f"user `{user}` authenticates differently: connectors are refused until they use its new credentials"
        yield Effect(Impact.RESTART, "user-logs-in-otherwise", deployment, "", what)


def _acls(user: Manifest) -> list[str]:
    """Return a user's ACLs as prose, one for each resource with all its operations."""
    rules: list[dict[str, Any]] = user["spec"].get("authorization", {}).get("acls", [])
    return [
        f"{', '.join(rule['operations'])} on {rule['resource']['type']} {rule['resource'].get('name', '')}".strip()
        for rule in rules
    ]


#: Kind of an object -> what readers call it.
_MONITORING_KINDS = {"PodMonitor": "scraping", "PrometheusRule": "alerts", "ConfigMap": "dashboard"}


def monitoring_effects(change: StackChange) -> Iterator[Effect]:
    """Yield what happens to scraping, alerts and the dashboard."""
    before, after = (
        {key: body for deployment in side for key, body in deployment.monitoring.items()}
        for side in (change.before, change.after)
    )
    for kind, word in _MONITORING_KINDS.items():
        for verb, names in _differences(kind, before, after):
            what = f"{word} {verb} in {kind} {listed(names)}; this restarts nothing"
            yield Effect(Impact.NONE, f"monitoring-{verb}", "", "monitoring", what)
    yield from effects_on_sources(change, _metric_names)


def _metric_names(before: DeployedConnector, after: DeployedConnector) -> Iterator[Effect]:
    for key, default in _NAMES_METRICS.items():
        old, new = (connector.config.get(key, default).lower() for connector in (before, after))
        if old != new:
            what = (
                f"the source connector reports its metrics under other names or labels (`{key}` was `{old}`, and is "
                f"`{new}`): graphs start over, and alerts or dashboards of your own must select the new ones"
            )
            yield Effect(Impact.NONE, "metrics-renamed", after.flow, "connect.metrics", what)


_Objects = Mapping[tuple[str, str], Manifest]


def _differences(kind: str, before: _Objects, after: _Objects) -> Iterator[tuple[str, list[str]]]:
    """Yield what happened to objects of a kind, such as `added`, and the names of those objects."""
    old, new = ({name: body for (of, name), body in side.items() if of == kind} for side in (before, after))
    changed = {name for name in old.keys() & new.keys() if old[name] != new[name]}
    names = {"added": new.keys() - old.keys(), "removed": old.keys() - new.keys(), "changed": changed}
    yield from ((verb, sorted(having)) for verb, having in names.items() if having)


#: Kind of an object -> kind of change -> the sentence about it.
_RUN_SENTENCES = {
    **{
        kind: {
            "added": f"a {kind} will validate {{flows}} after the deployment",
            "removed": f"{kind}s no longer validate {{flows}} after deployments",
            "changed": f"because the deployed objects or the validation's settings change, a new {kind} will validate "
            "{flows} after the deployment",
        }
        for kind in ("Job", "SparkApplication")
    },
    **{
        kind: {
            "added": f"a {kind} will validate {{flows}} between deployments",
            "removed": f"a {kind} no longer validates {{flows}} between deployments",
            "changed": f"the {kind} that validates {{flows}} changes",
        }
        for kind in ("CronJob", "ScheduledSparkApplication")
    },
    "Deployment": {
        "added": "{flows} will serve to Prometheus what `replicate exporter` sees of the stack",
        "removed": "{flows} no longer serves to Prometheus what `replicate exporter` sees of the stack",
        "changed": "because the stack's files or the exporter's settings change, {flows} restarts",
    },
}


def validation_effects(change: StackChange) -> Iterator[Effect]:
    """Yield what happens to the objects that validate flows in the cluster, and to the exporter."""
    before, after = (
        {key: body for deployment in side for key, body in deployment.validation.items()}
        for side in (change.before, change.after)
    )
    for kind, sentences in _RUN_SENTENCES.items():
        named, run = ("exporter", "exporter") if kind == "Deployment" else (kind.lower(), "validation")
        for verb, flows in _differences(kind, before, after):
            sentence = sentences[verb].format(flows=listed(flows))
            what = f"{sentence}; the {run} itself has no effect on replication"
            yield Effect(Impact.NONE, f"{named}-{verb}", "", "replication:validation", what)
    if _keeps_positions(before) and not _keeps_positions(after):
        what = (
            "the stack no longer keeps positions of groups for a disaster; unless `replicate keep` runs elsewhere, "
            "tasks of a flow with `onLoss: stop` replicate nothing once they get a new partition"
        )
        yield Effect(Impact.RE_READ, "keeper-removed", "", "replication:validation", what)


def _keeps_positions(objects: _Objects) -> bool:
    bodies = (body for (kind, _), body in objects.items() if kind == "Deployment")
    containers = (container for body in bodies for container in body["spec"]["template"]["spec"]["containers"])
    return any("--keep" in container.get("args", ()) for container in containers)
