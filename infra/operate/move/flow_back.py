"""Sets where a flow back with the identity policy starts, after a failover and before it has copied anything.

The groups then return with a failover of that flow.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from kafka_replication.components.clients.reader import KafkaReader
from kafka_replication.components.contract.parameters import FlowParameters
from kafka_replication.components.contract.problems import RefusedError
from kafka_replication.components.contract.wording import agreeing, named, number
from kafka_replication.components.kafka.connectors import can_resume_at, stored_for
from kafka_replication.components.kafka.exact_positions import NotProvenError
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.components.kafka.replication_policy import Policy
from kafka_replication.components.kafka.return_positions import FlowBackStart, flow_back_start
from kafka_replication.infra.operate.connectors.changes import ConnectorPlace, StateRequest
from kafka_replication.infra.operate.connectors.operator import disown, read_live
from kafka_replication.infra.operate.flow_access import FlowAccess
from kafka_replication.infra.operate.move.facts import CheckedPlan, Precondition, unproven
from kafka_replication.infra.operate.move.failback import Failback, on_one_side, refuse_unsuited_back
from kafka_replication.infra.operate.move.fence import lift, not_seen, owners_on
from kafka_replication.infra.operate.move.groups import FAILBACK
from kafka_replication.infra.operate.move.rights import lift_rights
from kafka_replication.infra.operate.move.run import MoveCall, Operation
from kafka_replication.infra.operate.move.source_only import SourceOnly, source_only
from kafka_replication.infra.operate.offsets.change import PURPOSE, Run, config_map_reference, left_behind
from kafka_replication.infra.operate.offsets.plan import Known, OffsetChange
from kafka_replication.infra.operate.offsets.reader import OffsetsReader
from kafka_replication.infra.operate.partition_logs import PartitionLog, Say, walk_partitions
from kafka_replication.infra.operate.status.kubernetes_facts import connector_of


@dataclass(frozen=True)
class FlowBackFacts:
    """Everything that decides where the flow back starts; `beginnings` are by partition of the new origin.

    `known` is what Connect has stored for the flow. `old_only` are the old origin's records that were never replicated.
    """

    known: Known
    beginnings: Mapping[TopicPartition, FlowBackStart | NotProvenError]
    old_only: tuple[SourceOnly, ...]


@dataclass(frozen=True)
class FlowBackPlan(CheckedPlan):
    """The preconditions, and the offsets to set if all are met; none if Connect has them already."""

    changes: tuple[OffsetChange, ...]

    def lines(self) -> Iterator[str]:
        yield from (change.text for change in self.changes)

    def document(self, *, committed: bool) -> dict[str, object]:
        changes = [
            {"connector": change.connector, "partition": str(change.partition), "now": change.now, "then": change.then}
            for change in self.changes
        ]
        return {**super().document(committed=committed), "offsets": changes}


def plan_return(
    flow: FlowParameters, facts: FlowBackFacts, running: tuple[str, ...], fences: Sequence[str] | None = ()
) -> FlowBackPlan:
    """Return the plan; `running` names the source connectors that are not stopped. `fences` names the owners of fences
    on the old origin; None if they could not be seen. Raises RefusedError for a flow that has already replicated.
    """
    known, starts = facts.known, _starts(facts)
    changes = []
    for partition, start in sorted(starts.items()):
        stored, wanted = known.stored_of(partition), stored_for(start.offset)
        if stored not in (None, wanted):
            raise _has_run(flow, f"{partition} is replicated up to {stored}")
        if stored != wanted and not known.stays(partition, start.offset):
            connector = known.connectors[partition.topic]
            changes.append(OffsetChange(connector, partition, known.next_of(partition), start.offset, wanted))
    preconditions = (
        _stopped(flow, running),
        *_proof(flow, facts),
        # Groups skip these, because their positions follow what the new origin wrote.
        *on_one_side("old only", facts.old_only, f"of {flow.target.alias} never reached {flow.source.alias}"),
        *_fenced(flow, fences),
    )
    return FlowBackPlan(preconditions, tuple(changes))


def _starts(facts: FlowBackFacts) -> dict[TopicPartition, FlowBackStart]:
    return {partition: start for partition, start in facts.beginnings.items() if isinstance(start, FlowBackStart)}


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


def _proof(flow: FlowParameters, facts: FlowBackFacts) -> Iterator[Precondition]:
    if text := unproven(facts.beginnings):
        yield Precondition("beginning", text, met=False)
        return
    starts = _starts(facts)
    back = number(sum(start.records for start in starts.values()), "record")
    partitions = number(len(starts), "partition")
    yield Precondition("beginning", f"{back} of {flow.source.alias} to copy back, in {partitions}", met=bool(starts))
    apart = [str(where) for where, start in sorted(starts.items()) if start.last_common is None and start.records]
    if apart:
        none = f"{flow.source.alias} and {flow.target.alias} have no record in common"
        value = f"{named(apart)}: {none}, so every record on {flow.source.alias} is copied back"
        yield Precondition("beginning", value, met=None)
    late = [str(where) for where, start in sorted(starts.items()) if not can_resume_at(start.offset, flow.start_from)]
    if late:
        value = f"{named(late)} cannot begin at offset 0 with `startFrom: latest`: deploy `startFrom: earliest`"
        yield Precondition("beginning", value, met=False)


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


#: How many of the old origin's last records are compared first; None is its whole log.
_LASTS = (100_000, None)


def look_at_return(opened: FlowAccess, say: Say) -> FlowBackFacts:
    """Compare both clusters in every partition of the flow. Raises NoAnswerError and CannotRunError."""
    flow = opened.parameters
    new, old = opened.reader(flow.source), opened.reader(flow.target)
    reader = OffsetsReader(opened)
    known = reader.known([place.name for place in reader.places])
    there = set(old.partitions({partition.topic for partition in known.logs}))
    shared = [partition for partition in known.logs if partition in there]
    starts = walk_partitions(flow, new, old, dict.fromkeys(shared, ()), say, walk_return)
    absent = {partition: log for partition, log in known.logs.items() if partition not in there}
    starts |= {partition: FlowBackStart(log.start, log.size, None, None) for partition, log in absent.items()}
    tails = {}
    for partition, log in old.logs(shared, committed=flow.exactly_once).items():
        if isinstance(start := starts[partition], FlowBackStart):
            tails[partition] = OffsetRange(log.start if start.last_common is None else start.last_common + 1, log.end)
    return FlowBackFacts(known, starts, source_only(old, tails, {}, say, committed=flow.exactly_once))


def walk_return(
    new: PartitionLog, old: PartitionLog, _: Sequence[int] = (), lasts: Sequence[int | None] = _LASTS
) -> FlowBackStart | NotProvenError:
    """Compare the old origin's last records; if they are not enough to decide, compare all of them."""
    try:
        for last in filter(None, lasts if old.timed else ()):
            if old.log.size > last and (start := _by_last(new, old, last)) is not None:
                return start
        start = flow_back_start(old.records(old.log.start), new.records(new.log.start), new.log.start, whole=True)
    except NotProvenError as error:
        return error
    return start or NotProvenError("nothing was compared")


def _by_last(new: PartitionLog, old: PartitionLog, last: int) -> FlowBackStart | None:
    records = list(old.records(old.log.end - last))
    if not records:
        return None
    begin = new.not_before(records[0])
    start = flow_back_start(records, new.records(begin), begin, whole=False)
    newest_ms = max(record.time_ms for record in records)
    if start is None or old.reader.offset_at(old.partition, newest_ms + 1) is not None:
        return None
    # A record can be a copy of one that was not compared, unless it is newer than every record of the old origin.
    return start if start.oldest_ms is None or start.oldest_ms > newest_ms else None


def not_stopped(opened: FlowAccess, places: Sequence[ConnectorPlace]) -> tuple[str, ...]:
    """Return the connectors that are not stopped. Raises CannotRunError for one that is not deployed."""
    with opened.kubernetes() as api:
        live = read_live(api, places)
    states = {place.name: connector_of(place, live[place.resource]).state for place in places}
    return tuple(name for name, state in states.items() if state != "STOPPED")


def set_beginning(opened: FlowAccess, call: MoveCall, changes: Sequence[OffsetChange], say: Say) -> None:
    """Set the offsets of the stopped source connectors, and read them back; without changes, only remove leftovers.

    Raises CannotRunError.
    """
    reader = OffsetsReader(opened)
    connectors = {change.connector for change in changes}
    by, now = f"{call.user}{PURPOSE}", datetime.now(UTC)
    request = StateRequest(opened.stack.name, opened.flow.name, "stopped", by, now)
    with opened.kubernetes() as api:
        leftovers = left_behind(api, reader.places)
        if concerned := [place for place in reader.places if place.name in connectors or place in leftovers]:
            Run(api, reader, request, "alter", call.wait_seconds, say).set(concerned, lambda: changes)
            return
        # A call that was killed at its very end leaves these two.
        for place in reader.places:
            api.delete(config_map_reference(place))
            disown(api, place.resource)


class FlowBack(Operation[FlowBackPlan]):
    """Sets the offsets at which a flow back begins: after the last record that came from the other side."""

    direction = FAILBACK
    facts: FlowBackFacts
    fences: Sequence[str] | None = None

    def run(self) -> None:
        if self.call.groups:
            why = "This step sets the offsets at which the flow begins, so it affects every group."
            remedy = f"leave out `--group` here, and give it to `replicate failover` of {self.flow.name} afterwards."
            raise RefusedError("failback-unsuited", "`--group` is given", f"flow {self.flow.name}", why, remedy)
        super().run()

    def look(self, say: Say) -> FlowBackPlan:
        running = not_stopped(self.opened, OffsetsReader(self.opened).places)
        self.facts = look_at_return(self.opened, say)
        topics = {partition.topic for partition in self.facts.beginnings}
        self.fences = owners_on(self.opened, "target", topics)
        return plan_return(self.flow, self.facts, running, self.fences)

    def rights(self, _: FlowBackPlan) -> Iterator[Precondition]:
        if self.fences:
            yield from lift_rights(self.opened, "target")

    def records_to_export(self) -> tuple[KafkaReader, Sequence[SourceOnly]]:
        return self.opened.reader(self.flow.target), self.facts.old_only

    def carry_out(self, plan: FlowBackPlan) -> None:
        call, flow = self.call, self.flow
        call.say("setting offsets; if this is interrupted, run the command again")
        with call.progress("asking the operator") as say:
            set_beginning(self.opened, call, plan.changes, say)
        call.done(f"{number(len(plan.changes), 'offset')} set, and read back from Connect")
        for owner in self.fences or ():
            lift(self.opened.topic_acls("target"), owner)
            call.done(f"the fence of {owner} on {flow.target.alias} is lifted")
        call.say("Now start the source connector: remove `state: stopped` from the topology, and deploy it")
        call.say(f"Then stop the producers and consumers, and type `replicate failover {self.stack} {flow.name}`")


def fail_back(call: MoveCall, opened: FlowAccess) -> None:
    """Move groups back, or with the policy `identity` set where the flow back begins. Raises RefusedError."""
    refuse_unsuited_back(opened.parameters, [flow.name for flow in opened.reverse_flows()])
    if opened.parameters.policy is Policy.IDENTITY:
        FlowBack(call, opened).run()
    else:
        Failback(call, opened).run()
