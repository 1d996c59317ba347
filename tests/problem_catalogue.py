"""Writes infra/PROBLEMS.md: every code with its meaning, an example and the remedy. `make catalogue` runs it.

What a check reports comes from the files in tests/bad_input, as the check answers them. What a command could not do
comes from the calls in the sources, with `…` for what differs from case to case.
"""

import ast
import textwrap
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from components.contract.problems import Problem
from tests.infra import test_bad_input
from tests.infra.promotion import test_bad_plans
from tests.repository import ROOT

PAGE = ROOT / "infra" / "PROBLEMS.md"
_HEAD = """\
# Problems: the codes of mistakes and of what a command could not do

**What do I do when a message names a code?** Find it here, or run `replicate explain CODE`. Effects of `diff` and
findings of `validate` are not here; each says what to do itself. `make catalogue` writes this page.

## What `check` finds
"""
_COULD_NOT = """\
## What a command could not do

`…` stands for what differs from case to case.
"""


def catalogue() -> str:
    """The whole page."""
    found = {file.stem: _example(file, test_bad_input.found_in) for file in test_bad_input.FILES}
    found |= {file.stem: _example(file, test_bad_plans.found_in) for file in test_bad_input.PROMOTION_FILES}
    errors = {code: text for code, text in _errors().items() if code not in found}
    parts = [_HEAD, *(f"### {code}\n\n{found[code]}" for code in sorted(found)), _COULD_NOT]
    return "\n".join([*parts, *(f"### {code}\n\n{errors[code]}" for code in sorted(errors))])


def _example(file: Path, found_in: Callable[[Path, Path], list[Problem]]) -> str:
    meaning = file.read_text().partition("\n")[0].removeprefix("# ")
    with TemporaryDirectory() as folder:
        problem = next(each for each in found_in(file, Path(folder)) if each.code == file.stem)
        text = problem.text.replace(f"{folder}/", "")
        place = problem.place
        line = (
            (Path(folder) / place.file).read_text().splitlines()[place.line - 1].strip()
            if place and place.excerpt
            else ""
        )
    example = f"```yaml\n{line}\n```\n\n" if line else ""
    kind = "Warning" if problem.severity == "warning" else "Error"
    return f"{kind}. {meaning}\n\n{example}{_fenced(text)}"


def _errors() -> dict[str, str]:
    """The message of each error in the sources, by code."""
    texts: dict[str, dict[str, None]] = {}
    for source in sorted(path for part in ("components", "infra", "spark") for path in (ROOT / part).rglob("*.py")):
        for call in ast.walk(ast.parse(source.read_text())):
            if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("Error") and len(call.args) > 4:
                code, what, where, why, remedy = (_text(each) for each in call.args[:5])
                if "-" in code and "…" not in code:
                    texts.setdefault(code, {})[f"{code}: {what}, at {where}. {why} Remedy: {remedy}"] = None
    return {code: "\n".join(_fenced(text) for text in found) for code, found in texts.items()}


def _text(node: ast.expr) -> str:
    """What an argument says, with `…` for each part that is known only when the program runs."""
    match node:
        case ast.Constant(value=str() as value):
            return value
        case ast.JoinedStr(values=parts):
            return "".join(_text(part) for part in parts)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _text(left) + _text(right)
        case _:
            return "…"


def _fenced(text: str) -> str:
    lines = (line for part in text.splitlines() for line in textwrap.wrap(part, 110, break_on_hyphens=False))
    return "```text\n" + "\n".join(lines) + "\n```\n"


if __name__ == "__main__":
    PAGE.write_text(catalogue())
