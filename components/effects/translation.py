"""Consumer groups, offset syncs and checkpoints: whether committed offsets still translate to the target.

A checkpoint is written only if it advances, and group offsets are synced only to groups without members on the target.
Source: MirrorCheckpointTask, OffsetSyncStore, OffsetSyncWriter.
"""

from collections.abc import Iterator

from components.effects.change import Change
from components.effects.coverage import is_covered
from components.effects.effect import Effect, Severity, counted, listed
from components.effects.running import Connector

_LAG = "offset.lag.max"
_REFRESH = "refresh.groups.enabled"


def translation_effects(change: Change) -> Iterator[Effect]:
    """What happens to the translation of committed offsets, by flow."""
    for found in change.of_role("checkpoint"):
        before, after = (each if each is not None and each.emits else None for each in found)
        if before is None or after is None:
            yield from _connector(before, after)
        else:
            yield from _groups(before, after)
            yield from _group_offsets(before, after)
            yield from _refresh(before, after)
    told: set[str] = set()
    for before, after in change.of_role("source"):
        if before is not None and after is not None and after.flow not in told:
            told.add(after.flow)
            yield from _offset_syncs(change, before, after)


def _connector(before: Connector | None, after: Connector | None) -> Iterator[Effect]:
    if after is not None:
        what = f"offsets of {counted(after.names('groups'), 'group')} begin to be translated: {_named(after)}"
        yield Effect(Severity.NONE, "checkpoints-start", after.flow, "connectors.checkpoint", what)
    if before is not None:
        groups = before.names("groups")
        what = (
            f"offsets of {counted(groups, 'group')} are orphaned: {listed(groups)}; what was committed for them on "
            f"{before.target_alias} stays as it is while records go on"
        )
        yield Effect(Severity.DATA, "checkpoints-stop", before.flow, "connectors.checkpoint", what)


def _named(connector: Connector) -> str:
    return listed(connector.names("groups"))


def _groups(before: Connector, after: Connector) -> Iterator[Effect]:
    old, new = before.names("groups"), after.names("groups")
    if started := [each for each in new if not is_covered(each, old)]:
        what = f"offsets of {counted(started, 'group')} begin to be translated: {listed(started)}"
        yield Effect(Severity.NONE, "groups-start", after.flow, "groups", what)
    if stopped := [each for each in old if not is_covered(each, new)]:
        kept = [each for each in new if each not in old and is_covered(each, stopped)]
        but = f". Those of {listed(kept)} among them are translated as before" if kept else ""
        what = (
            f"offsets of {counted(stopped, 'group')} are orphaned: {listed(stopped)}; what was committed for them on "
            f"{after.target_alias} stays as it is while records go on{but}"
        )
        yield Effect(Severity.DATA, "groups-stop", after.flow, "groups", what)
    old, new = before.names("groups.exclude"), after.names("groups.exclude")
    if added := [each for each in new if each not in old]:
        what = f"offsets of groups that match {listed(added)} are orphaned: they are no longer translated"
        yield Effect(Severity.DATA, "groups-stop", after.flow, "groupsExclude", what)
    if gone := [each for each in old if each not in new]:
        what = f"offsets of groups that match {listed(gone)} begin to be translated"
        yield Effect(Severity.NONE, "groups-start", after.flow, "groupsExclude", what)


def _group_offsets(before: Connector, after: Connector) -> Iterator[Effect]:
    key = "sync.group.offsets.enabled"
    old, new = before.config.get(key, "false"), after.config.get(key, "false")
    groups = counted(after.names("groups"), "group")
    if (old, new) == ("true", "false"):
        what = (
            f"offsets of {groups} are no longer committed on {after.target_alias}: whoever fails over goes on where "
            "they stand now, and reads again what came since"
        )
        yield Effect(Severity.RE_READ, "group-offsets-stop", after.flow, "syncGroupOffsets", what)
    if (old, new) == ("false", "true"):
        what = f"translated offsets of {groups} are committed on {after.target_alias} where they have no active member"
        yield Effect(Severity.NONE, "group-offsets-start", after.flow, "syncGroupOffsets", what)


def _refresh(before: Connector, after: Connector) -> Iterator[Effect]:
    """Source: MirrorCheckpointConfig.refreshGroupsInterval."""
    if before.is_on(_REFRESH) and not after.is_on(_REFRESH):
        what = (
            f"connector `{after.name}` no longer looks for groups: offsets of those that appear later are not "
            "translated until it starts again"
        )
        where = f"connectors.checkpoint.config.{_REFRESH}"
        yield Effect(Severity.RE_READ, "groups-not-refreshed", after.flow, where, what)


def _offset_syncs(change: Change, before: Connector, after: Connector) -> Iterator[Effect]:
    groups = change.groups(before.flow, change.before)
    translated = f"offsets of {counted(groups, 'group')}" if groups else "offsets"
    old, new = _syncs_topic(before), _syncs_topic(after)
    if old[1] and not new[1]:
        what = f"offset syncs stop: {translated} are orphaned, and no checkpoint advances any more"
        yield Effect(Severity.DATA, "offset-syncs-stop", after.flow, "offsetSyncs.enabled", what)
    elif new[1] and not old[1]:
        what = f"offset syncs begin in `{new[1]}` with the next records: earlier offsets do not translate"
        yield Effect(Severity.NONE, "offset-syncs-start", after.flow, "offsetSyncs.enabled", what)
    elif old != new:
        what = (
            f"offset syncs move from `{old[1]}` on the {old[0]} to `{new[1]}` on the {new[0]}, which has no history: "
            f"{translated} do not advance on {after.target_alias} until the groups pass the first new sync"
        )
        yield Effect(Severity.RE_READ, "offset-syncs-move", after.flow, "offsetSyncs.location", what)
    elif new[1] and before.config.get(_LAG) != after.config.get(_LAG):
        old_lag, new_lag = (each.config.get(_LAG, "100") for each in (before, after))
        what = (
            f"so many records may pass before an offset is mapped again: {new_lag} instead of {old_lag}, and so many "
            "does a group at the end read again at most"
        )
        yield Effect(Severity.NONE, "offset-lag-changes", after.flow, "offsetSyncs.lagMax", what)


def _syncs_topic(connector: Connector) -> tuple[str, str]:
    """Side and name of the topic of offset syncs; empty without. Source: MirrorConnectorConfig.offsetSyncsTopic."""
    if connector.config.get("emit.offset-syncs.enabled", "true") == "false":
        return ("", "")
    side = connector.config.get("offset-syncs.topic.location", "source")
    other = connector.target_alias if side == "source" else connector.source_alias
    return side, connector.separator.join(("mm2-offset-syncs", other, "internal"))
