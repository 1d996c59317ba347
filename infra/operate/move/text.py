"""Prints what a failover found and did."""

from collections.abc import Iterable, Iterator, Mapping

from rich.console import Console
from rich.markup import escape

from components.contract.parameters import FlowParameters
from components.contract.wording import number
from infra.operate.move.facts import CheckedPlan, GroupPlan, Mode, NewPosition

_MARKS = {True: "[green]✓[/]", False: "[red]✗[/]", None: "[yellow]![/]"}
_WIDTH = 13
#: How many positions the text shows.
_SHOWN = 40


def print_plan(plan: GroupPlan, console: Console) -> None:
    """The preconditions, the positions, and the groups that are left alone."""
    print_preconditions(plan, console)
    for line in _lines(plan):
        console.print(line, soft_wrap=True)


def print_preconditions(found: CheckedPlan, console: Console) -> None:
    for each in found.preconditions:
        console.print(f"{_MARKS[each.met]} {each.name:<{_WIDTH}} {escape(each.value)}", soft_wrap=True)


def _lines(plan: GroupPlan) -> Iterator[str]:
    for move in plan.moves[:_SHOWN]:
        yield escape(position_line(move))
    if len(plan.moves) > _SHOWN:
        yield f"and {len(plan.moves) - _SHOWN} more positions, which `--json` lists"
    for alone in plan.left_alone:
        yield f"[yellow]![/] {escape(f'group {alone.group} is left alone: {alone.why}')}"


def position_line(move: NewPosition) -> str:
    """Such as "checkout-web: orders-0 at 412 -> useast.orders-0 at 398, nothing read again"."""
    return f"{move.group}: {move.source} at {move.committed} -> {move.target} at {move.offset}, {_read_again(move)}"


def _read_again(move: NewPosition) -> str:
    if not move.read_again:
        return "some records may be read again" if move.bound == "at least" else "nothing read again"
    bound = "" if move.bound == "exactly" else f"{move.bound} "
    return f"{bound}{number(move.read_again, 'record')} read again"


def topics_of(moves: Iterable[NewPosition]) -> dict[str, list[str]]:
    """The source's topics that each group consumes, by group."""
    found: dict[str, set[str]] = {}
    for move in moves:
        found.setdefault(move.group, set()).add(move.source.topic)
    return {group: sorted(topics) for group, topics in found.items()}


def next_steps(flow: FlowParameters, mode: Mode, groups: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """What to start, and where; `groups` are the source's topics by group."""
    policy = flow.replication_policy
    yield f"Start the consumers on {flow.target.alias}: {flow.target.bootstrap_servers}"
    for group, consumed in groups.items():
        names = sorted({name for topic in consumed for name in (policy.remote(topic), topic)})
        yield f"  {group} subscribes to {', '.join(names)}"
    topics = sorted({topic for consumed in groups.values() for topic in consumed})
    verb = "Move" if mode is Mode.CONTINUOUS else "Then start"
    yield f"{verb} the producers on {flow.target.alias}, where they write to {', '.join(topics)}"


def document(plan: GroupPlan, *, committed: bool) -> dict[str, object]:
    """The plan as JSON, version 1. `committed` says whether the positions were committed."""
    return {
        "version": 1,
        "committed": committed,
        "preconditions": [{"name": each.name, "value": each.value, "met": each.met} for each in plan.preconditions],
        "positions": [
            {
                "group": each.group,
                "source": str(each.source),
                "sourceOffset": each.committed,
                "target": str(each.target),
                "targetOffset": each.offset,
                "readAgain": each.read_again,
                "readAgainIs": each.bound,
            }
            for each in plan.moves
        ],
        "leftAlone": [{"group": each.group, "why": each.why} for each in plan.left_alone],
    }
