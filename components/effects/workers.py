"""Connect clusters: pods that roll or scale, namespaces and API versions that change, exactly-once.

Source: Strimzi KafkaConnectAssemblyOperator (pods and their configuration's hash), KIP-415, KIP-618.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from components.effects.change import Change
from components.effects.effect import Effect, Severity, listed, number
from components.effects.running import Deployed, Workers
from components.specs.connect import EXACTLY_ONCE_SUPPORT

_DELAY = "scheduled.rebalance.max.delay.ms"
_DEFAULT_DELAY_MILLISECONDS = 300_000


def worker_effects(change: Change) -> Iterator[Effect]:
    """What happens to the workers of each deployment that is there before and after."""
    earlier = {each.name: each for each in change.before}
    for after in change.after:
        if after.name in earlier:
            yield from _of_deployment(earlier[after.name], after)


def _of_deployment(before: Deployed, after: Deployed) -> Iterator[Effect]:
    old = {(each.kind, each.name): each for each in before.workers}
    for workers in after.workers:
        known = old.get((workers.kind, workers.name))
        if known is not None:
            flow = after.connectors[0].flow if after.connectors else after.name
            yield from _changes(known, workers, flow)


def _changes(before: Workers, after: Workers, flow: str) -> Iterator[Effect]:
    if before.api_version != after.api_version:
        what = (
            f"{after.kind} `{after.name}` goes from {before.api_version} to {after.api_version}, updated in place; the "
            "operator that runs must serve it"
        )
        yield Effect(Severity.NONE, "api-version-changes", flow, "strimzi", what)
    if before.namespace != after.namespace:
        what = (
            f"objects are created in namespace {after.namespace}, where Secrets that they refer to must exist, then "
            f"deleted in {before.namespace}; worker group `{after.group}` keeps its topics and goes on where it stood"
        )
        if after.kind == "KafkaConnect":
            what += (
                ", at the latest when the operator reconciles, every two minutes by default: with the old "
                "KafkaConnectors it deletes the connectors that both workers have in common"
            )
        yield Effect(Severity.RESTART, "namespace-changes", flow, "namespace", what)
    if rolls := _differing(before.pods, after.pods) + _differing(before.config, after.config, "config."):
        rolls += ["bootstrapServers"] if before.target != after.target else []
    elif before.target != after.target:
        rolls = ["bootstrapServers"]
    if rolls and before.namespace == after.namespace:
        pods, meanwhile = "its worker restarts", ""
        if after.replicas > 1:
            pods = f"its {after.replicas} workers restart one by one"
            meanwhile = f". Tasks {_standstill(after)}"
        what = f"{after.kind} `{after.name}` rolls, {pods}: {listed(rolls)}{meanwhile}"
        yield Effect(Severity.RESTART, "connect-rolls", flow, "connect", what)
    if before.replicas != after.replicas:
        tasks = "that change their worker" if after.replicas > before.replicas else _standstill(after) + " and"
        others = "" if rolls else "no other restarts, and "
        what = (
            f"{after.kind} `{after.name}` goes from {before.replicas} to {after.replicas} workers; {others}tasks "
            f"{tasks} go on where they stood"
        )
        yield Effect(Severity.RESTART, "connect-scales", flow, "connect.replicas", what)
    if before.logging != after.logging:
        what = f"{after.kind} `{after.name}` logs otherwise, without a restart"
        yield Effect(Severity.NONE, "logging-changes", flow, "connect.logging", what)
    yield from _exactly_once(before, after, flow)


def _standstill(workers: Workers) -> str:
    """What becomes of the tasks of a worker that leaves: the others wait for it, even where it is back before.

    Source: KIP-415, IncrementalCooperativeAssignor.handleLostAssignments.
    """
    milliseconds = int(workers.config.get(_DELAY, _DEFAULT_DELAY_MILLISECONDS))
    if milliseconds == 0:
        return "of one that leaves are taken over"
    wait = number(milliseconds // 60_000, "minute") if milliseconds % 60_000 == 0 else f"{milliseconds / 1000:g} s"
    return f"of one that leaves stand still for up to {wait} (`{_DELAY}`)"


def _differing(before: Mapping[str, Any], after: Mapping[str, Any], prefix: str = "") -> list[str]:
    return sorted(prefix + key for key in {*before, *after} if before.get(key) != after.get(key))


def _exactly_once(before: Workers, after: Workers, flow: str) -> Iterator[Effect]:
    old, new = (str(each.config.get(EXACTLY_ONCE_SUPPORT, "disabled")).lower() for each in (before, after))
    if (old, new) == ("disabled", "enabled"):
        what = (
            "`enabled` follows `disabled` in one step: old workers are fenced out while new ones start, so `up` "
            "refuses it; deploy `preparing` first"
        )
        yield Effect(Severity.DATA, "exactly-once-in-one-step", flow, "exactlyOnce", what)
    elif old != new and new == "enabled":
        what = "records and source offsets are written in one transaction from now on: a worker that dies repeats none"
        yield Effect(Severity.NONE, "exactly-once-begins", flow, "exactlyOnce", what)
    elif old == "enabled":
        what = "delivery is at least once from now on: a worker that dies repeats its last records"
        yield Effect(Severity.RE_READ, "exactly-once-ends", flow, "exactlyOnce", what)
