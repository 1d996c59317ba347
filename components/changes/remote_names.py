"""Changes to aliases, replication policy and separator: the names of remote topics, and what happens to the old ones.

Source: DefaultReplicationPolicy, IdentityReplicationPolicy.
"""

from collections.abc import Iterator

from components.changes.effect import Effect, Severity, counted, listed, verb
from components.changes.source_offsets import loses_offsets, skips_to_the_end
from components.changes.stack_change import StackChange
from components.changes.topic_matching import ContinuedTopics
from components.changes.topics import into_existing

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
    return Effect(Severity.DATA, "source-alias-changes", after.flow, "source", what)


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
    return Effect(Severity.DATA, code, after.flow, key, what)


def _orphaned_groups(change: StackChange, pair: ContinuedTopics) -> str:
    groups = change.translated_groups(pair.before.flow, change.before)
    return f". Offsets of {counted(groups, 'group')} in the old remote topics are orphaned" if groups else ""


def _target_alias(pair: ContinuedTopics) -> Effect:
    before, after = pair.before, pair.after
    severity, consequence = Severity.NONE, "remote topics and Connect's offsets do not depend on it"
    if after.guarded:
        severity = Severity.DATA
        consequence = (
            "the loop guard drops records marked with the new alias, so records that are still marked with the old one "
            "pass it and are replicated in circles"
        )
    what = f"{before.target_alias} is now called {after.target_alias}: {consequence}"
    return Effect(severity, "target-alias-changes", after.flow, "target", what)
