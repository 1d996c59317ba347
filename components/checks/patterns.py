"""Topic and group patterns: one meaning in Java, where MirrorMaker matches them, and in Python, where we do."""

import re
import warnings
from functools import lru_cache

#: Constructs that one of the two languages reads otherwise, by what is wrong with them.
_DIFFERENT = (
    (re.compile(r"\(\?P"), "named groups are written `(?P<…>` in Python only"),
    (re.compile(r"\(\?#"), "comments `(?#…)` exist in Python only"),
    (re.compile(r"\(\?\("), "conditions `(?(…)…)` exist in Python only"),
    (re.compile(r"\\[ZzNGhHRXQEkp]"), "this escape means something else, or nothing, in one of the two"),
    (re.compile(r"\\[1-9][0-7]{2}"), "three digits after a backslash are a character in Python, a reference in Java"),
    (re.compile(r"\(\?[aLux]"), "this flag means something else, or nothing, in one of the two"),
    (re.compile(r"\[\^?\]"), "a `]` that opens a class is a literal in Python only"),
    (re.compile(r"(?<!\\)\{(?!\d+,?\d*\})"), "`{` that begins no repetition is a literal in Python only"),
)
_COMMA = re.compile(r",")


@lru_cache(maxsize=1 << 16)
def pattern_error(pattern: str) -> str | None:
    """Say why a pattern does not compile alike in Java and in Python, or None if it does."""
    if not pattern.strip() or pattern != pattern.strip():
        return "it is empty or begins or ends with a space, which the connector strips"
    if _COMMA.search(pattern):
        return "the connector splits its list at every comma"
    for construct, reason in _DIFFERENT:
        if construct.search(pattern):
            return reason
    with warnings.catch_warnings():
        # Python warns where a class holds `[`, `&&`, `--`, `~~` or `||`: nested sets in Java, literals in Python.
        warnings.simplefilter("error")
        try:
            re.compile(pattern)
        except re.error as error:
            return f"it does not compile: {error}"
        except FutureWarning:
            return "a set within a set is one in Java only"
    return None


def selects(patterns: tuple[str, ...], excluded: tuple[str, ...], name: str) -> bool:
    """Whether a selection holds a name. Source: DefaultTopicFilter, DefaultGroupFilter, which match whole names."""
    return _matches_any(patterns, name) and not _matches_any(excluded, name)


def _matches_any(patterns: tuple[str, ...], name: str) -> bool:
    return any(re.fullmatch(pattern, name) for pattern in patterns)
