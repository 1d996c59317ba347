"""offsets-translate: a consumer group that moves to the target goes on there without skipping a record.

The order of reading decides what may be concluded, because everything moves while it is read:

1. source commits and offset syncs, once, before the first look: what a running connector must have translated when the
   job is done waiting;
2. the groups' offsets on the target before the checkpoints: the sync writes an offset from a checkpoint, so that an
   offset read earlier is not past the checkpoint read later;
3. checkpoints before offset syncs: a checkpoint that is missing although a sync exists may still be early, never the
   other way round;
4. checkpoints before the target's ends: a record's offset that a checkpoint names was written before;
5. checkpoints before the source's commits: a group that consumes has moved further on since, so that its checkpoint
   cannot look ahead of it. A group that is set back in between can, and so can one whose sync overtook its checkpoint
   record: therefore everything that could be early is read again, all of it in this order, until it is gone or would
   have been gone in a flow that works.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass

from spark import readers, records, transforms
from spark.checks import proofs
from spark.checks.standing import BEFORE_START, Standing, standings
from spark.checks.translation import Checkpoint, Position, Sync, SyncHistory
from spark.flows import OpenFlow
from spark.positions import OffsetRange, TopicPartition
from spark.report import CheckOutcome, Finding, error, note
from spark.waiting import wait_until

NAME = "offsets-translate"
Commits = Mapping[tuple[str, TopicPartition], int]


@dataclass(frozen=True)
class Look:
    """One reading of everything, in the order that the module's docstring argues."""

    positions: list[Position]
    syncs: Mapping[TopicPartition, SyncHistory]
    undecodable: int = 0


def read_syncs(opened: OpenFlow) -> dict[TopicPartition, SyncHistory]:
    """The offset syncs of every source partition; empty when the flow has none or their topic does not exist."""
    if not opened.flow.offset_syncs.enabled:
        return {}
    cluster, topic = opened.sync_cluster, opened.flow.offset_syncs.topic
    frame = records.offset_syncs(opened.read(cluster, _whole(opened, "offset_syncs")))
    found: dict[TopicPartition, list[Sync]] = {}
    doing = f"reading offset syncs from {topic}"
    for row in sorted(readers.rows(transforms.sync_segments(frame), cluster.where, doing), key=lambda row: row.offset):
        known = found.setdefault(TopicPartition(row.topic, row.partition), [])
        known.append(Sync(row.upstream, row.downstream, row.written_ms))
    return {partition: SyncHistory(tuple(syncs)) for partition, syncs in found.items()}


def check_offsets(opened: OpenFlow, first_syncs: Mapping[TopicPartition, SyncHistory]) -> CheckOutcome:
    """Look until nothing could be early any more, then prove every checkpoint from the records themselves."""
    selection = opened.selection
    groups = selection.groups(opened.source.groups())
    if not groups:
        nothing = error(
            "no-group-selected",
            f"no consumer group on {opened.source.where} matches {', '.join(opened.flow.groups) or 'an empty list'}",
        )
        return CheckOutcome(NAME, "no group to translate", {"groups": 0}, (nothing,))
    first_commits = _commits(opened, groups)
    if not first_commits:
        nothing = error("no-commit", f"{len(groups)} groups, none with a committed offset on the flow's topics")
        return CheckOutcome(NAME, "no committed offset to translate", {"groups": len(groups)}, (nothing,))
    look, found = _settled(opened, groups, first_commits, first_syncs)
    proven = proofs.prove_all(opened, [each for each in look.positions if each.checkpoint], look.syncs)
    return _outcome(opened, groups, look, found, proven)


def _settled(
    opened: OpenFlow, groups: list[str], first_commits: Commits, first_syncs: Mapping[TopicPartition, SyncHistory]
) -> tuple[Look, list[Standing]]:
    began = time.monotonic()
    while True:
        look = _look(opened, groups)
        found = standings(look.positions, first_commits, first_syncs, look.syncs, opened.flow)
        left = max((each.patience_seconds for each in found), default=0) - (time.monotonic() - began)
        if left <= 0:
            return look, found
        early = sum(each.patience_seconds > 0 for each in found)
        opened.progress(f"{opened.flow.name}: {early} translations may be early, looking again for up to {left:.0f} s")
        _wait_for_movement(opened, groups, left)


def _wait_for_movement(opened: OpenFlow, groups: list[str], seconds: float) -> None:
    """Return when a checkpoint is written or a group's offset on the target changes, at the latest after `seconds`."""

    def state() -> object:
        ends = opened.target.ends(_partitions_of(opened, "checkpoints"))
        return ends, opened.target.committed(groups)

    before = state()
    wait_until(lambda: state() != before, seconds)


def _look(opened: OpenFlow, groups: list[str]) -> Look:
    on_target, active = opened.target.committed(groups), opened.target.groups()
    checkpoints, undecodable = _checkpoints(opened)
    syncs = read_syncs(opened)
    positions = [
        Position(
            group,
            partition,
            committed,
            checkpoints.get((group, opened.selection.remote_partition(partition))),
            on_target.get(group, {}).get(opened.selection.remote_partition(partition)),
            active.get(group, False),
        )
        for (group, partition), committed in sorted(_commits(opened, groups).items())
    ]
    return Look(positions, syncs, undecodable)


def _commits(opened: OpenFlow, groups: list[str]) -> dict[tuple[str, TopicPartition], int]:
    return {
        (group, partition): offset
        for group, commits in opened.source.committed(groups).items()
        for partition, offset in commits.items()
        if partition.topic in opened.partitions
    }


def _checkpoints(opened: OpenFlow) -> tuple[dict[tuple[str, TopicPartition], Checkpoint], int]:
    """The newest checkpoints by group and remote partition, and how many records were none."""
    frame = transforms.latest_checkpoints(
        records.checkpoints(opened.read(opened.target, _whole(opened, "checkpoints")))
    )
    found, undecodable = {}, 0
    for row in readers.rows(frame, opened.target.where, f"reading checkpoints from {opened.flow.checkpoints.topic}"):
        if row.group is None:
            undecodable += row.records
        else:
            found[row.group, TopicPartition(row.topic, row.partition)] = Checkpoint(row.upstream, row.downstream)
    return found, undecodable


def _partitions_of(opened: OpenFlow, kind: str) -> list[TopicPartition]:
    cluster = opened.target if kind == "checkpoints" else opened.sync_cluster
    topic = opened.flow.checkpoints.topic if kind == "checkpoints" else opened.flow.offset_syncs.topic
    return [TopicPartition(topic, number) for number in range(cluster.partitions([topic]).get(topic, 0))]


def _whole(opened: OpenFlow, kind: str) -> dict[TopicPartition, OffsetRange]:
    cluster = opened.target if kind == "checkpoints" else opened.sync_cluster
    return cluster.offsets(_partitions_of(opened, kind))


def _outcome(
    opened: OpenFlow, groups: list[str], look: Look, found: list[Standing], proven: proofs.Proofs
) -> CheckOutcome:
    excluded = opened.selection.excluded_groups(opened.source.groups())
    findings: list[Finding] = [each.finding for each in found]
    findings += [proof.finding for proof in proven.by_position.values() if proof.finding is not None]
    if excluded:
        findings.append(note("group-excluded", f"excluded by the group filter: {', '.join(excluded)}", len(excluded)))
    if look.undecodable:
        what = f"{look.undecodable} records of {opened.flow.checkpoints.topic} are no checkpoints"
        findings.append(error("checkpoint-undecodable", what, look.undecodable))
    shown = [proof for proof in proven.by_position.values() if proof.proven]
    if not shown:
        # Transforms may change every record: then only where the offsets stand can be told.
        told = note if opened.flow.transformed else error
        why = ""
        if all(each.finding.code == BEFORE_START for each in found) and found:
            why = ": all stand before the flow's start. Remedy: commit one after it, and validate again"
        what = f"none of {len(look.positions)} committed offsets could be proven{why}"
        findings.append(told("nothing-proven", what))
    read_again = [proof.read_again for proof in shown]
    counts: dict[str, int | float] = {
        "groups": len(groups),
        "committedOffsets": len(look.positions),
        "checkpoints": len(proven.by_position),
        "proven": len(shown),
        "readAgain": sum(read_again),
        "readAgainMax": max(read_again, default=0),
        "activeOnTarget": sum(position.active for position in look.positions),
        "rangesRead": proven.ranges_read,
        "recordsRead": proven.records_read,
    }
    summary = (
        f"{len(shown)} of {len(look.positions)} committed offsets of {len(groups)} groups proven by their records; "
        f"at most {counts['readAgain']} records read again"
    )
    return CheckOutcome(NAME, summary, counts, tuple(findings), proven.samples())
