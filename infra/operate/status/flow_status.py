"""Judges a flow from its facts: its status, and whether it could fail over now. Pure."""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from kafka_replication.components.contract.parameters import FlowParameters
from kafka_replication.components.contract.problems import NoAnswer
from kafka_replication.components.contract.published_verdict import PROOF_HOURS
from kafka_replication.components.contract.readiness import Readiness, summary
from kafka_replication.components.contract.report import Verdict
from kafka_replication.components.contract.wording import agreeing, named
from kafka_replication.components.kafka.connectors import BEHIND_SECONDS
from kafka_replication.infra.operate.status.document import (
    ApplicationsStatus,
    ConnectorStatus,
    DeletionStatus,
    FlowStatus,
    GapStatus,
    GroupsStatus,
    GroupStatus,
    Kind,
    LagStatus,
    LossesStatus,
    PartitionStatus,
    Reason,
    ReplacedStatus,
    StopStatus,
    VerdictStatus,
)
from kafka_replication.infra.operate.status.facts import (
    ConnectorFacts,
    FlowFacts,
    GroupFacts,
    Lag,
    Losses,
    VerdictFacts,
)

#: How many partitions and groups are shown.
LISTED = 5


def flow_status(flow: FlowParameters, facts: FlowFacts, listed: int | None = LISTED) -> FlowStatus:
    """Judge one flow: it can fail over if nothing prevents it. `listed` limits partitions and groups (None: all)."""
    reasons = [
        *_of_logins(facts),
        *_judged(facts.connectors, _of_connectors),
        *(_judged(facts.heartbeat_ms, partial(_of_heartbeats, flow, facts)) if flow.heartbeats.enabled else ()),
        *_judged(facts.lag, partial(_of_lag, flow, facts)),
        *_judged(facts.losses, partial(_of_losses, flow, facts)),
        *(_judged(facts.groups, partial(_of_groups, flow)) if translates(flow) else _of_design(flow)),
        *_judged(facts.verdict, partial(_of_verdict, facts)),
    ]
    return FlowStatus(
        name=flow.name,
        replication=flow.replication,
        shape=flow.shape,
        source=flow.source.alias,
        target=flow.target.alias,
        could_fail_over=not reasons,
        reasons=tuple(Reason(kind=kind, text=text) for kind, text in dict.fromkeys(reasons)),
        connectors=_connectors(facts),
        heartbeat_seconds=_age(facts, facts.heartbeat_ms) if isinstance(facts.heartbeat_ms, int) else None,
        lag=_lag(facts, facts.lag, listed) if isinstance(facts.lag, Lag) else None,
        read_again=_groups(facts.groups, listed)
        if translates(flow) and not isinstance(facts.groups, NoAnswer)
        else None,
        verdict=_verdict(facts, facts.verdict) if isinstance(facts.verdict, VerdictFacts) else None,
        losses=_losses(facts, facts.losses, listed) if isinstance(facts.losses, Losses) else None,
        logins=facts.logins,
        kept_seconds=None if facts.kept_ms is None else _age(facts, facts.kept_ms),
        applications=_applications(facts, facts.applications) if facts.applications is not None else None,
        unasked=(
            *(name for name, fact in _named(facts).items() if isinstance(fact, NoAnswer)),
            *(("logins",) if any(login.accepted is not False and login.why for login in facts.logins) else ()),
        ),
    )


def _named(facts: FlowFacts) -> dict[str, object]:
    """Return each fact by its key in the document."""
    return {
        "connectors": facts.connectors,
        "heartbeatSeconds": facts.heartbeat_ms,
        "lag": facts.lag,
        "losses": facts.losses,
        "readAgain": facts.groups,
        "verdict": facts.verdict,
    }


def translates(flow: FlowParameters) -> bool:
    """Return whether the flow translates offsets of any consumer group."""
    return flow.checkpoints.enabled and bool(flow.groups)


Reasons = Iterator[tuple[Kind, str]]
Known = TypeVar("Known")


def _judged(fact: Known | NoAnswer, judge: Callable[[Known], Reasons]) -> Reasons:
    """Yield what is wrong with a fact, or why it could not be asked."""
    if isinstance(fact, NoAnswer):
        yield from ((Kind.UNASKED, reason) for reason in fact.reasons)
    else:
        yield from judge(fact)


def _of_logins(facts: FlowFacts) -> Reasons:
    for login in facts.logins:
        if login.accepted is False:
            yield Kind.PROBLEM, f"{login.cluster} refuses the connectors' login"
        elif login.accepted is None:
            # If a cluster accepts the login, the connectors do not need the expired certificates.
            for certificate in login.certificates:
                if datetime.fromisoformat(certificate.expires).timestamp() * 1000 <= facts.now_ms:
                    yield Kind.PROBLEM, f"the certificate {certificate.key} in Secret {certificate.secret} has expired"


def _of_connectors(connectors: Iterable[ConnectorFacts]) -> Reasons:
    for connector in connectors:
        wrong = [f"{connector.name}{_task(failure.task)} failed" for failure in connector.failures]
        if connector.problem:
            wrong.append(f"{connector.name}: {connector.problem}")
        elif connector.temporary is not None or connector.wanted != "running":
            wrong.append(f"{connector.name} is {connector.wanted}")
        elif connector.state not in ("RUNNING", "FAILED"):
            wrong.append(f"{connector.name} is {connector.state or 'in no reported state'}")
        elif not wrong and not connector.running_tasks:
            wrong.append(f"{connector.name} runs without a task")
        yield from ((Kind.PROBLEM, text) for text in wrong)


def _task(number: int | None) -> str:
    return "" if number is None else f" task {number}"


def _of_heartbeats(flow: FlowParameters, facts: FlowFacts, newest_ms: int | None) -> Reasons:
    if newest_ms is None:
        yield Kind.PROBLEM, f"{flow.heartbeats.target_topic} has no recent heartbeat of this flow"
    elif (age := _age(facts, newest_ms)) > flow.heartbeats.stale_seconds:
        yield Kind.PROBLEM, f"the newest heartbeat is {duration(age)} old"


def _of_lag(flow: FlowParameters, facts: FlowFacts, lag: Lag) -> Reasons:
    if not lag.partitions:
        yield Kind.PROBLEM, f"no topic on {flow.source.alias} is selected"
    for topic in lag.missing_topics:
        every = duration(flow.refresh_topics_seconds)
        yield (
            Kind.PROBLEM,
            f"{topic} does not exist on {flow.target.alias}; the flow looks for new topics every {every}",
        )
    seconds = _oldest_seconds(facts, lag)
    if flow.transformed and lag.behind:
        yield Kind.UNASKED, "the flow's own transforms may have dropped the newest records of the source"
    elif seconds is not None and seconds > BEHIND_SECONDS:
        yield Kind.PROBLEM, f"a record that is {duration(seconds)} old may not be on {flow.target.alias} yet"


def _of_losses(flow: FlowParameters, facts: FlowFacts, losses: Losses) -> Reasons:
    lost = [partition for partition, gap in sorted(losses.gaps.items()) if gap.at_least]
    if lost:
        yield Kind.PROBLEM, f"{flow.source.alias} has deleted records of {named(lost)} that had not crossed"
    stopped = [partition for partition, stop in sorted(losses.stopped.items()) if stop.certain]
    if stopped:
        yield Kind.PROBLEM, f"the source connector has stopped at a gap in {named(stopped)}"
    if losses.unstarted:
        where = named(losses.unstarted)
        yield Kind.PROBLEM, f"no keeper says where {where} starts, so tasks that replicate it replicate nothing"
    near = [partition for partition, at in sorted(losses.deletions.items()) if at.near_ms <= facts.now_ms]
    if near:
        yield Kind.PROBLEM, f"{flow.source.alias} soon deletes records of {named(near)} that have not crossed"
    for alias, replaced in losses.replaced.items():
        if replaced.recreated:
            were = agreeing(len(replaced.recreated), "[was|were]")
            yield Kind.PROBLEM, f"{named(replaced.recreated)} on {alias} {were} deleted and created again"
        if replaced.cut:
            how = agreeing(len(replaced.cut), "lost the end of [its log, or was|their logs, or were] created again")
            yield Kind.PROBLEM, f"{named(replaced.cut)} on {alias} {how}"


def _of_design(flow: FlowParameters) -> Reasons:
    why = "a prefixlessPair translates no offsets" if flow.shape == "prefixlessPair" else "it translates no offsets"
    yield Kind.DESIGN, f"{why}: `replicate failover` computes each group's position on {flow.target.alias}"


def _of_groups(flow: FlowParameters, groups: Iterable[GroupFacts]) -> Reasons:
    for group in groups:
        if group.without_position:
            where = f"{group.without_position[0]}" + (" and others" if len(group.without_position) > 1 else "")
            yield Kind.PROBLEM, f"group {group.name} has no position on {flow.target.alias} for {where}"


def _of_verdict(facts: FlowFacts, verdict: VerdictFacts | None) -> Reasons:
    if verdict is None:
        yield Kind.PROBLEM, "no validation was ever published"
        return
    age = facts.now_ms / 1000 - verdict.at.timestamp()
    if verdict.verdict is not Verdict.PASS:
        yield Kind.PROBLEM, f"the newest published validation is `{verdict.verdict}`"
    elif not verdict.current:
        yield Kind.PROBLEM, "the newest published validation judged another model, or accepted other findings than now"
    elif age > PROOF_HOURS * 3600:
        yield Kind.PROBLEM, f"the newest published validation is {duration(age)} old"


def _connectors(facts: FlowFacts) -> tuple[ConnectorStatus, ...] | None:
    if isinstance(facts.connectors, NoAnswer):
        return None
    now = datetime.fromtimestamp(facts.now_ms / 1000, UTC)
    return tuple(
        ConnectorStatus(
            name=connector.name,
            role=connector.role,
            resource=connector.resource,
            wanted=connector.wanted,
            state=connector.state,
            tasks=len(connector.tasks),
            running_tasks=connector.running_tasks,
            failures=tuple(f"{connector.name}{_task(error.task)}: {error.reason}" for error in connector.failures),
            problem=connector.problem,
            temporary=connector.temporary.text(now) if connector.temporary is not None else "",
        )
        for connector in facts.connectors
    )


def _age(facts: FlowFacts, at_ms: int) -> float:
    """Return the age in seconds; it is never negative, because clocks differ a little."""
    return round(max(0, facts.now_ms - at_ms) / 1000, 1)


def _oldest_seconds(facts: FlowFacts, lag: Lag) -> float | None:
    times = [partition.oldest_ms for partition in lag.behind if partition.oldest_ms is not None]
    return _age(facts, min(times)) if times else None


def _lag(facts: FlowFacts, lag: Lag, listed: int | None) -> LagStatus:
    worst = sorted(lag.behind, key=lambda partition: (-partition.records, partition.partition))
    return LagStatus(
        records=sum(partition.records for partition in lag.behind),
        seconds=_oldest_seconds(facts, lag),
        partitions=lag.partitions,
        behind=len(lag.behind),
        most=tuple(
            PartitionStatus(
                partition=str(partition.partition),
                records=partition.records,
                seconds=None if partition.oldest_ms is None else _age(facts, partition.oldest_ms),
                position=partition.position,
            )
            for partition in worst[:listed]
        ),
        missing_topics=lag.missing_topics,
        ends=lag.ends,
    )


def _losses(facts: FlowFacts, losses: Losses, listed: int | None) -> LossesStatus:
    deletions = sorted(losses.deletions.items(), key=lambda item: (item[1].at_ms, item[0]))
    gaps = sorted(losses.gaps.items(), key=lambda item: (-item[1].at_least, -item[1].at_most, item[0]))
    return LossesStatus(
        near=sum(deletion.near_ms <= facts.now_ms for _, deletion in deletions),
        at_least=sum(gap.at_least for _, gap in gaps),
        at_most=sum(gap.at_most for _, gap in gaps),
        deletions=tuple(
            DeletionStatus(
                partition=str(partition),
                seconds=round(max(0, deletion.at_ms - facts.now_ms) / 1000, 1),
                near=deletion.near_ms <= facts.now_ms,
            )
            for partition, deletion in deletions[:listed]
        ),
        gaps=tuple(
            GapStatus(partition=str(partition), at_least=gap.at_least, at_most=gap.at_most)
            for partition, gap in gaps[:listed]
        ),
        replaced=tuple(
            ReplacedStatus(cluster=alias, recreated=replaced.recreated, cut=tuple(map(str, replaced.cut)))
            for alias, replaced in losses.replaced.items()
        ),
        stopped=tuple(
            StopStatus(
                partition=str(partition),
                position=stop.position,
                start=stop.log.start,
                end=stop.log.end,
                certain=stop.certain,
            )
            for partition, stop in sorted(losses.stopped.items())
        ),
        unstarted=tuple(map(str, losses.unstarted)),
    )


def _groups(groups: tuple[GroupFacts, ...], listed: int | None) -> GroupsStatus:
    worst = sorted(groups, key=lambda group: (not group.without_position, -group.at_most, group.name))
    return GroupsStatus(
        groups=len(groups),
        records=sum(group.at_most for group in groups),
        most=tuple(
            GroupStatus(
                name=group.name, records=group.at_most, without_position=tuple(map(str, group.without_position))
            )
            for group in worst[:listed]
        ),
    )


def _verdict(facts: FlowFacts, verdict: VerdictFacts) -> VerdictStatus:
    age = max(0.0, round(facts.now_ms / 1000 - verdict.at.timestamp()))
    return VerdictStatus(
        verdict=verdict.verdict,
        time=verdict.at.isoformat(),
        age_seconds=age,
        current=verdict.current,
        failed_checks=verdict.failed_checks,
    )


def _applications(facts: FlowFacts, judged: Readiness) -> ApplicationsStatus:
    return ApplicationsStatus(
        summary=summary(judged),
        missing=tuple(missing.text for missing in judged.missing),
        not_judged=judged.not_judged,
        age_seconds=_age(facts, facts.judged_ms),
    )


_UNITS = ((86_400, "days"), (3_600, "h"), (60, "min"))


def duration(seconds: float) -> str:
    """Return a duration such as "3 min", in the largest unit that it holds at least twice, or else in seconds."""
    for size, unit in _UNITS:
        if seconds >= 2 * size:
            return f"{seconds // size:.0f} {unit}"
    return f"{seconds:.1f} s"
