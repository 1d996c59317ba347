"""The tables of faults on the job's page."""

from collections.abc import Sequence
from pathlib import Path

from tests.bench.fault_rows import Row
from tests.bench.fault_stack import SHAPES, Variant

_BEGIN, _END = "<!-- faults: begin -->", "<!-- faults: end -->"
_SHAPES = {f"{shape.lower()}-": shape for shape in SHAPES}


def sections(rows: Sequence[Row], when: str) -> list[str]:
    """What stands between the marks of the page: the faults, those that differ, and the same faults in each shape."""
    made = [each for each in rows if each.made]
    shaped = [each for each in made if _shape(each)]
    faults = [each for each in made if not _shape(each) and each.variant == str(Variant())]
    wrong = [each for each in made if each.wrong]
    found = [f"{len(made)} faults, made on {when}. The program has others that were not made yet.", _table(faults)]
    if shaped:
        found += ["The same faults in each shape; in each cell the exit code and the finding:", _by_shape(shaped)]
    if wrong:
        said = "\n".join(f"- {_cell(each.what)} ({each.variant}): {each.wrong}" for each in wrong)
        found.append(f"{len(wrong)} of them are not reported as they should be:\n\n{said}")
    return found


def _table(rows: Sequence[Row]) -> str:
    head = "| fault | exit code | what the report says | remedy |\n| --- | --- | --- | --- |"
    return "\n".join([head, *map(line, rows)])


def line(row: Row) -> str:
    """The row as a line of the table."""
    words = _cell(f"`{row.code}`: {row.words}" if row.code else "every check passes")
    others = f"; also {', '.join(f'`{each}`' for each in row.others)}" if row.others else ""
    return f"| {_cell(row.what)} | {row.exit_code} {row.verdict} | {words}{others} | {_cell(row.remedy)} |"


def _by_shape(rows: Sequence[Row]) -> str:
    """A line for each fault and variant, a column for each shape."""
    shapes = list(dict.fromkeys(_shape(each) for each in rows))
    cells = {(_fault(each), each.variant, _shape(each)): f"{each.exit_code} `{each.code or 'pass'}`" for each in rows}
    lines = [f"| fault | policy | {' | '.join(shapes)} |", f"| --- | --- |{' --- |' * len(shapes)}"]
    for what, variant in dict.fromkeys((_fault(each), each.variant) for each in rows):
        found = " | ".join(cells.get((what, variant, shape), "not made") for shape in shapes)
        lines.append(f"| {_cell(what)} | {variant} | {found} |")
    return "\n".join(lines)


def _shape(row: Row) -> str:
    return next((shape for begin, shape in _SHAPES.items() if row.name.startswith(begin)), "")


def _fault(row: Row) -> str:
    return row.what.partition(": ")[2]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def write_table(readme: Path, parts: Sequence[str]) -> None:
    """Put the parts between the two marks of a page."""
    before, _, rest = readme.read_text().partition(_BEGIN)
    after = rest.partition(_END)[2]
    readme.write_text("\n\n".join([before + _BEGIN, *parts, _END]) + after)
