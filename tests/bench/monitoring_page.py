"""What was seen of monitoring, and the tables of it on the page of the alerts. Rows that were not seen anew stay."""

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

_BEGIN, _END = "<!-- monitoring: begin -->", "<!-- monitoring: end -->"
_WIDTH = 120
_HEAD = ("| fault | alert | fires after | other alerts | with the whole `for` |", "| --- | --- | --- | --- | --- |")
#: How the only word about a fault begins that could not be made.
NOT_MADE = "not made"


@dataclass(frozen=True)
class Seen:
    """What an injected fault raised: which alert, how many seconds after it was made, and what else fired.

    `seconds` is None if the alert did not fire. `with_full_for` is what it would have been with the alert's own `for`.
    """

    what: str
    alert: str
    seconds: int | None
    with_full_for: int | None
    also: tuple[str, ...]
    wrong: tuple[str, ...]


@dataclass(frozen=True)
class Asked:
    """The queries asked in one form of metrics, and how many of them had series.

    `silent` are those that have some only in trouble, `foreign` those about what a flow does not have.
    """

    form: str
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
    """Remember a row; the newest one of a key counts."""
    known = kept(file)
    known.setdefault(kind, {})[key] = asdict(row)
    file.write_text(json.dumps(known, indent=1))


def kept(file: Path) -> dict[str, dict[str, Any]]:
    """The rows by kind and key."""
    return dict(json.loads(file.read_text())) if file.exists() else {}


def write_table(
    page: Path, rows: Mapping[str, Mapping[str, Any]], faults: Sequence[str], when: str, factor: int
) -> None:
    """Put the tables between the two marks of a page: the rows of these faults, and which of them have none."""
    before, _, rest = page.read_text().partition(_BEGIN)
    _, _, after = rest.partition(_END)
    page.write_text("\n\n".join([before + _BEGIN, *_sections(rows, faults, when, factor), _END]) + after)


def _sections(rows: Mapping[str, Mapping[str, Any]], faults: Sequence[str], when: str, factor: int) -> Iterator[str]:
    yield f"Made by `make monitoring` on {when}."
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
    if asked := rows.get("asked", {}).values():
        yield "\n".join(_of_queries(asked))
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


def _of_queries(asked: Any) -> Iterator[str]:
    yield _wrapped("Every query of each panel, and every alert and each series that it reads, asked for every flow:")
    yield ""
    for row in asked:
        wrong = "; ".join(row["wrong"]) or "no other query was without series, and no value was NaN"
        yield _wrapped(f"- {row['form']}: {row['answered']} of {row['queries']} queries had series; {wrong}.", "  ")
        panels = ", ".join(each for each in row["silent"] if each.startswith("panel"))
        alerts = sum(each.startswith("alert") for each in row["silent"])
        yield _wrapped(f"- Without a result while all is well: {alerts} alerts; {panels}.", "  ")
        yield _wrapped(f"- About what the flow does not have: {', '.join(row['foreign'])}.", "  ")


def _of_clean(clean: Any) -> Iterator[str]:
    for row in clean:
        fired = ", ".join(row["fired"]) or "no alert"
        yield f"{row['minutes']:g} minutes of traffic without a fault ({row['form']}): {fired} fired."
