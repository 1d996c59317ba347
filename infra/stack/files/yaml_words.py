"""Explains an error of the YAML parser to the author of the file. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import yaml


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
        "A key is text. `{` and `[` without quotation marks begin a mapping or a list, and a template such as "
        "`{{ NAME }}` is not filled in.",
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
    mark = error.problem_mark
    if problem.startswith(_SEEN_LATE):
        mark = error.context_mark
    if mark is None:
        return Words("the file is not YAML", f"The YAML parser says: {problem}.", "correct it there.")
    if (indented := _strange_indentation(lines[: mark.line + 1])) is not None:
        return indented
    line = lines[mark.line] if mark.line < len(lines) else ""
    what, why, remedy, number = _meaning(problem, error, line, mark, lines)
    return Words(what, why, remedy, number, mark.column + 1 if number == mark.line + 1 else 1)


def _strange_indentation(lines: Sequence[str]) -> Words | None:
    for number, line in enumerate(lines, 1):
        if found := _NO_SPACE.match(line):
            why = "YAML accepts only spaces there. Web pages and word processors insert others."
            what = "the line is indented with a character that only looks like a space"
            return Words(what, why, "replace it with spaces.", number, found.end())
    return None


def _meaning(
    problem: str, error: yaml.MarkedYAMLError, line: str, mark: Any, lines: Sequence[str]
) -> tuple[str, str, str, int]:
    """Return what, why, remedy and the line, counted from 1."""
    here = mark.line + 1
    at, before = line[mark.column : mark.column + 1], line[: mark.column]
    if problem.startswith("found character that cannot start any token"):
        if at == "\t":
            return *_MEANINGS["found a tab character"], here
        why = "Without quotation marks a value cannot begin with this character."
        return f"a value begins with {'a backquote' if at == '`' else f'`{at}`'}", why, _QUOTES, here
    if "alphabetic or numeric character" in problem or problem.startswith("found undefined alias"):
        return *_alias(problem, line[mark.column :], error), here
    if problem.startswith("mapping values are not allowed"):
        return _second_colon(before, here, lines)
    if problem.startswith("did not find expected key"):
        if before.strip():
            why = "A value in quotation marks ends at the second quotation mark."
            return "text follows a value in quotation marks", why, "write `''` for a quotation mark inside it.", here
        what = "the indentation of this line does not match any line above"
        return what, _INDENTATION, "indent it like the other keys of its mapping.", here
    for begins, meaning in _MEANINGS.items():
        if problem.startswith(begins):
            return *meaning, here
    for sign, why, remedy in _FOUND:
        if sign in problem:
            return problem, why, remedy, here
    return "the file is not YAML", f"The YAML parser says: {problem}.", "correct it there.", here


def _alias(problem: str, rest: str, error: yaml.MarkedYAMLError) -> tuple[str, str, str]:
    if str(error.context).endswith("an anchor"):
        return "there is a `&` without a name", "In YAML `&` marks a value with a name.", _QUOTES
    pattern = "put the pattern in quotation marks; every topic or group is `['.*']`."
    if problem.startswith("found undefined alias"):
        name = re.match(r"\*?[-\w]*", rest)
        what = f"`{name[0] if name else '*'}` refers to an anchor that is not defined"
        return what, _ANCHOR, f"define the anchor further up. If a pattern is meant, {pattern}"
    return "there is a `*` without quotation marks", _ANCHOR, pattern


def _second_colon(before: str, here: int, lines: Sequence[str]) -> tuple[str, str, str, int]:
    if ": " in before:
        return "a value contains `: `", "YAML reads that as the beginning of another value.", _QUOTES, here
    above = next((each for each in range(here - 2, -1, -1) if lines[each].strip()), None)
    if above is not None and not re.search(r":(\s|$)", lines[above]):
        return "a line has no `: `", _FORM, "write the line as `key: value`.", above + 1
    what = "this line is indented further than the line above allows"
    return what, _INDENTATION, "indent it like the other keys of its mapping.", here
