"""The review of a folder as markdown, as JSON and on a terminal. Long lists are truncated and say so."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from kafka_replication.components.contract.wording import named, number
from kafka_replication.infra.review.comparison import Mistake, Unjudged
from kafka_replication.infra.review.object_changes import ChangeKind
from kafka_replication.infra.review.pull_request import TITLE, Fold, markdown, require_own_folder, write_result
from kafka_replication.infra.review.reports import print_comparisons, print_fact
from kafka_replication.infra.review.yaml.review import FolderReview

VERSION = 1
_OBJECT_KEYS = {"deployment": "file", "key": "role"}
_MOST = 20
_REMOVED = (
    "The review assumes that the tool that applies the folder also deletes objects that were removed from it, as Argo "
    "CD and Flux do when they prune. `kubectl apply` leaves them running."
)
_NEW_FOLDER = (
    "The folder did not exist at the base, so everything in it counts as new. If it was moved, review a folder that "
    "contains both locations."
)


def comment_of(review: FolderReview) -> str:
    """Return Markdown for a pull request: the verdict, mistakes, what was not judged, what to do, then the rest."""
    lead = [line for note in (verdict_of(review), *_notes(review)) for line in (note, "")]
    for title, texts in (
        ("Mistakes that this change introduces", [_mistake(one) for one in review.mistakes if one.is_new]),
        ("Changed, and not judged", [_unjudged(one) for one in review.unjudged]),
    ):
        lead += (f"**{title}: {len(texts)}**", "", *_entries(texts), "") if texts else ()
    folded = {
        "Mistakes that were there before": [_mistake(one) for one in review.mistakes if not one.is_new],
        "Not judged, and not changed": [_unjudged(one) for one in review.unjudged_before],
        "Not covered by the checks": _not_covered(review),
    }
    folds = [Fold(f"{title}: {len(texts)}", tuple(_entries(texts))) for title, texts in folded.items() if texts]
    return markdown([*TITLE, *lead], [review], (), folds, "`effects.json` has")


def verdict_of(review: FolderReview) -> str:
    """Return the first sentence: how many objects change, and the most severe effect that is known."""
    count = len(review.objects)
    if not count and not review.unjudged:
        return f"It changes no object in `{review.stack}` that affects replication."
    changed = f"It changes {number(count, 'object')} in `{review.stack}`."
    if not review.unjudged:
        return f"{changed} The most severe effect: **{review.severity}**."
    unjudged = f"{number(len(review.unjudged), 'change')} {'is' if len(review.unjudged) == 1 else 'are'} not judged."
    if not review.effects:
        return f"{changed} Its effect is unknown: **{unjudged}**"
    return f"{changed} The most severe known effect: **{review.severity}**. **{unjudged}**"


def _notes(review: FolderReview) -> Iterator[str]:
    if not review.existed:
        yield _NEW_FOLDER
    if any(change.change is ChangeKind.REMOVED for change in review.objects):
        yield _REMOVED
    checked = review.checked
    if checked.failed:
        yield f"**The checks could not be carried out:** {_line(checked.failed)}"
    if checked.apart:
        apart = "; ".join(", ".join(f"`{name}`" for name in names) for names in checked.apart)
        yield f"These were not checked against each other for loops and double replication: {apart}; {checked.because}."
    if review.beside:
        yield f"Not checked, because replication does not depend on them: {_counts(review.beside)} changed."
    if review.unread:
        names = named([f"`{file}`" for file in review.unread], _MOST)
        yield f"Changed files that are not YAML, which this command does not read: {names}."
    if review.ignored:
        yield f"The folder also holds objects of kinds that are not checked: {_counts(review.ignored)}."


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))


def _mistake(mistake: Mistake) -> str:
    return f"{mistake} ({', '.join(mistake.objects[:_MOST])})" if mistake.objects else str(mistake)


def _unjudged(unjudged: Unjudged) -> str:
    fields = named([f"`{path}`" for path in unjudged.fields], _MOST)
    where = ", ".join(part for part in (f"`{unjudged.file}`", unjudged.obj, fields) if part)
    return f"{where}: {unjudged.why}"


def _not_covered(review: FolderReview) -> list[str]:
    return [str(left_out) for left_out in review.checked.left_out if not left_out.harmless]


def _entries(texts: Sequence[str]) -> Sequence[str]:
    more = [f"- and {len(texts) - _MOST} more, in `effects.json`"] if len(texts) > _MOST else []
    return [*(f"- {_line(text)}" for text in texts[:_MOST]), *more]


def _line(text: str) -> str:
    """Return a text on one line that neither ends a block nor opens HTML."""
    return " ".join(text.split()).replace("<", "&lt;").replace("```", "'''")


def document_of(review: FolderReview) -> dict[str, Any]:
    """Return everything for machines; `version` grows when a key is removed or changes its meaning."""
    return {
        "version": VERSION,
        "folder": review.stack,
        "severity": review.severity.value,
        "judged": not review.unjudged,
        "failed": review.has_errors,
        "against": review.against,
        "effects": [asdict(effect) for effect in review.effects],
        "mistakes": [
            {**asdict(mistake.problem), "objects": mistake.objects, "new": mistake.is_new}
            for mistake in review.mistakes
        ],
        "notJudged": [asdict(unjudged) for unjudged in review.unjudged],
        "notJudgedBefore": [asdict(unjudged) for unjudged in review.unjudged_before],
        "notChecked": [{**asdict(note), "harmless": note.harmless} for note in review.checked.left_out],
        "checkedApart": review.checked.apart,
        "checksFailed": review.checked.failed,
        "beside": dict(review.beside),
        "notLookedAt": dict(review.ignored),
        "notRead": list(review.unread),
        "objects": [
            {_OBJECT_KEYS.get(name, name): value for name, value in asdict(change).items()} for change in review.objects
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
    for unjudged in review.unjudged:
        print_fact(console, f"[yellow]?[/] not judged: {escape(_unjudged(unjudged))}", 2)
    for title, lines in (
        ("not judged, and not changed", list(map(_unjudged, review.unjudged_before))),
        ("not covered by the checks", _not_covered(review)),
    ):
        for line in lines[:_MOST]:
            print_fact(console, f"[dim]{title}: {escape(line)}[/]", 2)
        if len(lines) > _MOST:
            print_fact(console, f"[dim]{title}: {len(lines) - _MOST} more[/]", 2)
    if review.objects:
        print_comparisons([review], console)


def write_folder_review(review: FolderReview, out: Path) -> None:
    """Write `comment.md`, `effects.json` and `review.json`, replacing an earlier review."""
    require_own_folder(out)
    out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(document_of(review), ensure_ascii=False, indent=2, default=str)
    (out / "effects.json").write_text(text + "\n", encoding="utf-8")
    # The same keys as for stacks, so that one workflow can post both. There is no stack to preview.
    write_result(out, comment_of(review), (), ())
