"""Two selections overlap, are disjoint, or are undecided for a stated reason; the answer is never wrong."""

import itertools
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_replication.components.flows.selections import topic_selection
from kafka_replication.components.kafka import overlap as module
from kafka_replication.components.kafka.overlap import (
    Disjoint,
    Overlap,
    SharedName,
    Undecided,
    overlap_of_patterns,
    overlap_of_selections,
    pairs_that_overlap,
)
from kafka_replication.components.kafka.patterns import Selection, pattern_error
from kafka_replication.components.kafka.topic_names import default_topics_exclude
from kafka_replication.components.topology.model import Flow

CORPUS: list[dict[str, str]] = yaml.safe_load((Path(__file__).parent / "overlap_corpus.yaml").read_text())
ANSWERS: dict[str, type] = {"overlaps": SharedName, "disjoint": Disjoint, "undecided": Undecided}


def is_topic(name: str) -> bool:
    return re.fullmatch(r"[a-zA-Z0-9._-]{1,249}", name) is not None and name not in (".", "..")


def a_flow(**given: Any) -> Flow:
    return Flow(**({"kind": "flow", "source": "useast", "target": "uswest", "topics": (".*",)} | given))


@pytest.mark.parametrize("case", CORPUS, ids=[case["why"] for case in CORPUS])
@pytest.mark.parametrize("swapped", [False, True], ids=["", "swapped"])
def test_a_pair_of_the_corpus_has_its_known_answer(case: dict[str, str], swapped: bool) -> None:
    first, second = (case["second"], case["first"]) if swapped else (case["first"], case["second"])
    answer = overlap_of_patterns(first, second)
    assert isinstance(answer, ANSWERS[case["answer"]]), f"{first} and {second}: {answer}"
    if isinstance(answer, SharedName):
        assert is_topic(answer.example)
        assert re.fullmatch(first, answer.example)
        assert re.fullmatch(second, answer.example)


def test_the_corpus_is_large_and_has_no_duplicates() -> None:
    assert len({case["why"] for case in CORPUS}) == len({(case["first"], case["second"]) for case in CORPUS}) >= 70


@pytest.mark.parametrize(
    ("first", "second", "example"),
    [
        (".*", ".+", "a"),
        ("orders-.*", ".*-v2", "orders-v2"),
        ("[-a-c0-9]x", "[^b]x", "ax"),
        ("(aa)+", "(aaa)+", "aaaaaa"),
        (r"\.+", ".*", "..."),
    ],
    ids=["a letter", "the shared dash appears once", "a letter before a digit", "the shortest", "no name of dots"],
)
def test_an_example_is_the_shortest_and_prefers_letters(first: str, second: str, example: str) -> None:
    assert overlap_of_patterns(first, second) == SharedName(example)


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ("(.)x\\1", "axb", r"`\(.\)x\\1` has a back reference"),
        ("a{2,3}", "aa", "splits its list at every comma"),
        ("((a{99}){99}){99}", "a+", "repetitions make it too large"),
    ],
    ids=["a construct", "a refused pattern", "too large"],
)
def test_an_undecided_answer_names_the_pattern_and_the_construct(first: str, second: str, reason: str) -> None:
    answer = overlap_of_patterns(first, second)
    assert isinstance(answer, Undecided)
    assert re.search(reason, answer.reason)


# A small alphabet, so that a test can try every name of up to six characters.
SMALL = "ab-"
SHORT_NAMES = ["".join(name) for length in range(1, 7) for name in itertools.product(SMALL, repeat=length)]


def a_random_pattern(source: random.Random, depth: int = 3) -> str:
    """A pattern over a, b and dash with every construct that is decided, and sometimes others."""

    def within() -> str:
        return a_random_pattern(source, depth - 1)

    leaves: list[Callable[[], str]] = [
        lambda: source.choice(["a", "b", "-", "ab", ".", r"\w", r"\W", "[ab]", "[^a]", "[-a]", "(?i:A)", r"\S"]),
    ]
    inner: list[Callable[[], str]] = [
        lambda: within() + within(),
        lambda: within() + within() + within(),
        lambda: f"({within()}|{within()})",
        lambda: f"({within()})" + source.choice(["*", "+", "?", "{2}", "*?", "+?", "??"]),
        lambda: f"(?:^{within()}|{within()}$)",
        lambda: source.choice(["(?!{})", "(?={})", "(?:(?!{}).)", "(?>{})"]).format(within()),
        lambda: source.choice([r"(?<!a)", r"(?<!-b)", r"\b", "^", "$", r"\A"]),
    ]
    pattern = source.choice(leaves if depth == 0 else [*leaves, *inner])()
    return pattern if pattern_error(pattern) is None else a_random_pattern(source, depth)


def test_decided_answers_agree_with_every_short_name_tried() -> None:
    """Without this test, a bug in a nested construct could call two overlapping selections disjoint."""
    source = random.Random(4)
    counts: dict[type[Overlap], int] = {Disjoint: 0, SharedName: 0, Undecided: 0}
    for _ in range(600):
        first, second = a_random_pattern(source), a_random_pattern(source)
        answer = overlap_of_patterns(first, second)
        counts[type(answer)] += 1
        common = [name for name in SHORT_NAMES if re.fullmatch(first, name) and re.fullmatch(second, name)]
        if isinstance(answer, Disjoint):
            assert not common, f"{first} and {second}"
        elif isinstance(answer, SharedName):
            assert is_topic(answer.example)
            assert re.fullmatch(first, answer.example), f"{first} and {second}"
            assert re.fullmatch(second, answer.example), f"{first} and {second}"
            assert len(answer.example) <= len(min(common, key=len, default=answer.example)) or "(?" in first + second
    assert counts[Disjoint] > 100
    assert counts[SharedName] > 100
    assert counts[Undecided] < 60


def test_exclusions_agree_with_every_short_name_tried() -> None:
    source = random.Random(5)
    decided = 0
    for _ in range(400):
        selections = [
            Selection((a_random_pattern(source), a_random_pattern(source)), (a_random_pattern(source, 2),))
            for _ in range(2)
        ]
        answer = overlap_of_selections(*selections)
        common = [name for name in SHORT_NAMES if all(name in one for one in selections)]
        decided += not isinstance(answer, Undecided)
        if isinstance(answer, Disjoint):
            assert not common, f"{selections}"
        elif isinstance(answer, SharedName):
            assert all(answer.example in one for one in selections), f"{selections}"
    assert decided > 300


@pytest.mark.parametrize(
    ("first", "second", "answer"),
    [
        pytest.param(("tmp-.*",), (), SharedName("tmp-"), id="nothing excluded"),
        pytest.param(("tmp-.*",), ("tmp-.*",), Disjoint(), id="all of it excluded"),
        pytest.param(("tmp-.*",), ("tmp-[a-z]*",), SharedName("tmp-A"), id="the next example"),
        pytest.param(("tmp-.*",), ("tmp-",), SharedName("tmp-a"), id="one name excluded"),
        pytest.param(
            ("tmp-a",),
            ("tmp-(?!b).*",),
            Undecided("`tmp-(?!b).*` has a look-around"),
            id="an exclusion that cannot be computed exactly",
        ),
        pytest.param((r".*\.replica",), default_topics_exclude("4.3"), Disjoint(), id="Kafka's own exclusions"),
    ],
)
def test_an_example_is_a_topic_that_neither_excludes(
    first: tuple[str, ...], second: tuple[str, ...], answer: Overlap
) -> None:
    for selections in ((Selection(first), Selection((".*",), second)), (Selection((".*",), second), Selection(first))):
        found = overlap_of_selections(*selections)
        if isinstance(answer, Undecided) and isinstance(found, Undecided):
            assert found.reason.startswith(answer.reason)
        else:
            assert found == answer


@pytest.mark.parametrize(
    ("pattern", "flow", "answer"),
    [
        ("__.*", a_flow(), Disjoint()),
        (r"\..*", a_flow(), Disjoint()),
        (r"mm2-offset-syncs\..*\.internal", a_flow(), Disjoint()),
        (r"(mm2-.*|.*_checkpoints)_internal", a_flow(separator="_"), Disjoint()),
        ("mirror-orders-offsets-internal", a_flow(), Disjoint()),
        ("orders[-.]internal", a_flow(), SharedName("orders-internal")),
        ("heartbeats", a_flow(), Disjoint()),
        (r".*\.heartbeats", a_flow(), Disjoint()),
        (".*heartbeats", a_flow(), SharedName("aheartbeats")),
        (r"uswest\.orders", a_flow(), Disjoint()),
        (r"eu\.uswest\.orders", a_flow(), Disjoint()),
        (r"uswest\.orders", a_flow(policy="identity"), SharedName("uswest.orders")),
        (r"uswest\.orders", a_flow(separator="_"), SharedName("uswest.orders")),
        (r"uswest\.+", a_flow(), SharedName("uswest.")),
        (r"uswest\.app-heartbeats", a_flow(policy="identity"), Disjoint()),
        ("orders-tmp", a_flow(topics_exclude=(".*-tmp",)), Disjoint()),
    ],
    ids=[
        "topics of Kafka",
        "hidden topics",
        "internal topics",
        "internal topics with the flow's separator",
        "storage topics of workers",
        "topics that only end like internal ones",
        "heartbeats",
        "remote heartbeats",
        "a name that only ends like heartbeats",
        "would return to the target",
        "would return through another cluster",
        "the target's prefix under identity",
        "another separator",
        "nothing after the prefix",
        "identity prefixes names that end like heartbeats",
        "excluded by the flow",
    ],
)
def test_only_topics_that_a_flow_can_select_overlap(pattern: str, flow: Flow, answer: Overlap) -> None:
    assert (
        overlap_of_selections(topic_selection(flow, "4.3", (pattern,)), topic_selection(flow, "4.3", flow.topics))
        == answer
    )


def test_overlapping_pairs_are_named_once_with_the_patterns_that_meet() -> None:
    found = list(
        pairs_that_overlap(
            {
                "orders": Selection(("orders", "stock-.*", "orders-.*")),
                "all-orders": Selection(("users", "orders.*")),
                "users": Selection(("users",), ("users",)),
                "odd": Selection((r"(.)-\1",)),
                "dash": Selection(("a-b",)),
                "refused": Selection(("a{1,2}", "orders-(")),
            }
        )
    )
    assert [(one.first, one.second, one.first_pattern, one.second_pattern) for one in found] == [
        ("orders", "all-orders", "orders", "orders.*"),
        ("odd", "dash", r"(.)-\1", "a-b"),
    ]
    assert found[0].overlap == SharedName("orders")
    assert isinstance(found[1].overlap, Undecided)


def test_pairs_come_in_the_order_of_the_selections_and_name_one_pattern_of_each() -> None:
    selections = {
        "one": Selection(("a",)),
        "two": Selection(("b", r"(.)-\1", r"(.)-.\1")),
        "three": Selection(("b", "a")),
        "four": Selection(("a-b", "a-cb")),
        "five": Selection(("((a{99}){99}){99}",)),
    }
    assert [
        (one.first, one.second, one.first_pattern, one.second_pattern) for one in pairs_that_overlap(selections)
    ] == [
        ("one", "three", "a", "a"),
        ("two", "three", "b", "b"),
        ("two", "four", r"(.)-\1", "a-b"),
        ("one", "five", "a", "((a{99}){99}){99}"),
        ("two", "five", "b", "((a{99}){99}){99}"),
        ("three", "five", "a", "((a{99}){99}){99}"),
        ("four", "five", "a-b", "((a{99}){99}){99}"),
    ]


def test_patterns_that_differ_at_either_end_are_never_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the cost of a check would grow with the square of the number of flows."""
    compared: list[tuple[str, str]] = []

    def compare(first: str, second: str, _: tuple[str, ...]) -> Overlap:
        compared.append((first, second))
        return Disjoint()

    monkeypatch.setattr(module, "overlap_of_patterns", compare)
    teams = [f"{place:03}" for place in range(200)]
    patterns = ("t{}-orders", r"t{}\.[a-z]+\.v\d+", "prod.t{}.orders", ".*-t{}", "shared-.*-t{}x", "[a-z]+-of-{}")
    selections = {team: Selection(tuple(pattern.format(team) for pattern in patterns)) for team in teams}
    assert list(pairs_that_overlap(selections)) == []
    assert compared == []


def test_a_pattern_is_compared_with_all_names_that_differ_only_where_it_allows_anything() -> None:
    names = [f"{first}{second}{third}-orders" for first, second, third in itertools.product("abcde", repeat=3)]
    selections = {name: Selection((name,)) for name in names} | {"any": Selection(("...-orders",))}
    assert [one.first for one in pairs_that_overlap(selections)] == names


def test_no_pair_is_lost_by_filing_patterns_by_their_ends() -> None:
    """The index may leave out only disjoint pairs; comparing every pair must give the same result."""
    source = random.Random(6)
    selections = {
        **{f"corpus-{place}": Selection((case["first"], case["second"])) for place, case in enumerate(CORPUS[:60])},
        **{f"random-{place}": Selection((a_random_pattern(source), a_random_pattern(source))) for place in range(60)},
    }
    selections = {name: one for name, one in selections.items() if is_decidable(one)}
    expected = {
        (first, second, type(answer))
        for (first, one), (second, other) in itertools.combinations(selections.items(), 2)
        if not isinstance(answer := overlap_of_selections(one, other), Disjoint)
    }
    assert {(one.first, one.second, type(one.overlap)) for one in pairs_that_overlap(selections)} == expected
    assert len(selections) > 100


def is_decidable(selection: Selection) -> bool:
    return not isinstance(overlap_of_selections(selection, selection), Undecided)
