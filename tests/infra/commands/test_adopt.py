"""`replicate adopt --json` as a program reads it. The answers of the cluster and the engine are fixed here;
contract/test_adoption tests the adoption itself with real ones."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from kafka_replication.components.contract.problems import RefusedError
from kafka_replication.infra.commands.app import app
from kafka_replication.infra.deploy.adoption.facts import AdoptionFacts
from kafka_replication.infra.deploy.adoption.plan import AdoptionPlan
from kafka_replication.infra.deploy.engine import deployment
from kafka_replication.infra.deploy.engine.command import Say
from kafka_replication.infra.stack.settings import StackSettings
from tests.infra.deploy.adoption.test_plan import declared, facts


class Stack:
    """A stack with its facts, and what was carried out."""

    def __init__(self, folder: Path) -> None:
        self.stacks = folder / "stacks"
        self.facts: AdoptionFacts = facts(declared(folder))
        self.taken = 0

    def take_over(self, _: StackSettings, plan: AdoptionPlan, say: Say) -> Mapping[str, int]:
        say("a line of the engine")
        self.taken += 1
        return {"import": len(plan.unmanaged)}

    def adopt(self, *words: str) -> Result:
        return CliRunner().invoke(app, ["adopt", "test", "--json", "--stacks", str(self.stacks), *words])


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stack:
    found = Stack(tmp_path)
    monkeypatch.setattr("kafka_replication.infra.deploy.adoption.facts.read_facts", lambda _: found.facts)
    monkeypatch.setattr("kafka_replication.infra.deploy.adoption.carry_out.take_over", found.take_over)
    monkeypatch.setattr(deployment, "require_deployable", lambda *_: None)
    monkeypatch.setattr(deployment, "wait_ready", lambda *_: None)
    return found


def document(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_without_yes_adopt_prints_the_plan_and_changes_nothing(stack: Stack) -> None:
    result = stack.adopt()
    assert (result.exit_code, stack.taken) == (0, 0)
    assert (document(result)["done"], document(result)["carriedOut"]) == (False, False)


def test_with_yes_adopt_reports_its_changes_and_engine_output_goes_to_stderr(stack: Stack) -> None:
    result = stack.adopt("--yes")
    assert (result.exit_code, stack.taken) == (0, 1)
    assert document(result)["changes"] == {"import": len(document(result)["objects"])}
    assert (document(result)["done"], document(result)["carriedOut"]) == (True, True)
    assert "a line of the engine" in result.stderr


def test_a_refused_adoption_is_carried_out_only_with_its_agreement(stack: Stack, tmp_path: Path) -> None:
    def edit(objects: dict[str, Any]) -> None:
        objects["source-connector"]["spec"]["tasksMax"] = 7

    (tmp_path / "other").mkdir()
    stack.facts = facts(declared(tmp_path / "other"), edit)
    result = stack.adopt("--yes")
    assert (result.exit_code, stack.taken) == (1, 0)
    assert [each["agreement"] for each in document(result)["refusals"]] == ["restart:orders"]
    assert stack.adopt("--yes", "--agree", "restart:orders").exit_code == 0
    assert stack.taken == 1


def test_nothing_to_adopt_is_an_error_although_the_document_is_printed(stack: Stack) -> None:
    stack.facts = AdoptionFacts("test", stack.facts.declared, {}, frozenset())
    result = stack.adopt("--yes")
    assert isinstance(result.exception, RefusedError)
    assert result.exception.code == "nothing-to-adopt"
    assert {each["fate"] for each in document(result)["objects"]} == {"created"}
    assert stack.taken == 0
