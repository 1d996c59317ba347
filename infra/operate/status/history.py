"""What earlier validations have published about a stack's flows. Asks only Kubernetes."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

from rich.console import Console
from rich.markup import escape

from kafka_replication.components.contract.parameters import DocumentPart
from kafka_replication.components.contract.problems import CannotRunError, NoAnswer
from kafka_replication.components.contract.published_verdict import History, PastVerdict
from kafka_replication.components.contract.report import Verdict
from kafka_replication.infra.operate.status.kubernetes_facts import read_objects, verdict_history, verdict_references
from kafka_replication.infra.operate.status.text import JUST_MOVE, print_flow
from kafka_replication.infra.stack.session import QUICK, OpenStack

_THREADS = 16
_COLORS = {Verdict.PASS: "green", Verdict.FAIL: "red"}


class FlowHistory(DocumentPart):
    """The newest verdicts first; `older` ones are kept but not listed, `dropped` ones are no longer kept. `losses` has
    sentences about verdicts lost to damage. `unasked` says why nothing is known.
    """

    name: str
    verdicts: tuple[PastVerdict, ...] = ()
    older: int = 0
    dropped: int = 0
    losses: tuple[str, ...] = ()
    unasked: str = ""


class StackHistory(DocumentPart):
    stack: str
    flows: tuple[FlowHistory, ...]


class HistoryDocument(DocumentPart):
    """Version 1 of what `replicate status --history N --json` prints. `asked_at` is in ISO 8601."""

    version: int = 1
    asked_at: str
    stacks: tuple[StackHistory, ...]

    @property
    def exit_code(self) -> int:
        """Return 2 if something could not be asked or read."""
        return 2 if any(flow.unasked or flow.losses for stack in self.stacks for flow in stack.flows) else 0


def histories(stacks: Sequence[OpenStack], verdicts: int) -> HistoryDocument:
    """Return the newest verdicts of every flow, at most this many. Raises ReplicationError for mistakes."""
    asked_at = datetime.now(UTC).isoformat(timespec="seconds")
    return HistoryDocument(asked_at=asked_at, stacks=tuple(_of_stack(stack, verdicts) for stack in stacks))


def _of_stack(stack: OpenStack, verdicts: int) -> StackHistory:
    try:
        flows, api = stack.flows, stack.kubernetes
    except CannotRunError as error:
        why = f"{error.what} ({error.where})"
        unasked = (FlowHistory(name=flow.name, unasked=why) for flow in stack.declared_flows)
        return StackHistory(stack=stack.name, flows=tuple(unasked))
    with ThreadPoolExecutor(_THREADS) as pool:
        objects = read_objects(api.within(QUICK), verdict_references(flows), pool)
    of_flows = (flow_history(flow.name, verdict_history(flow, objects), verdicts) for flow in flows)
    return StackHistory(stack=stack.name, flows=tuple(of_flows))


def flow_history(name: str, history: History | NoAnswer, verdicts: int) -> FlowHistory:
    """Return the part of a flow's history that is shown."""
    if isinstance(history, NoAnswer):
        return FlowHistory(name=name, unasked=history.reason)
    newest = history.verdicts[: -verdicts - 1 : -1]
    return FlowHistory(
        name=name,
        verdicts=newest,
        older=len(history.verdicts) - len(newest),
        dropped=history.dropped,
        losses=history.losses,
    )


def print_histories(document: HistoryDocument, console: Console) -> None:
    """Print one verdict a line; in a pipe each line begins with stack and flow, so that it can be searched for."""
    for stack in document.stacks:
        if not stack.flows:
            console.print(f"{escape(stack.stack)}: no flow ends in this stack's region")
        for flow in stack.flows:
            print_flow(console, f"{stack.stack} {flow.name}", "", (("", *line) for line in history_lines(flow)))


def history_lines(flow: FlowHistory) -> Iterator[tuple[str, str]]:
    """Yield the lines about a flow, each with its colour on a terminal."""
    if flow.unasked:
        yield f"could not be asked: {flow.unasked}", "yellow"
        return
    if not flow.verdicts:
        yield "the history holds no published validation", "yellow"
    for verdict in flow.verdicts:
        yield _line(verdict), _COLORS.get(verdict.verdict, "yellow")
    if flow.older:
        yield f"and {flow.older} older", ""
    if flow.dropped:
        yield f"and {flow.dropped} before these, which are no longer kept", ""
    for loss in flow.losses:
        yield loss, "red"


def _line(past: PastVerdict) -> str:
    again = (
        ("re-reads at most", past.reads_again, JUST_MOVE) if past.reads_again else ("re-reads", past.reads_again, "")
    )
    figures = (("loses", past.loses, " s"), again, ("skips", past.skips, ""))
    cost = ", ".join(
        f"{name} {'not proven' if value is None else f'{value:,g}{unit}'}" for name, value, unit in figures
    )
    codes = f": {', '.join(past.codes)}" if past.codes else ""
    return f"{past.time} {past.verdict.value} ({past.depth.value}), {cost}{codes}"
