"""Mistakes that users make: each is reported in exactly the expected words, and nothing else is reported."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_replication.components.contract.problems import Problem, ReplicationError
from kafka_replication.infra.stack.listed_names import listed_problems, read_names
from kafka_replication.infra.stack.settings import read_settings
from kafka_replication.infra.stack.stack_checks import problems
from tests.builders import a_topology
from tests.infra.stacks import write_stack
from tests.repository import ROOT

MISTAKES: list[dict[str, Any]] = [
    mistake
    for file in sorted((ROOT / "tests" / "bad_input" / "mistakes").glob("*.yaml"))
    for mistake in yaml.load(file.read_text(), yaml.CSafeLoader)
]


def changed(topology: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """The topology with each value at its path; slashes separate the steps of a path, and null removes a key."""
    for path, value in changes.items():
        *above, last = path.split("/")
        here = topology
        for step in above:
            here = here.setdefault(step, {})
        here[last] = value
        if value is None:
            del here[last]
    return topology


def in_words(problem: Problem) -> str:
    severity = "" if problem.severity == "error" else f" ({problem.severity})"
    return f"{problem.code}{severity}: {problem.what}, at {problem.where}. {problem.why} Remedy: {problem.remedy}"


def found_in(mistake: dict[str, Any], folder: Path) -> list[Problem]:
    stacks = write_stack(folder, changed(a_topology(), mistake["change"]), **mistake.get("config", {}))
    (folder / "names.yaml").write_text(yaml.safe_dump(mistake.get("names", {})))
    try:
        settings = read_settings("test", stacks)
        return [*problems(settings), *listed_problems(settings, read_names(folder / "names.yaml", set()))]
    except ReplicationError as error:
        return list(error.problems)


@pytest.mark.parametrize("mistake", MISTAKES, ids=[mistake["mistake"] for mistake in MISTAKES])
def test_a_mistake_is_reported_in_exactly_the_expected_words(mistake: dict[str, Any], tmp_path: Path) -> None:
    found = found_in(mistake, tmp_path)
    assert [in_words(problem).replace(str(tmp_path), "stacks") for problem in found] == [
        text.strip() for text in mistake["said"]
    ]
