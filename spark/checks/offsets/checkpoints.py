"""Whether checkpoints and group offsets are where they should be, judged by offsets alone. Pure.

A checkpoint or a group sync may still be on its way, so any finding here may be premature. A `PositionFinding` says for
how long the job should look again before it reports the finding.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from kafka_replication.components.contract.parameters import FlowParameters
from kafka_replication.components.contract.report import Finding, FindingSeverity, error, fail, note
from kafka_replication.components.contract.wording import numbered
from kafka_replication.components.kafka.mirror_records import Checkpoint
from kafka_replication.components.kafka.offset_syncs import SyncHistory
from kafka_replication.components.kafka.positions import TopicPartition
from kafka_replication.spark.checks.offsets.position_proof import Position, PositionProof

BEFORE_START = "group-before-the-start"
PAST_TRANSLATION = "group-past-translation"


@dataclass(frozen=True)
class PositionFinding:
    """A finding about a position, and after how many seconds it would have disappeared if it were premature."""

    position: Position
    finding: Finding
    patience_seconds: float = 0


@dataclass(frozen=True)
class Patience:
    """How long MirrorMaker may take, in seconds: `running` if its task has been running for a while, `checkpoint` if
    the task may have just started, `discovery` for a group that is new to it.
    """

    running: float
    checkpoint: float
    discovery: float

    @classmethod
    def of(cls, flow: FlowParameters, catch_up_seconds: float) -> "Patience":
        """A task that has just started reads its stores before it writes a checkpoint. That may take longer than short
        intervals, so the task gets at least `catch_up_seconds`.
        """
        round_seconds = flow.checkpoints.interval_seconds + flow.checkpoints.sync_interval_seconds
        running = 2 * round_seconds
        checkpoint = max(running, catch_up_seconds)
        return cls(running, checkpoint, max(checkpoint, flow.refresh_groups_seconds + round_seconds))


class Waiting:
    """Since when each finding about a group's partition has been true, in seconds of one clock. A finding's time begins
    when it is first seen: a checkpoint that arrives late ends the finding that there is none, and the group sync can
    begin only then.
    """

    def __init__(self) -> None:
        self._since: dict[tuple[str, TopicPartition, str], float] = {}

    def left(self, findings: Sequence[PositionFinding], now: float) -> float:
        """Return for how many seconds to look again; 0 or less if every finding has had its time."""
        since = [
            self._since.setdefault((finding.position.group, finding.position.partition, finding.finding.code), now)
            for finding in findings
        ]
        return max(
            (finding.patience_seconds - (now - at) for finding, at in zip(findings, since, strict=True)), default=0
        )


def position_findings(
    positions: list[Position],
    first_commits: Mapping[tuple[str, TopicPartition], int],
    first_syncs: Mapping[TopicPartition, SyncHistory],
    syncs: Mapping[TopicPartition, SyncHistory],
    flow: FlowParameters,
    patience: Patience,
    at_first: Mapping[tuple[str, TopicPartition], Position] = MappingProxyType({}),
) -> list[PositionFinding]:
    """Return what is wrong or unusual about each position. `first_…` were read before the first look at the
    checkpoints. `at_first` has the positions of the first look, and is empty during that look. What has moved since
    then is not stuck.
    """
    findings: list[PositionFinding] = []
    for position in positions:
        history = syncs.get(position.partition, SyncHistory())
        if position.past_end is not None:
            findings.append(PositionFinding(position, _past_end(position)))
        if position.untranslated:
            continue
        if position.checkpoint is None:
            before = _before_the_start(position, history) if flow.start_from == "latest" else None
            findings.append(
                PositionFinding(position, before) if before else _without_checkpoint(position, history, patience)
            )
            continue
        if position.checkpoint.upstream > position.committed:
            findings.append(PositionFinding(position, _set_back(position), patience.running))
        before_now = at_first.get((position.group, position.partition))
        earlier = first_syncs.get(position.partition, SyncHistory())
        committed = first_commits.get((position.group, position.partition))
        behind = _behind(position, history, earlier, committed)
        if behind is not None and not _translation_moved(position, before_now):
            findings.append(PositionFinding(position, behind, patience.checkpoint))
        group = _group_on_target(position, flow.checkpoints.sync_group_offsets, before_now)
        if group is not None:
            usual = patience.running if group.code == PAST_TRANSLATION else patience.checkpoint
            findings.append(PositionFinding(position, group, 0 if position.active else usual))
    return findings


def _before_the_start(position: Position, history: SyncHistory) -> Finding | None:
    """Return the note for a group whose offset is older than the flow's start: it cannot be translated."""
    if history.latest is None:
        return note(
            BEFORE_START,
            f"{position}: no checkpoint, because nothing of the partition has been replicated since the flow's start. "
            "Remedy: let the group finish the older records on the source, because the target does not have them; on "
            "the target it must begin at the earliest offset (auto.offset.reset=earliest)",
        )
    if position.committed >= history.first_upstream:
        return None
    unreplicated = history.first_upstream - position.committed
    return note(
        BEFORE_START,
        f"{position}: no checkpoint, because {position.committed} is before {history.first_upstream}, where the flow "
        f"started: {numbered(unreplicated, 'offset[|s] in between [is|are]')} only on the source. Remedy: let the "
        "group consume up to "
        f"{history.first_upstream} on the source, or skip them; on the target it must begin at the earliest offset "
        "(auto.offset.reset=earliest)",
        unreplicated,
    )


def _without_checkpoint(position: Position, history: SyncHistory, patience: Patience) -> PositionFinding:
    if "," in position.group:
        what = (
            f"{position}: no checkpoint, because the group's name contains a comma. MirrorMaker passes groups to its "
            "tasks in a comma-separated list, so a task takes each part of the name for a group of its own"
        )
        return PositionFinding(position, fail("group-left-out", what))
    if history.latest is None:
        return PositionFinding(
            position,
            error("no-offset-sync", f"{position}: no checkpoint, because no offset sync exists for the partition"),
        )
    if position.committed < history.translates_from:
        return PositionFinding(
            position,
            error(
                "behind-oldest-sync",
                f"{position}: no checkpoint, because {position.committed} is before the oldest offset sync that the "
                f"checkpoint connector uses ({history.translates_from})",
            ),
        )
    return PositionFinding(
        position,
        fail(
            "checkpoint-missing",
            f"{position}: committed {position.committed}, no checkpoint, although an offset sync exists at "
            f"{history.latest.upstream}: the checkpoint connector is not running, lacks permissions, or selects other "
            "topics or groups",
        ),
        patience.discovery,
    )


def _past_end(position: Position) -> Finding:
    return error(
        "committed-past-end",
        f"{position}: committed {position.committed}, but the source ends at {position.past_end}: the topic was "
        "deleted and created again there, or somebody set the offset. On the source, a consumer of the group would "
        "start at the offset that its auto.offset.reset selects. On the target, it would start at the translated "
        "offset, after records that it has not read",
    )


def _set_back(position: Position) -> Finding:
    """Only a note: a coarse translation may still be before the commit. The proof by records shows whether it is."""
    assert position.checkpoint is not None
    return note(
        "checkpoint-ahead",
        f"{position}: committed {position.committed}, but the checkpoint is for {position.checkpoint.upstream}: the "
        "group was reset to an earlier offset, and the checkpoint has not followed",
    )


def _behind(
    position: Position, history: SyncHistory, earlier: SyncHistory, first_committed: int | None
) -> Finding | None:
    """Return a failure if, by the earlier readings, a running connector would have advanced the checkpoint."""
    assert position.checkpoint is not None
    if first_committed is None or position.committed < first_committed:
        return None
    owed = earlier.owed(first_committed)
    # Once newer syncs are ahead of the group, the connector may have forgotten the sync that translates its offset.
    if owed is None or history.owed(position.committed) is None or position.checkpoint.downstream >= owed:
        return None
    return fail(
        "checkpoint-behind",
        f"{position}: committed {first_committed}, but the checkpoint still translates to "
        f"{position.checkpoint.downstream} (upstream {position.checkpoint.upstream}), although the syncs allow {owed}: "
        "the checkpoint connector is not running, lacks permissions, or selects other topics or groups",
    )


def _translation_moved(position: Position, before: Position | None) -> bool:
    if before is None or before.checkpoint is None or position.checkpoint is None:
        return False
    return position.checkpoint.downstream > before.checkpoint.downstream


def beyond_translation(position: Position) -> Position:
    """Return the position as if the group's offset on the target were its translation, to be proven as one."""
    assert position.on_target is not None
    return replace(position, checkpoint=Checkpoint(position.committed, position.on_target))


def past_translation(
    findings: Sequence[PositionFinding], proofs: Mapping[Position, PositionProof]
) -> list[PositionFinding]:
    """Return `found`, with groups whose offset on the target is past their translation judged by records. A translation
    is coarse: an offset past it need not be past what the group has committed on the source.
    """
    judged: list[PositionFinding] = []
    for finding in findings:
        proof = proofs.get(beyond_translation(finding.position)) if finding.finding.code == PAST_TRANSLATION else None
        if proof is None or proof.source_offset is None:
            judged.append(finding)
        elif proof.finding is not None:
            shown = proof.finding.severity is FindingSeverity.FAIL
            skips = _skips_on_target(finding.position, proof.source_offset, proof.finding.count)
            judged.append(replace(finding, finding=skips if shown else proof.finding))
    return judged


def _skips_on_target(position: Position, source_offset: int, skipped: int) -> Finding:
    return fail(
        PAST_TRANSLATION,
        f"{position}: its offset on the target is {position.on_target}, which is source offset {source_offset}, but it "
        f"committed {position.committed} on the source: {numbered(skipped, 'record[|s]')} would be skipped. The "
        "group has consumed on the target, or somebody set its offset there",
        skipped,
    )


def without_source_offset(
    positions: Sequence[Position], proofs: Mapping[Position, PositionProof], flow: FlowParameters
) -> list[PositionFinding]:
    """Return the failures of groups that would skip records in partitions in which they have no offset on the source.

    A group starts there on the source where its `auto.offset.reset` says: at the earliest offset, it skips nothing.
    """
    findings = []
    for position in positions:
        proof = proofs[beyond_translation(position)]
        if proof.finding is not None:
            unproven = proof.expired_on_source
            finding = proof.finding if unproven else _not_on_source(position, proof.finding, flow)
            findings.append(PositionFinding(position, finding))
    return findings


def _not_on_source(position: Position, disproof: Finding, flow: FlowParameters) -> Finding:
    source, target = flow.source.alias, flow.target.alias
    read = f" (it once committed {position.checkpoint.upstream})" if position.checkpoint is not None else ""
    where = (
        f"group {position.group} has no offset on {source} in {position.partition}{read}, but continues on {target} at "
        f"{position.on_target}"
    )
    if disproof.code == "offset-skips-records":
        skips = f": skips up to {numbered(disproof.count, 'record[|s]')}"
    else:
        skips = ", and no record shows how many it skips"
    why = f"It has consumed on {target}, somebody set its offset there, or its offset on {source} was deleted"
    return fail(PAST_TRANSLATION, f"{where}{skips}. {why}", disproof.count)


def _group_on_target(position: Position, synced: bool, before: Position | None) -> Finding | None:
    assert position.checkpoint is not None
    translated = position.checkpoint.downstream
    if position.active:
        return note("group-active", f"{position}: the group consumes on the target, so it moves its own offset there")
    if position.on_target is not None and position.on_target > translated:
        beyond = position.on_target - translated
        return fail(
            PAST_TRANSLATION,
            f"{position}: its offset on the target is {position.on_target}, past its translation {translated}, and no "
            f"record shows how many of the {numbered(beyond, 'record[|s]')} between them it has consumed. It has "
            "consumed on the target, somebody set its offset there, or it was reset on the source: the group sync "
            "never moves an offset back",
            beyond,
        )
    # The group sync has had time only for the checkpoint of the first look.
    first = before.checkpoint if before is not None else None
    owed = translated if first is None else min(translated, first.downstream)
    advanced = (
        before is not None
        and position.on_target is not None
        and (before.on_target is None or position.on_target > before.on_target)
    )
    if synced and not advanced and (position.on_target is None or position.on_target < owed):
        at = "none" if position.on_target is None else position.on_target
        return fail(
            "group-not-synced",
            f"{position}: its offset on the target is {at}, although its checkpoint translates to {translated}: the "
            "group sync is not running or lacks permissions",
        )
    return None
