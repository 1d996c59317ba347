"""The tables of faults on the job's page. A row of the page stays until its fault is made again."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

from tests.bench.fault_rows import Row
from tests.bench.fault_stack import SHAPES, Variant
from tests.pages import put, section

_SHAPES = {f"{shape.lower()}-": shape for shape in SHAPES if shape != "filtered"}
VARIANTS = tuple(Variant(*given) for given in product(("default", "identity"), (False, True)))
_FAULTS = ("| fault | exit code | what the report says | remedy |", "| --- | --- | --- | --- |")
_IN_SHAPES = (f"| fault | policy | {' | '.join(_SHAPES.values())} |", f"| --- | --- |{' --- |' * len(_SHAPES)}")
_ABOUT_SHAPES = (
    "The same faults in each shape, with each policy, with and without exactly-once; in each cell the exit code and "
    "the finding. A pair has no lines for the default policy, because it keeps the names of topics and the default "
    "policy would rename them. It translates no offsets, so there is no checkpoint to forge, and its target has "
    "records of its own, so a stray record counts as one of them."
)


def sections(rows: Sequence[Row], when: str, page: str = "") -> list[str]:
    """The text between the marks of the page: all faults, those that differ, and the same faults in each shape.

    `page` is the present page.
    """
    made = [each for each in rows if each.made]
    shaped = [each for each in made if _shape(each)]
    plain = [each for each in made if not _shape(each) and each.variant == str(Variant())]
    wrong = [each for each in made if each.wrong]
    faults = {**_lines_of(page, _FAULTS), **{_first(line(each)): line(each) for each in plain}}
    cells = {**_cells_of(page), **{_place(each): f"{each.exit_code} `{each.code or 'pass'}`" for each in shaped}}
    found = [
        f"{len(faults)} faults, and {len(cells)} in the table of shapes. {len(made)} of them were made on {when}, the "
        "others before.",
        "\n".join([*_FAULTS, *faults.values()]),
    ]
    if cells:
        missing = [str(each) for each in VARIANTS if str(each) not in {variant for _, variant, _ in cells}]
        not_made = f" Not made yet: {'; '.join(missing)}." if missing else ""
        found += [_ABOUT_SHAPES + not_made, "\n".join([*_IN_SHAPES, *_by_shape(cells)])]
    if wrong:
        said = "\n".join(f"- {_cell(each.what)} ({each.variant}): {each.wrong}" for each in wrong)
        found.append(f"{len(wrong)} of those that were made last are not reported as they should be:\n\n{said}")
    return found


def line(row: Row) -> str:
    """The row as a line of the table."""
    words = _cell(f"`{row.code}`: {row.words}" if row.code else "every check passes")
    others = f"; also {', '.join(f'`{each}`' for each in row.others)}" if row.others else ""
    return f"| {_cell(row.what)} | {row.exit_code} {row.verdict} | {words}{others} | {_cell(row.remedy)} |"


def _lines_of(page: str, head: Sequence[str]) -> dict[str, str]:
    """The lines of the page's table with this header, by their first cell."""
    _, _, after = page.partition("\n".join(head) + "\n")
    lines = after.partition("\n\n")[0].splitlines() if after else []
    return {_first(each): each for each in lines}


def _first(table_line: str) -> str:
    return table_line.split(" | ")[0]


def _cells_of(page: str) -> dict[tuple[str, str, str], str]:
    """The cells of the page's table of shapes, by fault, variant and shape."""
    _, _, after = page.partition("\n".join(_IN_SHAPES) + "\n")
    found = {}
    for each in after.partition("\n\n")[0].splitlines() if after else []:
        what, variant, *cells = each.strip("|").split("|")
        for shape, cell in zip(_SHAPES.values(), cells, strict=True):
            if cell.strip():
                found[what.strip(), variant.strip(), shape] = cell.strip()
    return found


def _by_shape(cells: Mapping[tuple[str, str, str], str]) -> Iterator[str]:
    """A line for each fault and variant, a column for each shape."""
    for what, variant in product(dict.fromkeys(what for what, _, _ in cells), map(str, VARIANTS)):
        found = [cells.get((what, variant, shape), "") for shape in _SHAPES.values()]
        if any(found):
            yield f"| {what} | {variant} | {' | '.join(found)} |"


def _place(row: Row) -> tuple[str, str, str]:
    """The fault, the variant and the shape of a row. Shapes share a fault's name, but may expect other results."""
    return _cell(row.what.partition(": ")[2].partition(",")[0]), row.variant, _shape(row)


def _shape(row: Row) -> str:
    return next((shape for begin, shape in _SHAPES.items() if row.name.startswith(begin)), "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def write_table(page: Path, rows: Sequence[Row], when: str) -> None:
    """Put the rows into the tables of a page."""
    put(page, "faults", "\n\n".join(sections(rows, when, section(page.read_text(), "faults"))))
