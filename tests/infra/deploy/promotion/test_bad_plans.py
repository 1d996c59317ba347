"""Every mistake in a plan, and everything that a predecessor can lack, has a file that raises only its code."""

from pathlib import Path

import pytest
import yaml

from kafka_replication.components.contract.problems import Problem, ReplicationError
from kafka_replication.infra.deploy.promotion.rule.plan import plan_problems, required_plan, wave_before
from kafka_replication.infra.deploy.promotion.rule.rules import reasons_against
from tests.infra.deploy.promotion.states import MODEL, NOON, state_of
from tests.repository import ROOT

FILES = sorted((ROOT / "tests" / "bad_input" / "promotion").glob("*.yaml"))


def found_in(file: Path, stacks: Path) -> list[Problem]:
    plan_text, _, state = file.read_text().partition("---\n")
    for stack in ("one", "two", "three"):
        (stacks / f"Pulumi.{stack}.yaml").write_text("config: {replication:topology: prod}")
    (stacks / "promotion.yaml").write_text(plan_text)
    try:
        plan = required_plan(stacks)
    except ReplicationError as error:
        return list(error.problems)
    if not state:
        return plan_problems(stacks).get("promotion.yaml", [])
    before = wave_before(plan, "two")
    assert before.stacks
    return list(reasons_against(state_of(yaml.safe_load(state)), MODEL, before.soak_minutes, NOON))


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_a_bad_plan_or_state_raises_its_own_code_and_no_other(file: Path, tmp_path: Path) -> None:
    found = found_in(file, tmp_path)
    assert {problem.code for problem in found} == {file.stem}, "\n".join(map(str, found))


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_the_problem_says_where_why_and_what_to_do(file: Path, tmp_path: Path) -> None:
    for problem in found_in(file, tmp_path):
        assert all((problem.where, problem.what, problem.why.endswith("."), problem.remedy.endswith((".", "?"))))
