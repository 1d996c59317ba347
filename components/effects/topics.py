"""Topics that start or stop being replicated, and whole replications that come or go."""

from collections.abc import Iterator

from components.effects.change import Change
from components.effects.coverage import is_covered
from components.effects.effect import Effect, Severity, counted, is_literal, listed, verb
from components.effects.running import Connector

_REFRESH = "refresh.topics.enabled"


def topic_effects(change: Change) -> Iterator[Effect]:
    """Starts and stops by source connector; a whole replication is told once."""
    for connector, topics in change.matching.started.values():
        if connector.flow in change.added:
            yield _added(change, connector, topics)
        else:
            yield _starts(connector, topics)
    for connector, topics in change.matching.stopped.values():
        if connector.flow in change.removed:
            yield _removed(change, connector, topics)
        else:
            yield _stops(change, connector, topics)
    for pair in change.matching.continued:
        yield from _exclusions(pair.before, pair.after)
        yield from _refresh(pair.before, pair.after)


def _starts(connector: Connector, topics: list[str]) -> Effect:
    starts = verb(topics, "starts", "start")
    what = (
        f"{counted(topics, 'topic')} {starts} replicating from {_beginning(connector)}: {listed(topics)}"
        f"{_not_yet(connector)}"
    )
    return Effect(Severity.NONE, "topics-start", connector.flow, connector.topics_key, what)


def _beginning(connector: Connector) -> str:
    return "latest, without what is there already" if connector.start == "latest" else connector.start


def _not_yet(connector: Connector) -> str:
    if connector.state == "running":
        return ""
    return f", once `{connector.name}` runs: it is {connector.state}"


def _stops(change: Change, connector: Connector, topics: list[str]) -> Effect:
    remote = listed([connector.remote(topic) for topic in topics])
    one = len(topics) == 1 and is_literal(topics[0])
    # Under the same names, somebody may produce to them there.
    source = f"no longer {'gets' if one else 'get'} records of {connector.source_alias}"
    moves = source if connector.identity_policy else "no longer moves" if one else "no longer move"
    stays = f"topic{'' if one else 's'} {remote} on {connector.target_alias} {'stays' if one else 'stay'} and {moves}"
    groups = ", nor do groups' offsets there" if change.groups(connector.flow, change.before) else ""
    what = (
        f"{counted(topics, 'topic')} {verb(topics, 'leaves', 'leave')}: the remote {stays}{groups}"
        f"{_kept(change, connector, topics)}"
    )
    return Effect(Severity.DATA, "topics-stop", connector.flow, connector.topics_key, what)


def _kept(change: Change, connector: Connector, topics: list[str]) -> str:
    """What goes on of patterns that leave, as names or narrower patterns."""
    going_on = [topic for pair in change.matching.continued if pair.before is connector for topic in pair.topics]
    kept = [topic for topic in going_on if is_covered(topic, topics)]
    return f". What {listed(kept)} {verb(kept, 'selects', 'select')} of them goes on" if kept else ""


def _added(change: Change, connector: Connector, topics: list[str]) -> Effect:
    groups = change.groups(connector.flow, change.after)
    translated = f"; offsets of {counted(groups, 'group')} are translated" if groups else ""
    what = (
        f"replication from {connector.source_alias} to {connector.target_alias} begins: {counted(topics, 'topic')} "
        f"from {_beginning(connector)}: {listed(topics)}{_not_yet(connector)}{translated}"
    )
    return Effect(Severity.NONE, "replication-added", connector.flow, connector.topics_key, what)


def _removed(change: Change, connector: Connector, topics: list[str]) -> Effect:
    groups = change.groups(connector.flow, change.before)
    orphaned = f" and offsets of {counted(groups, 'group')}" if groups else ""
    what = (
        f"replication from {connector.source_alias} to {connector.target_alias} ends: {counted(topics, 'topic')}"
        f"{orphaned} no longer move; remote topics and committed offsets stay in Kafka"
    )
    return Effect(Severity.DATA, "replication-removed", connector.flow, "", what)


def _exclusions(before: Connector, after: Connector) -> Iterator[Effect]:
    """Exclusions only matter to what a pattern selects; a name that one hits has started or stopped already."""
    if all(is_literal(topic) for topic in after.topics):
        return
    old, new = before.names("topics.exclude"), after.names("topics.exclude")
    if added := [each for each in new if each not in old]:
        what = (
            f"topics that match {listed(added)} leave the patterns: their remote topics on {after.target_alias} stay "
            "and no longer move"
        )
        yield Effect(Severity.DATA, "exclusions-added", after.flow, "topicsExclude", what)
    if gone := [each for each in old if each not in new]:
        what = f"topics that match {listed(gone)} and a pattern start replicating from {_beginning(after)}"
        yield Effect(Severity.NONE, "exclusions-removed", after.flow, "topicsExclude", what)


def _refresh(before: Connector, after: Connector) -> Iterator[Effect]:
    """Source: MirrorSourceConfig.refreshTopicsInterval."""
    if before.is_on(_REFRESH) and not after.is_on(_REFRESH):
        what = (
            f"connector `{after.name}` no longer looks for topics and partitions: those that are created later do not "
            "move until it starts again"
        )
        yield Effect(Severity.DATA, "topics-not-refreshed", after.flow, f"connectors.source.config.{_REFRESH}", what)
