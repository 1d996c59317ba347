"""The review of a change: the mistakes of every stack that it touches, what it does, and the objects as files.

Its output suits any CI system: `comment.md`, `rendered/STACK/`, and `review.json`, one line with everything that a
workflow needs. A comment says what to do next, by whom and in which order; the rest is folded. What several stacks
share is written once. If a comment would be too long, it says what is left out.
"""

import json
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path

from kafka_replication.components.changes.effect import Impact, gravest
from kafka_replication.components.contract.grouping import grouped
from kafka_replication.components.contract.problems import CannotRunError, Problem, ReplicationError, Severity
from kafka_replication.components.contract.wording import named, number
from kafka_replication.infra.deploy.promotion.rule.plan import FILE_NAME, PromotionPlan, plan_problems, read_plan
from kafka_replication.infra.review.advice import Advice, Who, advice
from kafka_replication.infra.review.bases import Base
from kafka_replication.infra.review.comparison import Comparison, Mistake, compare_plans, compare_stacks
from kafka_replication.infra.review.render import rendered_files, write_files
from kafka_replication.infra.review.reports import UNNEEDED, drift_origin, field_lines, object_title, summary
from kafka_replication.infra.review.snapshots import UnreadableBaseError
from kafka_replication.infra.stack.environment import stack_environment
from kafka_replication.infra.stack.settings import read_settings, stack_file
from kafka_replication.infra.stack.stack_checks import problems_of_stack

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


#: Mistakes that a comment shows at most.
_ERRORS = 10
_RESULT = "review.json"


def review_stacks(stacks_touched: Sequence[str], stacks: Path, bases: Sequence[Base]) -> tuple[Comparison, ...]:
    """Review stacks, each against the first of `bases` that contains it; the last one contains all."""
    return tuple(_reviewed(stack, stacks, bases) for stack in stacks_touched)


def review_plan(stacks: Path, base: Base) -> tuple[Comparison, ...]:
    """Review the promotion plan, if it changed; `write_review` reports the mistakes of today's plan."""
    try:
        return compare_plans(stacks, base)
    except (ReplicationError, CannotRunError):
        return (Comparison(FILE_NAME, known=False),)


def _reviewed(stack: str, stacks: Path, bases: Sequence[Base]) -> Comparison:
    base = next((base for base in bases[:-1] if (base.folder / stack).is_dir()), bases[-1])
    mistakes: tuple[Mistake, ...] = ()
    try:
        if stack_file(stack, stacks).is_file():
            mistakes = tuple(map(Mistake, problems_of_stack(stack, stacks)))
        if any(mistake.is_error for mistake in mistakes):
            return Comparison(stack, mistakes=mistakes, known=False)
        (comparison,) = compare_stacks([stack], stacks, base)
    except ReplicationError as error:
        return Comparison(stack, mistakes=tuple(map(Mistake, error.problems)), known=False)
    except UnreadableBaseError as error:
        # The merged stack was broken. The change that repairs it must not fail because of that.
        unknown = _problem(error, f"what changes is unknown: {error.what}", Severity.WARNING)
        return Comparison(stack, mistakes=(*mistakes, Mistake(unknown)), known=False)
    except CannotRunError as error:
        return Comparison(stack, mistakes=(Mistake(_problem(error, error.what, Severity.ERROR)),), known=False)
    return replace(comparison, mistakes=mistakes)


def _problem(error: CannotRunError, what: str, severity: Severity) -> Problem:
    return Problem(error.where, error.code, what, error.why, error.remedy, severity, error.place)


def write_review(comparisons: Sequence[Comparison], stacks: Path, out: Path) -> bool:
    """Write a review to a folder, replacing an earlier one; return whether it has no error."""
    require_own_folder(out)
    problems = [problem for problems in plan_problems(stacks).values() for problem in problems]
    rendered = out / "rendered"
    if rendered.is_dir():
        shutil.rmtree(rendered)
    rendered.mkdir(parents=True)
    deployable = [
        comparison.stack
        for comparison in comparisons
        if not comparison.has_errors and stack_file(comparison.stack, stacks).is_file()
    ]
    settings = {stack: read_settings(stack, stacks) for stack in deployable}
    # No CI machine has the local stack.
    settings = {stack: known for stack, known in settings.items() if not stack_environment(known).on_this_machine}
    for stack, known in settings.items():
        write_files(rendered_files(known, known.values), rendered / stack)
    deployed = [one.stack for one in comparisons if one.stack in settings and (one.objects or not one.known)]
    plan_fails = any(Mistake(problem).is_error for problem in problems)
    comment = comment_text(comparisons, problems, deployed, None if plan_fails else read_plan(stacks))
    write_result(out, comment, [one.stack for one in comparisons if one.stack != FILE_NAME], list(settings))
    return not plan_fails and not any(comparison.has_errors for comparison in comparisons)


def write_result(out: Path, comment: str, stacks: Sequence[str], deployable: Sequence[str]) -> None:
    """Write `comment.md` and `review.json`."""
    (out / "comment.md").write_text(comment, encoding="utf-8")
    result = {"stacks": stacks, "deployable": deployable, "comment": comment}
    # Workflows pass it in one environment variable, which holds 128 KiB: escaped arrows would take more space.
    (out / _RESULT).write_text(json.dumps(result, ensure_ascii=False) + "\n", encoding="utf-8")


def require_own_folder(out: Path) -> None:
    """Raise CannotRunError for a folder that contains anything not written by a review."""
    if out.exists() and not (out.is_dir() and ((out / _RESULT).is_file() or not any(out.iterdir()))):
        what = "the folder contains files that an earlier review did not write"
        why = "A review replaces the contents of the folder."
        raise CannotRunError("folder-not-empty", what, str(out), why, "name an empty or new folder with `--out`.")


def comment_text(
    comparisons: Sequence[Comparison],
    of_plan: Sequence[Problem] = (),
    deployed: Sequence[str] = (),
    plan: PromotionPlan | None = None,
) -> str:
    """Return Markdown for a pull request; `deployed` are the stacks to be deployed, in the order of `plan`."""
    problems = [(comparison.stack, mistake) for comparison in comparisons for mistake in comparison.mistakes]
    problems += [(FILE_NAME, Mistake(problem)) for problem in of_plan]
    unknown = {comparison.stack for comparison in comparisons if not comparison.known}
    errors = _mistakes(problem for problem in problems if problem[1].is_error)
    shown = (
        *errors[:_ERRORS],
        *([f"and {len(errors) - _ERRORS} more, which `replicate check` prints"] if errors[_ERRORS:] else []),
    )
    warnings = [problem for problem in problems if not problem[1].is_error]
    doubts = _mistakes(problem for problem in warnings if problem[0] in unknown)
    others = _mistakes(problem for problem in warnings if problem[0] not in unknown)
    lead = [*_lead(comparisons), *(f"- {line}" for line in doubts), *([""] if doubts else [])]
    steps = [ReviewStep(Who.AUTHOR, f"correct {number(len(errors), 'mistake')}", shown, Impact.DATA)] if errors else []
    folds = [Fold(number(len(others), "warning"), tuple(f"- {line}" for line in others))] if others else []
    return markdown([*TITLE, *lead], comparisons, [*steps, *_deployment(deployed, plan)], folds)


def _mistakes(problems: Iterable[tuple[str, Mistake]]) -> tuple[str, ...]:
    """Return a line for each mistake, with all stacks that have it."""
    stacks = grouped((" ".join(str(mistake).split()), stack) for stack, mistake in problems)
    return tuple(f"{stack_names(same)}: {text}" for text, same in stacks.items())


def _lead(comparisons: Sequence[Comparison]) -> Iterator[str]:
    if not comparisons:
        yield from ("It touches no stack.", "")
        return
    known = [comparison for comparison in comparisons if comparison.known]
    effect = "Its effect is unknown."
    if known:
        most = "most severe" if len(known) == len(comparisons) else "most severe known"
        effect = f"The {most} effect: **{gravest(comparison.severity for comparison in known)}**."
    bases = f" Compared with {named(dict.fromkeys(comparison.against for comparison in known))}." if known else ""
    yield f"It touches {stack_names(comparison.stack for comparison in comparisons)}. {effect}{bases}"
    if known and (unknown := [comparison.stack for comparison in comparisons if not comparison.known]):
        yield f"What changes in {stack_names(unknown)} is unknown."
    if unchanged := [comparison.stack for comparison in known if not comparison.objects and not comparison.effects]:
        yield f"Nothing changes in {stack_names(unchanged)}."
    yield ""


def _deployment(deployed: Sequence[str], plan: PromotionPlan | None) -> Iterator[ReviewStep]:
    waves = [tuple(stack for stack in wave.stacks if stack in deployed) for wave in (plan.waves if plan else ())]
    left = [stack for stack in deployed if not any(stack in wave for wave in waves)]
    if left:
        no_order = f"no wave of `{FILE_NAME}` says in which order"
        yield ReviewStep(Who.DEPLOYER, f"deploy {stack_names(left)}, and run `replicate validate` for each; {no_order}")
    if order := "; then ".join(stack_names(wave) for wave in waves if wave):
        yield ReviewStep(
            Who.DEPLOYER,
            f"deploy {order}. `replicate promote` keeps to this order; it waits until each is proven",
        )
