"""offsets-translate: a consumer group that moves to the target continues there without skipping a record of the flow.

Everything moves while it is read, so the order of reading decides what may be concluded:

1. Source commits and offset syncs, once, before the first look. A running connector must have translated these by the
   time the job stops waiting.
2. The groups' offsets on the target before the checkpoints. The group sync copies an offset from a checkpoint, so an
   offset that was read earlier is not past a checkpoint that is read later.
3. Checkpoints before offset syncs. A checkpoint that is missing although a sync exists may still be on its way.
4. Checkpoints before the target's ends. The record that a checkpoint points to was written before the checkpoint.
5. Checkpoints before the source's commits. A consuming group has moved on since, so its checkpoint cannot look ahead of
   it. There are two exceptions: a group that was reset in between, and a group whose sync overtook its checkpoint.

So every finding that may be premature is looked at again, in this order, until it has disappeared or would have
disappeared in a working flow.
"""

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kafka_replication.components.contract.evidence import Translated
from kafka_replication.components.contract.grouping import grouped
from kafka_replication.components.contract.parameters import FlowParameters
from kafka_replication.components.contract.report import (
    ACCEPTABLE,
    SAMPLES,
    CheckName,
    CheckOutcome,
    Coverage,
    Finding,
    FindingSeverity,
    Scalar,
    error,
    not_judged,
    note,
)
from kafka_replication.components.contract.wording import agreeing, named, numbered
from kafka_replication.components.kafka.mirror_records import Checkpoints
from kafka_replication.components.kafka.offset_syncs import is_left_untranslated
from kafka_replication.components.kafka.positions import TopicPartition
from kafka_replication.spark.checks.offsets import proofs
from kafka_replication.spark.checks.offsets.checkpoints import (
    BEFORE_START,
    PAST_TRANSLATION,
    Patience,
    PositionFinding,
    Waiting,
    beyond_translation,
    past_translation,
    position_findings,
    without_source_offset,
)
from kafka_replication.spark.checks.offsets.position_proof import Position, PositionProof
from kafka_replication.spark.checks.offsets.readings import CheckpointsRead, SyncsRead, read_checkpoints, read_syncs
from kafka_replication.spark.checks.parity.check import times_not_compared
from kafka_replication.spark.checks.parity.findings import Rows
from kafka_replication.spark.read.flows import OpenFlow
from kafka_replication.spark.read.waiting import wait_until


def without_copies(flow: FlowParameters, positions: Sequence[Position]) -> Finding | None:
    """Return the note about groups without an offset on the target, because the flow writes none there."""
    if flow.checkpoints.sync_group_offsets:
        return None
    without = {position.group for position in positions if position.on_target is None and not position.active}
    if not without:
        return None
    begin = agreeing(len(without), "[the group begins|the groups begin] at the offset that `auto.offset.reset` of ")
    return note(
        "group-offsets-not-copied",
        f"{numbered(len(without), 'group[|s] [has|have] no offset on ')}{flow.target.alias}, because the flow does not "
        f"copy group offsets (`syncGroupOffsets: false`). After a failover, {begin}"
        f"{agreeing(len(without), '[its|their]')} consumers selects",
        len(without),
    )


def unjudged_records(flow: FlowParameters, positions: int) -> Finding | None:
    """Return the note that records which reached a guarded flow's target another way were not judged. `positions` is
    the number of committed offsets.
    """
    if flow.guard is None or not positions:
        return None
    return note(
        "own-records-not-judged",
        f"records on {flow.target.alias} that did not come through this flow were not judged. A group that continues "
        f"on {flow.target.alias} skips those before its offset there, unless it has read them on {flow.source.alias}",
        positions,
    )


_ONLY = "MirrorMaker translates the offsets of consumer groups only"
#: Findings that make a row count as wrong.
_WRONG = {FindingSeverity.FAIL, FindingSeverity.ERROR}
Commits = Mapping[tuple[str, TopicPartition], int]


@dataclass(frozen=True)
class OffsetsRead:
    """One reading of everything, in the order that the module's docstring explains. `on_target_only` are the groups'
    offsets on the target in partitions in which they have none on the source.
    """

    positions: list[Position]
    syncs: SyncsRead
    checkpoints: CheckpointsRead
    on_target_only: list[Position]


def check_offsets(flow: OpenFlow, first_syncs: SyncsRead, catch_up_seconds: float) -> CheckOutcome:
    """Look until no finding may be premature, then prove every checkpoint from the records themselves."""
    flow.progress(f"{flow.name}: translating consumer offsets")
    groups = flow.parameters.group_selection.of(flow.source.groups())
    others = flow.source.committed(flow.parameters.group_selection.of(flow.source.other_groups()))
    others_findings = tuple(not_translated(flow.parameters, others, flow.partitions))
    first_commits = _commits(flow, groups)
    if not first_commits:
        translated = translated_groups(flow.parameters, read_checkpoints(flow).found, flow.partitions)
        outcome = nothing_to_translate(flow.parameters, groups, translated)
        return with_findings(outcome, others_findings)
    look, findings = _settled(flow, groups, first_commits, first_syncs, Patience.of(flow.parameters, catch_up_seconds))
    proven = proofs.prove_all(flow, [position for position in look.positions if position.checkpoint], look.syncs.found)
    beyond = [finding.position for finding in findings if finding.finding.code == PAST_TRANSLATION]
    beyond += look.on_target_only
    there = proofs.prove_all(flow, [beyond_translation(position) for position in beyond], look.syncs.found)
    findings = past_translation(findings, there.by_position)
    findings += without_source_offset(look.on_target_only, there.by_position, flow.parameters)
    outcome = with_findings(_outcome(flow, groups, look, findings, proven), others_findings)
    proofs_read = (*proven.by_position.items(), *there.by_position.items())
    untimed = {position.partition for position, proof in proofs_read if proof.untimed}
    return replace(outcome, findings=(*outcome.findings, *times_not_compared(untimed, flow.parameters.source.alias)))


def with_findings(outcome: CheckOutcome, others: tuple[Finding, ...]) -> CheckOutcome:
    """Return the outcome with the findings about groups that are no consumer groups; these are not judged."""
    if not others:
        return outcome
    # That nothing matches the flow's groups would be wrong beside a group that does.
    kept = tuple(finding for finding in outcome.findings if finding.code != "no-group-selected")
    streams = sum(finding.count for finding in others if finding.code == "streams-group")
    coverage = outcome.coverage
    if streams and coverage is not None:
        coverage = replace(coverage, not_judged={**coverage.not_judged, "streams-group": streams})
    return replace(outcome, findings=(*kept, *others), coverage=coverage)


def translated_groups(flow: FlowParameters, checkpoints: Checkpoints, topics: Collection[str]) -> set[str]:
    """Return the selected groups with checkpoints for the flow's `topics`. Other flows between the same clusters write
    theirs to the same topic.
    """
    remote = set(map(flow.replication_policy.remote, topics))
    return {
        group for group, partition in checkpoints.newest if group in flow.group_selection and partition.topic in remote
    }


def nothing_to_translate(flow: FlowParameters, groups: Collection[str], translated: Collection[str]) -> CheckOutcome:
    """Return the outcome if no selected group that the job sees has committed an offset on the flow's topics.

    `translated` are selected groups that have checkpoints. If there are any, the connector sees groups that the job
    does not.
    """
    counts = {"groups": len(groups), "committedOffsets": 0}
    summary = "no committed offset to translate"
    if translated:
        hidden = len(translated)
        what = (
            f"{', '.join(sorted(translated)[:SAMPLES])}: the flow has translated offsets of these groups, but the job "
            f"sees no committed offset of theirs on {flow.source.alias}. They were deleted, or the job's user may not "
            "see them"
        )
        coverage = Coverage("groups", 0, {"groups-not-visible": hidden})
        finding = error("groups-not-visible", what, hidden)
        return CheckOutcome(CheckName.OFFSETS, summary, counts, (finding,), coverage=coverage)
    if groups:
        nothing = note(
            "no-commit", f"none of {numbered(len(groups), 'group[|s]')} has a committed offset on the flow's topics yet"
        )
    else:
        patterns = ", ".join(flow.groups) or "an empty list"
        nothing = note("no-group-selected", f"no consumer group on {flow.source.alias} matches {patterns} yet")
    coverage = Coverage("committed offsets", 0, {})
    return CheckOutcome(CheckName.OFFSETS, summary, counts, (nothing,), coverage=coverage)


def _settled(
    flow: OpenFlow, groups: list[str], first_commits: Commits, first_syncs: SyncsRead, patience: Patience
) -> tuple[OffsetsRead, list[PositionFinding]]:
    """Return the last look, and what is wrong in it. A finding that may be premature is looked at twice or more."""

    def found_in(look: OffsetsRead, at_first: Mapping[tuple[str, TopicPartition], Position]) -> list[PositionFinding]:
        before, now = first_syncs.found, look.syncs.found
        return position_findings(look.positions, first_commits, before, now, flow.parameters, patience, at_first)

    def moved() -> bool:
        return _movement(flow, groups) != before_look

    before_look = _movement(flow, groups)
    look = _look(flow, groups, first_syncs, None)
    findings = found_in(look, {})
    # Begins at the end of the first look, which may take longer than MirrorMaker's interval.
    waiting, at_first = Waiting(), {(position.group, position.partition): position for position in look.positions}
    while (left := waiting.left(findings, time.monotonic())) > 0:
        early = sum(finding.patience_seconds > 0 for finding in findings)
        flow.progress(
            f"{flow.name}: {numbered(early, 'translation[|s]')} may still arrive, looking again for up to {left:.0f} s"
        )
        # What moves during a look may have come too late for it.
        wait_until(moved, left)
        before_look = _movement(flow, groups)
        look = _look(flow, groups, look.syncs, look.checkpoints)
        findings = found_in(look, at_first)
    return look, findings


def _movement(flow: OpenFlow, groups: list[str]) -> object:
    """Differs once a checkpoint has been written or a group's offset on the target has changed."""
    topic = flow.parameters.checkpoints.topic
    partitions = [TopicPartition(topic, number) for number in range(flow.target.topics().get(topic, 0))]
    return flow.target.ends(partitions, committed=True), flow.target.committed(groups)


def _look(
    flow: OpenFlow, groups: list[str], syncs_before: SyncsRead, checkpoints_before: CheckpointsRead | None
) -> OffsetsRead:
    on_target, active = flow.target.committed(groups), flow.target.groups_with_members()
    checkpoints = read_checkpoints(flow, checkpoints_before)
    syncs = read_syncs(flow, syncs_before)
    committed_now = _commits(flow, groups)
    commits = sorted(committed_now.items())
    logs = flow.source.logs({partition for (_, partition), _ in commits}, committed=True)
    # A consumer that reads uncommitted records may be past the last stable offset.
    ends = flow.source.ends({partition for (_, partition), committed in commits if committed > logs[partition].end})
    positions = []
    for (group, partition), committed in commits:
        remote = flow.policy.remote_partition(partition)
        checkpoint = checkpoints.found.get(group, remote)
        positions.append(
            Position(
                group,
                partition,
                committed,
                checkpoint,
                on_target.get(group, {}).get(remote),
                group in active,
                is_left_untranslated(checkpoint, logs[partition]),
                ends[partition] if committed > ends.get(partition, committed) else None,
            )
        )
    idle = {group: offsets for group, offsets in on_target.items() if group not in active}
    return OffsetsRead(positions, syncs, checkpoints, _on_target_only(flow, committed_now, idle, checkpoints.found))


def _on_target_only(
    flow: OpenFlow,
    commits: Commits,
    on_target: Mapping[str, Mapping[TopicPartition, int]],
    checkpoints: Checkpoints,
) -> list[Position]:
    """Return where groups have an offset on the target after its first record, and none on the source.

    The group has read the source up to its checkpoint if it has one, and otherwise nothing. A group that has committed
    nothing else in the topic counts as no consumer of it on the source.
    """
    consumed = {(group, partition.topic) for group, partition in commits}
    remote = flow.policy.remote_partition
    there = {
        (group, partition): offsets[remote(partition)]
        for group, offsets in on_target.items()
        for partition in flow.replicated_partitions()
        if (group, partition.topic) in consumed and (group, partition) not in commits and remote(partition) in offsets
    }
    partitions = {partition for _, partition in there}
    source_logs = flow.source.logs(partitions, committed=True)
    target_logs = flow.target.logs(map(remote, partitions), committed=True)
    positions = []
    for (group, partition), offset in sorted(there.items()):
        log, checkpoint = source_logs[partition], checkpoints.get(group, remote(partition))
        if log.size and offset > target_logs[remote(partition)].start:
            read = log.start if checkpoint is None else checkpoint.upstream
            positions.append(Position(group, partition, read, checkpoint, offset))
    return positions


def _commits(flow: OpenFlow, groups: list[str]) -> dict[tuple[str, TopicPartition], int]:
    return {
        (group, partition): offset
        for group, commits in flow.source.committed(groups).items()
        for partition, offset in commits.items()
        if partition.topic in flow.partitions
    }


def no_checkpoints(parameters: FlowParameters, found: Checkpoints) -> Finding:
    """Return the finding for records of the checkpoints topic that are no checkpoints."""
    count, empty = found.undecodable, found.without_value
    message = f"{parameters.checkpoints.topic} holds {numbered(count, 'record[|s] that [is|are] no checkpoint[|s]')}"
    if empty:
        which = "It has" if count == 1 else f"{empty} of them {agreeing(empty, '[has|have]')}"
        message += (
            f". {which} no value: when the checkpoint connector is restarted "
            f"after {agreeing(empty, '[it|them]')}, it cannot load its checkpoints, and does not translate offsets of "
            "records that were replicated before. Remedy: find out what writes other records to the topic, and stop "
            f"it. Then stop the checkpoint connector, delete the topic on {parameters.target.alias}, and start the "
            "connector: it writes the checkpoints of all groups again"
        )
    return error("checkpoint-undecodable", message, count)


def _outcome(
    flow: OpenFlow,
    groups: list[str],
    look: OffsetsRead,
    findings_of_positions: list[PositionFinding],
    proven: proofs.Proofs,
) -> CheckOutcome:
    excluded = flow.parameters.group_selection.excluded_of(flow.source.groups())
    findings: list[Finding] = [finding.finding for finding in findings_of_positions]
    findings += [proof.finding for proof in proven.by_position.values() if proof.finding is not None]
    if excluded:
        findings.append(
            note("group-excluded", f"groupsExclude leaves out these groups: {', '.join(excluded)}", len(excluded))
        )
    if not_copied := without_copies(flow.parameters, look.positions):
        findings.append(not_copied)
    if own := unjudged_records(flow.parameters, len(look.positions)):
        findings.append(own)
    if look.checkpoints.found.undecodable:
        findings.append(no_checkpoints(flow.parameters, look.checkpoints.found))
    shown = [proof for proof in proven.by_position.values() if proof.proven]
    if (
        not shown
        and findings_of_positions
        and all(finding.finding.code == BEFORE_START for finding in findings_of_positions)
    ):
        offsets = numbered(len(look.positions), "committed offset[|s]")
        findings.append(error("nothing-proven", f"none of {offsets} could be proven: all are before the flow's start"))
    unproven = _unproven(findings)
    read_again = [proof.read_again for proof in shown]
    by_counting = sum(proof.by_counting for proof in shown)
    counts: dict[str, int | float] = {
        "groups": len(groups),
        "committedOffsets": len(look.positions),
        "checkpoints": len(proven.by_position),
        "proven": len(shown),
        "readAgain": sum(read_again),
        "readAgainMax": max(read_again, default=0),
        "byCounting": by_counting,
        # Without transforms, `replicate failover` finds each group's position by comparing records.
        "exactPositions": 0 if flow.parameters.transformed else len(look.positions),
        "activeOnTarget": sum(position.active for position in look.positions),
        "rangesRead": proven.ranges_read,
        "recordsRead": proven.records_read,
    }
    summary = (
        f"{len(shown)} of {numbered(len(look.positions), 'committed offset[|s]')} of "
        f"{numbered(len(groups), 'group[|s]')} proven by their records; at most "
        f"{numbered(sum(read_again), 'record[|s]')} read again by consumers that just move"
    )
    if by_counting:
        several = numbered(by_counting, "offset[|s], several source records are equal")
        summary += f"; for {several}, so the offset syncs decided which of them is meant"
    coverage = Coverage("committed offsets", len(look.positions) - sum(unproven.values()), unproven)
    rows = group_rows(
        look.positions, proven.by_position, ((finding.position, finding.finding) for finding in findings_of_positions)
    )
    return CheckOutcome(
        CheckName.OFFSETS,
        summary,
        counts,
        tuple(findings),
        proven.samples(),
        coverage,
        rows,
        translated=tuple(_translated(position, proven.by_position.get(position)) for position in look.positions),
    )


def _translated(position: Position, proof: PositionProof | None) -> Translated:
    offset = position.checkpoint.downstream if position.checkpoint and proof is not None and proof.proven else None
    again = proof.read_again if proof is not None else 0
    return Translated(position.group, *position.partition, position.committed, offset, again)


def _unproven(findings: Sequence[Finding]) -> dict[str, int]:
    """Return how many committed offsets could not be judged, by the code of the finding that says why."""
    codes = {finding.code for finding in findings if finding.severity is FindingSeverity.ERROR} & ACCEPTABLE.keys()
    return not_judged(findings, codes - {"nothing-proven"})


def group_rows(
    positions: Iterable[Position],
    proofs: Mapping[Position, PositionProof],
    findings: Iterable[tuple[Position, Finding]],
) -> Rows:
    """Return the groups, those with most failures and errors first, then by records that they read again.

    `findings` has the findings about a position, apart from the finding of its proof.
    """
    wrong = grouped((position.group, position) for position, finding in findings if finding.severity in _WRONG)
    by_group = grouped((position.group, position) for position in positions)
    rows = [_group_row(group, every, proofs, wrong.get(group, ())) for group, every in by_group.items()]
    return tuple(row for *_, row in sorted(rows, key=lambda sortable: sortable[:3]))


def _group_row(
    group: str, positions: Sequence[Position], proofs: Mapping[Position, PositionProof], wrong: Sequence[Position]
) -> tuple[int, int, str, Mapping[str, Scalar]]:
    """Return the row after its sort key."""
    proven = [proofs[position] for position in positions if position in proofs and proofs[position].proven]
    disproven = {position for position in positions if (proof := proofs.get(position)) and proof.finding is not None}
    bad, again = len(disproven.union(wrong)), sum(proof.read_again for proof in proven)
    row: dict[str, Scalar] = {
        "group": group,
        "committedOffsets": len(positions),
        "proven": len(proven),
        "wrong": bad,
        "readAgain": again,
    }
    return -bad, -again, group, row


def not_translated(
    flow: FlowParameters, commits: Mapping[str, Mapping[TopicPartition, int]], topics: Collection[str]
) -> Iterator[Finding]:
    """Yield an error about groups that have no proven position on the target, and a note about share groups that only a
    pattern selects: nothing shows whether they consume the flow's topics.

    `commits` has the selected groups, `topics` the flow's. A group that has committed offsets on other topics only is
    none of the flow's affair. Share groups keep theirs where other groups do not, so they seem to have none at all.
    Source: MirrorCheckpointConnector.listConsumerGroups.
    """
    counts = {group: sum(partition.topic in topics for partition in commits[group]) for group in sorted(commits)}
    streams = {group: count for group, count in counts.items() if count}
    if streams:
        are = agreeing(len(streams), "[is a streams group|are streams groups]")
        has = agreeing(len(streams), "[It has|They have]")
        what = f"{named(streams, SAMPLES)} {are} (`group.protocol=streams`). {_ONLY}. {has} no checkpoint"
        without = f"{what}, and no offset on {flow.target.alias} that the flow has written"
        yield error("streams-group", without, sum(streams.values()))
    silent = [group for group in counts if not commits[group]]
    if by_name := [group for group in silent if group in flow.groups]:
        yield error("share-group", _silent(flow, by_name), len(by_name))
    if by_pattern := [group for group in silent if group not in by_name]:
        unknown = "nothing shows whether they consume topics of the flow"
        yield note("share-group-selected", f"{_silent(flow, by_pattern)}; {unknown}", len(by_pattern))


def _silent(flow: FlowParameters, groups: Sequence[str]) -> str:
    count = len(groups)
    are = agreeing(count, "[is a share group, or a streams group|are share groups, or streams groups]")
    begin = agreeing(count, "[a share group begins|share groups begin]")
    return (
        f"{named(groups, SAMPLES)} {are} without a committed offset. {_ONLY}: on {flow.target.alias}, {begin} where "
        "`share.auto.offset.reset` says"
    )
