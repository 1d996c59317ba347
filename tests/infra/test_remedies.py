"""Each remedy that a table in tests/bad_input/remedies follows literally removes its problem and causes no other.

A table has, for the words of each remedy, what to replace in the bad input, or why the remedy cannot be tried.
"""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_replication.components.contract.problems import CannotRunError, Problem
from tests.infra import test_bad_input, test_first_steps, test_mistakes
from tests.infra.deploy.promotion import test_bad_plans
from tests.repository import ROOT

Edits = dict[str, Any]
Found = list[Problem] | list[Problem | CannotRunError]

BAD_INPUT = ROOT / "tests" / "bad_input"
TABLES: dict[str, dict[str, dict[str, Edits | str]]] = {
    file.stem: yaml.load(file.read_text(), yaml.CSafeLoader) for file in sorted((BAD_INPUT / "remedies").glob("*.yaml"))
}


def edited(file: Path, edits: Edits, folder: Path) -> Path:
    text = file.read_text()
    for old, new in edits.items():
        assert old in text
        text = text.replace(old, new)
    followed = folder / file.name
    followed.write_text(text)
    return followed


def in_topology(code: str, edits: Edits, folder: Path) -> Found:
    (folder / "stacks").mkdir()
    return test_bad_input.found_in(edited(BAD_INPUT / f"{code}.yaml", edits, folder), folder / "stacks")


def in_plan(code: str, edits: Edits, folder: Path) -> Found:
    (folder / "stacks").mkdir()
    return test_bad_plans.found_in(edited(BAD_INPUT / "promotion" / f"{code}.yaml", edits, folder), folder / "stacks")


def in_changed_topology(name: str, edits: Edits, folder: Path) -> Found:
    """`config` and `names` replace those of the mistake; everything else is a path of the topology."""
    (mistake,) = (copy.deepcopy(mistake) for mistake in test_mistakes.MISTAKES if mistake["mistake"] == name)
    beside = {key: value for key, value in edits.items() if key in ("config", "names")}
    changes = {key: value for key, value in edits.items() if key not in beside}
    return test_mistakes.found_in({**mistake, **beside, "change": {**mistake["change"], **changes}}, folder)


def in_first_files(name: str, edits: Edits, folder: Path) -> Found:
    (mistake,) = (mistake for mistake in test_first_steps.MISTAKES if mistake["mistake"] == name)
    stacks = test_first_steps.written(folder, mistake)
    file = stacks / mistake["at"].partition(":")[0]
    edited(file, edits, file.parent)
    return test_first_steps.found_in(stacks)


FOUND: dict[str, Callable[[str, Edits, Path], Found]] = {
    "codes": in_topology,
    "first_steps": in_first_files,
    "mistakes": in_changed_topology,
    "promotion": in_plan,
}
CASES = [(table, case, words) for table, cases in TABLES.items() for case, tried in cases.items() for words in tried]


@pytest.mark.parametrize(("table", "case", "words"), CASES, ids=[f"{case}: {words}" for _, case, words in CASES])
def test_a_remedy_that_is_followed_leaves_no_problem(table: str, case: str, words: str, tmp_path: Path) -> None:
    edits = TABLES[table][case][words]
    if isinstance(edits, dict):
        found = FOUND[table](case, edits, tmp_path)
        assert found == [], "\n".join(map(str, found))


@pytest.mark.parametrize(("table", "case"), [(table, case) for table, cases in TABLES.items() for case in cases])
def test_the_words_of_a_table_are_those_of_the_remedy(table: str, case: str, tmp_path: Path) -> None:
    remedies = [problem.remedy for problem in FOUND[table](case, {}, tmp_path)]
    assert [words for words in TABLES[table][case] if not any(words in remedy for remedy in remedies)] == []


def test_the_tables_have_every_case_of_a_file_that_somebody_wrote() -> None:
    plans = [file.stem for file in test_bad_plans.FILES if not file.stem.startswith("predecessor-")]
    assert {table: list(cases) for table, cases in TABLES.items()} == {
        "codes": [file.stem for file in test_bad_input.FILES],
        "first_steps": [mistake["mistake"] for mistake in test_first_steps.MISTAKES],
        "mistakes": [mistake["mistake"] for mistake in test_mistakes.MISTAKES],
        "promotion": plans,
    }
