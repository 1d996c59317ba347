"""Where Connect keeps how far a source connector has read, and what happens when it can no longer find it.

Connect keeps source offsets in the worker group's offsets topic on the target, by connector name, and MirrorMaker by
source alias, topic and partition. Without one a partition begins at its start.
Source: OffsetStorageReaderImpl, MirrorUtils.wrapPartition, MirrorSourceTask.initializeConsumer.
"""

from collections.abc import Iterator

from components.effects.change import Change
from components.effects.effect import Effect, Severity, counted, listed, verb
from components.effects.matching import Continued, same_cluster


def position_effects(change: Change) -> Iterator[Effect]:
    """Topics that are replicated again because Connect knows no offset of them, and offsets that mean nothing."""
    reading = {(each.workers.group, each.name) for _, each in change.pairs if each is not None}
    for pair in change.matching.continued:
        if (reason := _lost(pair, (pair.before.workers.group, pair.before.name) in reading)) is not None:
            yield _again(pair, *reason)
        # Offsets hold where the target, under another address, is the cluster that it was.
        if reason is None or reason[0] == "target-cluster-changes":
            yield from _another_source(pair)


def is_lost(pair: Continued) -> bool:
    """Whether Connect has no offset for the topics after the change."""
    return _lost(pair, False) is not None or pair.before.source_alias != pair.after.source_alias


def _lost(pair: Continued, goes_on: bool) -> tuple[str, str, str] | None:
    """Code, key and reason if Connect looks for offsets where none are; `goes_on` if the old connector still runs."""
    before, after = pair.before, pair.after
    if not same_cluster(before.workers.target, after.workers.target):
        reason = (
            f"workers keep their offsets at the target, and {after.workers.target} has none if it is another cluster "
            f"than {before.workers.target}"
        )
        return "target-cluster-changes", "target", reason
    if before.workers.kind != after.workers.kind:
        reason = f"offsets are kept by the connector's name, `{before.name}` under {before.workers.kind}, and under "
        return "kind-changes", "kind", f"{reason}{after.workers.kind} it is `{after.name}`"
    if before.workers.offsets_topic != after.workers.offsets_topic:
        reason = f"offsets are kept in `{before.workers.offsets_topic}`, the workers now read "
        return "worker-group-changes", "", f"{reason}`{after.workers.offsets_topic}`"
    if before.name == after.name:
        return None
    if goes_on:
        reason = f"they go from connector `{before.name}` to `{after.name}`, and offsets are kept by connector"
        return "topics-move", after.topics_key, reason
    reason = f"offsets are kept by the connector's name, and `{before.name}` becomes `{after.name}`"
    return "connector-renamed", "", reason


def _again(pair: Continued, code: str, key: str, reason: str) -> Effect:
    after, topics = pair.after, pair.topics
    if after.start == "latest":
        said = (
            f"{counted(topics, 'topic')} {verb(topics, 'goes', 'go')} on at the end, without what is produced meanwhile"
        )
        return Effect(Severity.DATA, code, after.flow, key, f"{said}: {listed(topics)}; {reason}")
    said = f"{counted(topics, 'topic')} {verb(topics, 'replicates', 'replicate')} again from the beginning"
    what = f"{said}: {listed(topics)}; {reason}{_twice(pair, code)}"
    return Effect(Severity.RE_READ, code, after.flow, key, what)


def _twice(pair: Continued, code: str) -> str:
    """Whether records that are there already are written a second time."""
    same = all(pair.before.remote(topic) == pair.after.remote(topic) for topic in pair.topics)
    if code == "target-cluster-changes" or not same:
        return ""
    return ". Records that are in the remote topics already are there twice afterwards"


def _another_source(pair: Continued) -> Iterator[Effect]:
    before, after = pair.before, pair.after
    same_alias = before.source_alias == after.source_alias
    if same_alias and not same_cluster(before.source_address, after.source_address):
        what = (
            f"{after.source_alias} is at {after.source_address} instead of {before.source_address}: if that is another "
            f"cluster, Connect's offsets of {counted(pair.topics, 'topic')} mean other records there, and records are "
            "left out or replicated twice"
        )
        yield Effect(Severity.DATA, "source-cluster-changes", after.flow, "source", what)
