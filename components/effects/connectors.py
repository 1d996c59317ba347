"""Connectors that restart, pause, stop or resume.

Connect restarts a connector and its tasks when the configuration that it is handed differs in anything, be it the name
of a ConfigMap. Source: Strimzi AbstractConnectOperator.needsReconfiguring, Connect's DistributedHerder.
"""

from collections.abc import Iterator

from components.effects.change import Change
from components.effects.effect import Effect, Severity, counted, listed
from components.effects.running import Connector

_REVISION = "credentials.revision"


def connector_effects(change: Change) -> Iterator[Effect]:
    """Restarts, one effect a flow, and changed states."""
    restarting: dict[str, list[tuple[Connector, list[str]]]] = {}
    for before, after in change.pairs:
        if before is None or after is None:
            continue
        if before.given != after.given and _same(before, after) and "running" in (before.state, after.state):
            restarting.setdefault(after.flow, []).append((after, _changed(before, after)))
        if before.state != after.state:
            yield _state(before, after)
    for flow, connectors in restarting.items():
        yield _restart(flow, connectors)


def _same(before: Connector, after: Connector) -> bool:
    """Whether Connect sees another configuration of one connector, and not another connector."""
    return (before.workers.group, before.name) == (after.workers.group, after.name)


def _changed(before: Connector, after: Connector) -> list[str]:
    """Properties whose value differs; of the rest only the name of a ConfigMap does."""
    if before.config == after.config:
        return [key for key in ("tasksMax", "class") if before.given.get(key) != after.given.get(key)]
    keys = [key for key in {**after.config, **before.config} if before.config.get(key) != after.config.get(key)]
    if before.given.get("tasksMax") != after.given.get("tasksMax"):
        keys.append("tasksMax")
    return sorted(keys)


def _restart(flow: str, connectors: list[tuple[Connector, list[str]]]) -> Effect:
    keys = sorted({key for _, changed in connectors for key in changed})
    names = [connector.name for connector, _ in connectors]
    if keys and all(key.endswith(_REVISION) for key in keys):
        what = f"{counted(names, 'connector')} restart and read the credentials anew: {listed(names)}"
        return Effect(Severity.RESTART, "credentials-are-read-anew", flow, "", what)
    because = f" ({listed(keys)})" if keys else " (a ConfigMap or credential of another name)"
    verb = "restarts" if len(names) == 1 else "restart"
    what = f"{counted(names, 'connector')} {verb}: {listed(names)}{because}"
    return Effect(Severity.RESTART, "connector-restarts", flow, "connectors", what)


def _state(before: Connector, after: Connector) -> Effect:
    key = f"connectors.{'sources.' + after.part if after.part else after.role}.state"
    if after.state == "running":
        what = f"connector `{after.name}` runs again, from where it stood"
        return Effect(Severity.RESTART, "connector-resumes", after.flow, key, what)
    code = "connector-stops" if after.state == "stopped" else "connector-pauses"
    if before.state != "running":
        what = f"connector `{after.name}` is {after.state} instead of {before.state}: it still does nothing"
        return Effect(Severity.NONE, code, after.flow, key, what)
    if after.role == "source":
        what = (
            f"connector `{after.name}` is {after.state}: {counted(after.topics, 'topic')} no longer move, and what the "
            "source's retention removes meanwhile never arrives"
        )
        return Effect(Severity.DATA, code, after.flow, key, what)
    if after.role == "checkpoint":
        groups = counted(after.names("groups"), "group")
        what = f"connector `{after.name}` is {after.state}: offsets of {groups} are no longer translated"
        return Effect(Severity.RE_READ, code, after.flow, key, what)
    return Effect(Severity.NONE, code, after.flow, key, f"connector `{after.name}` is {after.state}: heartbeats stop")
