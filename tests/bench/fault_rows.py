"""What the validation must report after a fault, and the table of what it did report. Pure but for the table's file."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from kafka_replication.components.contract.remedies import MARK
from kafka_replication.components.contract.report import (
    EXIT_CODES,
    Finding,
    FindingSeverity,
    FlowOutcome,
    Verdict,
    worst,
)
from tests.bench.fault_places import Place, names_of
from tests.bench.fault_stack import Variant, World

Making = Callable[[World, Place], AbstractContextManager[object]]
_SEVERITIES = {FindingSeverity.FAIL: Verdict.FAIL, FindingSeverity.ERROR: Verdict.ERROR}
_NOT_MADE = "not made"


@dataclass(frozen=True, eq=False)
class Fault:
    """A fault that lasts while the body of `making` runs, and what the validation of `flow` must report.

    One finding with one of the `codes` must hold all `words`, in which {topic}, {remote} and {group} stand for the
    fault's names. `what` begins with "no fault" if only notes may be found.

    - One that `prepares` has a topic with 100 records, which the real connector has replicated, and a group that has
      committed offset 60, which has been translated.
    - One that `stops` is made while the flow's source connector is stopped.
    - One that `owns` its topic and group creates them itself.

    If a fault has its own topic, the job looks only at that, or at `only`.
    """

    name: str
    what: str
    verdict: Verdict
    making: Making
    codes: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    flow: str = "orders"
    shape: str = "flow"
    prepares: bool = False
    stops: bool = False
    owns: bool = False
    config: Mapping[str, str] = field(default_factory=dict)
    ending: str = ""
    keyed: bool = False
    only: Mapping[str, tuple[str, ...]] | None = None
    catch_up_seconds: float = 5

    def looked_at(self, place: Place) -> Mapping[str, tuple[str, ...]]:
        """The topics and groups that the job must look at; empty for all."""
        return {**(place.only if self.prepares or self.owns else {}), **(self.only or {})}


@dataclass(frozen=True)
class Row:
    """One line of the table. `wrong` says how the report differs from what was expected; empty if it does not."""

    variant: str
    name: str
    what: str
    verdict: str
    exit_code: int
    code: str
    words: str
    remedy: str
    others: tuple[str, ...]
    seconds: int
    wrong: str

    @property
    def made(self) -> bool:
        return not self.wrong.startswith(_NOT_MADE)


def at(*words: str) -> tuple[str, ...]:
    """The words of a finding about records: the fault's topic, which has one partition, and these words."""
    return ("{topic}:", "partition 0", *words)


def judged(fault: Fault, place: Place, outcome: FlowOutcome, seconds: float, others: Sequence[Place] = ()) -> Row:
    """The row of a fault; it is wrong unless verdict, code and words are as expected and there is a remedy.

    A finding that names a place of `others` is about their faults, which the same run of the job judges.
    """
    found = [each for each in _findings(outcome) if _is_about(each, place, others)]
    verdict = _verdict(found) if others else outcome.verdict
    words = _words(fault, place.names)
    named = sorted(
        (each for each in found if each.code in fault.codes),
        key=lambda each: -sum(word in each.message for word in words),
    )
    loud = [each for each in found if each.severity in _SEVERITIES]
    shown = next(iter(named or loud), None)
    message, _, remedy = shown.message.partition(f" {MARK}") if shown is not None else ("", "", "")
    codes = dict.fromkeys(each.code for each in loud if shown is None or each.code != shown.code)
    row = Row(
        variant=str(place.world.variant),
        name=fault.name,
        what=fault.what,
        verdict=verdict.value,
        exit_code=EXIT_CODES[verdict],
        code=shown.code if shown is not None else "",
        words=_shown(message, place),
        remedy=_shown(remedy, place),
        others=tuple(codes),
        seconds=round(seconds),
        wrong="",
    )
    return compared(row, fault, place.world.variant)


def compared(row: Row, fault: Fault, variant: Variant) -> Row:
    """The row with how it differs from what is expected of the fault."""
    if not row.made:
        return row
    words = _words(fault, names_of(fault.name, fault.shape, variant, fault.ending))
    return replace(row, wrong="; ".join(_wrong(row, fault, words)))


def _words(fault: Fault, names: Mapping[str, str]) -> list[str]:
    return [word.format_map(names) for word in fault.words]


def _wrong(row: Row, fault: Fault, words: Sequence[str]) -> Iterator[str]:
    if row.verdict != fault.verdict.value:
        yield f"{row.verdict} instead of {fault.verdict.value}"
    said = f"{row.words} {row.remedy}"
    if fault.codes and row.code not in fault.codes:
        yield f"no finding {' or '.join(fault.codes)}"
    elif missing := [word for word in words if word not in said]:
        yield f"the words {missing} are missing"
    if row.verdict != Verdict.PASS.value and not row.remedy:
        yield "no remedy"


def _is_about(finding: Finding, place: Place, others: Sequence[Place]) -> bool:
    return _names(finding, place) or not any(_names(finding, each) for each in others)


def _names(finding: Finding, place: Place) -> bool:
    pattern = "|".join(re.escape(name) for name in dict.fromkeys(place.names.values()))
    return re.search(rf"(?<![\w.-])({pattern})(?!\w)", finding.message) is not None


def _verdict(findings: Iterable[Finding]) -> Verdict:
    return worst(_SEVERITIES[each.severity] for each in findings if each.severity in _SEVERITIES)


def not_made(fault: Fault, place: Place, error: BaseException) -> Row:
    """The row of a fault that could not be made."""
    why = f"{_NOT_MADE}: {type(error).__name__}: {error}"
    return Row(str(place.world.variant), fault.name, fault.what, "error", 2, "", "", "", (), 0, why)


def _findings(outcome: FlowOutcome) -> list[Finding]:
    found = [each for check in outcome.checks for each in check.findings]
    return [outcome.error, *found] if outcome.error is not None else found


def _shown(message: str, place: Place) -> str:
    """A message without the number of the run, and on one line."""
    return re.sub(r"\s+", " ", message).replace(f"-{place.world.run}", "").strip()


def append(file: Path, row: Row) -> None:
    with file.open("a") as lines:
        lines.write(json.dumps(asdict(row)) + "\n")


def read(file: Path) -> list[Row]:
    """The newest row of each fault, in the order in which they were first made."""
    found: dict[tuple[str, str], Row] = {}
    for line in file.read_text().splitlines() if file.exists() else ():
        given = json.loads(line)
        found[given["variant"], given["name"]] = Row(**{**given, "others": tuple(given["others"])})
    return list(found.values())
