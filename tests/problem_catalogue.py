"""Writes infra/PROBLEMS.md: every code with its meaning, an example and the remedy. `make reference` runs it.

What a check reports comes from the files in tests/bad_input, as the check answers them. What a command could not do
and what `import` does not take over come from the calls in the sources, with `…` for what differs from case to case; if
a call says hardly anything by itself, a message that it made in a test (tests/problem_examples.py) replaces it.
"""

import ast
import itertools
import re
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from kafka_replication.components.contract.problems import Problem
from tests import problem_examples
from tests.infra import test_bad_input
from tests.infra.deploy.promotion import test_bad_plans
from tests.repository import ROOT

Texts = dict[str, str]
Named = dict[str, list[tuple[int, str]]]

PAGE = ROOT / "infra" / "PROBLEMS.md"
_HEAD = """\
# Problems: the codes of mistakes and of what a command could not do

**What do I do when a message names a code?** Find it here, or run `replicate explain CODE`. Effects of `diff` and
findings of `validate` are not here; each says what to do itself. `make reference` writes this page.

## What `check` finds
"""
_COULD_NOT = """\
## What a command could not do

`…` stands for what differs from case to case.
"""
_LEFT_OUT = """\
## What `import` does not take over

`…` stands for the file, the object and the field.
"""
_CODE = re.compile("[a-z0-9]+(-[a-z0-9]+)+")


def catalogue() -> str:
    """The whole page."""
    found = {file.stem: _example(file, test_bad_input.found_in) for file in test_bad_input.FILES}
    for file in test_bad_input.PROMOTION_FILES:
        plan = _example(file, test_bad_plans.found_in)
        found[file.stem] = f"{found[file.stem]}\nIn a promotion plan: {plan}" if file.stem in found else plan
    errors = {code: texts for code, texts in _errors().items() if code not in found}
    left_out = {code: texts for code, texts in _left_out().items() if code not in found | errors}
    made = problem_examples.messages()
    sections = ((_HEAD, found), (_COULD_NOT, _filled(errors, made)), (_LEFT_OUT, _filled(left_out, made)))
    return "\n".join(
        part
        for head, texts in sections
        for part in (head, *(f"### {code}\n\n{text}" for code, text in sorted(texts.items())))
    )


def _example(file: Path, found_in: Callable[[Path, Path], list[Problem]]) -> str:
    meaning = file.read_text().partition("\n")[0].removeprefix("# ")
    with TemporaryDirectory() as folder:
        problem = next(each for each in found_in(file, Path(folder)) if each.code == file.stem)
        text = problem.text.replace(f"{folder}/", "")
        place = problem.place
        lines = (
            (Path(folder) / place.file).read_text().splitlines()[place.line - 1 :] if place and place.excerpt else []
        )
    example = f"```yaml\n{_entry(lines)}\n```\n\n" if lines else ""
    kind = "Warning" if problem.severity == "warning" else "Error"
    return f"{kind}. {meaning}\n\n{example}{_fenced(text)}"


def _entry(lines: list[str]) -> str:
    """The first of these lines of YAML, with what belongs to it and without what closes something before it."""
    depth = _depth(lines[0])
    below = itertools.takewhile(lambda each: _depth(each) > depth, lines[1:])
    entry = textwrap.dedent("\n".join([lines[0], *below]))
    while entry.endswith("}") and entry.count("}") > entry.count("{"):
        entry = entry[:-1]
    return entry


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _filled(templates: dict[str, list[str]], made: problem_examples.Messages) -> Texts:
    """The entry of each code: for each call in the sources the first message that it made, if there is one.

    A message whose remedy is known only when the program runs is left out if the code has another.
    """
    entries = {}
    for code, texts in templates.items():
        shown = dict.fromkeys(_made_by(each, made.get(code, [])) for each in texts)
        telling = [text for text in shown if not text.endswith("Remedy: …")]
        entries[code] = "\n".join(map(_fenced, telling or shown))
    return entries


def _made_by(template: str, messages: list[str]) -> str:
    pattern = re.compile(".*".join(map(re.escape, template.split("…"))), re.DOTALL)
    return next((each for each in messages if pattern.fullmatch(each)), template)


def _errors() -> dict[str, list[str]]:
    """The messages of each error in the sources, by code."""
    return _messages(("components", "infra", "spark"), _error)


def _left_out() -> dict[str, list[str]]:
    """What `import` says of what it does not take over, by code."""
    return _messages(("infra/onboard/importing",), _what_is_left_out)


def _messages(
    folders: tuple[str, ...], read: Callable[[ast.Call, Texts], tuple[str, str] | None]
) -> dict[str, list[str]]:
    """Code and message that `read` finds in the calls of the sources, each message once."""
    texts: dict[str, dict[str, None]] = {}
    for source in sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py")):
        for call, named in _calls(ast.parse(source.read_text()), {}):
            found = read(call, named)
            if found is not None and _CODE.fullmatch(found[0]):
                texts.setdefault(found[0], {})[found[1]] = None
    return {code: list(found) for code, found in texts.items()}


def _error(call: ast.Call, named: Texts) -> tuple[str, str] | None:
    """An error, or a problem of a file that a command was given, which knows its own place."""
    function, texts = ast.unparse(call.func), [_text(each, named) for each in call.args]
    if function.endswith("Error") and len(texts) > 4:
        code, what, where, why, remedy = texts[:5]
    elif function in ("Problem", "warning") and len(texts) > 4:
        where, code, what, why, remedy = texts[:5]
    elif function.endswith(".problem") and len(texts) > 3:
        code, what, why, remedy = texts[-4:]
        where = "…"
    else:
        return None
    return code, f"{code}: {what}, at {where}. {why} Remedy: {remedy}"


def _what_is_left_out(call: ast.Call, named: Texts) -> tuple[str, str] | None:
    """Every such call ends with the code, why, and the remedy."""
    if len(call.args) < 4 or ast.unparse(call.func).endswith("Error"):
        return None
    code, why, remedy = (_text(each, named) for each in call.args[-3:])
    return code, f"{code}: … {why} Remedy: {remedy}"


def _calls(node: ast.AST, named: Named) -> Iterator[tuple[ast.Call, Texts]]:
    """Every call, with the texts that have a name where it stands: the last that was given one before it."""
    if isinstance(node, ast.Module | ast.FunctionDef):
        named = named | _named_texts(node)
    if isinstance(node, ast.Call):
        given = {name: [text for line, text in texts if line <= node.lineno] for name, texts in named.items()}
        yield node, {name: texts[-1] for name, texts in given.items() if texts}
    for child in ast.iter_child_nodes(node):
        yield from _calls(child, named)


def _named_texts(scope: ast.Module | ast.FunctionDef) -> Named:
    """The texts of each name of a function or a module, with the line of each; `…` where it is no text."""
    given: Named = {}
    assigned: set[ast.AST] = set()
    for node in _within(scope):
        match node:
            case ast.Assign(targets=[ast.Name() as target], value=value):
                assigned.add(target)
                given.setdefault(target.id, []).append((target.lineno, _text(value, {})))
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=texts)) if len(names) == len(texts):
                assigned.update(names)
                for each, text in zip(names, texts, strict=True):
                    given.setdefault(ast.unparse(each), []).append((each.lineno, _text(text, {})))
            case ast.Name(id=name, ctx=ast.Store()) if node not in assigned:
                given.setdefault(name, []).append((node.lineno, "…"))
            case ast.arg(arg=name):
                given.setdefault(name, []).append((node.lineno, "…"))
    return {name: sorted(texts) for name, texts in given.items()}


def _within(scope: ast.AST) -> Iterator[ast.AST]:
    """Every node of a scope, without those of the functions that it defines."""
    for child in ast.iter_child_nodes(scope):
        if not isinstance(child, ast.FunctionDef | ast.ClassDef):
            yield child
            yield from _within(child)


def _text(node: ast.expr, named: Texts) -> str:
    """What an argument says, with `…` for each part that is known only when the program runs."""
    match node:
        case ast.Constant(value=str() as value):
            return value
        case ast.JoinedStr(values=parts):
            return "".join(_text(part, {}) for part in parts)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _text(left, named) + _text(right, named)
        case ast.Name(id=name):
            return named.get(name, "…")
        case _:
            return "…"


def _fenced(text: str) -> str:
    lines = (line for part in text.splitlines() for line in textwrap.wrap(part, 110, break_on_hyphens=False))
    return "```text\n" + "\n".join(lines) + "\n```\n"


if __name__ == "__main__":
    PAGE.write_text(catalogue())
