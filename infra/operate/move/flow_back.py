"""Where a flow back with the identity policy starts after a failover: preconditions and offsets. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from components.contract.parameters import FlowParameters
from components.contract.problems import RefusedError
from components.contract.wording import agreeing, named, number
from components.kafka.connectors import can_resume_at, stored_for
from components.kafka.exact_positions import NotProvenError
from components.kafka.positions import TopicPartition
from components.kafka.return_positions import Beginning
from infra.operate.move.facts import CheckedPlan, Precondition, unproven
from infra.operate.move.failback import on_one_side
from infra.operate.move.fence import not_seen
from infra.operate.move.source_only import SourceOnly
from infra.operate.offsets.plan import Known, OffsetChange


@dataclass(frozen=True)
class FlowBackFacts:
    """Everything that decides where the flow back starts; `beginnings` are by partition of the new origin.

    `known` is what Connect has stored for the flow. `old_only` are the old origin's records that were never replicated.
    """

    known: Known
    beginnings: Mapping[TopicPartition, Beginning | NotProvenError]
    old_only: tuple[SourceOnly, ...]


@dataclass(frozen=True)
class FlowBackPlan(CheckedPlan):
    """The preconditions, and the offsets to set if all are met; none if Connect has them already."""

    moves: tuple[OffsetChange, ...]


def plan_return(
    flow: FlowParameters, looked: FlowBackFacts, running: tuple[str, ...], fences: Sequence[str] | None = ()
) -> FlowBackPlan:
    """The plan; `running` names the source connectors that are not stopped. `fences` names the owners of fences on the
    old origin; None if they could not be seen. Raises RefusedError for a flow that has already replicated.
    """
    known, begins = looked.known, _begins(looked)
    moves = []
    for partition, begin in sorted(begins.items()):
        stored, wanted = known.stored_of(partition), stored_for(begin.offset)
        if stored not in (None, wanted):
            raise _has_run(flow, f"{partition} is replicated up to {stored}")
        if stored != wanted and not known.stays(partition, begin.offset):
            connector = known.connectors[partition.topic]
            moves.append(OffsetChange(connector, partition, known.next_of(partition), begin.offset, wanted))
    preconditions = (
        _stopped(flow, running),
        *_proof(flow, looked),
        *_old_only(flow, looked),
        *_fenced(flow, fences),
    )
    return FlowBackPlan(preconditions, tuple(moves))


def _begins(looked: FlowBackFacts) -> dict[TopicPartition, Beginning]:
    return {each: begin for each, begin in looked.beginnings.items() if isinstance(begin, Beginning)}


def _has_run(flow: FlowParameters, what: str) -> RefusedError:
    source, target = flow.source.alias, flow.target.alias
    remedy = (
        f"if it is the flow that failed over, deploy one from {target} to {source} in its place, with its source "
        "connector `stopped`, and name that one. If it is already the flow back, `replicate failover` moves the groups."
    )
    why = "A flow back can skip the other side's records only before it has copied anything."
    return RefusedError("failback-unsuited", f"flow {flow.name} has run: {what}", f"flow {flow.name}", why, remedy)


def _stopped(flow: FlowParameters, running: tuple[str, ...]) -> Precondition:
    if not running:
        return Precondition("connectors", "every source connector is stopped")
    are = agreeing(len(running), "[is|are]")
    value = f"{', '.join(running)} {are} not stopped, and may copy records of {flow.target.alias} back to it"
    return Precondition("connectors", value, met=False)


def _proof(flow: FlowParameters, looked: FlowBackFacts) -> Iterator[Precondition]:
    if told := unproven(looked.beginnings):
        yield Precondition("beginning", told, met=False)
        return
    begins = _begins(looked)
    back = number(sum(each.records for each in begins.values()), "record")
    partitions = number(len(begins), "partition")
    yield Precondition("beginning", f"{back} of {flow.source.alias} to copy back, in {partitions}", met=bool(begins))
    apart = [str(each) for each, begin in sorted(begins.items()) if begin.last_common is None and begin.records]
    if apart:
        none = f"{flow.source.alias} and {flow.target.alias} have no record in common"
        value = f"{named(apart)}: {none}, so every record on {flow.source.alias} is copied back"
        yield Precondition("beginning", value, met=None)
    late = [str(each) for each, begin in sorted(begins.items()) if not can_resume_at(begin.offset, flow.start_from)]
    if late:
        value = f"{named(late)} cannot begin at offset 0 with `startFrom: latest`: deploy `startFrom: earliest`"
        yield Precondition("beginning", value, met=False)


def _old_only(flow: FlowParameters, looked: FlowBackFacts) -> Iterator[Precondition]:
    """Groups continue after these records: their positions follow what the new origin wrote."""
    what = f"of {flow.target.alias} never reached {flow.source.alias}"
    yield from on_one_side("old only", looked.old_only, what)


def _fenced(flow: FlowParameters, fences: Sequence[str] | None) -> Iterator[Precondition]:
    if fences is None:
        yield not_seen(flow.target.alias)
    elif fences:
        value = (
            f"writes to the topics on {flow.target.alias} have been denied to everybody since the failover of "
            f"{named(fences)}"
        )
        why = "this command allows them again, because the flow has to write there: keep the producers there stopped"
        yield Precondition("fence", f"{value}; {why}", met=None)
