"""A comparison as markdown, for a comment on a pull request."""

from collections.abc import Iterator, Sequence

from components.changes.effect import Effect, Severity
from infra.review.comparison import Comparison
from infra.review.report_text import drift_origin, field_lines, object_title, summary
from infra.review.what_to_do import WHAT_TO_DO, told_once

#: The usual services allow 65,536 characters in a comment.
LONGEST_COMMENT = 60_000


def as_markdown(
    comparisons: Sequence[Comparison], rest: str = "`replicate diff` prints", longest: int = LONGEST_COMMENT
) -> str:
    """A line for each stack, its effects, and its objects in a folded section. A comment that is too long loses its
    objects first, so that the effects on every stack are shown. `rest` says what shows the rest.
    """
    text = "\n".join(line for comparison in comparisons for line in (*_head(comparison), *_objects(comparison)))
    if len(text) > longest:
        text = "\n".join(line for comparison in comparisons for line in _head(comparison))
        text += f"\nThere are too many objects to list here; {rest} them.\n"
    cut = f"\n\nThe comment is too long and is cut here; {rest} the rest.\n"
    return text if len(text) <= longest else text[: longest - len(cut)].rpartition("\n")[0] + cut


def _head(comparison: Comparison) -> Iterator[str]:
    against = f"`{comparison.stack}` against {comparison.against}"
    yield f"### {against}: **{comparison.verdict}**, {summary(comparison)}"
    yield ""
    if comparison.not_asked:
        yield f"{comparison.not_asked[0].upper()}{comparison.not_asked[1:]}."
        yield ""
    if comparison.drift:
        yield "| drift | what | remedy |"
        yield "| --- | --- | --- |"
        for drift in comparison.drift:
            cells = (f"{drift.where}{drift_origin(drift)}", f"{drift.what} ({drift.code})", drift.remedy)
            yield f"| {' | '.join(_cell(cell) for cell in cells)} |"
        yield ""
    if comparison.effects:
        yield "| severity | flow | effect | what to do | where |"
        yield "| --- | --- | --- | --- | --- |"
        yield from (_row(effect) for effect in told_once(comparison.effects))
        yield ""
    if comparison.required:
        yield "The stack needs these and does not create them:"
        yield ""
        yield from (f"- {line}" for line in comparison.required)
        yield ""
    if comparison.grants:
        yield "Grant these before you deploy. An administrator of each Kafka cluster runs:"
        yield ""
        yield "```sh"
        yield from (_code(line) for line in comparison.grants)
        yield "```"
        yield ""


def _row(effect: Effect) -> str:
    todo = WHAT_TO_DO.get(effect.code, "") if effect.severity in (Severity.DATA, Severity.RE_READ) else ""
    cells = (effect.severity.value, effect.flow, effect.what, todo, f"{effect.where} ({effect.code})")
    return f"| {' | '.join(_cell(cell) for cell in cells)} |"


def _objects(comparison: Comparison) -> Iterator[str]:
    if not comparison.objects:
        return
    yield f"<details><summary>{summary(comparison)}</summary>"
    yield ""
    yield "```"
    for change in comparison.objects:
        yield _code(f"{change.change}: {object_title(change)}")
        yield from (_code(f"    {line}") for line in field_lines(change))
    yield "```"
    yield ""
    yield "</details>"
    yield ""


def _cell(text: str) -> str:
    """The text of a cell of a table; a bar would end the cell."""
    return text.replace("|", "\\|").replace("\n", " ")


def _code(text: str) -> str:
    return text.replace("```", "'''")
