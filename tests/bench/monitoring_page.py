"""What the monitoring bench saw, and its tables on the page of the alerts. Rows that were not seen again stay.

A table stays as it is if none of its rows was seen on this machine.
"""

import json
import textwrap
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.pages import put

_WIDTH = 120
_HEAD = ("| fault | alert | fires after | other alerts | with the whole `for` |", "| --- | --- | --- | --- | --- |")
#: The start of the only entry for a fault that could not be made.
NOT_MADE = "not made"
_KEEPING = threading.Lock()


@dataclass(frozen=True)
class Seen:
    """What an injected fault raised: which alert, how many seconds after it was made, and what else fired.

    `seconds` is None if the alert did not fire. `with_full_for` is what it would have been with the alert's full `for`.
    """

    what: str
    alert: str
    seconds: int | None
    with_full_for: int | None
    also: tuple[str, ...]
    wrong: tuple[str, ...]


@dataclass(frozen=True)
class Asked:
    """The queries about workers with this exporter, form of names and Kafka version, and how many of them had series.

    `silent` are those that have series only in trouble, `foreign` those about something that the flow does not have.
    """

    metrics: str
    names: str
    kafka: str
    queries: int
    answered: int
    silent: tuple[str, ...]
    foreign: tuple[str, ...]
    wrong: tuple[str, ...]


@dataclass(frozen=True)
class Clean:
    """Minutes of traffic without a fault, and the alerts that fired meanwhile."""

    form: str
    minutes: float
    fired: tuple[str, ...]


def keep(file: Path, kind: str, key: str, row: Any) -> None:
    """Store a row; the newest one with a key counts. Faults of different flows end at the same time."""
    with _KEEPING:
        known = kept(file)
        known.setdefault(kind, {})[key] = asdict(row)
        file.write_text(json.dumps(known, indent=1))


def kept(file: Path) -> dict[str, dict[str, Any]]:
    """The rows by kind and key."""
    return dict(json.loads(file.read_text())) if file.exists() else {}


def write_table(
    page: Path, rows: Mapping[str, Mapping[str, Any]], faults: Sequence[str], when: str, factor: int
) -> None:
    """Put the tables between their marks: the rows of these faults, the faults without a row, and the queries."""
    made = f"Made by `make monitoring` on {when}."
    if rows.get("faults") or rows.get("clean"):
        put(page, "monitoring faults", "\n\n".join([made, *_of_faults(rows, faults, factor)]))
    if asked := rows.get("asked"):
        queries = _of_queries(sorted(asked.values(), key=lambda row: (row["metrics"], row["names"])))
        put(page, "monitoring queries", "\n\n".join([made, *queries]))


def _of_faults(rows: Mapping[str, Mapping[str, Any]], faults: Sequence[str], factor: int) -> Iterator[str]:
    found = rows.get("faults", {})
    made = [each for each in faults if each in found and not any(map(_is_not_made, found[each]["wrong"]))]
    if made:
        yield _wrapped(
            "Each fault was made in a flow that was well. To save time, the `for` of every alert was divided by "
            f"{factor}; the last column is the sum with the whole `for`."
        )
        head = (
            "| fault | alert | fires after | other alerts | with the whole `for` |",
            "| --- | --- | --- | --- | --- |",
        )
        yield "\n".join([*head, *(_line(found[each]) for each in made)])
    if missing := [each for each in faults if each not in made]:
        yield _wrapped(f"Not made yet: {'; '.join(missing)}.")
    if clean := rows.get("clean", {}).values():
        yield "\n".join(_of_clean(clean))


def _is_not_made(wrong: str) -> bool:
    return wrong.startswith(NOT_MADE)


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(text, _WIDTH, subsequent_indent=indent, break_on_hyphens=False)


def _line(row: Mapping[str, Any]) -> str:
    others = ", ".join((*row["also"], *(f"**{each}**" for each in row["wrong"]))) or "none"
    return f"| {row['what']} | {row['alert']} | {_time(row['seconds'])} | {others} | {_time(row['with_full_for'])} |"


def _time(seconds: int | None) -> str:
    return "never" if seconds is None else f"{seconds // 60} min {seconds % 60} s"


def _of_queries(asked: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The table of the forms, and below it which queries had no series and why, once for equal forms."""
    yield _wrapped(
        "Every query of each panel, and every alert and each series that it reads, asked for every flow. Only a series "
        "of latencies that an alert reads may be NaN: Kafka reports that of a partition without records."
    )
    head = (
        "| `connect.metrics` | names | workers' Kafka | queries | with series | wrongly without series, or NaN |",
        "| --- | --- | --- | --- | --- | --- |",
    )
    yield "\n".join([*head, *map(_form, asked)])
    forms: dict[str, list[str]] = {}
    for row in asked:
        for line in (_while_all_is_well(row), *_of_flows_without(row)):
            forms.setdefault(line, []).append(f"{row['metrics']} `{row['names']}`")
    lines = (f"- {line}" if len(of) == len(asked) else f"- {line} ({', '.join(of)})" for line, of in forms.items())
    yield "\n".join(["Queries that rightly have no series:", "", *(_wrapped(each, "  ") for each in lines)])


def _form(row: Mapping[str, Any]) -> str:
    wrong = "; ".join(f"**{each}**" for each in row["wrong"]) or "none"
    return f"| {row['metrics']} | `{row['names']}` | {row['kafka']} | {row['queries']} | {row['answered']} | {wrong} |"


def _while_all_is_well(row: Mapping[str, Any]) -> str:
    alerts, panels = ([each for each in row["silent"] if each.startswith(kind)] for kind in ("alert ", "panel "))
    return f"while all is well: {len(alerts)} alerts, and queries of {_titles(panels)}"


def _of_flows_without(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield the panels about something that some flows do not have; panels with the same flows are together."""
    flows: dict[str, list[str]] = {}
    for each in row["foreign"]:
        where, _, flow = each.rpartition(" (")
        flows.setdefault(where, []).append(flow.rstrip(")"))
    panels: dict[str, list[str]] = {}
    for where, of in flows.items():
        panels.setdefault(", ".join(of), []).append(where)
    for without, wheres in panels.items():
        yield f"of {without}, which have nothing of that kind: queries of {_titles(wheres)}"


def _titles(panels: Sequence[str]) -> str:
    return ", ".join(f'"{each.removeprefix("panel ")}"' for each in panels)


def _of_clean(clean: Any) -> Iterator[str]:
    for row in clean:
        fired = ", ".join(row["fired"]) or "no alert"
        yield f"{row['minutes']:g} minutes of traffic without a fault ({row['form']}): {fired} fired."
