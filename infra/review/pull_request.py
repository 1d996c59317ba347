"""The review of a change: the mistakes of every stack that it touches, what it does, and the objects as files.

Its output suits any CI system: `comment.md`, `rendered/STACK/`, and `review.json`, one line with everything that a
workflow needs.
"""

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from components.changes.effect import gravest
from components.contract.problems import CannotRunError, Problem, ReplicationError, Severity
from infra.deploy.promotion.rule.plan import plan_problems
from infra.review.bases import Base
from infra.review.comparison import Comparison, Mistake, compare_stacks
from infra.review.render import rendered_files, write_files
from infra.review.reports import as_comment
from infra.review.snapshots import UnreadableBaseError
from infra.stack.environment import stack_environment
from infra.stack.settings import read_settings, stack_file
from infra.stack.stack_checks import problems_of_stack

_LONGEST_HEAD = 5_000
_RESULT = "review.json"


def review_stacks(stacks_touched: Sequence[str], stacks: Path, bases: Sequence[Base]) -> tuple[Comparison, ...]:
    """Review stacks, each against the first of `bases` that contains it; the last one contains all."""
    return tuple(_reviewed(stack, stacks, bases) for stack in stacks_touched)


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
    plan = [problem for problems in plan_problems(stacks).values() for problem in problems]
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
    names = [comparison.stack for comparison in comparisons]
    write_result(out, comment_text(comparisons, plan), names, list(settings))
    return not any(Mistake(problem).is_error for problem in plan) and not any(
        comparison.has_errors for comparison in comparisons
    )


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


def comment_text(comparisons: Sequence[Comparison], plan: Sequence[Problem] = ()) -> str:
    """Return Markdown for a pull request: the most severe effect, then mistakes, then each stack."""
    known = [comparison for comparison in comparisons if comparison.known]
    return as_comment(_head(comparisons, known, plan), known, _LONGEST_HEAD, "`replicate check` prints all of it")


def _head(comparisons: Sequence[Comparison], known: Sequence[Comparison], plan: Sequence[Problem]) -> Iterator[str]:
    failed = sum(comparison.has_errors for comparison in comparisons)
    severity = gravest(comparison.severity for comparison in known)
    effect = f"The most severe effect: **{severity}**." if known else "Its effect is unknown."
    if 0 < len(known) < len(comparisons):
        effect = f"The most severe known effect: **{severity}**."
    if not comparisons:
        yield "It touches no stack."
    else:
        yield f"It touches {', '.join(f'`{comparison.stack}`' for comparison in comparisons)}. {effect}"
    if failed:
        yield f"**{failed} with mistakes, whose effects are unknown:**"
    yield ""
    for comparison in comparisons:
        yield from (f"- `{comparison.stack}`: {' '.join(str(mistake).split())}" for mistake in comparison.mistakes)
    yield from (f"- `promotion.yaml`: {' '.join(str(Mistake(problem)).split())}" for problem in plan)
    yield ""
