"""Every change of a topology in `cases`, with all its effects on replication and on objects.

A case overrides `tests.builders.a_topology` for before and after. If one of its lines is wrong, a reviewer misses an
effect or reads about one that does not happen.
"""

from pathlib import Path

import pytest
import yaml

from kafka_replication.components.changes.effect import Impact
from kafka_replication.infra.review.advice import ADVICE
from kafka_replication.infra.review.reports import field_lines
from tests.infra.review.changes import compared

CASES = sorted((Path(__file__).parent / "cases").glob("*.yaml"))


@pytest.mark.parametrize("case", CASES, ids=[case.stem for case in CASES])
def test_a_change_has_the_effects_and_objects_that_its_case_says(case: Path, tmp_path: Path) -> None:
    wanted = yaml.safe_load(case.read_text())
    comparison = compared(tmp_path, wanted["before"], wanted["after"])
    effects = [f"{effect.severity} {effect.code} at {effect.where}" for effect in comparison.effects]
    assert sorted(effects) == sorted(wanted["effects"])
    assert [f"{each.change} {each.deployment} {each.key}" for each in comparison.objects] == wanted["objects"]
    grave = [each.code for each in comparison.effects if each.severity in (Impact.DATA, Impact.RE_READ)]
    assert set(grave) <= set(ADVICE), "a reviewer is not told what to do"
    lines = [line for change in comparison.objects for line in field_lines(change)]
    sides = [line.partition(": ")[2].split(" → ") for line in lines]
    assert not [line for line, (first, *other) in zip(lines, sides, strict=True) if [first] == other]
    for words in wanted.get("says", ()):
        assert any(words in effect.what for effect in comparison.effects), words


def test_the_cases_cover_every_severity_and_at_least_forty_changes() -> None:
    cases = [yaml.safe_load(case.read_text()) for case in CASES]
    assert len(cases) >= 40
    assert {effect.split()[0] for case in cases for effect in case["effects"]} == {
        "none",
        "restart",
        "re-read",
        "data",
    }
