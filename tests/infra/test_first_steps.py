"""Mistakes in a first topology: each is reported at its file, line and column, and nothing else is reported."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_replication.components.contract.problems import CannotRunError, Problem
from kafka_replication.infra.stack.stack_checks import problems_of_stack
from tests.repository import ROOT

FOLDER = ROOT / "tests" / "bad_input" / "first_steps"
FILES = {"topologies/first.yaml": "topology.yaml", "Pulumi.first.yaml": "stack.yaml"}
MISTAKES: list[dict[str, Any]] = yaml.safe_load((FOLDER / "mistakes.yaml").read_text())


def written(stacks: Path, mistake: dict[str, Any] | None = None) -> Path:
    """Write the topology and its stack, with a mistake if one is given; each text that it replaces occurs once."""
    (stacks / "topologies").mkdir()
    for name, base in FILES.items():
        text = (FOLDER / base).read_text()
        if mistake is not None and mistake["at"].startswith(name):
            text = mistake.get("file", text)
            for old, new in mistake.get("change", {}).items():
                assert text.count(old) == 1, old
                text = text.replace(old, new)
        (stacks / name).write_text(text)
    return stacks


def found_in(stacks: Path) -> list[Problem | CannotRunError]:
    try:
        return [*problems_of_stack("first", stacks)]
    except CannotRunError as error:
        return [error]


def test_the_files_without_a_mistake_have_no_problem(tmp_path: Path) -> None:
    assert found_in(written(tmp_path)) == []


@pytest.mark.parametrize("mistake", MISTAKES, ids=[mistake["mistake"] for mistake in MISTAKES])
def test_a_mistake_is_the_only_problem_and_is_reported_at_its_line(mistake: dict[str, Any], tmp_path: Path) -> None:
    (found,) = found_in(written(tmp_path, mistake))
    assert str(found.place).removeprefix(f"{tmp_path}/") == mistake["at"]
    assert f"{found.code}: {found.what}" == mistake["says"]
    remedy = found.remedy.replace(f"{tmp_path}/", "")
    wanted = mistake["remedy"]
    assert remedy == wanted or (wanted.endswith("…") and remedy.startswith(wanted[:-1]))
    assert "hunter2" not in f"{found}{found.place.excerpt if found.place else ''}"
