"""Aliases, replication policy and separator: names of remote topics, and what happens to the old ones.

Source: DefaultReplicationPolicy, IdentityReplicationPolicy.
"""

from collections.abc import Iterator

from components.effects.change import Change
from components.effects.effect import Effect, Severity, counted, listed, verb
from components.effects.matching import Continued
from components.effects.positions import is_lost


def name_effects(change: Change) -> Iterator[Effect]:
    """What follows from another name of the source, the target or the remote topics."""
    for pair in change.matching.continued:
        if pair.before.source_alias != pair.after.source_alias:
            yield _source_alias(change, pair)
        elif renamed := [topic for topic in pair.topics if pair.before.remote(topic) != pair.after.remote(topic)]:
            yield _remote_names(change, pair, renamed)
        if pair.before.target_alias != pair.after.target_alias and (pair.after.guarded or not is_lost(pair)):
            yield _target_alias(pair)


def _source_alias(change: Change, pair: Continued) -> Effect:
    """Connect finds no offsets, so everything begins where the flow begins, in the same topics or in others."""
    before, after = pair.before, pair.after
    topics = counted(pair.topics, "topic")
    renamed = [topic for topic in pair.topics if before.remote(topic) != after.remote(topic)]
    latest = after.start == "latest"
    if renamed:
        filled = f"{_gets_another(pair, renamed)}; the new ones "
        filled += "hold only what comes from now on" if latest else "are filled from the beginning"
        does = filled + _orphans(change, pair)
    elif latest:
        does = f"{topics} {verb(pair.topics, 'goes', 'go')} on at the end, without what is produced meanwhile"
    else:
        again = verb(pair.topics, "replicates", "replicate")
        does = f"{topics} {again} again into the same remote topics, where each record is then twice"
    said = f"{before.source_alias} is called {after.source_alias}, and Connect keeps offsets by the source's alias"
    return Effect(Severity.DATA, "source-alias-changes", after.flow, "source", f"{said}: {does}")


def _gets_another(pair: Continued, topics: list[str]) -> str:
    """The names of remote topics before and after; ends before what the new ones hold."""
    named = listed([f"{pair.before.remote(topic)} → {pair.after.remote(topic)}" for topic in topics])
    return f"{counted(topics, 'topic')} {verb(topics, 'gets', 'get')} another remote topic: {named}. The old ones stop"


def _remote_names(change: Change, pair: Continued, topics: list[str]) -> Effect:
    before, after = pair.before, pair.after
    code, key = ("separator-changes", "separator")
    if before.identity_policy != after.identity_policy:
        code, key = ("policy-changes", "policy")
    filled = (
        "the new ones hold only what comes from now on, as Connect's offsets say that the rest was read; "
        "until a partition's next record, offset syncs translate to the old one"
    )
    if is_lost(pair):
        begins = "hold only what comes from now on" if after.start == "latest" else "are filled from the beginning"
        filled = f"the new ones {begins}"
    what = f"{_gets_another(pair, topics)}; {filled}{_orphans(change, pair)}"
    return Effect(Severity.DATA, code, after.flow, key, what)


def _orphans(change: Change, pair: Continued) -> str:
    groups = change.groups(pair.before.flow, change.before)
    if not groups:
        return ""
    return f". Offsets of {counted(groups, 'group')} in the old remote topics are orphaned"


def _target_alias(pair: Continued) -> Effect:
    before, after = pair.before, pair.after
    said = f"{before.target_alias} is called {after.target_alias}"
    if after.guarded:
        what = (
            f"{said}: the loop guard drops records that are marked with the new alias, and those that were marked with "
            "the old one and are still read go round"
        )
        return Effect(Severity.DATA, "target-alias-changes", after.flow, "target", what)
    what = f"{said}: remote topics and Connect's offsets do not depend on it"
    return Effect(Severity.NONE, "target-alias-changes", after.flow, "target", what)
