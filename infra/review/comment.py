"""Writes comparisons as Markdown for a pull request: what to do next, by whom and in which order; the rest is folded.

What several stacks share is written once. If a comment would be too long, it says what is left out.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from kafka_replication.components.changes.effect import Impact, gravest
from kafka_replication.components.contract.grouping import grouped
from kafka_replication.components.contract.wording import named, number
from kafka_replication.infra.review.advice import Advice, Who, advice
from kafka_replication.infra.review.comparison import Comparison
from kafka_replication.infra.review.reports import UNNEEDED, drift_origin, field_lines, object_title, summary

#: Finds the comment of an earlier review of the same pull request.
MARKER = "<!-- replicate review -->"
TITLE = (MARKER, "## What this change does to replication", "")
#: GitHub refuses a comment of more than 65,536 characters; the usual services allow as many.
LONGEST_COMMENT = 64_000
#: Room for saying what is left out, in characters.
_NOTE = 1_000
#: At most this many stacks, places or effects are named in one place.
_MOST = 6


@dataclass(frozen=True)
class ReviewStep:
    """Something to be done, and the lines that say why."""

    who: Who
    what: str
    reasons: tuple[str, ...] = ()
    severity: Impact = Impact.NONE


@dataclass(frozen=True)
class Fold:
    """A section that a reader opens; `fence` begins a block of code, if its lines are one."""

    title: str
    lines: tuple[str, ...]
    fence: str = ""

    def text(self, room: int, rest: str) -> str:
        """Return the section with as many whole lines as fit into `room` characters, and how many are left out; "" if
        none fits. `rest` says what shows all of them.
        """
        room -= len(self.title) + _NOTE
        fitting = sum(total <= room for total in accumulate(len(line) + 1 for line in self.lines))
        more = f"\n{number(len(self.lines) - fitting, 'more line')}; {rest} all.\n" if fitting < len(self.lines) else ""
        code = (self.fence, *self.lines[:fitting], "```") if self.fence else self.lines[:fitting]
        lines = (f"\n<details><summary>{self.title}</summary>\n", *code, f"{more}\n</details>\n")
        return "\n".join(lines) if fitting else ""


def markdown(
    lead: Iterable[str],
    comparisons: Sequence[Comparison],
    steps: Iterable[ReviewStep] = (),
    folds: Iterable[Fold] = (),
    rest: str = "`replicate diff` prints",
) -> str:
    """Return `lead`, then what to do, `steps` included, then the folded sections with `folds`. `rest` names the command
    that shows what does not fit, as in "`replicate diff` prints".
    """
    known = [comparison for comparison in comparisons if comparison.known]
    effects = sorted(_shared_effects(known), key=lambda shared: -shared[0].rank)
    advised, folded = _effect_steps(effects)
    to_do = sorted([*steps, *_needs(known), *advised], key=lambda step: (step.who.phase, -step.severity.rank))
    visible = [*lead, *_drift(known), *_numbered(to_do)]
    return _fitted(
        visible, [*_commands(known), *_folded_effects(folded), *folds, *_unneeded(known), *_objects(known)], rest
    )


def as_markdown(comparisons: Sequence[Comparison]) -> str:
    """Return the verdict on each stack, worst first, then what to do."""
    worst_first = sorted(comparisons, key=lambda comparison: -comparison.severity.rank)
    verdicts = grouped((_verdict(comparison), comparison) for comparison in worst_first)
    lines = [f"- {_stacks(same)} {text}" for text, same in verdicts.items()]
    return markdown([*lines, ""], comparisons)


def _verdict(comparison: Comparison) -> str:
    note = f". {comparison.not_asked}" if comparison.not_asked else ""
    return f"against {comparison.against}: **{comparison.verdict}**, {summary(comparison)}{note}"


def stack_names(stacks: Iterable[str]) -> str:
    """Return the names of stacks, each once; of many, the first."""
    return named([f"`{stack}`" for stack in dict.fromkeys(stacks)], _MOST)


def _stacks(comparisons: Iterable[Comparison]) -> str:
    return stack_names(comparison.stack for comparison in comparisons)


def _shared_effects(comparisons: Iterable[Comparison]) -> Iterator[tuple[Impact, str, str]]:
    """Yield severity, code and line of each effect; effects that differ only in stack, flow and place share a line."""
    same = grouped(
        ((effect.severity, effect.code, effect.what), (comparison.stack, effect))
        for comparison in comparisons
        for effect in comparison.effects
    )
    for (severity, code, what), members in same.items():
        flows = named(dict.fromkeys(effect.flow for _, effect in members if effect.flow), _MOST)
        places = named(dict.fromkeys(effect.place or effect.where for _, effect in members), _MOST)
        stacks = stack_names(stack for stack, _ in members)
        text = f"**{severity}** {flows}{': ' if flows else ''}{what} ({stacks}; `{code}` at {places})"
        yield severity, code, _line(text)


def _effect_steps(effects: Iterable[tuple[Impact, str, str]]) -> tuple[list[ReviewStep], list[tuple[Impact, str]]]:
    """Return what to do about effects, and the effects that need nothing done or are too many for their step."""
    to_do: list[tuple[Advice, tuple[Impact, str]]] = []
    folded: list[tuple[Impact, str]] = []
    for severity, code, line in effects:
        if severity in (Impact.DATA, Impact.RE_READ):
            to_do.append((advice(severity, code), (severity, line)))
        else:
            folded.append((severity, line))
    steps = []
    for (who, what), members in grouped(to_do).items():
        shown, more = members[:_MOST], members[_MOST:]
        lines = [line for _, line in shown] + ([f"and {number(len(more), 'effect')} more, below"] if more else [])
        steps.append(ReviewStep(who, what, tuple(lines), gravest(severity for severity, _ in members)))
        folded = [*more, *folded]
    return steps, folded


def _needs(comparisons: Iterable[Comparison]) -> Iterator[ReviewStep]:
    """Yield who creates what the stacks need and do not create."""
    granting = [comparison for comparison in comparisons if comparison.grants]
    if granting:
        yield ReviewStep(Who.KAFKA, f"run the commands below, which grant ACLs for {_stacks(granting)}")
    needing = grouped((line, comparison) for comparison in comparisons for line in comparison.required)
    if needing:
        lines = tuple(f"{line} ({_stacks(same)})" for line, same in needing.items())
        yield ReviewStep(Who.KUBERNETES, "create what the stacks need and do not create", lines)


def _numbered(steps: Sequence[ReviewStep]) -> Iterator[str]:
    if steps:
        yield from ("### To do, in this order", "")
    for number_of_step, step in enumerate(steps, 1):
        yield f"{number_of_step}. **{step.who}**: {step.what}."
        yield from (f"   - {reason}" for reason in step.reasons)


def _drift(comparisons: Sequence[Comparison]) -> Iterator[str]:
    rows = [(comparison.stack, drift) for comparison in comparisons for drift in comparison.drift]
    if rows:
        yield from ("| drift | stack | what | remedy |", "| --- | --- | --- | --- |")
    for stack, drift in rows:
        cells = (f"{drift.where}{drift_origin(drift)}", stack, f"{drift.what} ({drift.code})", drift.remedy)
        yield f"| {' | '.join(_line(cell).replace('|', chr(92) + '|') for cell in cells)} |"
    if rows:
        yield ""


def _folded_effects(effects: Sequence[tuple[Impact, str]]) -> Iterator[Fold]:
    if effects:
        severities = ", ".join(dict.fromkeys(severity.value for severity, _ in effects))
        title = f"{number(len(effects), 'other effect')}: {severities}"
        yield Fold(title, tuple(f"- {line}" for _, line in effects))


def _commands(comparisons: Sequence[Comparison]) -> Iterator[Fold]:
    for grants, stacks in grouped((one.grants, one) for one in comparisons if one.grants).items():
        yield Fold(f"Commands that grant ACLs for {_plain(stacks)}", tuple(map(_code, grants)), "```sh")


def _unneeded(comparisons: Sequence[Comparison]) -> Iterator[Fold]:
    if unneeded := dict.fromkeys(line for comparison in comparisons for line in comparison.unneeded_grants):
        yield Fold(
            f"{number(len(unneeded), 'ACL')} to revoke", (f"{UNNEEDED}:", "", *(f"- {line}" for line in unneeded))
        )


def _objects(comparisons: Sequence[Comparison]) -> Iterator[Fold]:
    for code, stacks in grouped((tuple(_object_lines(one)), one) for one in comparisons if one.objects).items():
        yield Fold(f"{_plain(stacks)}: {summary(stacks[0])}", code, "```")


def _object_lines(comparison: Comparison) -> Iterator[str]:
    for change in comparison.objects:
        yield _code(f"{change.change}: {object_title(change)}")
        yield from (_code(f"    {line}") for line in field_lines(change))


def _plain(comparisons: Iterable[Comparison]) -> str:
    """Return the names of stacks for a title, which is not Markdown."""
    return named([comparison.stack for comparison in comparisons], _MOST)


def _fitted(visible: Iterable[str], folds: Iterable[Fold], rest: str) -> str:
    """Return the text with what fits of each section, and the titles of those that do not fit."""
    text, longest = "\n".join(visible).rstrip() + "\n", LONGEST_COMMENT - _NOTE
    if len(text) > longest:
        cut = f"\n\nThe comment is too long and is cut here; {rest} the rest.\n"
        return text[:longest].rpartition("\n")[0] + cut
    left_out = []
    for fold in folds:
        part = fold.text(longest - len(text), rest)
        left_out += [] if part else [fold.title]
        text += part
    return f"{text}\nLeft out: {named(left_out)[: _NOTE // 2]}; {rest} it.\n" if left_out else text


def _line(text: str) -> str:
    return " ".join(text.split())


def _code(text: str) -> str:
    return text.replace("```", "'''")
