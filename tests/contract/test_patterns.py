"""Java's own classes read patterns as the checks do.

Otherwise a check would accept a pattern that Java refuses, or report that a pattern selects no topics when it does.
"""

import json
from pathlib import Path

import pytest

from kafka_replication.components.kafka.patterns import matches, pattern_error
from kafka_replication.infra.machine.toolchain import CONNECT
from tests.contract.java_programs import answer

PROGRAM = Path(__file__).with_name("Patterns.java")
NAMES = ["a", "ab", "b", "aa", "aaa", "A", "B", "a.b", "axb", "a-b", "a_b", "eu-eu", "eu-us", "1", "a1", "orders-eu"]
EVALUATED = (
    *(
        "a",
        "a.b",
        r"a\.b",
        "a|b",
        "(a|b)+",
        "[a-c]+",
        "[^a]",
        r"\w+",
        r"\d",
        "a?b",
        "a{2}",
        "^a$",
        "(?!a).*",
        "(?i)A|b",
    ),
    *("(?i:a)b", "a*+b", "a++", "(?>a|ab)b", "[{]a", "a}", "a]", "()a", "(?=a)*b", r"a\-b", r"\x61", "(?s).*", "(?m)a"),
    *(
        "(?<n>a)",
        r"(?<n>eu|us)-\k<n>",
        r"\Qa.b\E",
        r"\Qa.\E.*",
        "(?<=a)b|a.b",
        r"\bab\b",
        r"[\\b]",
        r"[\d-]",
        "[a-]",
        "[-a]",
    ),
)
REFUSED = (
    *("(", "a)", "[", "[a", "*a", "+a", "(|*a)", "a|*", "a**", "a*?+", "a{b}", "a{", "{a", "[b-a]", "a{99999999999}"),
    *("(?P<n>a)", "(?#c)a", "(a)(?(1)b)", "(?a)a", "(?L)a", r"\N", r"\U00000041", r"\y", r"\E", r"x\Ey", "(?", "(?<"),
    *("\\", r"[\b]", r"[^\ba]x", r"[\1]", r"(a)[\1]", r"[\z]", r"[\R]", r"[\X]"),
)
UNJUDGED = (
    *("(?-i)a", "a(?i)b", "(?x)a b", "(?d)a", "(?u)a", "(?U)a", r"\p{Alpha}", r"[\p{Lower}]+", r"\Qa.b", r"\Z", r"\z"),
    *(r"\G", r"\h", r"\R", r"\X", r"\v", r"\e", r"\cA", r"\101", r"\0101", r"\x{41}", r"\b{g}", r"\N{DIGIT ONE}", "^*"),
    *(r"\b+", r"a\B*", r"\A?", "[]a]", "[^]a]", "[a&&b]", "[[a]b]", "[b[a]]", "[^[a]]", "[a-[b]]", r"[\d-z]"),
    *("a{2}{3}", r"\1", r"(a)\2", "(?<=a+)b", "(?<!a*)b"),
)


@pytest.fixture(scope="module")
def java() -> dict[str, list[str] | None]:
    """The names that Java matches with each pattern; None for a pattern that it refuses."""
    asked = json.dumps(dict.fromkeys((*EVALUATED, *REFUSED, *UNJUDGED), NAMES))
    answers: dict[str, list[str] | None] = json.loads(answer(PROGRAM, CONNECT, asked))
    return answers


@pytest.mark.parametrize("pattern", EVALUATED)
def test_a_pattern_matches_the_same_names_in_java(java: dict[str, list[str] | None], pattern: str) -> None:
    assert pattern_error(pattern) is None
    assert java[pattern] == [name for name in NAMES if matches(pattern, name)]


@pytest.mark.parametrize("pattern", REFUSED)
def test_java_refuses_the_pattern_too(java: dict[str, list[str] | None], pattern: str) -> None:
    error = pattern_error(pattern)
    assert error is not None
    assert error.refused
    assert java[pattern] is None


@pytest.mark.parametrize("pattern", UNJUDGED)
def test_java_compiles_the_patterns_that_we_do_not_judge(java: dict[str, list[str] | None], pattern: str) -> None:
    error = pattern_error(pattern)
    assert error is not None
    assert not error.refused
    assert java[pattern] is not None
