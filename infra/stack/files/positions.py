"""Finds a mistake in a file: translates a dotted path to line and column, with the marks of the YAML parser. A line is
shown only up to its first credential.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from components.contract.problems import Place, Problem

MERGE = "tag:yaml.org,2002:merge"
_BOOLEAN = "tag:yaml.org,2002:bool"
_LONGEST_LINE = 120
#: A key that may hold a credential, however it is spelt, before a value that is not a mapping.
_CREDENTIAL = re.compile(
    r"""[-\w.'"]*(?:pass|p\w*w(?:or)?d|\wsecret|token|credential|jaas|private|\.key\b)[-\w.'"]*\s*:\s*(?=[^\s{])""",
    re.IGNORECASE,
)


#: A line of a private key, or a token.
_TOKEN = re.compile(r"(?<![\w.-])[A-Za-z0-9+/=]{32,}")
#: Codes of problems at keys whose values may be credentials.
_HIDING = frozenset({"login-in-address", "unknown-key", "plain-text-secret", "plain-text-credential"})
#: Where a key begins and ends.
_Marks = tuple[yaml.Mark, yaml.Mark]


def lines_of(content: bytes) -> list[str]:
    """The lines of a file, even if it is not text."""
    return content.decode("utf-8-sig", errors="replace").splitlines()


def place(file: str, lines: list[str], line: int, column: int, end: int | None = None) -> Place:
    """The place of a line and column, counted from 1, with that line and a mark below the column.

    With `end`, the line is shown only up to that column.
    """
    text = lines[line - 1] if line <= len(lines) else ""
    if end is not None and text[end - 1 :].strip():
        text = f"{text[: end - 1]}…"
    return Place(file, line, column, _excerpt(text, line, column) if text.strip() else "")


def _excerpt(text: str, line: int, column: int) -> str:
    shown, caret = _without_credentials(text).rstrip(), len(_without_credentials(text[: column - 1]))
    begin = 0 if caret < _LONGEST_LINE else caret - _LONGEST_LINE // 2
    end = begin + _LONGEST_LINE
    cut = "…" if len(shown) > end else ""
    blank = re.sub(r"[^\t]", " ", shown[begin:caret])
    number = f"{line:>5}"
    return f"{number} | {shown[begin:end]}{cut}\n{' ' * len(number)} | {blank}^"


def _without_credentials(line: str) -> str:
    """A line with `…` for each value of a key that may hold a credential, and for anything that looks like a key or a
    token.
    """
    found = _CREDENTIAL.search(line)
    if found is None:
        return _TOKEN.sub("…", line)
    before, rest = line[: found.end()], line[found.end() :]
    # A comma ends a value only if a mapping or list was opened on the same line.
    value = re.match(r"""'[^']*'|"[^"]*"|[^,}\]]*""" if re.search(r"[{\[]", before) else ".*", rest)
    return f"{_TOKEN.sub('…', before)}…{_without_credentials(rest[value.end() :] if value else '')}"


def placed(problems: Iterable[Problem], path: Path) -> Iterator[Problem]:
    """The problems, each with its place in the file; places that are already known stay."""
    found = list(problems)
    if found:
        file = _parsed(path)
        for problem in found:
            yield problem if problem.place else replace(problem, place=_place(file, problem.where, problem.code))


def place_of(where: str, path: Path) -> Place:
    """The place of a dotted path in a file; if the path does not exist, the place of the nearest existing key above
    it.
    """
    return _place(_parsed(path), where)


@dataclass(frozen=True)
class _File:
    name: str
    lines: list[str]
    root: yaml.Node | None


def _parsed(path: Path) -> _File:
    content = path.read_bytes()
    return _File(shown(path), lines_of(content), yaml.compose(content, yaml.CSafeLoader))


def _place(file: _File, where: str, code: str = "") -> Place:
    line, column, end = _position(file.root, where.partition(" (")[0])
    return place(file.name, file.lines, line, column, end if code in _HIDING else None)


def _position(root: yaml.Node | None, where: str) -> tuple[int, int, int]:
    """Line, first and last column of the key or entry at the end of a dotted path, or of the nearest one above it."""
    if root is None:
        return 1, 1, 1
    start = (root.start_mark, root.start_mark)
    _, (begin, end) = max(_marks(root, where, start, 0), key=lambda each: each[0])
    return begin.line + 1, begin.column + 1, end.column + 1


def _marks(node: yaml.Node, rest: str, marks: _Marks, depth: int) -> Iterator[tuple[int, _Marks]]:
    """Every place that a path may lead to, with the length of the path there, because keys may contain dots."""
    yield depth, marks
    for name, of_key, value in _entries(node):
        if rest == name or rest.startswith(f"{name}."):
            yield from _marks(value, rest[len(name) + 1 :], of_key, depth + len(name) + 1)


def _entries(node: yaml.Node) -> Iterator[tuple[str, _Marks, yaml.Node]]:
    """The entries of a node: name, marks, node; entries that it merges with `<<` come last."""
    if isinstance(node, yaml.SequenceNode):
        for index, entry in enumerate(node.value):
            yield str(index), (entry.start_mark, entry.start_mark), entry
    if not isinstance(node, yaml.MappingNode):
        return
    merged: list[yaml.Node] = []
    for key, value in node.value:
        if key.tag == MERGE:
            merged += value.value if isinstance(value, yaml.SequenceNode) else [value]
        else:
            yield _key(key), (key.start_mark, key.end_mark), value
    for value in merged:
        yield from _entries(value)


def _key(key: yaml.Node) -> str:
    """A key as paths spell it: `no` is false."""
    text = str(key.value)
    return str(text.lower() in ("yes", "on", "true")).lower() if key.tag == _BOOLEAN else text


def shown(path: Path) -> str:
    """A path as the user would type it: relative to the current folder if it is inside it."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
