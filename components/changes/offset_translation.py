"""Whether committed offsets still translate. Source: MirrorCheckpointTask, OffsetSyncStore, OffsetSyncWriter."""

from collections.abc import Iterator, Sequence
from functools import partial

from kafka_replication.components.changes.deployment_state import DeployedConnector
from kafka_replication.components.changes.effect import Effect, Impact, counted, listed, verb
from kafka_replication.components.changes.stack_change import StackChange, effects_on_sources, is_covered

_LAG = "offset.lag.max"
_REFRESH = "refresh.groups.enabled"


def translation_effects(change: StackChange) -> Iterator[Effect]:
    """Yield what happens to the translation of committed offsets, by flow."""
    for pair in change.connector_pairs_of("checkpoint"):
        before, after = (connector if connector is not None and connector.emits else None for connector in pair)
        if before is not None and after is not None:
            yield from _names(change, before, after)
            yield from _groups(before, after)
            yield from _group_offsets(before, after)
            yield from _refresh(before, after)
        elif after is not None:
            what = _translated(after.names("groups"))
            yield Effect(Impact.NONE, "checkpoints-start", after.flow, "connectors.checkpoint", what)
        elif before is not None:
            what = _orphaned(before.names("groups"), before.target_alias)
            yield Effect(Impact.DATA, "checkpoints-stop", before.flow, "connectors.checkpoint", what)
    yield from effects_on_sources(change, partial(_offset_syncs, change))


def _translated(groups: Sequence[str]) -> str:
    return f"offsets of {counted(groups, 'group')} start being translated: {listed(groups)}"


def _orphaned(groups: Sequence[str], target: str) -> str:
    return (
        f"offsets of {counted(groups, 'group')} are orphaned: {listed(groups)}; their committed offsets on {target} "
        "no longer advance while replication continues"
    )


def _names(change: StackChange, before: DeployedConnector, after: DeployedConnector) -> Iterator[Effect]:
    """Offsets translate only if a checkpoint connector names topics as the source connectors of its flow do."""
    agreed, agree = (
        all(
            source.policy.remote("topic") == checkpoint.policy.remote("topic")
            for state in states
            for source in state.connectors
            if (source.role, source.flow) == ("source", checkpoint.flow)
        )
        for states, checkpoint in ((change.before, before), (change.after, after))
    )
    if agree and not agreed:
        what = f"{_translated(after.names('groups'))}. The connector now names topics as the source connector does"
        yield Effect(Impact.NONE, "groups-start", after.flow, "policy", what)
    if agreed and not agree:
        what = f"{_orphaned(after.names('groups'), after.target_alias)}. The connector no longer names topics as the "
        yield Effect(Impact.DATA, "groups-stop", after.flow, "policy", f"{what}source connector does")


def _groups(before: DeployedConnector, after: DeployedConnector) -> Iterator[Effect]:
    old, new = before.names("groups"), after.names("groups")
    if started := [group for group in new if not is_covered(group, old)]:
        yield Effect(Impact.NONE, "groups-start", after.flow, "groups", _translated(started))
    if stopped := [group for group in old if not is_covered(group, new)]:
        kept = [group for group in new if group not in old and is_covered(group, stopped)]
        still = f". {listed(kept)} {verb(kept, 'is', 'are')} still translated" if kept else ""
        what = _orphaned(stopped, after.target_alias) + still
        yield Effect(Impact.DATA, "groups-stop", after.flow, "groups", what)
    old, new = before.names("groups.exclude"), after.names("groups.exclude")
    if added := [pattern for pattern in new if pattern not in old]:
        what = f"offsets of groups that match {listed(added)} are orphaned: they are no longer translated"
        yield Effect(Impact.DATA, "groups-stop", after.flow, "groupsExclude", what)
    if removed := [pattern for pattern in old if pattern not in new]:
        what = f"offsets of groups that match {listed(removed)} start being translated"
        yield Effect(Impact.NONE, "groups-start", after.flow, "groupsExclude", what)


def _group_offsets(before: DeployedConnector, after: DeployedConnector) -> Iterator[Effect]:
    key = "sync.group.offsets.enabled"
    old, new = (connector.config.get(key, "false") for connector in (before, after))
    groups = counted(after.names("groups"), "group")
    if (old, new) == ("true", "false"):
        what = (
            f"offsets of {groups} are no longer committed on {after.target_alias}: after a failover, consumers resume "
            "from the offsets that are now committed there and reread everything since"
        )
        yield Effect(Impact.RE_READ, "group-offsets-stop", after.flow, "syncGroupOffsets", what)
    if (old, new) == ("false", "true"):
        what = f"translated offsets of {groups} are committed on {after.target_alias} while no member is active there"
        yield Effect(Impact.NONE, "group-offsets-start", after.flow, "syncGroupOffsets", what)


def _refresh(before: DeployedConnector, after: DeployedConnector) -> Iterator[Effect]:
    """Source: MirrorCheckpointConfig.refreshGroupsInterval."""
    if before.is_on(_REFRESH) and not after.is_on(_REFRESH):
        what = (
            f"connector `{after.name}` no longer looks for new groups: offsets of groups that appear later are not "
            "translated until it restarts"
        )
        where = f"connectors.checkpoint.config.{_REFRESH}"
        yield Effect(Impact.RE_READ, "groups-not-refreshed", after.flow, where, what)


def _offset_syncs(change: StackChange, before: DeployedConnector, after: DeployedConnector) -> Iterator[Effect]:
    groups = change.translated_groups(before.flow, change.before)
    offsets = f"offsets of {counted(groups, 'group')}" if groups else "offsets"
    (old_side, old_topic), (new_side, new_topic) = _offset_syncs_topic(before), _offset_syncs_topic(after)
    if old_topic and not new_topic:
        what = f"offset syncs stop: {offsets} are orphaned, and checkpoints no longer advance"
        yield Effect(Impact.DATA, "offset-syncs-stop", after.flow, "offsetSyncs.enabled", what)
    elif new_topic and not old_topic:
        what = f"offset syncs start in `{new_topic}` with the next records: earlier offsets are not translated"
        yield Effect(Impact.NONE, "offset-syncs-start", after.flow, "offsetSyncs.enabled", what)
    elif (old_side, old_topic) != (new_side, new_topic):
        what = (
            f"offset syncs move from `{old_topic}` on the {old_side} to `{new_topic}` on the {new_side}, which has no "
            f"history: {offsets} do not advance on {after.target_alias} until the groups pass the first new sync"
        )
        where = _cause_of_the_move(before, after) if old_side == new_side else "offsetSyncs.location"
        yield Effect(Impact.RE_READ, "offset-syncs-move", after.flow, where, what)
    elif new_topic and before.config.get(_LAG) != after.config.get(_LAG):
        old_lag, new_lag = (connector.config.get(_LAG, "100") for connector in (before, after))
        what = (
            f"`{_LAG}` is {new_lag} instead of {old_lag}: at most that many records pass between two offset syncs, and "
            "a group at the end of a partition rereads no more than that"
        )
        yield Effect(Impact.NONE, "offset-lag-changes", after.flow, "offsetSyncs.lagMax", what)


def _cause_of_the_move(before: DeployedConnector, after: DeployedConnector) -> str:
    """Return the key that renames the offset-syncs topic, which is named after the other cluster."""
    if before.target_alias != after.target_alias:
        return "target"
    return "source" if before.source_alias != after.source_alias else "separator"


def _offset_syncs_topic(connector: DeployedConnector) -> tuple[str, str]:
    """Return side and name of the offset-syncs topic, or "". Source: MirrorConnectorConfig.offsetSyncsTopic."""
    if not connector.is_on("emit.offset-syncs.enabled"):
        return ("", "")
    side = connector.config.get("offset-syncs.topic.location", "source")
    return side, connector.policy.offset_syncs_topic(on_source=side == "source")
