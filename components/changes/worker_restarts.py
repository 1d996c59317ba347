"""Connect workers: pods that roll or scale, namespaces and API versions that change, and exactly-once.

Source: Strimzi KafkaConnectAssemblyOperator (pods and the hash of their configuration), KIP-415, KIP-618.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from components.changes.deployment_state import DeployedWorkers
from components.changes.effect import Effect, Severity, listed
from components.changes.stack_change import StackChange
from components.contract.wording import number
from components.render.kafka_connect import EXACTLY_ONCE_SUPPORT

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
            yield Effect(Severity.RESTART, "workers-renamed", flow, "connect.name", what)


def _regrouped(before: DeployedWorkers, after: DeployedWorkers, flow: str) -> Iterator[Effect]:
    """Yield an effect if a group changes its name but not its offsets topic; `source_offsets` reports another topic."""
    if before.group != after.group and before.offsets_topic == after.offsets_topic:
        what = (
            f"the worker group changes from `{before.group}` to `{after.group}`. While the workers restart one by "
            "one, both groups run the connectors, so records of those minutes are replicated twice"
        )
        yield Effect(Severity.RE_READ, "worker-group-changes", flow, "connect.groupId", what)


def _moved(before: DeployedWorkers, after: DeployedWorkers, flow: str) -> Iterator[Effect]:
    if before.api_version != after.api_version and after.names_group and not before.names_group:
        what = (
            f"{after.kind} `{after.name}` changes from {before.api_version} to {after.api_version} in one step, which "
            "`replicate up` refuses, because Pulumi's provider would fail half-way: deploy `strimzi: '0.51/v1beta2'` "
            "first, with an operator from 0.49 to 0.51 (GitOps tools need no such step)"
        )
        yield Effect(Severity.RESTART, "api-switch-in-one-step", flow, "strimzi", what)
    elif before.api_version != after.api_version:
        what = (
            f"{after.kind} `{after.name}` changes from {before.api_version} to {after.api_version} and is updated in "
            "place; the running operator must serve the new version"
        )
        yield Effect(Severity.NONE, "api-version-changes", flow, "strimzi", what)
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
        yield Effect(Severity.RESTART, "namespace-changes", flow, "namespace", what)


def _pods(before: DeployedWorkers, after: DeployedWorkers, flow: str) -> Iterator[Effect]:
    """Yield an effect for pods that restart, start or stop, and for changed logging."""
    changed = _changed_keys(before.pods, after.pods) + _changed_keys(before.config, after.config, "config.")
    if before.target_address != after.target_address:
        changed.append("bootstrapServers")
    # If one side has no pods, none restarts.
    if changed and before.namespace == after.namespace and before.replicas and after.replicas:
        restart = f"its worker restarts ({listed(changed)})"
        if after.replicas > 1:
            restart = f"its {after.replicas} workers restart one by one ({listed(changed)}). {_tasks_of_leaver(after)}"
        yield Effect(
            Severity.RESTART, "connect-rolls", flow, "connect", f"{after.kind} `{after.name}` rolls: {restart}"
        )
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
        yield Effect(Severity.RESTART, "connect-scales", flow, "connect.replicas", what)
    if before.logging != after.logging:
        what = f"{after.kind} `{after.name}` changes its logging without a restart"
        yield Effect(Severity.NONE, "logging-changes", flow, "connect.logging", what)


def _all_workers(before: DeployedWorkers, after: DeployedWorkers, flow: str) -> Effect:
    """Return what happens when the last worker stops, or the first one starts."""
    scales = f"{after.kind} `{after.name}` goes from {before.replicas} to {after.replicas} workers"
    if after.replicas:
        what = f"{scales}: its connectors continue where they stopped"
        return Effect(Severity.RESTART, "connect-scales", flow, "connect.replicas", what)
    what = (
        f"{scales}: none of its connectors runs, nothing is replicated, and records that the source's retention "
        "deletes in the meantime are lost to the target"
    )
    return Effect(Severity.DATA, "workers-stop", flow, "connect.replicas", what)


def _tasks_of_leaver(workers: DeployedWorkers) -> str:
    """Return what happens to the tasks of a worker that leaves: the other workers wait the full time, even if it comes
    back earlier.

    Source: KIP-415, IncrementalCooperativeAssignor.handleLostAssignments.
    """
    milliseconds = int(workers.config.get(_DELAY, _DEFAULT_DELAY_MILLISECONDS))
    if milliseconds == 0:
        return "Tasks of a worker that leaves are taken over at once"
    wait = number(milliseconds // 60_000, "minute") if milliseconds % 60_000 == 0 else f"{milliseconds / 1000:g} s"
    return f"Tasks of a worker that leaves stop for up to {wait} (`{_DELAY}`)"


def _changed_keys(before: Mapping[str, Any], after: Mapping[str, Any], prefix: str = "") -> list[str]:
    return sorted(prefix + key for key in {*before, *after} if before.get(key) != after.get(key))


def _exactly_once(before: DeployedWorkers, after: DeployedWorkers, flow: str) -> Iterator[Effect]:
    old, new = (str(each.config.get(EXACTLY_ONCE_SUPPORT, "disabled")).lower() for each in (before, after))
    if (old, new) == ("disabled", "enabled"):
        what = (
            "workers change from `disabled` to `enabled` in one step: new workers would fence out the old ones that "
            "still run, so `up` refuses it; deploy `preparing` first"
        )
        yield Effect(Severity.DATA, "exactly-once-in-one-step", flow, "exactlyOnce", what)
    elif old != new and new == "enabled":
        what = "records and source offsets are written in one transaction from now on: a worker that dies repeats none"
        yield Effect(Severity.NONE, "exactly-once-begins", flow, "exactlyOnce", what)
    elif old == "enabled" != new:
        what = "delivery is at least once from now on: a worker that dies repeats its last records"
        yield Effect(Severity.RE_READ, "exactly-once-ends", flow, "exactlyOnce", what)
