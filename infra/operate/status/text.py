"""Prints a status: a block for each flow on a terminal, and one fact a line in a file or a pipe."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from rich.console import Console
from rich.markup import escape

from kafka_replication.components.contract.exported_series import EXPIRES_SOON_DAYS
from kafka_replication.components.contract.report import Verdict
from kafka_replication.components.contract.wording import number
from kafka_replication.infra.operate.status.document import (
    ConnectorStatus,
    FlowStatus,
    GroupsStatus,
    Kind,
    StatusDocument,
    StopStatus,
)
from kafka_replication.infra.operate.status.flow_status import duration
from kafka_replication.infra.review.reports import print_fact

#: `replicate failover` commits exact positions instead, from which consumers read none again.
JUST_MOVE = " (consumers that just move)"
_NOT_ASKED = "could not be asked"
#: A keeper looks every second.
_KEPT_SECONDS = 300
#: A judgement of the applications that is older was made in an earlier look.
_JUST_NOW_SECONDS = 5
_WIDTH = 10
#: A certificate that expires within this time is shown.
EXPIRES_SOON = timedelta(days=EXPIRES_SOON_DAYS)


class Fact(NamedTuple):
    """One line: its title, its text, and its colour on a terminal."""

    title: str
    text: str
    color: str = ""


def print_status(document: StatusDocument, console: Console) -> None:
    """Print every flow. In a pipe each line begins with stack and flow, so that it can be searched for."""
    for stack in document.stacks:
        if not stack.flows:
            console.print(f"{escape(stack.stack)}: no flow ends in this stack's region")
        for flow in stack.flows:
            lines = ((f"{fact.title:<{_WIDTH}} ", fact.text, fact.color) for fact in flow_lines(stack.stack, flow))
            route = f" {flow.source} -> {flow.target} ({flow.shape})"
            print_flow(console, f"{stack.stack} {flow.name}", route, lines)


def print_flow(console: Console, flow: str, route: str, lines: Iterable[tuple[str, str, str]]) -> None:
    """Print the lines about a flow: each has a title, a text, and a colour on a terminal."""
    if console.is_terminal:
        console.print(f"[bold]{escape(flow)}[/]{escape(route)}")
    before = "" if console.is_terminal else f"{flow} "
    for title, text, color in lines:
        shown = f"[{color}]{escape(text)}[/]" if color else escape(text)
        print_fact(console, f"{escape(before)}{title}{shown}", 2 if console.is_terminal else 0)


def flow_lines(stack: str, flow: FlowStatus) -> Iterator[Fact]:
    """Yield every fact about a flow. The first line says whether it could fail over."""
    yield from _failover(flow)
    yield from _logins(flow)
    yield from _connectors(flow)
    yield _heartbeat(flow)
    yield from _lag(flow)
    yield from _losses(stack, flow)
    yield from _groups(flow)
    if flow.kept_seconds is not None:
        text = f"the positions for a disaster are {duration(flow.kept_seconds)} old"
        yield Fact("kept", text, "yellow" if flow.kept_seconds > _KEPT_SECONDS else "")
    yield _applications(stack, flow)
    yield _verdict(flow)


def _failover(flow: FlowStatus) -> Iterator[Fact]:
    if flow.could_fail_over:
        but = _unready(flow)
        yield Fact("failover", f"could fail over now: yes, {_price(flow)}{but}", "yellow" if but else "green")
        return
    first, *others = flow.reasons
    yield Fact("failover", f"could fail over now: no, because {_sentence(first.kind, first.text)}", "red")
    for reason in others:
        yield Fact("", f"and because {_sentence(reason.kind, reason.text)}", "red")


def _sentence(kind: Kind, text: str) -> str:
    return f"not everything could be asked: {text}" if kind is Kind.UNASKED else text


def _price(flow: FlowStatus) -> str:
    """Say what a failover would cost now."""
    assert flow.lag is not None
    again = flow.read_again.records if flow.read_again is not None else 0
    lost = f"at most {number(flow.lag.records, 'record')} lost" if flow.lag.records else "nothing lost"
    return f"{lost}, at most {number(again, 'record')} read again"


def _unready(flow: FlowStatus) -> str:
    """Return what a yes must not hide: a group that has moved is of no use to an application that cannot log in."""
    if flow.applications is not None and flow.applications.missing:
        return f", but {flow.applications.summary}"
    if flow.applications is None or flow.applications.not_judged:
        return f"; whether all applications can start on {flow.target} is not judged"
    return ""


def _logins(flow: FlowStatus) -> Iterator[Fact]:
    """Report only problems: a login that is refused or could not be tried, and certificates that expire soon."""
    for login in flow.logins:
        if login.why:
            refused = login.accepted is False
            unknown = f"not everything about the connectors' login to {login.cluster} could be checked: {login.why}"
            text = login.why if refused else unknown
            yield Fact("login", text, "red" if refused else "yellow")
        for certificate in login.certificates:
            margin = datetime.fromisoformat(certificate.expires) - datetime.now(UTC)
            if margin <= EXPIRES_SOON:
                when = "has expired" if margin <= timedelta(0) else f"expires in {duration(margin.total_seconds())}"
                yield Fact("login", f"the certificate {certificate.key} in Secret {certificate.secret} {when}", "red")


def _connectors(flow: FlowStatus) -> Iterator[Fact]:
    if flow.connectors is None:
        yield Fact("connector", _NOT_ASKED, "yellow")
        return
    for connector in flow.connectors:
        wrong = connector.state != "RUNNING" or connector.failures or connector.problem or not connector.running_tasks
        yield Fact("connector", _connector(connector), "red" if wrong else "")
        for failure in connector.failures:
            yield Fact("failed", failure, "red")


def _connector(connector: ConnectorStatus) -> str:
    tasks = f", {connector.running_tasks} of {number(connector.tasks, 'task')} running"
    temporary = f", {connector.temporary}" if connector.temporary else ""
    problem = f": {connector.problem}" if connector.problem else ""
    return f"{connector.name} {connector.state or 'in no reported state'}{tasks}{temporary}{problem}"


def _heartbeat(flow: FlowStatus) -> Fact:
    if flow.heartbeat_seconds is not None:
        return Fact("heartbeat", f"the newest is {duration(flow.heartbeat_seconds)} old")
    return Fact("heartbeat", _NOT_ASKED if "heartbeatSeconds" in flow.unasked else "there is none", "yellow")


def _lag(flow: FlowStatus) -> Iterator[Fact]:
    lag = flow.lag
    if lag is None:
        yield Fact("lag", _NOT_ASKED, "yellow")
        return
    if not lag.behind:
        yield Fact("lag", f"none in {number(lag.partitions, 'partition')}")
        return
    age = "" if lag.seconds is None else f", the oldest {duration(lag.seconds)} old"
    where = f"in {lag.behind} of {number(lag.partitions, 'partition')}"
    most = f"most in {lag.most[0].partition}: {lag.most[0].records}"
    yield Fact("lag", f"at most {number(lag.records, 'record')} {where}{age}; {most}")


def _losses(stack: str, flow: FlowStatus) -> Iterator[Fact]:
    """Report only what is near, or has happened."""
    if flow.losses is None:
        if flow.lag is not None:
            yield Fact("losses", _NOT_ASKED, "yellow")
        return
    for deletion in flow.losses.deletions:
        if deletion.near:
            when = f"in {duration(deletion.seconds)}" if deletion.seconds else "now"
            text = f"{flow.source} may delete records of {deletion.partition} that have not crossed {when}"
            yield Fact("retention", text, "red")
    for gap in flow.losses.gaps:
        some = f"{gap.at_least} to {gap.at_most}" if gap.at_least < gap.at_most else f"{gap.at_most}"
        text = f"{flow.source} has deleted {some} offsets of {gap.partition} before they crossed"
        yield Fact("lost", text, "red" if gap.at_least else "yellow")
    for stop in flow.losses.stopped:
        has = "has stopped" if stop.certain else "may have stopped"
        holds = f"offsets {stop.start} to {stop.end - 1}" if stop.end > stop.start else "no records"
        text = f"the source connector {has} at offset {stop.position} of {stop.partition}, of which {flow.source} holds"
        then = f"to continue with what is there: {_continue(stack, flow.name, stop)}"
        yield Fact("stopped", f"{text} {holds}; {then}", "red")
    if flow.losses.unstarted:
        text = f"nothing says where {', '.join(flow.losses.unstarted)} starts: run `replicate keep {stack}`"
        yield Fact("stopped", text, "red")


def _continue(stack: str, flow: str, stop: StopStatus) -> str:
    topic, _, number = stop.partition.rpartition("-")
    entry = f'[{{topic: "{topic}", partition: {number}, offset: earliest}}]'
    return f"echo '{entry}' > gap.yaml && replicate offsets {stack} {flow} set gap.yaml"


def _groups(flow: FlowStatus) -> Iterator[Fact]:
    if flow.read_again is None:
        yield Fact("re-read", "it translates no offsets") if flow.by_design else Fact("re-read", _NOT_ASKED, "yellow")
        return
    yield Fact("re-read", _again(flow.read_again))
    for group in flow.read_again.most:
        if group.without_position:
            yield Fact(
                "group", f"{group.name}: no position on {flow.target} for {', '.join(group.without_position)}", "red"
            )
        elif group.records:
            yield Fact("group", f"{group.name}: at most {number(group.records, 'record')}")


def _again(groups: GroupsStatus) -> str:
    if not groups.groups:
        return "no selected group has a committed offset on the source"
    just_move = JUST_MOVE if groups.records else ""
    return f"at most {number(groups.records, 'record')} by {number(groups.groups, 'group')}{just_move}"


def _applications(stack: str, flow: FlowStatus) -> Fact:
    judged, command = flow.applications, f"replicate ready {stack} {flow.name}"
    if judged is None:
        return Fact("ready", f"not judged: {command}", "yellow")
    age = f", judged {duration(judged.age_seconds)} ago" if judged.age_seconds > _JUST_NOW_SECONDS else ""
    if judged.missing:
        return Fact("ready", f"{judged.summary}: {command}{age}", "red")
    if judged.not_judged:
        first, *others = judged.not_judged
        more = f", and {number(len(others), 'more question')}" if others else ""
        return Fact("ready", f"not judged: {first}{more}: {command}{age}", "yellow")
    return Fact("ready", f"{judged.summary}, as far as ACLs, users and topic settings show{age}")


def _verdict(flow: FlowStatus) -> Fact:
    verdict = flow.verdict
    if verdict is None:
        return Fact("verdict", _NOT_ASKED if "verdict" in flow.unasked else "none was published", "yellow")
    about = "" if verdict.current else ", for another model or with other accepted findings"
    failed = f", not passed: {', '.join(verdict.failed_checks)}" if verdict.failed_checks else ""
    color = "" if verdict.verdict is Verdict.PASS and verdict.current else "red"
    return Fact("verdict", f"{verdict.verdict}, {duration(verdict.age_seconds)} ago{about}{failed}", color)
