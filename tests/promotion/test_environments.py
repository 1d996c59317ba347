"""One environment at a time, as jobs with approvals promote: none deploys what another has to approve."""

import json

import pytest
from typer.testing import CliRunner

from infra.cli import app
from infra.errors import CannotRunError
from infra.promotion import plan as plans
from infra.promotion.plan import Environment, Plan, Wave, stacks_in_environment
from infra.settings import stack_names

PLAN = Plan(
    environments=(
        Environment(name="staging", waves=(Wave(stacks=("a",)), Wave(stacks=("b", "c")))),
        Environment(name="production", waves=(Wave(stacks=("d",)),)),
    )
)


@pytest.mark.parametrize(
    ("environment", "stacks"),
    [("staging", ("a", "b", "c")), ("production", ("d",)), (None, ("a", "b", "c", "d"))],
)
def test_an_environment_is_its_own_stacks_in_order(environment: str | None, stacks: tuple[str, ...]) -> None:
    assert stacks_in_environment(PLAN, environment) == stacks


def test_an_unknown_environment_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(CannotRunError, match="Environments are: staging, production"):
        stacks_in_environment(PLAN, "prod")


def test_an_environment_of_the_local_stack_is_none_that_a_workflow_deploys(monkeypatch: pytest.MonkeyPatch) -> None:
    assert json.loads(CliRunner().invoke(app, ["environments"]).stdout) == []
    stacks = {"local": ("local-useast",), "production": tuple(name for name in stack_names() if "prod" in name)}
    plan = Plan(environments=tuple(Environment(name=key, waves=(Wave(stacks=value),)) for key, value in stacks.items()))
    monkeypatch.setattr(plans, "read_plan", lambda: plan)
    assert json.loads(CliRunner().invoke(app, ["environments"]).stdout) == ["production"]
