"""Topics that start or stop being replicated, and flows that are added or removed as a whole."""

from collections.abc import Iterator, Sequence

from kafka_replication.components.changes.deployment_state import DeployedConnector
from kafka_replication.components.changes.effect import Effect, Impact, counted, listed, verb
from kafka_replication.components.changes.stack_change import ContinuedTopics, StackChange, is_covered
from kafka_replication.components.kafka.overlap import Disjoint, overlap_of_patterns
from kafka_replication.components.kafka.topic_names import is_name

_REFRESH = "refresh.topics.enabled"


def topic_effects(change: StackChange) -> Iterator[Effect]:
    """Yield starts and stops by source connector; a flow that is added or removed has one effect."""
    for connector, topics in change.matching.started:
        if connector.flow in change.added_flows:
            yield _added(change, connector, topics)
        else:
            starts = f"{counted(topics, 'topic')} {verb(topics, 'starts', 'start')} replicating from "
            what = f"{starts}{_start(connector, topics)}{into_existing(connector, topics)}"
            yield Effect(Impact.NONE, "topics-start", connector.flow, connector.topics_key, what)
    for connector, topics in change.matching.stopped:
        if connector.flow in change.removed_flows:
            yield _removed(change, connector, topics)
        else:
            yield _stopped(change, connector, topics)
    for pair in change.matching.continued:
        yield from _exclusions(pair)
        yield from _refresh(pair.before, pair.after)


def _start(connector: DeployedConnector, topics: list[str]) -> str:
    """Return which topics start and where, and whether the connector has to be resumed first."""
    not_yet = "" if connector.state == "running" else f", once `{connector.name}` runs (it is {connector.state})"
    return f"{_beginning(connector)}: {listed(topics)}{not_yet}"


def into_existing(connector: DeployedConnector, topics: Sequence[str]) -> str:
    """Return what a diff cannot see: without a prefix, records arrive in topics that the target may already have."""
    if any(connector.policy.remote(topic) != topic for topic in topics):
        return ""
    if _is_one(topics):
        these, their = "a topic of this name already exists", "its"
    else:
        these, their = "topics of these names already exist", "their"
    return (
        f". If {these} on {connector.target_alias}, {their} consumers also get the records of {connector.source_alias}"
    )


def _is_one(topics: Sequence[str]) -> bool:
    return len(topics) == 1 and is_name(topics[0])


def _beginning(connector: DeployedConnector) -> str:
    return "latest, skipping existing records" if connector.start_from == "latest" else connector.start_from


def _stopped(change: StackChange, connector: DeployedConnector, topics: list[str]) -> Effect:
    plural, stay, get = ("", "stays", "gets") if _is_one(topics) else ("s", "stay", "get")
    remote = listed([connector.policy.remote(topic) for topic in topics])
    groups = change.translated_groups(connector.flow, change.before)
    offsets = ", and committed offsets there no longer advance" if groups else ""
    # Other producers may still write to it, especially under the identity policy.
    what = (
        f"{counted(topics, 'topic')} {verb(topics, 'is', 'are')} no longer replicated: remote topic{plural} {remote} "
        f"{stay} on {connector.target_alias} but {get} no more records from {connector.source_alias}{offsets}"
        f"{_still_replicated(change, connector, topics)}"
    )
    return Effect(Impact.DATA, "topics-stop", connector.flow, connector.topics_key, what)


def _still_replicated(change: StackChange, connector: DeployedConnector, topics: list[str]) -> str:
    """Return the names and narrower patterns that continue although a pattern that selected them is removed."""
    continuing = [topic for pair in change.matching.continued if pair.before is connector for topic in pair.topics]
    kept = [topic for topic in continuing if is_covered(topic, topics)]
    return f". {listed(kept)} {verb(kept, 'is', 'are')} still replicated" if kept else ""


def _added(change: StackChange, connector: DeployedConnector, topics: list[str]) -> Effect:
    groups = change.translated_groups(connector.flow, change.after)
    translated = f"; offsets of {counted(groups, 'group')} are translated" if groups else ""
    what = (
        f"replication from {connector.source_alias} to {connector.target_alias} begins: {counted(topics, 'topic')} "
        f"from {_start(connector, topics)}{translated}{into_existing(connector, topics)}"
    )
    return Effect(Impact.NONE, "replication-added", connector.flow, connector.topics_key, what)


def _removed(change: StackChange, connector: DeployedConnector, topics: list[str]) -> Effect:
    groups = change.translated_groups(connector.flow, change.before)
    offsets = f", and offsets of {counted(groups, 'group')} are no longer translated" if groups else ""
    what = (
        f"replication from {connector.source_alias} to {connector.target_alias} ends: {counted(topics, 'topic')} "
        f"{verb(topics, 'is', 'are')} no longer replicated{offsets}; remote topics and committed offsets stay in Kafka"
    )
    return Effect(Impact.DATA, "replication-removed", connector.flow, "", what)


def _exclusions(pair: ContinuedTopics) -> Iterator[Effect]:
    """Yield changed exclusions of topics that continuing patterns select: an excluded name has started or stopped."""
    before, after = pair.before, pair.after
    patterns = [topic for topic in pair.topics if not is_name(topic)]

    def matters(exclusion: str, others: Sequence[str]) -> bool:
        selected = any(not isinstance(overlap_of_patterns(exclusion, topic), Disjoint) for topic in patterns)
        return selected and not is_covered(exclusion, others)

    old, new = before.names("topics.exclude"), after.names("topics.exclude")
    if added := [pattern for pattern in new if matters(pattern, old)]:
        what = (
            f"topics that match {listed(added)} are excluded from now on: their remote topics stay on "
            f"{after.target_alias} but get no more records from {after.source_alias}"
        )
        yield Effect(Impact.DATA, "exclusions-added", after.flow, "topicsExclude", what)
    if removed := [pattern for pattern in old if matters(pattern, new)]:
        what = (
            f"selected topics that match {listed(removed)} start replicating from {_beginning(after)}"
            f"{into_existing(after, removed)}"
        )
        yield Effect(Impact.NONE, "exclusions-removed", after.flow, "topicsExclude", what)


def _refresh(before: DeployedConnector, after: DeployedConnector) -> Iterator[Effect]:
    """Source: MirrorSourceConfig.refreshTopicsInterval."""
    if before.is_on(_REFRESH) and not after.is_on(_REFRESH):
        what = (
            f"connector `{after.name}` no longer looks for new topics and partitions: those created later are not "
            "replicated until it restarts"
        )
        yield Effect(Impact.DATA, "topics-not-refreshed", after.flow, f"connectors.source.config.{_REFRESH}", what)
