"""What the facts mean for a failback: its preconditions, and the positions to commit on the source. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from components.contract.parameters import FlowParameters
from components.contract.problems import RefusedError
from components.contract.wording import agreeing, named, number
from components.kafka.exact_positions import NotProvenError
from components.kafka.positions import TopicPartition
from components.kafka.replication_policy import Policy
from components.kafka.return_positions import PartitionBack
from infra.operate.move.facts import Bound, Group, GroupPlan, NewPosition, Precondition, unproven
from infra.operate.move.failover import LeftAloneError, groups_precondition, moves_of, refuse_running
from infra.operate.move.fence import not_seen
from infra.operate.move.source_only import SourceOnly

#: How many ranges of records that only the source has are listed.
_LISTED = 20


@dataclass(frozen=True)
class FailbackFacts:
    """Everything that a failback looks at; positions are by source partition. A group's `committed` is on the source,
    and `on_target` on the target. `own_records` counts, by topic, the records that producers wrote on the target to
    topics with the source's names. `source_only` never reached the target. `unknown` has the partitions without a
    moving group whose source-only records are unknown, and why.
    """

    groups: tuple[Group, ...]
    positions: Mapping[TopicPartition, PartitionBack | NotProvenError]
    own_records: Mapping[str, int]
    source_only: tuple[SourceOnly, ...] = ()
    unknown: Mapping[TopicPartition, NotProvenError] = field(default_factory=dict)


def plan_back(
    flow: FlowParameters, looked: FailbackFacts, reverse: Sequence[str], denied: Sequence[str] | None = ()
) -> GroupPlan:
    """The plan of a failback. `reverse` names the stack's flows from the target to the source.

    `denied` are the source's topics to which a failover with a fence denied all writes; None if not looked for.
    """
    moves, left_alone = moves_of(looked.groups, lambda group: _moves(flow, group, looked))
    preconditions = (
        _proof(looked),
        groups_precondition(moves, left_alone),
        *_only_on_source(flow, looked),
        *_only_on_target(flow, looked, reverse),
        *_fence(flow, denied),
    )
    return GroupPlan(preconditions, tuple(moves), tuple(left_alone))


def _fence(flow: FlowParameters, denied: Sequence[str] | None) -> Iterator[Precondition]:
    if denied is None:
        yield not_seen(flow.source.alias)
    elif denied:
        value = f"writes to {named(denied)} on {flow.source.alias} have been denied since the failover"
        yield Precondition("fence", f"{value}; this command allows them again at its end", met=None)


def _moves(flow: FlowParameters, group: Group, looked: FailbackFacts) -> list[NewPosition]:
    """The positions of a group. Raises LeftAloneError if one of them must not be committed."""
    refuse_running(flow, group)
    policy, found = flow.replication_policy, []
    for partition, back in sorted(looked.positions.items()):
        remote = policy.remote_partition(partition)
        if (committed := group.on_target.get(remote)) is not None:
            # Records that it consumed on the source before the failover may never have reached the target.
            offset, again = _proven(partition, committed, back).going_on(committed, group.committed.get(partition, 0))
            bound: Bound = "at most" if again else "exactly"
            found.append(NewPosition(group.name, remote, committed, partition, offset, again, bound))
    return found


def _proven(partition: TopicPartition, committed: int, back: PartitionBack | NotProvenError) -> PartitionBack:
    if isinstance(back, NotProvenError):
        raise LeftAloneError(f"its position in {partition} is not proven")
    if deleted := back.positions[committed].deleted:
        records = number(deleted, "record")
        raise LeftAloneError(f"the source has deleted {records} of {partition} that the group has not consumed")
    return back


def _proof(looked: FailbackFacts) -> Precondition:
    if told := unproven(looked.positions):
        return Precondition("positions", told, met=False)
    return Precondition("positions", f"computed from records of {number(len(looked.positions), 'partition')}")


def _only_on_source(flow: FlowParameters, looked: FailbackFacts) -> Iterator[Precondition]:
    """Records that never reached the target: groups read those that follow the last common record on the source."""
    for passed, name, groups in (
        (False, "only source", "groups now read [it|them]"),
        (True, "never sent", "groups will not read [it|them]"),
    ):
        found = [each for each in looked.source_only if each.passed is passed]
        yield from on_one_side(name, found, f"never reached {flow.target.alias}", f", and {groups}")
    for partition, why in sorted(looked.unknown.items())[:1]:
        more = f" or {number(len(looked.unknown) - 1, 'other partition')}" if len(looked.unknown) > 1 else ""
        unread = f"none of the groups that were looked at has an offset in {partition}{more}"
        value = f"{unread}, and it is unknown which records only {flow.source.alias} has there: {why}"
        yield Precondition("only source", value, met=None)


def on_one_side(name: str, found: Sequence[SourceOnly], what: str, then: str = "") -> Iterator[Precondition]:
    """Ranges of records that the other side does not have; `what` describes them, and `then` agrees in number."""
    for each in found[:_LISTED]:
        yield Precondition(
            name, f"{number(each.records, 'record')} {what}{agreeing(each.records, then)}: {each.text}", met=None
        )
    if others := found[_LISTED:]:
        records = number(sum(each.records for each in others), "record")
        yield Precondition(name, f"{records} more, which `--json` lists and `--export` writes to a file", met=None)


def _only_on_target(flow: FlowParameters, looked: FailbackFacts, reverse: Sequence[str]) -> Iterator[Precondition]:
    """Records that producers wrote on the target: only another flow copies them to the source."""
    topics = [f"{number(count, 'record')} to {topic}" for topic, count in sorted(looked.own_records.items()) if count]
    if not topics:
        return
    way = (
        f"run `replicate failover` of {' and '.join(reverse)} to move the groups' positions in these topics"
        if reverse
        else f"no flow of the stack copies them to {flow.source.alias}"
    )
    yield Precondition("only target", f"producers on {flow.target.alias} wrote {named(topics)}: {way}", met=None)


def refuse_unsuited_back(flow: FlowParameters, reverse: Sequence[str]) -> None:
    """Raise RefusedError for a flow whose groups cannot be moved back this way, and name the way that works.

    `reverse` names the stack's flows from the target to the source.
    """
    where = f"flow {flow.name}"
    if flow.transformed:
        what = "the flow's own transforms may change or drop records"
        why = "Positions are found by comparing records, and a changed record equals none of the source's."
        remedy = "give each group a position on the source by hand, from the time of its last record."
        raise RefusedError("records-not-comparable", what, where, why, remedy)
    if flow.policy is Policy.IDENTITY and flow.guard is not None:
        what, why = "the flow is half of a pair", "The other half already copies the records back."
        back = f"fail over with a flow from {flow.target.alias} to {flow.source.alias}."
        way = f"run `replicate failover` of `{reverse[0]}`." if reverse else back
        raise RefusedError("failback-unsuited", what, where, why, way)
