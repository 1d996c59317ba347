"""The review of a change: the mistakes of every stack that it touches, what it does, and the objects as files.

Its output suits any CI system: `comment.md`, `rendered/STACK/`, and `review.json`, one line with everything that a
workflow needs.
"""

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from components.changes.effect import gravest
from components.contract.problems import CannotRunError, Problem, ReplicationError, Severity
from infra.deploy.promotion.rule.plan import plan_problems
from infra.review.bases import Base
from infra.review.comparison import Comparison, compare_stacks
from infra.review.render import rendered_files, write_files
from infra.review.reports import as_markdown
from infra.review.snapshots import UnreadableBaseError
from infra.stack.environment import stack_environment
from infra.stack.settings import StackSettings, read_settings, stack_file
from infra.stack.stack_checks import problems_of_stack

#: Finds the comment of an earlier review of the same pull request.
MARKER = "<!-- replicate review -->"
_LONGEST_HEAD = 5_000
_RESULT = "review.json"


@dataclass(frozen=True)
class StackReview:
    """One touched stack. `mistakes` are lines for people; after an error nothing else is examined.

    Without `comparison`, the effect of the change is unknown. A stack is `deployable` if it has a file and does not run
    on the local stack, which no CI machine has.
    """

    stack: str
    mistakes: tuple[str, ...] = ()
    failed: bool = False
    comparison: Comparison | None = None
    deployable: bool = False


def review_stacks(stacks_touched: Sequence[str], stacks: Path, bases: Sequence[Base]) -> tuple[StackReview, ...]:
    """Review stacks, each against the first of `bases` that contains it; the last one contains all."""
    return tuple(_reviewed(stack, stacks, bases) for stack in stacks_touched)


def _reviewed(stack: str, stacks: Path, bases: Sequence[Base]) -> StackReview:
    base = next((each for each in bases[:-1] if (each.folder / stack).is_dir()), bases[-1])
    try:
        exists = stack_file(stack, stacks).is_file()
        found = problems_of_stack(stack, stacks) if exists else []
        mistakes = tuple(f"{problem.severity}: {problem}" for problem in found)
        if any(problem.severity is Severity.ERROR for problem in found):
            return StackReview(stack, mistakes, failed=True)
        settings = read_settings(stack, stacks) if exists else None
        (comparison,) = compare_stacks([stack], stacks, base)
    except ReplicationError as error:
        return StackReview(stack, tuple(f"{each.severity}: {each}" for each in error.problems), failed=True)
    except UnreadableBaseError as error:
        # The merged stack was broken. The change that repairs it must not fail because of that.
        mistakes += (f"warning: what changes is unknown: {error}",)
        return StackReview(stack, mistakes, deployable=_is_deployable(settings))
    except CannotRunError as error:
        return StackReview(stack, (f"error: {error}",), failed=True)
    return StackReview(stack, mistakes, False, comparison, _is_deployable(settings))


def _is_deployable(settings: StackSettings | None) -> bool:
    return settings is not None and not stack_environment(settings).on_this_machine


def write_review(found: Sequence[StackReview], stacks: Path, out: Path) -> bool:
    """Write a review to a folder, replacing an earlier one; return whether it has no error."""
    require_own_folder(out)
    return _write(found, stacks, out)


def require_own_folder(out: Path) -> None:
    """Raise CannotRunError for a folder that contains anything not written by a review."""
    if out.exists() and not (out.is_dir() and ((out / _RESULT).is_file() or not any(out.iterdir()))):
        raise CannotRunError(
            "folder-not-empty",
            "the folder contains files that an earlier review did not write",
            str(out),
            "A review replaces the contents of the folder.",
            "name an empty or new folder with `--out`.",
        )


def _write(found: Sequence[StackReview], stacks: Path, out: Path) -> bool:
    plan = [problem for each in plan_problems(stacks).values() for problem in each]
    rendered = out / "rendered"
    if rendered.is_dir():
        shutil.rmtree(rendered)
    rendered.mkdir(parents=True)
    deployable = [each.stack for each in found if each.deployable]
    for stack in deployable:
        settings = read_settings(stack, stacks)
        write_files(rendered_files(settings, settings.values), rendered / stack)
    comment = comment_text(found, plan)
    (out / "comment.md").write_text(comment)
    result = {"stacks": [each.stack for each in found], "deployable": deployable, "comment": comment}
    # Workflows pass it in one environment variable, which holds 128 KiB: escaped arrows would take more space.
    (out / _RESULT).write_text(json.dumps(result, ensure_ascii=False) + "\n", encoding="utf-8")
    failed_plan = any(problem.severity is Severity.ERROR for problem in plan)
    return not failed_plan and not any(each.failed for each in found)


def comment_text(found: Sequence[StackReview], plan: Sequence[Problem] = ()) -> str:
    """Markdown for a pull request: the most severe effect, then mistakes, then each stack."""
    head = "\n".join(_head(found, plan))
    if len(head) > _LONGEST_HEAD:
        head = (
            head[:_LONGEST_HEAD].rpartition("\n")[0] + "\n\nThe rest is left out; `replicate check` prints all of it.\n"
        )
    return f"{head}\n{as_markdown([each.comparison for each in found if each.comparison is not None])}\n"


def _head(found: Sequence[StackReview], plan: Sequence[Problem]) -> Iterator[str]:
    yield MARKER
    yield "## What this change does to replication"
    yield ""
    comparisons = [each.comparison for each in found if each.comparison is not None]
    failed = sum(each.failed for each in found)
    severity = gravest(each.severity for each in comparisons)
    known = f"The most severe effect: **{severity}**." if comparisons else "Its effect is unknown."
    if 0 < len(comparisons) < len(found):
        known = f"The most severe known effect: **{severity}**."
    if not found:
        yield "It touches no stack."
    else:
        yield f"It touches {', '.join(f'`{each.stack}`' for each in found)}. {known}"
    if failed:
        yield f"**{failed} with mistakes, whose effects are unknown:**"
    yield ""
    for each in found:
        yield from (f"- `{each.stack}`: {' '.join(line.split())}" for line in each.mistakes)
    yield from (f"- `promotion.yaml`: {problem.severity}: {' '.join(str(problem).split())}" for problem in plan)
    yield ""
