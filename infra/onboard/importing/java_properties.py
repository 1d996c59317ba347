"""Java properties files, as java.util.Properties.load reads them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from infra.onboard.importing.left_out import LeftOut

#: A line that only the file of a dedicated MirrorMaker has; in YAML such a line would be a text.
_ALIASES = re.compile(rb"^[ \t]*clusters[ \t]*[=:][ \t]*[^\s{\[]", re.MULTILINE)

_COMMENT = re.compile(r"[ \t\f]*[#!]")
_LINE_END = re.compile(r"\r\n|\r|\n")
_KEY = re.compile(r"((?:\\.|[^\\:= \t\f])*)[ \t\f]*[:=]?[ \t\f]*(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_LETTERS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_GROUP = re.compile(rb"^[ \t]*group\.id[ \t]*[=:][ \t]*\S", re.MULTILINE)


@dataclass(frozen=True)
class PropertiesFile:
    """The properties of a file by key. `namespace` is that of the workers that it becomes."""

    file: str
    namespace: str
    properties: Mapping[str, str]


def is_dedicated(content: bytes) -> bool:
    """Whether a file is a dedicated MirrorMaker's."""
    return _ALIASES.search(content) is not None


def has_workers(content: bytes) -> bool:
    """Whether a file has the properties of Connect's workers."""
    return _GROUP.search(content) is not None


class EscapeError(ValueError):
    """A file that Java refuses because of an escape in an entry. `line` is where the entry begins, counted from 1."""

    def __init__(self, line: int) -> None:
        self.line = line
        super().__init__(f"line {line}: \\u without four hexadecimal digits")


def properties_file(file: str, content: bytes, namespace: str, left_out: list[LeftOut]) -> list[PropertiesFile]:
    """Return a file's properties; none if Java refuses the file. `left_out` gets the reason for the refusal, and each
    duplicate key.
    """
    try:
        entries = list(java_properties(content.decode("utf-8", "replace")))
    except EscapeError as error:
        why = "A `\\u` in it has no four hexadecimal digits after it, so Java refuses the whole file."
        remedy = "correct it; a backslash itself is written as `\\\\`."
        left_out.append(LeftOut(file, "", f"line {error.line}", "invalid-properties", why, remedy))
        return []
    found: dict[str, str] = {}
    for number, key, value in entries:
        if key in found:
            why = f"`{key}` is given twice, and only the last value counts."
            left_out.append(LeftOut(file, "", f"line {number}", "duplicate-key", why, "remove one of the two."))
        found[key] = value
    return [PropertiesFile(file, namespace, found)]


def java_properties(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield line number, key and value of each entry of a Java properties file. A later entry of a key wins.

    Raises EscapeError.
    """
    for number, line in _logical_lines(text):
        if "u" in _ESCAPE.findall(line):
            raise EscapeError(number)
        found = _KEY.match(line)
        if found is not None:
            yield number, _unescaped(found[1]), _unescaped(found[2])


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    begun, first = "", 0
    for number, line in enumerate(_LINE_END.split(text), start=1):
        if not begun and (_COMMENT.match(line) or not line.strip(" \t\f")):
            continue
        first = first if begun else number
        begun += line.lstrip(" \t\f")
        if (len(begun) - len(begun.rstrip("\\"))) % 2:
            begun = begun[:-1]
            continue
        yield first, begun
        begun = ""
    if begun:
        yield first, begun


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: _letter(found[1]), text)


def _letter(escaped: str) -> str:
    return chr(int(escaped[1:], 16)) if len(escaped) == 5 else _LETTERS.get(escaped, escaped)
