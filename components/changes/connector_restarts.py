"""Connectors that restart, pause, stop or resume.

Connect restarts a connector and its tasks whenever the configuration that it receives differs in any way, even in the
name of a ConfigMap. Source: Strimzi AbstractConnectOperator.needsReconfiguring, Connect's DistributedHerder.
"""

from collections.abc import Iterator, Mapping

from components.changes.deployment_state import DeployedConnector
from components.changes.effect import Effect, Severity, counted, listed, verb
from components.changes.stack_change import StackChange

_REVISION = "credentials.revision"


def connector_effects(change: StackChange) -> Iterator[Effect]:
    """Yield one effect for all restarts of a flow's connectors, and one for each connector that changes its state."""
    restarting: dict[str, list[tuple[DeployedConnector, list[str]]]] = {}
    for before, after in change.connector_pairs:
        if before is None or after is None:
            continue
        is_same = (before.workers.group, before.name) == (after.workers.group, after.name)
        if is_same and before.submitted != after.submitted and "running" in (before.state, after.state):
            restarting.setdefault(after.flow, []).append((after, _changed_keys(before, after)))
        if before.state != after.state:
            yield _state(before, after)
    for flow, connectors in restarting.items():
        yield _restart(flow, connectors)


def _changed_keys(before: DeployedConnector, after: DeployedConnector) -> list[str]:
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
    """Whether a value is neither a login nor a placeholder, whose text changes with the name of a ConfigMap."""
    return not isinstance(value, Mapping | list) and "${" not in str(value)


def _restart(flow: str, connectors: list[tuple[DeployedConnector, list[str]]]) -> Effect:
    keys = sorted({key for _, changed in connectors for key in changed})
    names = [connector.name for connector, _ in connectors]
    restart = f"{counted(names, 'connector')} {verb(names, 'restarts', 'restart')}"
    if keys and all(key.endswith(_REVISION) for key in keys):
        what = f"{restart} to read the new credentials: {listed(names)}"
        return Effect(Severity.RESTART, "credentials-are-read-anew", flow, "", what)
    because = listed(keys) if keys else "a ConfigMap or a credential has a new name"
    return Effect(Severity.RESTART, "connector-restarts", flow, "connectors", f"{restart}: {listed(names)} ({because})")


def _state(before: DeployedConnector, after: DeployedConnector) -> Effect:
    key = f"connectors.{'sources.' + after.part if after.part else after.role}.state"
    if after.state == "running":
        what = f"connector `{after.name}` resumes where it stopped"
        return Effect(Severity.RESTART, "connector-resumes", after.flow, key, what)
    severity, consequence = _inactive(after)
    what = f"connector `{after.name}` is {after.state}: {consequence}"
    if before.state != "running":
        severity = Severity.NONE
        what = f"connector `{after.name}` is {after.state} instead of {before.state}: it still does nothing"
    code = "connector-stops" if after.state == "stopped" else "connector-pauses"
    return Effect(severity, code, after.flow, key, what)


def _inactive(connector: DeployedConnector) -> tuple[Severity, str]:
    """What a connector that no longer runs leaves undone, and how severe that is."""
    match connector.role:
        case "source":
            topics = f"{counted(connector.topics, 'topic')} {verb(connector.topics, 'is', 'are')}"
            lost = "records that the source's retention deletes in the meantime are lost to the target"
            return Severity.DATA, f"{topics} no longer replicated, and {lost}"
        case "checkpoint":
            groups = counted(connector.names("groups"), "group")
            return Severity.RE_READ, f"offsets of {groups} are no longer translated"
    return Severity.NONE, "heartbeats stop"
