"""Reads a YAML file into plain values, refuses what YAML itself would silently accept, and finds the line of a mistake.

A line is shown only up to its first credential.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from kafka_replication.components.contract.problems import CannotRunError, Place, Problem


@dataclass(frozen=True)
class Words:
    """What is wrong, why, what to write, and where: line and column, counted from 1, or the beginning of the file."""

    what: str
    why: str
    remedy: str
    line: int = 1
    column: int = 1


_QUOTES = "put the value in single quotation marks."
_ANCHOR = "In YAML `*` without quotation marks refers to an anchor, `&NAME`, further up in the file."
_INDENTATION = "YAML uses the indentation to decide what belongs together."
_FORM = "Each line of a mapping is `key: value`, with a space after the colon."

#: The parser's words for a problem -> what, why, remedy; the first that the problem begins with.
_MEANINGS: dict[str, tuple[str, str, str]] = {
    "found a tab character": (
        "the line is indented with a tab",
        "YAML accepts only spaces there.",
        "replace the tab with spaces.",
    ),
    "found unknown escape character": (
        "a backslash in double quotation marks",
        "In double quotation marks YAML reads it as the beginning of an escape such as `\\n`.",
        "use single quotation marks: YAML leaves backslashes in them alone.",
    ),
    "could not find expected ':'": ("a line has no colon", _FORM, "write the line as `key: value`."),
    "did not find expected '-' indicator": (
        "a key follows the entries of a list",
        _INDENTATION,
        "indent the list and the keys so that they fit together.",
    ),
    "did not find expected ',' or ']'": (
        "a list in `[` is not closed",
        "The list continues until `]`, and `,` separates its entries.",
        "add the missing `]` or `,`.",
    ),
    "did not find expected ',' or '}'": (
        "a mapping in `{` is not closed",
        "The mapping continues until `}`, and `,` separates its keys.",
        "add the missing `}` or `,`.",
    ),
    "found unexpected end of stream": (
        "a quotation mark is not closed",
        "The text continues until the same quotation mark.",
        "close it on this line.",
    ),
    "expected a mapping": (
        "`<<` does not name a mapping",
        "`<<` takes over the keys of a mapping that is marked with `&NAME` further up in the file.",
        "write `<<: *NAME`.",
    ),
    "found unhashable key": (
        "a key is a list or a mapping",
        "A key is text. `{` and `[` without quotation marks begin a mapping or a list.",
        "write the key as text, or put the value in quotation marks.",
    ),
    "but found another document": (
        "a second document begins",
        "Only one document per file is read, and `---` begins another.",
        "keep one document, or write the second to a separate file.",
    ),
    "could not determine a constructor for the tag": (
        "a value begins with `!`",
        "YAML reads that as a tag, and no tags are known here.",
        f"remove it, or {_QUOTES}",
    ),
    "second occurrence": (
        "an anchor is defined twice",
        "`*NAME` could refer to either of them.",
        "rename one of them.",
    ),
    "block sequence entries are not allowed": (
        "there is a `-` where no list can begin",
        "An entry of a list begins on its own line, below its key.",
        "write the list as `[VALUE, VALUE]`, or each entry on its own line.",
    ),
    "did not find expected node content": (
        "a value is missing",
        "YAML finds `,`, `]` or `}` where a value should begin.",
        f"write the value; if it begins with such a character, {_QUOTES}",
    ),
}


#: The same for problems that our loader finds, by a part of their text.
_FOUND: tuple[tuple[str, str, str], ...] = (
    ("is given twice", "YAML would keep only the last one.", "remove one of them."),
    (
        "is read as",
        "YAML reads a number that begins with 0 as octal, one with `:` as a base-60 number, and ignores `_`.",
        "write only the digits of the number, or put it in quotation marks if it is text.",
    ),
    (
        "is not a YAML quotation mark",
        "YAML has only `'` and `\"`. Any other mark would be part of the value.",
        "write `'` instead, on both sides.",
    ),
    (
        "contains the invisible character",
        "It would become part of the name, so nothing else would match it.",
        "delete the value and type it again.",
    ),
)
#: A space character at the beginning of a line that YAML does not accept as a space.
_NO_SPACE = re.compile(r"[ \t]*[\u00a0\u2000-\u200b\u202f\u3000\ufeff]")


#: Problems that the parser notices only after the mistake, such as at the end of something that was not closed.
_SEEN_LATE = (
    "found unexpected end of stream",
    "did not find expected ',' or",
    "could not find expected ':'",
    "did not find expected alphabetic",
)


def words_for(error: Exception, lines: Sequence[str]) -> Words:
    """Explain a parser error, or an error in a value that could not be built, in a file with these lines."""
    if isinstance(error, yaml.reader.ReaderError):
        return Words(
            "the file is not UTF-8 text",
            f"It contains a character that YAML does not accept: {error.reason}.",
            "save the file as UTF-8.",
        )
    if not isinstance(error, yaml.MarkedYAMLError):
        return Words("a value cannot be read", f"The YAML parser says: {error}.", _QUOTES)
    problem = str(error.problem)
    mark = error.context_mark if problem.startswith(_SEEN_LATE) else error.problem_mark
    if mark is None:
        return Words("the file is not YAML", f"The YAML parser says: {problem}.", "correct it there.")
    return _strange_indentation(lines[: mark.line + 1]) or _meaning(problem, error, mark, lines)


def _strange_indentation(lines: Sequence[str]) -> Words | None:
    for number, line in enumerate(lines, 1):
        if found := _NO_SPACE.match(line):
            why = "YAML accepts only spaces there. Web pages and word processors insert others."
            what = "the line is indented with a character that only looks like a space"
            return Words(what, why, "replace it with spaces.", number, found.end())
    return None


def _meaning(problem: str, error: yaml.MarkedYAMLError, mark: Any, lines: Sequence[str]) -> Words:
    line = lines[mark.line] if mark.line < len(lines) else ""
    here = mark.line + 1, mark.column + 1
    at, before = line[mark.column : mark.column + 1], line[: mark.column]
    if problem.startswith("found character that cannot start any token"):
        if at == "\t":
            return Words(*_MEANINGS["found a tab character"], *here)
        why = "Without quotation marks a value cannot begin with this character."
        return Words(f"a value begins with {'a backquote' if at == '`' else f'`{at}`'}", why, _QUOTES, *here)
    if "alphabetic or numeric character" in problem or problem.startswith("found undefined alias"):
        return Words(*_alias(problem, line[mark.column :], error), *here)
    if problem.startswith("mapping values are not allowed"):
        return _second_colon(before, here, lines)
    if problem.startswith("did not find expected key"):
        if before.strip():
            why = "A value in quotation marks ends at the second quotation mark."
            what, remedy = "text follows a value in quotation marks", "write `''` for a quotation mark inside it."
            return Words(what, why, remedy, *here)
        what = "the indentation of this line does not match any line above"
        return Words(what, _INDENTATION, "indent it like the other keys of its mapping.", *here)
    if problem.startswith("found unhashable key") and "{{" in line:
        return Words("a value begins with `{{`", "Nothing fills in a template here.", "write the value itself.", *here)
    for begins, meaning in _MEANINGS.items():
        if problem.startswith(begins):
            return Words(*meaning, *here)
    for sign, why, remedy in _FOUND:
        if sign in problem:
            return Words(problem, why, remedy, *here)
    return Words("the file is not YAML", f"The YAML parser says: {problem}.", "correct it there.", *here)


def _alias(problem: str, rest: str, error: yaml.MarkedYAMLError) -> tuple[str, str, str]:
    if str(error.context).endswith("an anchor"):
        return "there is a `&` without a name", "In YAML `&` marks a value with a name.", _QUOTES
    pattern = "put the pattern in quotation marks; every topic or group is `['.*']`."
    if problem.startswith("found undefined alias"):
        name = (re.match(r"\*?[-\w]*", rest) or ["*"])[0]
        remedy = f"define the anchor further up. If a pattern is meant, write `'.{name}'`."
        return f"`{name}` refers to an anchor that is not defined", _ANCHOR, remedy
    return "there is a `*` without quotation marks", _ANCHOR, pattern


def _second_colon(before: str, here: tuple[int, int], lines: Sequence[str]) -> Words:
    if ": " in before:
        return Words("a value contains `: `", "YAML reads that as the beginning of another value.", _QUOTES, *here)
    above = next((number for number in range(here[0] - 1, 0, -1) if lines[number - 1].strip()), None)
    if above is not None and not re.search(r":(\s|$)", lines[above - 1]):
        return Words("a line has no `: `", _FORM, "write the line as `key: value`.", above)
    what = "this line is indented further than the line above allows"
    return Words(what, _INDENTATION, "indent it like the other keys of its mapping.", *here)


MERGE = "tag:yaml.org,2002:merge"
_BOOLEAN = "tag:yaml.org,2002:bool"
_LONGEST_LINE = 120
#: A key that may hold a credential, however it is spelt, before a value that is not a mapping.
_CREDENTIAL = re.compile(
    r"""[-\w.'"]*(?:pass|p\w*w(?:or)?d|\wsecret|token|credential|jaas|private|\.key\b)[-\w.'"]*\s*:\s*(?=[^\s{])""",
    re.IGNORECASE,
)


#: A line of a private key, or a token; the login and the query of an address.
_TOKEN = re.compile(r"""(?<![\w.-])[A-Za-z0-9+/=]{32,}|(?<=://)[^\s/@]+(?=@)|(?<=\w\?)[\w.-]+=[^\s'"},]+""")
#: Codes of problems at keys whose values may be credentials.
_HIDING = frozenset({"login-in-address", "unknown-key", "plain-text-secret", "plain-text-credential"})
#: Where a key begins and ends.
_Marks = tuple[yaml.Mark, yaml.Mark]


def lines_of(content: bytes) -> list[str]:
    """Return the lines of a file, even if it is not text."""
    return content.decode("utf-8-sig", errors="replace").splitlines()


def place(file: str, lines: list[str], line: int, column: int, end: int | None = None) -> Place:
    """Return the place of a line and column, counted from 1; the line is shown only up to column `end`."""
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
    """Return a line with `…` for each value that may be a credential, and for what looks like a key or a token."""
    credential = _CREDENTIAL.search(line)
    if credential is None:
        return _TOKEN.sub("…", line)
    before, rest = line[: credential.end()], line[credential.end() :]
    # A comma ends a value only if a mapping or list was opened on the same line.
    value = re.match(r"""'[^']*'|"[^"]*"|[^,}\]]*""" if re.search(r"[{\[]", before) else ".*", rest)
    return f"{_TOKEN.sub('…', before)}…{_without_credentials(rest[value.end() :] if value else '')}"


def placed(problems: Iterable[Problem], path: Path) -> Iterator[Problem]:
    """Yield the problems, each with its place in the file; places that are already known stay."""
    unplaced = list(problems)
    if unplaced:
        place_of = _finder(path)
        for problem in unplaced:
            yield problem if problem.place else replace(problem, place=place_of(problem.where, problem.code))


def places_of(paths: Iterable[str], path: Path) -> Iterator[Place]:
    """Yield the places of dotted paths in a file, or of the nearest existing keys above them."""
    yield from map(_finder(path), paths)


def _finder(path: Path) -> Callable[..., Place]:
    """Return what finds the place of a dotted path in a file; with the code of a problem, also what not to show."""
    content = path.read_bytes()
    lines, root = lines_of(content), yaml.compose(content, yaml.CSafeLoader)

    def place_of(where: str, code: str = "") -> Place:
        line, column, end = _position(root, where.partition(" (")[0])
        return place(shown(path), lines, line, column, end if code in _HIDING else None)

    return place_of


def _position(root: yaml.Node | None, where: str) -> tuple[int, int, int]:
    """Return the line, first and last column of the key or entry at the end of a dotted path, or of the nearest one
    above it.
    """
    if root is None:
        return 1, 1, 1
    start = (root.start_mark, root.start_mark)
    _, (begin, end) = max(_marks(root, where, start, 0), key=lambda mark: mark[0])
    return begin.line + 1, begin.column + 1, end.column + 1


def _marks(node: yaml.Node, rest: str, marks: _Marks, depth: int) -> Iterator[tuple[int, _Marks]]:
    """Yield every place that a path may lead to, with the length of the path there, because keys may contain dots."""
    yield depth, marks
    for name, of_key, value in _entries(node):
        if rest == name or rest.startswith(f"{name}."):
            yield from _marks(value, rest[len(name) + 1 :], of_key, depth + len(name) + 1)


def _entries(node: yaml.Node) -> Iterator[tuple[str, _Marks, yaml.Node]]:
    """Yield the entries of a node: name, marks, node; entries that it merges with `<<` come last."""
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
    """Return a key as paths spell it: `no` is false."""
    text = str(key.value)
    return str(text.lower() in ("yes", "on", "true")).lower() if key.tag == _BOOLEAN else text


def shown(path: Path) -> str:
    """Return a path as the user would type it: relative to the current folder if it is inside it."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


#: Numbers that YAML 1.1 does not read as they are written: octal, base 60, and with separated digits.
_ODD_NUMBER = re.compile(r"[-+]?(0[0-7_]+|[0-9_]+(:[0-9]+)+|[0-9]+_[0-9_]*)")
_QUOTES_OF_PROSE = "\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb"
#: Characters that look like a space or are invisible.
_UNSEEN = re.compile(r"[\u00a0\u1680\u2000-\u200f\u202f\u205f\u2060\u3000\ufeff]")


class _UniqueKeyLoader(yaml.CSafeLoader):
    """A fast YAML loader that refuses a duplicate key; YAML itself would silently keep the last one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            # A key that is not a scalar is refused below; `<<` may merge any number of mappings.
            if not isinstance(key_node, yaml.ScalarNode) or key_node.tag == MERGE:
                continue
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.constructor.ConstructorError(None, None, f"`{key}` is given twice", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep=deep)

    def construct_plain_number(self, node: yaml.ScalarNode) -> int:
        """Refuse a number whose value differs from how it reads."""
        value: int = self.construct_yaml_int(node)
        if _ODD_NUMBER.fullmatch(node.value):
            raise yaml.constructor.ConstructorError(None, None, f"`{node.value}` is read as {value}", node.start_mark)
        return value

    def construct_typed_text(self, node: yaml.ScalarNode) -> str:
        """Refuse characters that word processors put into a name; text of several words may contain them."""
        value: str = self.construct_yaml_str(node)
        if " " in value:
            return value
        if not node.style and value.startswith(tuple(_QUOTES_OF_PROSE)):
            problem = f"`{value[0]}` is not a YAML quotation mark"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
        if unseen := _UNSEEN.search(value):
            problem = f"a value contains the invisible character U+{ord(unseen[0]):04X}"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
        return value


_UniqueKeyLoader.add_constructor("tag:yaml.org,2002:int", _UniqueKeyLoader.construct_plain_number)
_UniqueKeyLoader.add_constructor("tag:yaml.org,2002:str", _UniqueKeyLoader.construct_typed_text)


def load_yaml(path: Path) -> object:
    """Return the parsed YAML of a file. Raises CannotRunError for invalid YAML and for a duplicate key."""
    return parse_yaml(path.read_bytes(), shown(path))


def parse_yaml(content: bytes, file: str) -> object:
    """Return the parsed content of a file. Raises CannotRunError for invalid YAML and for a duplicate key."""
    try:
        return yaml.load(content, _UniqueKeyLoader)
    except (yaml.YAMLError, ValueError) as error:
        lines = lines_of(content)
        words = words_for(error, lines)
        position = place(file, lines, words.line, words.column)
        raise CannotRunError(
            "invalid-yaml", words.what, file, words.why, words.remedy, position.excerpt, position
        ) from error
