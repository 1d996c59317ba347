"""One environment at a time: a job never deploys what another job has to approve."""

import json

import pytest
from typer.testing import CliRunner

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.commands.app import app
from kafka_replication.infra.deploy.promotion.rule.plan import Environment, PromotionPlan, Wave, stacks_in_environment
from kafka_replication.infra.stack.settings import stack_names
from tests.repository import STACKS

PLAN = PromotionPlan(
    environments=(
        Environment(name="staging", waves=(Wave(stacks=("a",)), Wave(stacks=("b", "c")))),
        Environment(name="production", waves=(Wave(stacks=("d",)),)),
    )
)


@pytest.mark.parametrize(
    ("environment", "stacks"),
    [("staging", ("a", "b", "c")), ("production", ("d",)), (None, ("a", "b", "c", "d"))],
)
def test_an_environment_has_its_own_stacks_in_order(environment: str | None, stacks: tuple[str, ...]) -> None:
    assert stacks_in_environment(PLAN, environment, STACKS) == stacks


def test_an_unknown_environment_is_refused_with_the_known_ones() -> None:
    with pytest.raises(CannotRunError, match="The environments are: staging, production"):
        stacks_in_environment(PLAN, "prod", STACKS)


def test_environments_on_the_local_stack_are_not_listed_for_workflows(monkeypatch: pytest.MonkeyPatch) -> None:
    assert json.loads(CliRunner().invoke(app, ["environments"]).stdout) == []
    stacks = {"local": ("local-useast",), "production": tuple(name for name in stack_names(STACKS) if "prod" in name)}
    plan = PromotionPlan(
        environments=tuple(Environment(name=key, waves=(Wave(stacks=value),)) for key, value in stacks.items())
    )
    monkeypatch.setattr("kafka_replication.infra.commands.promote.read_plan", lambda _: plan)
    assert json.loads(CliRunner().invoke(app, ["environments"]).stdout) == ["production"]
