"""Connectors that restart, pause, stop or resume, and workers whose pods roll or scale, with namespaces, API versions
and exactly-once.

Connect restarts a connector and its tasks whenever the configuration that it receives differs in any way, even in the
name of a ConfigMap.
Source: Strimzi AbstractConnectOperator.needsReconfiguring, KafkaConnectAssemblyOperator (pods and the hash of their
configuration), Connect's DistributedHerder, KIP-415, KIP-618.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kafka_replication.components.changes.deployment_state import DeployedConnector, DeployedWorkers
from kafka_replication.components.changes.effect import Effect, Impact, counted, listed, verb
from kafka_replication.components.changes.stack_change import StackChange
from kafka_replication.components.contract.wording import number
from kafka_replication.components.render.kafka_connect import EXACTLY_ONCE_SUPPORT

_REVISION = "credentials.revision"


def connector_effects(change: StackChange) -> Iterator[Effect]:
    """Yield one effect for all restarts of a flow's connectors, and one for each connector that changes its state."""
    restarting: dict[str, list[tuple[DeployedConnector, list[str]]]] = {}
    for before, after in change.connector_pairs:
        if before is None or after is None:
            continue
        is_same = (before.workers.group, before.name) == (after.workers.group, after.name)
        if is_same and before.submitted != after.submitted and "running" in (before.state, after.state):
            restarting.setdefault(after.flow, []).append((after, _changed_properties(before, after)))
        if before.state != after.state:
            yield _state(before, after)
    for flow, connectors in restarting.items():
        yield _restart(flow, connectors)


def _changed_properties(before: DeployedConnector, after: DeployedConnector) -> list[str]:
    """Return the properties whose value differs; none if only the name of a ConfigMap does."""
    if before.config == after.config:
        # An explicit default is a different text with the same meaning.
        old, new = before.submitted, after.submitted
        keys = [key for key in {**new, **old} if old.get(key) != new.get(key)]
        return sorted(key for key in keys if _is_plain(old.get(key)) and _is_plain(new.get(key)))
    keys = [key for key in {**after.config, **before.config} if before.config.get(key) != after.config.get(key)]
    if before.submitted.get("tasksMax") != after.submitted.get("tasksMax"):
        keys.append("tasksMax")
    return sorted(keys)


def _is_plain(value: object) -> bool:
    """Return whether a value is neither a login nor a placeholder, whose text changes with the name of a ConfigMap."""
    return not isinstance(value, Mapping | list) and "${" not in str(value)


def _restart(flow: str, connectors: list[tuple[DeployedConnector, list[str]]]) -> Effect:
    keys = sorted({key for _, changed in connectors for key in changed})
    names = [connector.name for connector, _ in connectors]
    restart = f"{counted(names, 'connector')} {verb(names, 'restarts', 'restart')}"
    if keys and all(key.endswith(_REVISION) for key in keys):
        what = f"{restart} to read the new credentials: {listed(names)}"
        return Effect(Impact.RESTART, "credentials-are-read-anew", flow, "", what)
    because = listed(keys) if keys else "a ConfigMap or a credential has a new name"
    return Effect(Impact.RESTART, "connector-restarts", flow, "connectors", f"{restart}: {listed(names)} ({because})")


def _state(before: DeployedConnector, after: DeployedConnector) -> Effect:
    key = f"connectors.{'sources.' + after.part if after.part else after.role}.state"
    if after.state == "running":
        what = f"connector `{after.name}` resumes where it stopped"
        return Effect(Impact.RESTART, "connector-resumes", after.flow, key, what)
    severity, consequence = _inactive(after)
    what = f"connector `{after.name}` is {after.state}: {consequence}"
    if before.state != "running":
        severity = Impact.NONE
        what = f"connector `{after.name}` is {after.state} instead of {before.state}: it still does nothing"
    code = "connector-stops" if after.state == "stopped" else "connector-pauses"
    return Effect(severity, code, after.flow, key, what)


def _inactive(connector: DeployedConnector) -> tuple[Impact, str]:
    """Return what a connector that no longer runs leaves undone, and how severe that is."""
    match connector.role:
        case "source":
            topics = f"{counted(connector.topics, 'topic')} {verb(connector.topics, 'is', 'are')}"
            lost = "records that the source's retention deletes in the meantime are lost to the target"
            return Impact.DATA, f"{topics} no longer replicated, and {lost}"
        case "checkpoint":
            groups = counted(connector.names("groups"), "group")
            return Impact.RE_READ, f"offsets of {groups} are no longer translated"
    return Impact.NONE, "heartbeats stop"


_DELAY = "scheduled.rebalance.max.delay.ms"
_DEFAULT_DELAY_MILLISECONDS = 300_000


def worker_effects(change: StackChange) -> Iterator[Effect]:
    """Yield what happens to the workers of each deployment that exists before and after."""
    earlier = {deployment.name: deployment for deployment in change.before}
    for deployment in change.after:
        if deployment.name not in earlier:
            continue
        old = {(workers.kind, workers.name): workers for workers in earlier[deployment.name].workers}
        for after in deployment.workers:
            before = old.get((after.kind, after.name))
            if before is None:
                yield from _renamed(earlier[deployment.name].workers, after, deployment.first_flow)
            else:
                yield from _moved(before, after, deployment.first_flow)
                yield from _regrouped(before, after, deployment.first_flow)
                yield from _pods(before, after, deployment.first_flow)
                yield from _exactly_once(before, after, deployment.first_flow)


def _renamed(earlier: Iterable[DeployedWorkers], after: DeployedWorkers, flow: str) -> Iterator[Effect]:
    """Yield an effect if workers of the same group continue under another resource."""
    for before in earlier:
        if (before.kind, before.group) == (after.kind, after.group) and before.name != after.name:
            what = (
                f"{after.kind} `{before.name}` is created again as `{after.name}`: its workers join worker group "
                f"`{after.group}`, then those of `{before.name}` leave it. {_tasks_of_leaver(after)}, then continue "
                "where they stopped"
            )
            yield Effect(Impact.RESTART, "workers-renamed", flow, "connect.name", what)


def _regrouped(before: DeployedWorkers, after: DeployedWorkers, flow: str) -> Iterator[Effect]:
    """Yield an effect if a group changes its name but not its offsets topic; `source_offsets` reports another topic."""
    if before.group != after.group and before.offsets_topic == after.offsets_topic:
        what = (
            f"the worker group changes from `{before.group}` to `{after.group}`. While the workers restart one by "
            "one, both groups run the connectors, so records of those minutes are replicated twice"
        )
        yield Effect(Impact.RE_READ, "worker-group-changes", flow, "connect.groupId", what)


def _moved(before: DeployedWorkers, after: DeployedWorkers, flow: str) -> Iterator[Effect]:
    if before.api_version != after.api_version and after.names_group and not before.names_group:
        what = (
            f"{after.kind} `{after.name}` changes from {before.api_version} to {after.api_version} in one step, which "
            "`replicate up` refuses, because Pulumi's provider would fail half-way: deploy `strimzi: '0.51/v1beta2'` "
            "first, with an operator from 0.49 to 0.51 (GitOps tools need no such step)"
        )
        yield Effect(Impact.RESTART, "api-switch-in-one-step", flow, "strimzi", what)
    elif before.api_version.endswith("/v1") and before.api_version != after.api_version:
        what = (
            f"{after.kind} `{after.name}` goes back from {before.api_version} to {after.api_version}: the API server "
            "may refuse it, which stops the deployment half-way, and operators from Strimzi 1.0 on do not serve the "
            "older version"
        )
        yield Effect(Impact.RESTART, "api-version-goes-back", flow, "strimzi", what)
    elif before.api_version != after.api_version:
        what = (
            f"{after.kind} `{after.name}` changes from {before.api_version} to {after.api_version} and is updated in "
            "place; the running operator must serve the new version"
        )
        yield Effect(Impact.NONE, "api-version-changes", flow, "strimzi", what)
    if before.namespace != after.namespace:
        what = (
            f"objects are created in namespace {after.namespace}, where the Secrets that they reference must exist, "
            f"then deleted in {before.namespace}; worker group `{after.group}` keeps its topics and resumes where it "
            "stopped"
        )
        if after.kind == "KafkaConnect":
            what += (
                ". Together with the old KafkaConnectors the operator deletes the connectors that both worker groups "
                "share, and restores them when it next reconciles, every two minutes by default"
            )
        yield Effect(Impact.RESTART, "namespace-changes", flow, "namespace", what)


def _pods(before: DeployedWorkers, after: DeployedWorkers, flow: str) -> Iterator[Effect]:
    changed = _changed_keys(before.pods, after.pods) + _changed_keys(before.config, after.config, "config.")
    if before.target_address != after.target_address:
        changed.append("bootstrapServers")
    # If one side has no pods, none restarts.
    if changed and before.namespace == after.namespace and before.replicas and after.replicas:
        restart = f"its worker restarts ({listed(changed)})"
        if after.replicas > 1:
            restart = f"its {after.replicas} workers restart one by one ({listed(changed)}). {_tasks_of_leaver(after)}"
        yield Effect(Impact.RESTART, "connect-rolls", flow, "connect", f"{after.kind} `{after.name}` rolls: {restart}")
    if before.replicas != after.replicas and 0 in (before.replicas, after.replicas):
        yield _all_workers(before, after, flow)
    elif before.replicas != after.replicas:
        others = "" if changed else ". The others keep running"
        tasks = "Tasks that move to another worker" if after.replicas > before.replicas else _tasks_of_leaver(after)
        joint = " continue" if after.replicas > before.replicas else ", then continue"
        what = (
            f"{after.kind} `{after.name}` goes from {before.replicas} to {after.replicas} workers{others}. "
            f"{tasks}{joint} where they stopped"
        )
        yield Effect(Impact.RESTART, "connect-scales", flow, "connect.replicas", what)
    if before.logging != after.logging:
        what = f"{after.kind} `{after.name}` changes its logging without a restart"
        yield Effect(Impact.NONE, "logging-changes", flow, "connect.logging", what)


def _all_workers(before: DeployedWorkers, after: DeployedWorkers, flow: str) -> Effect:
    scales = f"{after.kind} `{after.name}` goes from {before.replicas} to {after.replicas} workers"
    if after.replicas:
        what = f"{scales}: its connectors continue where they stopped"
        return Effect(Impact.RESTART, "connect-scales", flow, "connect.replicas", what)
    what = (
        f"{scales}: none of its connectors runs, nothing is replicated, and records that the source's retention "
        "deletes in the meantime are lost to the target"
    )
    return Effect(Impact.DATA, "workers-stop", flow, "connect.replicas", what)


def _tasks_of_leaver(workers: DeployedWorkers) -> str:
    """Return what happens to a leaving worker's tasks. Source: KIP-415, IncrementalCooperativeAssignor."""
    milliseconds = int(workers.config.get(_DELAY, _DEFAULT_DELAY_MILLISECONDS))
    if milliseconds == 0:
        return "Tasks of a worker that leaves are taken over at once"
    wait = number(milliseconds // 60_000, "minute") if milliseconds % 60_000 == 0 else f"{milliseconds / 1000:g} s"
    return f"Tasks of a worker that leaves stop for up to {wait} (`{_DELAY}`)"


def _changed_keys(before: Mapping[str, Any], after: Mapping[str, Any], prefix: str = "") -> list[str]:
    return sorted(prefix + key for key in {*before, *after} if before.get(key) != after.get(key))


def _exactly_once(before: DeployedWorkers, after: DeployedWorkers, flow: str) -> Iterator[Effect]:
    old, new = (str(workers.config.get(EXACTLY_ONCE_SUPPORT, "disabled")).lower() for workers in (before, after))
    if (old, new) == ("disabled", "enabled"):
        what = (
            "workers change from `disabled` to `enabled` in one step: new workers would fence out the old ones that "
            "still run, so `up` refuses it; deploy `preparing` first"
        )
        yield Effect(Impact.DATA, "exactly-once-in-one-step", flow, "exactlyOnce", what)
    elif old != new and new == "enabled":
        what = "records and source offsets are written in one transaction from now on: a worker that dies repeats none"
        yield Effect(Impact.NONE, "exactly-once-begins", flow, "exactlyOnce", what)
    elif old == "enabled" != new:
        what = "delivery is at least once from now on: a worker that dies repeats its last records"
        yield Effect(Impact.RE_READ, "exactly-once-ends", flow, "exactlyOnce", what)
