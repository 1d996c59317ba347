"""The promotion plan: its order, predecessors, mistakes and schema."""

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from kafka_replication.components.contract.problems import CannotRunError, ReplicationError, Severity
from kafka_replication.components.topology.parsing import parse_model
from kafka_replication.infra.deploy.promotion.rule.plan import (
    PromotionPlan,
    Wave,
    check_plan,
    environment_of,
    plan_problems,
    plan_schema,
    read_plan,
    required_plan,
    wave_before,
)
from kafka_replication.infra.stack.settings import stack_names
from tests.repository import STACKS

PLAN = """
environments:
  - name: staging
    waves:
      - {stacks: [staging-west], soakMinutes: 0.5}
  - name: prod
    maySkip: [ann]
    waves:
      - {stacks: [prod-west, prod-north], soakMinutes: 60}
      - {stacks: [prod-east, prod-south]}
"""


def a_plan(text: str = PLAN) -> PromotionPlan:
    return parse_model(PromotionPlan, yaml.safe_load(text))


@pytest.mark.parametrize(
    ("stack", "expected"),
    [
        pytest.param("staging-west", Wave(stacks=()), id="the first wave follows nothing"),
        pytest.param("prod-west", Wave(stacks=("staging-west",), soak_minutes=0.5), id="the environment before"),
        pytest.param("prod-north", Wave(stacks=("staging-west",), soak_minutes=0.5), id="not one of the same wave"),
        pytest.param("prod-south", Wave(stacks=("prod-west", "prod-north"), soak_minutes=60), id="a whole wave"),
        pytest.param("local", Wave(stacks=()), id="a stack that the plan does not name"),
    ],
)
def test_a_stack_waits_for_the_wave_before_its_own(stack: str, expected: Wave) -> None:
    assert wave_before(a_plan(), stack) == expected


def test_stacks_are_promoted_in_the_order_of_the_file() -> None:
    order = ("staging-west", "prod-west", "prod-north", "prod-east", "prod-south")
    assert a_plan().stacks == order
    assert list(check_plan(a_plan(), order)) == []


def test_may_skip_is_read_from_the_environment_of_the_stack() -> None:
    found = environment_of(a_plan(), "prod-south")
    assert found is not None
    assert (found.name, found.may_skip) == ("prod", ("ann",))
    assert environment_of(a_plan(), "local") is None


def test_a_folder_without_promotion_yaml_has_no_plan(tmp_path: Path) -> None:
    assert read_plan(tmp_path) is None
    with pytest.raises(CannotRunError, match="there is no promotion plan"):
        required_plan(tmp_path)


def test_a_check_reports_the_plans_mistakes_under_its_file_name(tmp_path: Path) -> None:
    assert plan_problems(tmp_path) == {}
    (tmp_path / "promotion.yaml").write_text("environments: []")
    assert [problem.code for problem in plan_problems(tmp_path)["promotion.yaml"]] == ["no-environments"]


def test_a_stack_in_no_wave_is_reported_if_another_stack_of_its_topology_is_promoted(tmp_path: Path) -> None:
    """`promote` never deploys it, and `up` deploys it unproven, without a word from either."""
    (tmp_path / "promotion.yaml").write_text("environments: [{name: prod, waves: [{stacks: [prod-west]}]}]")
    for stack, more in (("prod-west", ""), ("prod-east", ""), ("local", ', replication:local: "true"')):
        (tmp_path / f"Pulumi.{stack}.yaml").write_text(f"config: {{replication:topology: prod{more}}}")
    (tmp_path / "Pulumi.test.yaml").write_text("config: {replication:topology: test}")
    (problem,) = plan_problems(tmp_path)["promotion.yaml"]
    assert problem.severity is Severity.WARNING
    assert str(problem).endswith(
        "stack-in-no-wave: `prod-east` is in no wave, at environments. It reads the topology `prod`, as does "
        "`prod-west`, which is in a wave. But `replicate promote` never deploys `prod-east`, and no other stack waits "
        "for its proof. Remedy: add it to the `stacks` of a wave, or ignore this if you leave it out on purpose."
    )
    (tmp_path / "promotion.yaml").write_text("environments: [{name: prod, waves: [{stacks: [prod-west, prod-east]}]}]")
    assert plan_problems(tmp_path) == {}


def test_a_name_that_a_config_map_cannot_have_is_refused() -> None:
    plan = a_plan("environments: [{name: prod, waves: [{stacks: [Prod_west]}]}]")
    (problem,) = check_plan(plan, ["Prod_west"])
    assert (problem.code, problem.where) == ("name-not-kubernetes", "environments.0.waves.0.stacks.0")


@pytest.mark.parametrize("minutes", [".inf", ".nan", "-1", "1e300"])
def test_a_soak_time_that_is_not_a_sensible_number_is_refused(minutes: str) -> None:
    with pytest.raises(ReplicationError, match="out-of-range"):
        a_plan(f"environments: [{{name: prod, waves: [{{stacks: [one], soakMinutes: {minutes}}}]}}]")


def test_a_soak_time_with_a_unit_is_refused_with_an_example_in_minutes() -> None:
    with pytest.raises(ReplicationError) as caught:
        a_plan("environments: [{name: prod, waves: [{stacks: [one], soakMinutes: 1h}]}]")
    assert [(problem.why, problem.remedy) for problem in caught.value.problems] == [
        ("It must be a number.", "write `soakMinutes: 60`.")
    ]


def test_a_mistake_is_reported_with_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`promote` and `up` name no other file; the path is relative to the user's folder."""
    (tmp_path / "stacks").mkdir()
    (tmp_path / "stacks" / "promotion.yaml").write_text("environments: []")
    monkeypatch.chdir(tmp_path)
    (problem,) = plan_problems(tmp_path / "stacks")["promotion.yaml"]
    assert (str(problem.place), problem.where) == ("stacks/promotion.yaml:1:1", "environments")
    monkeypatch.chdir("/")
    (problem,) = plan_problems(tmp_path / "stacks")["promotion.yaml"]
    assert str(problem.place) == f"{str(tmp_path).removeprefix('/')}/stacks/promotion.yaml:1:1"


def test_an_unreadable_plan_is_an_error(tmp_path: Path) -> None:
    """Without a plan no stack has a predecessor, so a dangling link would let every model through."""
    (tmp_path / "promotion.yaml").symlink_to(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError):
        read_plan(tmp_path)
    (tmp_path / "promotion.yaml").unlink()
    (tmp_path / "promotion.yaml").mkdir()
    with pytest.raises(IsADirectoryError):
        read_plan(tmp_path)


def test_the_plan_of_this_repository_has_no_mistake_and_names_its_schema() -> None:
    plan = required_plan(STACKS)
    assert set(plan.stacks) <= set(stack_names(STACKS))
    text = (STACKS / "promotion.yaml").read_text()
    assert text.startswith("# yaml-language-server: $schema=promotion.schema.json\n")
    jsonschema.validate(yaml.safe_load(text), json.loads(plan_schema()))


def test_the_schema_for_editors_is_current() -> None:
    assert (STACKS / "promotion.schema.json").read_text() == plan_schema(), "run `make schema`"


def problems_in(tmp_path: Path, plan: str) -> list[tuple[str, str]]:
    (tmp_path / "promotion.yaml").write_text(plan)
    for stack in ("staging-west", "prod-west"):
        (tmp_path / f"Pulumi.{stack}.yaml").write_text(f"config: {{replication:topology: {stack}}}")
    return [(problem.where, problem.code) for problem in plan_problems(tmp_path)["promotion.yaml"]]


def test_a_check_reports_all_mistakes_of_a_plan_at_once(tmp_path: Path) -> None:
    """A misspelt key used to hide every other mistake until it was corrected."""
    plan = """
evidenceNamespace: Evidence
environments:
  - name: staging
    mayskip: [ann]
    waves:
      - {stack: [staging-west], soakMinutes: -1}
      - {stacks: [staging-wst]}
  - name: staging
    waves: [{stacks: [staging-west, prod-west]}, {stacks: prod-west}]
"""
    assert problems_in(tmp_path, plan) == [
        ("environments.0.mayskip", "unknown-key"),
        ("environments.0.waves.0.soakMinutes", "out-of-range"),
        ("environments.0.waves.0.stack", "unknown-key"),
        ("environments.0.waves.1.stacks.0", "unknown-stack"),
        ("environments.1.name", "environment-twice"),
        ("environments.1.waves.0.stacks.0", "stack-twice"),
        ("environments.1.waves.1.stacks", "wrong-type"),
        ("environments.1.waves.1.stacks.0", "stack-twice"),
        ("evidenceNamespace", "name-not-kubernetes"),
    ]


def test_nothing_is_said_about_a_part_of_a_plan_that_is_unknown(tmp_path: Path) -> None:
    """Its waves may be right once the mistake in their list is corrected."""
    plan = "environments: [{name: staging, waves: [{soakMinutes: 5}]}, {name: prod, waves: [{stacks: [prod-wst]}]}]"
    assert problems_in(tmp_path, plan) == [
        ("environments.0.waves.0.stacks", "missing-key"),
        ("environments.1.waves.0.stacks.0", "unknown-stack"),
    ]
    assert problems_in(tmp_path, "environments: prod") == [("environments", "wrong-type")]
