"""Whether checkpoints and group offsets stand where they should, by offsets alone. Pure.

Everything here can be early rather than wrong, because a checkpoint or a group sync may be on its way: a `Standing`
therefore carries for how long the job should look again before it says so.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from spark.checks.translation import Position, SyncHistory
from spark.parameters import FlowParameters
from spark.positions import TopicPartition
from spark.report import Finding, fail, note

BEFORE_START = "group-before-the-start"


@dataclass(frozen=True)
class Standing:
    """A finding about a position, and how many seconds of looking would have changed it if it were only early."""

    finding: Finding
    patience_seconds: float = 0


@dataclass(frozen=True)
class Patience:
    """How long MirrorMaker may take, in seconds: `checkpoint` for a group it knows, `discovery` for one it does not."""

    checkpoint: float
    discovery: float

    @classmethod
    def of(cls, flow: FlowParameters) -> "Patience":
        round_seconds = flow.checkpoints.interval_seconds + flow.checkpoints.sync_interval_seconds
        return cls(2 * round_seconds, max(2 * round_seconds, flow.refresh_groups_seconds + round_seconds))


def standings(
    positions: list[Position],
    first_commits: Mapping[tuple[str, TopicPartition], int],
    first_syncs: Mapping[TopicPartition, SyncHistory],
    syncs: Mapping[TopicPartition, SyncHistory],
    flow: FlowParameters,
) -> list[Standing]:
    """What is wrong or unusual about each position; `first_…` are from before the first look at the checkpoints."""
    patience = Patience.of(flow)
    found: list[Standing] = []
    for position in positions:
        history = syncs.get(position.partition, SyncHistory())
        if position.checkpoint is None:
            before = _before_the_start(position, history) if flow.start_from == "latest" else None
            found.append(Standing(before) if before else _without_checkpoint(position, history, patience))
            continue
        if position.checkpoint.upstream > position.committed:
            found.append(Standing(_set_back(position), patience.checkpoint))
        earlier = first_syncs.get(position.partition, SyncHistory())
        committed = first_commits.get((position.group, position.partition))
        behind = _behind(position, history, earlier, committed)
        if behind is not None:
            found.append(Standing(behind, patience.checkpoint))
        group = _group_on_target(position, flow.checkpoints.sync_group_offsets)
        if group is not None:
            found.append(Standing(group, 0 if position.active else patience.checkpoint))
    return found


def _before_the_start(position: Position, history: SyncHistory) -> Finding | None:
    """What becomes of a group that stands where the flow has replicated nothing: no offset can stand for it."""
    if history.latest is None:
        return note(
            BEFORE_START,
            f"{position}: no checkpoint, because nothing of the partition was replicated since the flow's start. "
            "Remedy: on the target the group must begin at the earliest offset (auto.offset.reset=earliest); what it "
            "has not consumed from before the start is on the source alone, so let it consume that there first",
        )
    if position.committed >= history.first_upstream:
        return None
    unreplicated = history.first_upstream - position.committed
    return note(
        BEFORE_START,
        f"{position}: no checkpoint, because {position.committed} is before {history.first_upstream}, where the flow "
        f"started: {unreplicated} offsets in between are on the source alone. Remedy: let the group consume up to "
        f"{history.first_upstream} on the source, or give them up; on the target it must begin at the earliest offset "
        "(auto.offset.reset=earliest)",
        unreplicated,
    )


def _without_checkpoint(position: Position, history: SyncHistory, patience: Patience) -> Standing:
    if history.latest is None:
        return Standing(
            note("no-offset-sync", f"{position}: no checkpoint, because no offset sync exists for the partition")
        )
    if position.committed < history.translates_from:
        return Standing(
            note(
                "behind-oldest-sync",
                f"{position}: no checkpoint, because {position.committed} is before the oldest offset sync that the "
                f"checkpoint connector goes by ({history.translates_from})",
            )
        )
    return Standing(
        fail(
            "checkpoint-missing",
            f"{position}: committed {position.committed}, no checkpoint, though an offset sync exists at "
            f"{history.latest.upstream}: the checkpoint connector does not run, may not read, or has other topics or "
            "groups",
        ),
        patience.discovery,
    )


def _set_back(position: Position) -> Finding:
    """Not a failure by itself: a coarse translation may still be before the commit, which its record shows."""
    assert position.checkpoint is not None
    return note(
        "checkpoint-ahead",
        f"{position}: committed {position.committed}, but the checkpoint is from {position.checkpoint.upstream}: the "
        "group was set back and the checkpoint has not followed",
    )


def _behind(
    position: Position, history: SyncHistory, earlier: SyncHistory, first_committed: int | None
) -> Finding | None:
    """A checkpoint that a running connector would have moved on by now, judged by what was there before looking."""
    assert position.checkpoint is not None
    if first_committed is None or position.committed < first_committed:
        return None
    owed = earlier.owed(first_committed)
    # Once newer syncs lie ahead of the group, the connector may have forgotten the one that owed it this offset.
    if owed is None or history.owed(position.committed) is None or position.checkpoint.downstream >= owed:
        return None
    return fail(
        "checkpoint-behind",
        f"{position}: committed {first_committed}, but the checkpoint still translates to "
        f"{position.checkpoint.downstream} (upstream {position.checkpoint.upstream}), while the syncs allow {owed}: "
        "the checkpoint connector does not run, may not read, or has other topics or groups",
    )


def _group_on_target(position: Position, synced: bool) -> Finding | None:
    assert position.checkpoint is not None
    translated = position.checkpoint.downstream
    if position.active:
        return note("group-active", f"{position}: has members on the target, so its offset there is its own")
    if position.on_target is not None and position.on_target > translated:
        beyond = position.on_target - translated
        return fail(
            "group-past-translation",
            f"{position}: its offset on the target is {position.on_target}, past its translation {translated}: "
            f"{beyond} records would be skipped; something else than the flow committed it, or the group was set back "
            "on the source, which the group sync never follows",
            beyond,
        )
    if synced and (position.on_target is None or position.on_target < translated):
        at = "none" if position.on_target is None else position.on_target
        return fail(
            "group-not-synced",
            f"{position}: its offset on the target is {at}, though its checkpoint translates to {translated}: the "
            "group sync does not run or may not write",
        )
    return None
