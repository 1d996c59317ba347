"""The review of a folder as markdown, as JSON and on a terminal. Long lists are truncated and say so."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.markup import escape

from components.contract.wording import named, number
from infra.onboard.importing.left_out import LeftOut
from infra.review.object_changes import ChangeKind
from infra.review.pull_request import MARKER
from infra.review.reports import as_json as comparison_json
from infra.review.reports import as_markdown, print_comparisons, print_fact
from infra.review.yaml.mistakes import Mistake
from infra.review.yaml.review import FolderReview, Unjudged

VERSION = 1
_MOST = 20
_LONGEST_HEAD = 25_000
#: The usual services allow 65,536 characters in a comment.
_LONGEST = 64_000
_REMOVED = (
    "The review assumes that the tool that applies the folder also deletes objects that were removed from it, as Argo "
    "CD and Flux do when they prune. `kubectl apply` leaves them running."
)
_NEW_FOLDER = (
    "The folder did not exist at the base, so everything in it counts as new. If it was moved, review a folder that "
    "contains both locations."
)


def comment_of(review: FolderReview) -> str:
    """Markdown for a pull request: the verdict, mistakes, what was not judged, effects, then objects."""
    head = "\n".join(_head(review))
    if len(head) > _LONGEST_HEAD:
        head = head[:_LONGEST_HEAD].rpartition("\n")[0] + "\n\nThe rest is left out; `effects.json` holds all of it.\n"
    body = as_markdown([review.comparison], "`effects.json` has", _LONGEST - len(head))
    return f"{head}\n{body}\n"


def _head(review: FolderReview) -> Iterator[str]:
    yield MARKER
    yield "## What this change does to replication"
    yield ""
    yield verdict_of(review)
    yield ""
    for note in _notes(review):
        yield note
        yield ""
    yield from _section(
        ("Mistakes that this change introduces"), [_mistake(each) for each in review.mistakes if each.is_new]
    )
    yield from _section("Changed, and not judged", [_unjudged(each) for each in review.unjudged])
    old = [_mistake(each) for each in review.mistakes if not each.is_new]
    yield from _folded("Mistakes that were there before", old)
    yield from _folded("Not judged, and not changed", [_unjudged(each) for each in review.standing])
    left = [_left_out(each) for each in review.left_out if not each.harmless]
    yield from _folded("Not covered by the checks", left)


def verdict_of(review: FolderReview) -> str:
    """The first sentence: how many objects change, and the most severe effect that is known."""
    count = len(review.comparison.objects)
    if not count and not review.unjudged:
        return f"It changes no object in `{review.comparison.stack}` that affects replication."
    changed = f"It changes {number(count, 'object')} in `{review.comparison.stack}`."
    if not review.unjudged:
        return f"{changed} The most severe effect: **{review.comparison.severity}**."
    unjudged = f"{number(len(review.unjudged), 'change')} {'is' if len(review.unjudged) == 1 else 'are'} not judged."
    if not review.comparison.effects:
        return f"{changed} Its effect is unknown: **{unjudged}**"
    return f"{changed} The most severe known effect: **{review.comparison.severity}**. **{unjudged}**"


def _notes(review: FolderReview) -> Iterator[str]:
    if not review.existed:
        yield _NEW_FOLDER
    if any(each.change is ChangeKind.REMOVED for each in review.comparison.objects):
        yield _REMOVED
    if review.failed:
        yield f"**The checks could not be carried out:** {_line(review.failed)}"
    if review.apart:
        groups = "; ".join(", ".join(f"`{name}`" for name in each) for each in review.apart)
        yield f"These were not checked against each other for loops and double replication: {groups}; {review.because}."
    if review.beside:
        yield f"Not checked, because replication does not depend on them: {_counts(review.beside)} changed."
    if review.unread:
        names = named([f"`{each}`" for each in review.unread], _MOST)
        yield f"Changed files that are not YAML, which this command does not read: {names}."
    if review.ignored:
        yield f"The folder also holds objects of kinds that are not checked: {_counts(review.ignored)}."


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))


def _mistake(mistake: Mistake) -> str:
    said = f"{mistake.problem.severity}: {mistake.problem}"
    return f"{said} ({', '.join(mistake.objects[:_MOST])})" if mistake.objects else said


def _unjudged(each: Unjudged) -> str:
    fields = named([f"`{path}`" for path in each.fields], _MOST)
    where = ", ".join(part for part in (f"`{each.file}`", each.obj, fields) if part)
    return f"{where}: {each.why}"


def _left_out(each: LeftOut) -> str:
    return str(each)


def _section(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"**{title}: {len(lines)}**"
        yield ""
        yield from (f"- {_line(line)}" for line in lines)
        yield ""


def _folded(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"<details><summary>{title}: {len(lines)}</summary>"
        yield ""
        yield from (f"- {_line(line)}" for line in lines[:_MOST])
        if len(lines) > _MOST:
            yield f"- and {len(lines) - _MOST} more, in `effects.json`"
        yield ""
        yield "</details>"
        yield ""


def _line(text: str) -> str:
    """A text on one line that neither ends a block nor opens HTML."""
    return " ".join(text.split()).replace("<", "&lt;").replace("```", "'''")


def document_of(review: FolderReview) -> dict[str, Any]:
    """Everything for machines; `version` grows when a key is removed or changes its meaning."""
    (compared,) = comparison_json([review.comparison])["stacks"]
    return {
        "version": VERSION,
        "folder": compared.pop("stack"),
        "severity": compared["severity"],
        "judged": not review.unjudged,
        "failed": review.has_errors,
        "against": compared["against"],
        "effects": [{key: value for key, value in each.items() if key != "stack"} for each in compared["effects"]],
        "mistakes": [{**asdict(each.problem), "objects": each.objects, "new": each.is_new} for each in review.mistakes],
        "notJudged": [asdict(each) for each in review.unjudged],
        "notJudgedBefore": [asdict(each) for each in review.standing],
        "notChecked": [{**asdict(each), "harmless": each.harmless} for each in review.left_out],
        "checkedApart": review.apart,
        "checksFailed": review.failed,
        "beside": dict(review.beside),
        "notLookedAt": dict(review.ignored),
        "notRead": list(review.unread),
        "objects": [
            {**{key: value for key, value in each.items() if key != "deployment"}, "file": each["deployment"]}
            for each in compared["objects"]
        ],
    }


def print_review(review: FolderReview, console: Console) -> None:
    """Print the review: verdict, mistakes, what was not judged, then effects and objects."""
    print_fact(console, escape(verdict_of(review).replace("**", "")))
    for note in _notes(review):
        print_fact(console, escape(note.replace("**", "")), 2)
    for mistake in review.mistakes:
        mark = "[red]✗[/]" if mistake.is_error else "[yellow]![/]"
        print_fact(console, f"{mark} {'' if mistake.is_new else 'as before: '}{escape(_mistake(mistake))}", 2)
    for each in review.unjudged:
        print_fact(console, f"[yellow]?[/] not judged: {escape(_unjudged(each))}", 2)
    for title, lines in (
        ("not judged, and not changed", [_unjudged(each) for each in review.standing]),
        ("not covered by the checks", [_left_out(each) for each in review.left_out if not each.harmless]),
    ):
        for line in lines[:_MOST]:
            print_fact(console, f"[dim]{title}: {escape(line)}[/]", 2)
        if len(lines) > _MOST:
            print_fact(console, f"[dim]{title}: {len(lines) - _MOST} more[/]", 2)
    if review.comparison.objects:
        print_comparisons([review.comparison], console)
