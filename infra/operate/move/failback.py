"""Moves groups back to the source: what a failback looks at, its preconditions and positions, what it changes."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kafka_replication.components.clients.reader import KafkaReader
from kafka_replication.components.contract.parameters import FlowParameters
from kafka_replication.components.contract.problems import RefusedError
from kafka_replication.components.contract.wording import agreeing, named, number
from kafka_replication.components.kafka.exact_positions import NotProvenError
from kafka_replication.components.kafka.positions import TopicPartition
from kafka_replication.components.kafka.replication_policy import Policy
from kafka_replication.components.kafka.return_positions import PartitionBack, positions_back
from kafka_replication.infra.operate.flow_access import FlowAccess
from kafka_replication.infra.operate.move.facts import (
    Bound,
    Group,
    GroupPlan,
    NewPosition,
    Precondition,
    streams_groups,
    unproven,
)
from kafka_replication.infra.operate.move.failover_plan import (
    LeftAloneError,
    groups_precondition,
    new_positions,
    refuse_running,
)
from kafka_replication.infra.operate.move.fence import lift, not_seen, owner_of, visible_fence
from kafka_replication.infra.operate.move.groups import FAILBACK, expect_unchanged, read_groups
from kafka_replication.infra.operate.move.positions import LEADS
from kafka_replication.infra.operate.move.rights import lift_rights
from kafka_replication.infra.operate.move.run import POINT_OF_NO_RETURN, Operation
from kafka_replication.infra.operate.move.source_only import SourceOnly, source_only
from kafka_replication.infra.operate.partition_logs import PartitionLog, Say, walk_partitions

#: How many ranges of records that only the source has are listed.
_LISTED = 20


@dataclass(frozen=True)
class FailbackFacts:
    """Everything that a failback looks at; positions are by source partition. A group's `committed` is on the source,
    and `on_target` on the target. `own_records` counts, by topic, the records that producers wrote on the target to
    topics with the source's names. `source_only` are the records that never reached the target. `unknown` has the
    partitions that no moving group reads and whose source-only records could not be found, and why.
    """

    groups: tuple[Group, ...]
    positions: Mapping[TopicPartition, PartitionBack | NotProvenError]
    own_records: Mapping[str, int]
    source_only: tuple[SourceOnly, ...] = ()
    unknown: Mapping[TopicPartition, NotProvenError] = field(default_factory=dict)


def plan_back(
    flow: FlowParameters, facts: FailbackFacts, reverse: Sequence[str], denied: Sequence[str] | None = ()
) -> GroupPlan:
    """Return the plan of a failback. `reverse` names the stack's flows from the target to the source.

    `denied` are the source's topics to which a failover with a fence denied all writes; None if not looked for.
    """
    positions, left_alone = new_positions(facts.groups, lambda group: _group_positions(flow, group, facts))
    preconditions = (
        _proof(facts),
        groups_precondition(positions, left_alone),
        *streams_groups(facts.groups, positions),
        *_only_on_source(flow, facts),
        *_only_on_target(flow, facts, reverse),
        *_fence(flow, denied),
    )
    return GroupPlan(preconditions, tuple(positions), left_alone)


def _fence(flow: FlowParameters, denied: Sequence[str] | None) -> Iterator[Precondition]:
    if denied is None:
        yield not_seen(flow.source.alias)
    elif denied:
        value = f"writes to {named(denied)} on {flow.source.alias} have been denied since the failover"
        yield Precondition("fence", f"{value}; this command allows them again at its end", met=None)


def _group_positions(flow: FlowParameters, group: Group, facts: FailbackFacts) -> list[NewPosition]:
    """Return the positions of a group. Raises LeftAloneError if one of them must not be committed."""
    refuse_running(flow, group)
    policy, positions = flow.replication_policy, []
    for partition, back in sorted(facts.positions.items()):
        remote = policy.remote_partition(partition)
        if (committed := group.on_target.get(remote)) is not None:
            # Records that it consumed on the source before the failover may never have reached the target.
            if isinstance(back, NotProvenError):
                raise LeftAloneError(f"its position in {partition} is not proven")
            if deleted := back.positions[committed].deleted:
                records = number(deleted, "record")
                raise LeftAloneError(f"the source has deleted {records} of {partition} that the group has not consumed")
            offset, again = back.continues_at(committed, group.committed.get(partition, 0))
            bound: Bound = "at most" if again else "exactly"
            metadata = group.metadata.get(remote, "")
            positions.append(NewPosition(group.name, remote, committed, partition, offset, again, bound, metadata))
    return positions


def _proof(facts: FailbackFacts) -> Precondition:
    if text := unproven(facts.positions):
        return Precondition("positions", text, met=False)
    return Precondition("positions", f"computed from records of {number(len(facts.positions), 'partition')}")


def _only_on_source(flow: FlowParameters, facts: FailbackFacts) -> Iterator[Precondition]:
    """Report the source's records that never reached the target. Groups read those after the last common record, and
    skip those before it.
    """
    for passed, name, groups in (
        (False, "only source", "groups now read [it|them]"),
        (True, "never sent", "groups will not read [it|them]"),
    ):
        spans = [span for span in facts.source_only if span.passed is passed]
        yield from on_one_side(name, spans, f"never reached {flow.target.alias}", f", and {groups}")
    for partition, why in sorted(facts.unknown.items())[:1]:
        more = f" or {number(len(facts.unknown) - 1, 'other partition')}" if len(facts.unknown) > 1 else ""
        unread = f"none of the groups that were looked at has an offset in {partition}{more}"
        value = f"{unread}, and it is unknown which records only {flow.source.alias} has there: {why}"
        yield Precondition("only source", value, met=None)


def on_one_side(name: str, spans: Sequence[SourceOnly], what: str, then: str = "") -> Iterator[Precondition]:
    """Report ranges of records that the other side lacks. `what` describes them; `then` may have forms by number, as
    `agreeing` reads them.
    """
    for span in spans[:_LISTED]:
        yield Precondition(
            name, f"{number(span.records, 'record')} {what}{agreeing(span.records, then)}: {span.text}", met=None
        )
    if others := spans[_LISTED:]:
        records = number(sum(span.records for span in others), "record")
        yield Precondition(name, f"{records} more, which `--json` lists and `--export` writes to a file", met=None)


def _only_on_target(flow: FlowParameters, facts: FailbackFacts, reverse: Sequence[str]) -> Iterator[Precondition]:
    """Report records that producers wrote on the target: only another flow can copy them to the source."""
    topics = [f"{number(count, 'record')} to {topic}" for topic, count in sorted(facts.own_records.items()) if count]
    if not topics:
        return
    way = (
        f"run `replicate failover` of {' and '.join(reverse)} to move the groups' positions in these topics"
        if reverse
        else f"no flow of the stack copies them to {flow.source.alias}"
    )
    yield Precondition("only target", f"producers on {flow.target.alias} wrote {named(topics)}: {way}", met=None)


def refuse_unsuited_back(flow: FlowParameters, reverse: Sequence[str]) -> None:
    """Raise RefusedError if this command cannot move a flow's groups back; the remedy is the way that works.

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


def look_back(opened: FlowAccess, names: Sequence[str], say: Say) -> FailbackFacts:
    """Look at everything. Raises NoAnswerError, and CannotRunError for a group that never consumed on the target."""
    flow = opened.parameters
    readers = opened.readers()
    source, target = readers["source"], readers["target"]
    topics = flow.replicated(source.topics())
    remote = {flow.replication_policy.remote_partition(partition): partition for partition in source.partitions(topics)}
    existing = {copy: remote[copy] for copy in target.partitions({copy.topic for copy in remote}) if copy in remote}
    say("asking for the groups on both sides")
    groups = read_groups(flow, FAILBACK, readers, names, existing.values())
    # Partitions without a group may also have records that only the source has.
    wanted: dict[TopicPartition, set[int]] = {partition: set() for partition in existing.values()}
    for group in groups:
        for partition, offset in group.on_target.items():
            wanted[existing[partition]].add(offset)
    own = target.logs(target.partitions(topics))
    own_records = Counter[str]()
    for partition, log in own.items():
        own_records[partition.topic] += log.size
    left_at = {partition: {group.committed.get(partition, 0) for group in groups} for partition in existing.values()}
    results = read_positions_back(flow, source, target, wanted, left_at, say)
    backs = {partition: back for partition, back in results.items() if isinstance(back, PartitionBack)}
    tails = {partition: back.only_here for partition, back in backs.items()}
    gaps = {partition: back.gaps for partition, back in backs.items()}
    alone = source_only(source, tails, gaps, say, committed=flow.exactly_once)
    errors = {partition: why for partition, why in results.items() if isinstance(why, NotProvenError)}
    unknown = {partition: why for partition, why in errors.items() if not wanted[partition]}
    positions = {partition: back for partition, back in results.items() if wanted[partition]}
    return FailbackFacts(groups, positions, own_records, alone, unknown)


def read_positions_back(
    flow: FlowParameters,
    source: KafkaReader,
    target: KafkaReader,
    committed: Mapping[TopicPartition, Iterable[int]],
    left_at: Mapping[TopicPartition, Collection[int]],
    say: Say,
) -> dict[TopicPartition, PartitionBack | NotProvenError]:
    """Return the positions on the source for offsets that were `committed` on the target, by source partition.

    `left_at` has what groups had committed on the source when they left it. Each partition is read once, however many
    offsets there are. Raises NoAnswerError.
    """

    def walk(origin: PartitionLog, copies: PartitionLog, offsets: list[int]) -> PartitionBack | NotProvenError:
        return walk_back(origin, copies, offsets, left_at[origin.partition])

    return walk_partitions(flow, source, target, committed, say, walk)


def walk_back(
    origin: PartitionLog,
    copies: PartitionLog,
    committed: list[int],
    left_at: Collection[int],
    leads: Sequence[int | None] = LEADS,
) -> PartitionBack | NotProvenError:
    """Compare both logs from a little before the lowest position on; if that proves nothing, from further back."""
    if not committed and not copies.log.end:
        return PartitionBack({}, origin.log)
    why = NotProvenError("the remote partition no longer has any records")
    lowest = committed[0] if committed else copies.log.end
    for lead in leads:
        start = copies.log.start if lead is None else max(copies.log.start, lowest - lead)
        first = next(copies.records(min(start, copies.log.end)), None)
        if first is not None:
            # If the record was sent again, its first copy is further back and has the same timestamp.
            start = min(start, copies.not_before(first))
            # Timestamps may be out of order: the last walk reads everything.
            begin = origin.log.start if start == copies.log.start else origin.not_before(first)
            records = copies.records(start), origin.records(begin)
            try:
                back = positions_back(
                    committed, *records, origin.log.end, remote_start=copies.log.start, left_at=left_at
                )
                if not back.passed_over or start == copies.log.start:
                    return back
            except NotProvenError as error:
                why = error
        if start == copies.log.start:
            break
    return why


class Failback(Operation[GroupPlan]):
    """A failback of a flow whose topics have different names on both sides."""

    direction = FAILBACK
    asking = "asking Kafka"
    facts: FailbackFacts
    denied: Sequence[str] | None = None

    def look(self, say: Say) -> GroupPlan:
        self.facts = look_back(self.opened, self.call.groups, say)
        self.denied = visible_fence(self.opened)
        return plan_back(self.flow, self.facts, [flow.name for flow in self.opened.reverse_flows()], self.denied)

    def rights(self, plan: GroupPlan) -> Iterator[Precondition]:
        yield from super().rights(plan)
        if self.denied:
            yield from lift_rights(self.opened, "source")

    def records_to_export(self) -> tuple[KafkaReader, Sequence[SourceOnly]]:
        return self.opened.reader(self.flow.source), self.facts.source_only

    def carry_out(self, plan: GroupPlan) -> None:
        call, source, facts = self.call, self.flow.source, self.facts
        readers = self.opened.readers()
        expect_unchanged(self.opened, FAILBACK, readers, facts.groups, facts.positions, plan.positions)
        call.say(POINT_OF_NO_RETURN)
        with call.progress("committing") as say:
            self.commit(plan.positions, say)
        call.done(f"{number(len(plan.positions), 'position')} committed on {source.alias} and read back")
        if self.denied:
            lift(self.opened.topic_acls("source"), owner_of(self.opened))
            call.done(f"writes to {named(self.denied)} on {source.alias} are allowed again")
        call.say(f"Start the consumers and then the producers on {source.alias}: {source.bootstrap_servers}")
        resume = f"`replicate resume {self.stack} {self.flow.name}`"
        call.say(f"If the failover or you stopped connectors of the flow, start them: {resume}")
