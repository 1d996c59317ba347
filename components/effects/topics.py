"""Topics that start or stop being replicated, and whole replications that come or go."""

from collections.abc import Iterator

from components.effects.change import Change
from components.effects.effect import Effect, Severity, counted, is_literal, listed, verb
from components.effects.running import Connector


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
            yield _stops(connector, topics)
    for pair in change.matching.continued:
        yield from _exclusions(pair.before, pair.after)


def _starts(connector: Connector, topics: list[str]) -> Effect:
    starts = verb(topics, "starts", "start")
    what = f"{counted(topics, 'topic')} {starts} replicating from {_beginning(connector)}: {listed(topics)}"
    return Effect(Severity.NONE, "topics-start", connector.flow, connector.topics_key, what)


def _beginning(connector: Connector) -> str:
    return "latest, without what is there already" if connector.start == "latest" else connector.start


def _stops(connector: Connector, topics: list[str]) -> Effect:
    remote = listed([connector.remote(topic) for topic in topics])
    one = len(topics) == 1 and is_literal(topics[0])
    stays = f"topic {remote} on {connector.target_alias} stays and no longer moves"
    stay = f"topics {remote} on {connector.target_alias} stay and no longer move"
    what = (
        f"{counted(topics, 'topic')} {verb(topics, 'leaves', 'leave')}: the remote {stays if one else stay}, nor do "
        "groups' offsets there"
    )
    return Effect(Severity.DATA, "topics-stop", connector.flow, connector.topics_key, what)


def _added(change: Change, connector: Connector, topics: list[str]) -> Effect:
    groups = change.groups(connector.flow, change.after)
    translated = f"; offsets of {counted(groups, 'group')} are translated" if groups else ""
    what = (
        f"replication from {connector.source_alias} to {connector.target_alias} begins: {counted(topics, 'topic')} "
        f"from {_beginning(connector)}: {listed(topics)}{translated}"
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
