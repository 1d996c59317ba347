"""Topics that continue with other source offsets or under other names.

Connect keeps source offsets in the workers' offsets topic on the target. Their key is the connector's name with
MirrorMaker's source alias, topic and partition. A partition without an offset starts at its beginning. Aliases,
replication policy and separator decide the names of remote topics.
Source: OffsetStorageReaderImpl, MirrorUtils.wrapPartition, MirrorSourceTask.initializeConsumer,
DefaultReplicationPolicy, IdentityReplicationPolicy.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kafka_replication.components.changes.effect import Effect, Impact, counted, listed, verb
from kafka_replication.components.changes.stack_change import ContinuedTopics, StackChange, same_cluster
from kafka_replication.components.changes.topics import into_existing


def source_offset_effects(change: StackChange) -> Iterator[Effect]:
    """Yield the effects on topics for which Connect has no offsets, or perhaps those of another cluster."""
    running = {(after.workers.group, after.name) for _, after in change.connector_pairs if after is not None}
    for pair in change.matching.continued:
        lost = _lost_offsets(pair, (pair.before.workers.group, pair.before.name) in running)
        if lost is not None:
            yield _replicated_again(pair, lost)
        # A target at a new address may still be the same cluster; its offsets then remain valid.
        if lost is None or lost.code == "target-cluster-changes":
            yield from _other_source(pair)


def loses_offsets(pair: ContinuedTopics) -> bool:
    """Return whether Connect has no offsets for the topics after the change."""
    return pair.before.source_alias != pair.after.source_alias or _lost_offsets(pair, False) is not None


def skips_to_the_end(topics: Sequence[str]) -> str:
    """Return what happens to topics for which Connect has no offsets, in a flow that starts from `latest`."""
    continues = verb(topics, "continues", "continue")
    return f"{counted(topics, 'topic')} {continues} at the end, skipping records produced in the meantime"


@dataclass(frozen=True)
class _LostOffsets:
    """Why Connect finds no offsets: the effect's code, the key that causes it, and the reason."""

    code: str
    key: str
    reason: str


def _lost_offsets(pair: ContinuedTopics, old_connector_runs: bool) -> _LostOffsets | None:
    before, after = pair.before, pair.after
    old, new = before.workers, after.workers
    if not same_cluster(old.target_address, new.target_address):
        reason = (
            f"workers keep their offsets on the target, and {new.target_address} has none unless it is the same "
            f"cluster as {old.target_address}"
        )
        return _LostOffsets("target-cluster-changes", "target", reason)
    if old.kind != new.kind:
        reason = (
            f"offsets are kept by connector name, which is `{before.name}` under {old.kind} and `{after.name}` under "
            f"{new.kind}"
        )
        return _LostOffsets("kind-changes", "kind", reason)
    if old.offsets_topic != new.offsets_topic:
        reason = f"offsets are kept in `{old.offsets_topic}`, but the workers now read `{new.offsets_topic}`"
        return _LostOffsets("worker-group-changes", "", reason)
    if before.name == after.name:
        return None
    if old_connector_runs:
        moves = verb(pair.topics, "it moves", "they move")
        reason = f"{moves} from connector `{before.name}` to `{after.name}`, and offsets are kept by connector name"
        return _LostOffsets("topics-move", after.topics_key, reason)
    reason = f"offsets are kept by connector name, and `{before.name}` is now called `{after.name}`"
    return _LostOffsets("connector-renamed", "", reason)


def _replicated_again(pair: ContinuedTopics, lost: _LostOffsets) -> Effect:
    flow, topics = pair.after.flow, pair.topics
    if pair.after.start_from == "latest":
        what = f"{skips_to_the_end(topics)}: {listed(topics)}; {lost.reason}"
        return Effect(Impact.DATA, lost.code, flow, lost.key, what)
    again = f"{counted(topics, 'topic')} {verb(topics, 'is', 'are')} replicated again from the beginning"
    same_names = all(pair.before.policy.remote(topic) == pair.after.policy.remote(topic) for topic in topics)
    twice = lost.code != "target-cluster-changes" and same_names
    suffix = ". Records that are already in the remote topics will be there twice" if twice else ""
    return Effect(Impact.RE_READ, lost.code, flow, lost.key, f"{again}: {listed(topics)}; {lost.reason}{suffix}")


def _other_source(pair: ContinuedTopics) -> Iterator[Effect]:
    before, after = pair.before, pair.after
    same_alias = before.source_alias == after.source_alias
    if same_alias and not same_cluster(before.source_address, after.source_address):
        what = (
            f"{after.source_alias} is now at {after.source_address} instead of {before.source_address}: if that is "
            f"another cluster, Connect's offsets for {counted(pair.topics, 'topic')} point to other records there, and "
            "records are skipped or replicated twice"
        )
        yield Effect(Impact.DATA, "source-cluster-changes", after.flow, "source", what)


_ONLY_NEW_RECORDS = "contain only records produced from now on"
_ALL_RECORDS = "are filled from the beginning"


def remote_name_effects(change: StackChange) -> Iterator[Effect]:
    """Yield the effects of renaming the source, the target or remote topics."""
    for pair in change.matching.continued:
        if pair.before.source_alias != pair.after.source_alias:
            yield _source_alias(change, pair)
        elif renamed := _renamed(pair):
            yield _remote_names(change, pair, renamed)
        if pair.before.target_alias != pair.after.target_alias and (pair.after.guarded or not loses_offsets(pair)):
            yield _target_alias(pair)


def _renamed(pair: ContinuedTopics) -> list[str]:
    return [topic for topic in pair.topics if pair.before.policy.remote(topic) != pair.after.policy.remote(topic)]


def _source_alias(change: StackChange, pair: ContinuedTopics) -> Effect:
    """Connect finds no offsets under the new alias, so replication starts over, in the same or in new remote topics."""
    before, after = pair.before, pair.after
    latest = after.start_from == "latest"
    if renamed := _renamed(pair):
        filled = _ONLY_NEW_RECORDS if latest else _ALL_RECORDS
        consequence = (
            f"{_new_remote_topics(pair, renamed)}; those with the new names {filled}{_orphaned_groups(change, pair)}"
            f"{into_existing(after, renamed)}"
        )
    elif latest:
        consequence = skips_to_the_end(pair.topics)
    else:
        topics = f"{counted(pair.topics, 'topic')} {verb(pair.topics, 'is', 'are')}"
        consequence = f"{topics} replicated again into the same remote topics, where every record is then stored twice"
    renaming = f"{before.source_alias} is now called {after.source_alias}"
    what = f"{renaming}, and Connect keeps offsets by the source's alias: {consequence}"
    return Effect(Impact.DATA, "source-alias-changes", after.flow, "source", what)


def _new_remote_topics(pair: ContinuedTopics, topics: list[str]) -> str:
    names = listed([f"{pair.before.policy.remote(topic)} → {pair.after.policy.remote(topic)}" for topic in topics])
    gets = verb(topics, "gets a new remote topic", "get new remote topics")
    return f"{counted(topics, 'topic')} {gets}: {names}. Remote topics with the old names get no more records"


def _remote_names(change: StackChange, pair: ContinuedTopics, topics: list[str]) -> Effect:
    before, after = pair.before, pair.after
    code, key = ("separator-changes", "separator")
    if before.identity_policy != after.identity_policy:
        code, key = ("policy-changes", "policy")
    if loses_offsets(pair):
        filled = _ONLY_NEW_RECORDS if after.start_from == "latest" else _ALL_RECORDS
    else:
        filled = (
            f"{_ONLY_NEW_RECORDS}, since Connect's offsets mark earlier records as read; until a partition's next "
            "record, offset syncs still translate to the old topic"
        )
    what = (
        f"{_new_remote_topics(pair, topics)}; those with the new names {filled}{_orphaned_groups(change, pair)}"
        f"{into_existing(after, topics)}"
    )
    return Effect(Impact.DATA, code, after.flow, key, what)


def _orphaned_groups(change: StackChange, pair: ContinuedTopics) -> str:
    groups = change.translated_groups(pair.before.flow, change.before)
    return f". Offsets of {counted(groups, 'group')} in the old remote topics are orphaned" if groups else ""


def _target_alias(pair: ContinuedTopics) -> Effect:
    before, after = pair.before, pair.after
    impact, consequence = Impact.NONE, "remote topics and Connect's offsets do not depend on it"
    if after.guarded:
        impact = Impact.DATA
        consequence = (
            "the loop guard drops records marked with the new alias, so records that are still marked with the old one "
            "pass it and are replicated in circles"
        )
    what = f"{before.target_alias} is now called {after.target_alias}: {consequence}"
    return Effect(impact, "target-alias-changes", after.flow, "target", what)
