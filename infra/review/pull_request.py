"""The review of a change: the mistakes of every stack that it touches, what it does, and the objects as files.

Its output suits any CI system: `comment.md`, `rendered/STACK/`, and `review.json`, one line with everything that a
workflow needs.
"""

import json
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from kafka_replication.components.changes.effect import Impact, gravest
from kafka_replication.components.contract.grouping import grouped
from kafka_replication.components.contract.problems import CannotRunError, Problem, ReplicationError, Severity
from kafka_replication.components.contract.wording import named, number
from kafka_replication.infra.deploy.promotion.rule.plan import FILE_NAME, PromotionPlan, plan_problems, read_plan
from kafka_replication.infra.review.advice import Who
from kafka_replication.infra.review.bases import Base
from kafka_replication.infra.review.comment import TITLE, Fold, ReviewStep, markdown, stack_names
from kafka_replication.infra.review.comparison import Comparison, Mistake, compare_plans, compare_stacks
from kafka_replication.infra.review.render import rendered_files, write_files
from kafka_replication.infra.review.snapshots import UnreadableBaseError
from kafka_replication.infra.stack.environment import stack_environment
from kafka_replication.infra.stack.settings import read_settings, stack_file
from kafka_replication.infra.stack.stack_checks import problems_of_stack

#: Mistakes that a comment shows at most.
_MOST = 10
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
        *errors[:_MOST],
        *([f"and {len(errors) - _MOST} more, which `replicate check` prints"] if errors[_MOST:] else []),
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
