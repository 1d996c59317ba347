"""What records become on their way: transforms, the loop guard, transactions, and where new partitions begin."""

from collections.abc import Iterator, Mapping

from components.effects.change import Change
from components.effects.effect import Effect, Severity, counted, listed
from components.effects.running import Connector
from components.specs.transforms import RESERVED_NAMES

_ISOLATION = "source.consumer.isolation.level"


def record_effects(change: Change) -> Iterator[Effect]:
    """What changes in records, by flow; several source connectors of a flow differ in their topics only."""
    told: set[tuple[str, str]] = set()
    for before, after in change.of_role("source"):
        if before is None or after is None:
            continue
        for effect in (*_guard(before, after), *_transforms(before, after), *_beginning(before, after)):
            if (effect.flow, effect.code) not in told:
                told.add((effect.flow, effect.code))
                yield effect
        yield from _isolation(before, after)
    for before, after in change.of_role("source"):
        if before is not None and after is not None:
            yield from _heartbeats(before, after)
    for found in change.of_role("heartbeat"):
        yield from _heartbeat_connector(*(each if each is not None and each.emits else None for each in found))


def _guard(before: Connector, after: Connector) -> Iterator[Effect]:
    if before.guarded == after.guarded:
        return
    if after.guarded:
        code = "loop-guard-added"
        what = (
            f"records that come from {after.target_alias} are dropped by their mark from now on; what was replicated "
            "before carries none, and is not recognised where it is read again"
        )
    else:
        code = "loop-guard-removed"
        what = (
            f"records that came from {after.target_alias} are no longer dropped: where the topics are replicated back "
            "under the same names, every record goes round without end"
        )
    yield Effect(Severity.DATA, code, after.flow, "loopGuard", what)


def _transforms(before: Connector, after: Connector) -> Iterator[Effect]:
    if before.guarded != after.guarded and _chain(before) == _chain(after):
        return
    old, new = _transform_properties(before), _transform_properties(after)
    if before.guarded == after.guarded and old == new:
        return
    changed = sorted(key for key in {*old, *new} if old.get(key) != new.get(key))
    if changed:
        what = (
            f"records are transformed in another way from now on ({listed(changed)}); those in the remote topics stay "
            "as they are"
        )
        yield Effect(Severity.DATA, "transforms-change", after.flow, "transforms", what)


def _chain(connector: Connector) -> list[str]:
    return [name for name in connector.names("transforms") if name not in RESERVED_NAMES]


def _transform_properties(connector: Connector) -> Mapping[str, str]:
    """The user's transforms and predicates; the guard's names hold aliases, and change with these."""
    found = {
        key: value
        for key, value in connector.config.items()
        if key.startswith(("transforms.", "predicates.")) and key.split(".")[1] not in RESERVED_NAMES
    }
    return {**found, "transforms": ",".join(_chain(connector))} if _chain(connector) else found


def _beginning(before: Connector, after: Connector) -> Iterator[Effect]:
    if before.start != after.start:
        what = (
            f"partitions of which nothing was replicated begin at {after.start} instead of {before.start}; all others "
            "go on where they stand"
        )
        yield Effect(Severity.NONE, "start-from-changes", after.flow, "startFrom", what)


def _isolation(before: Connector, after: Connector) -> Iterator[Effect]:
    old, new = (each.config.get(_ISOLATION, "read_uncommitted") for each in (before, after))
    if old == new:
        return
    topics = counted(after.topics, "topic")
    what = (
        f"records of aborted transactions in {topics} are left out from now on, and open ones hold up what follows them"
        if new == "read_committed"
        else f"records of aborted transactions in {topics} are replicated from now on"
    )
    severity = Severity.NONE if new == "read_committed" else Severity.DATA
    yield Effect(severity, "isolation-changes", after.flow, "exactlyOnce", what)


def _heartbeats(before: Connector, after: Connector) -> Iterator[Effect]:
    key = "heartbeats.replication.enabled"
    old, new = (each.config.get(key, "true") for each in (before, after))
    if (old, new) == ("true", "false"):
        what = f"connector `{after.name}` no longer replicates heartbeats to {after.target_alias}"
        yield Effect(Severity.NONE, "heartbeats-not-replicated", after.flow, "replicateHeartbeats", what)
    if (old, new) == ("false", "true"):
        what = f"connector `{after.name}` replicates heartbeats to {after.target_alias}"
        yield Effect(Severity.NONE, "heartbeats-replicated", after.flow, "replicateHeartbeats", what)


def _heartbeat_connector(before: Connector | None, after: Connector | None) -> Iterator[Effect]:
    key = "connectors.heartbeat"
    if before is not None and after is None:
        what = "heartbeats stop: nothing shows any more that a flow without records still replicates"
        yield Effect(Severity.NONE, "heartbeats-stop", before.flow, key, what)
    if after is not None and before is None:
        yield Effect(Severity.NONE, "heartbeats-start", after.flow, key, "heartbeats begin")
    if before is not None and after is not None and before.workers.kind != after.workers.kind:
        what = (
            f"heartbeats come from `{after.name}` under {after.workers.kind} instead of `{before.name}`; those of a "
            "KafkaMirrorMaker2 are produced to the target, all others to the source"
        )
        yield Effect(Severity.NONE, "heartbeats-move", after.flow, key, what)
