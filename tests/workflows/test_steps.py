"""The commands of the workflows, run in a repository with a branch as Actions would run them."""

import json
import os
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kafka_replication.infra.review.pull_request import MARKER
from kafka_replication.infra.stack.settings import stack_names
from tests.repository import STACKS
from tests.workflows.workflow import Runner, a_repository, commit, load, set_up

TOPOLOGY = Path("stacks") / "topologies" / "prod.yaml"
SUBMITTED = "Check, compare and render them"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return a_repository(tmp_path / "repository")


def replace(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def a_runner(repository: Path, **values: object) -> Runner:
    temporary = repository.parent / "temporary"
    temporary.mkdir()
    set_up(repository)
    return Runner(repository, temporary, values)


def reviewed(repository: Path) -> tuple[Runner, dict[str, "subprocess.CompletedProcess[str]"], dict[str, Any]]:
    """Run the review job; returns the results of its steps, and what it passes on to the other jobs."""
    runner = a_runner(repository, **{"github.base_ref": "main"})
    answers = runner.run_job(load("review")["jobs"]["review"])
    return runner, answers, json.loads(runner.outputs["review"])


def test_a_changed_topology_is_reviewed_for_the_stack_that_reads_it(repository: Path) -> None:
    replace(repository / TOPOLOGY, "topics: [orders,", "topics: [invoices, orders,")
    commit(repository)
    runner, answers, handed_on = reviewed(repository)
    assert [answer.returncode for answer in answers.values()] == [0, 0, 0, 0], answers
    assert answers["Name the touched stacks"].stdout.splitlines()[-1] == "prod-us-west-2"
    assert (handed_on["stacks"], handed_on["deployable"]) == (["prod-us-west-2"], ["prod-us-west-2"])
    assert handed_on["comment"].startswith(MARKER)
    assert "1 topic starts replicating from earliest: `invoices`" in handed_on["comment"]
    assert runner.summary == handed_on["comment"] == (repository / "review" / "comment.md").read_text()
    rendered = repository / "review" / "rendered"
    assert [folder.name for folder in rendered.iterdir()] == ["prod-us-west-2"]
    assert any("invoices" in file.read_text() for file in rendered.rglob("replication-config.yaml"))


def test_a_changed_program_is_reviewed_for_every_stack_against_its_earlier_output(repository: Path) -> None:
    """The stack files are the same before and after; only the earlier program knows what they meant before."""
    planned = repository / "components" / "render" / "planned_objects.py"
    replace(planned, '"kafka-replication"', '"somebody-else"')
    commit(repository)
    _, answers, handed_on = reviewed(repository)
    assert [answer.returncode for answer in answers.values()] == [0, 0, 0, 0], answers
    assert handed_on["stacks"] == list(stack_names(STACKS))
    assert handed_on["deployable"] == [
        "prod-mirrormaker2-us-east-1",
        "prod-mirrormaker2-us-west-2",
        "prod-us-west-2",
    ]
    assert "app.kubernetes.io/managed-by: kafka-replication → somebody-else" in handed_on["comment"].replace("`", "")


def test_a_mistake_fails_the_review_and_is_still_reported(repository: Path) -> None:
    replace(repository / TOPOLOGY, "target: uswest", "target: useast")
    commit(repository)
    runner, answers, handed_on = reviewed(repository)
    assert answers[SUBMITTED].returncode != 0
    assert answers["Report"].returncode == 0
    assert "equal-aliases" in runner.summary
    assert (handed_on["stacks"], handed_on["deployable"]) == (["prod-us-west-2"], [])
    assert not any((repository / "review" / "rendered").iterdir())


def test_a_second_review_leaves_nothing_of_the_first(repository: Path) -> None:
    replace(repository / TOPOLOGY, "topics: [orders,", "topics: [invoices, orders,")
    runner, _, _ = reviewed(repository)
    replace(repository / TOPOLOGY, "topics: [invoices, orders,", "topics: [orders,")
    (repository / "README.md").write_text("Other words.\n")
    runner.run_job(load("review")["jobs"]["review"])
    assert "It touches no stack." in (repository / "review" / "comment.md").read_text()
    assert json.loads(runner.outputs["review"])["deployable"] == []
    assert not any((repository / "review" / "rendered").iterdir())


def test_a_preview_without_credentials_only_says_so(repository: Path) -> None:
    credentials = "secrets.PULUMI_ACCESS_TOKEN != '' && secrets.KUBECONFIG != ''"
    runner = a_runner(repository, **{credentials: False, "matrix.stack": "prod-us-west-2"})
    answers = runner.run_job(load("review")["jobs"]["preview"])
    assert list(answers) == ["Say that there are no credentials"]
    assert runner.summary.startswith("No preview of prod-us-west-2, because PULUMI_ACCESS_TOKEN or KUBECONFIG")


def test_a_preview_keeps_its_credentials_out_of_its_output(repository: Path) -> None:
    credentials = "secrets.PULUMI_ACCESS_TOKEN != '' && secrets.KUBECONFIG != ''"
    values = {credentials: True, "matrix.stack": "prod-us-west-2", "secrets.KUBECONFIG": "a\nsecret"}
    runner = a_runner(repository, **values)
    answers = runner.run_job(load("review")["jobs"]["preview"])
    assert list(answers) == ["Set up", "Write the kubeconfig"]
    file = Path(runner.variables["KUBECONFIG"])
    assert file.read_text() == "a\nsecret\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "secret" not in "".join(answer.stdout + answer.stderr for answer in answers.values()) + runner.summary


@pytest.mark.parametrize(
    ("stacks", "environments"),
    [
        pytest.param("local-useast", [], id="a local stack, which GitHub cannot reach"),
        pytest.param("prod-us-west-2", ["first"], id="a stack on a cluster"),
    ],
)
def test_the_plan_says_which_environments_are_promoted(repository: Path, stacks: str, environments: list[str]) -> None:
    plan = f"environments: [{{name: first, waves: [{{stacks: [{stacks}]}}]}}]\n"
    (repository / "stacks" / "promotion.yaml").write_text(plan)
    runner = a_runner(repository)
    answers = runner.run_job(load("promote")["jobs"]["plan"])
    assert [answer.returncode for answer in answers.values()] == [0, 0], answers
    assert json.loads(runner.outputs["environments"]) == environments


def test_one_environment_is_promoted_in_the_name_of_whoever_merged(repository: Path) -> None:
    temporary = repository.parent / "temporary"
    temporary.mkdir()
    script = '#!/bin/sh\nprintf \'<%s>\' "$@" "as $REPLICATE_USER"\n'
    set_up(repository, replicate=script)
    programs = repository.parent / "programs"
    programs.mkdir()
    (programs / "pulumi").write_text('#!/bin/sh\necho "$@"\n')
    (programs / "pulumi").chmod(0o755)
    name = "north & $(shell echo south)"
    values = {
        "matrix.environment": name,
        "secrets.KUBECONFIG": "a",
        "secrets.PULUMI_ACCESS_TOKEN": "b",
        "github.actor": "ann",
    }
    path = f"{programs}:{os.environ['PATH']}"
    answers = Runner(repository, temporary, values, {"PATH": path}).run_job(load("promote")["jobs"]["promote"])
    assert answers["Install the Kubernetes provider"].stdout.startswith("plugin install resource kubernetes")
    assert answers["Promote"].stdout.strip() == f"<promote><--yes><--environment><{name}><as ann>"
