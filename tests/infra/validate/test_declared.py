"""`replicate validate --declared`: the job's parameters without Pulumi, for a stack that GitOps deploys."""

from dataclasses import replace
from pathlib import Path

import pytest

from kafka_replication.components.contract.parameters import Parameters
from kafka_replication.components.contract.problems import CannotRunError, ReplicationError
from kafka_replication.infra.stack.settings import read_settings
from kafka_replication.infra.validate.run import ValidationRun
from tests.builders import a_flow, a_topology
from tests.infra.stacks import write_stack
from tests.repository import STACKS


def a_run(stack: str, stacks: Path = STACKS) -> ValidationRun:
    return ValidationRun(read_settings(stack, stacks), Path("report.json"), declared=True)


def test_the_parameters_come_from_the_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pulumi is not asked: it does not know a stack that it did not deploy."""
    monkeypatch.setenv("PATH", "")
    parameters = Parameters.model_validate(a_run("prod-us-west-2").document())
    (flow,) = parameters.flows
    assert (parameters.stack, flow.name, flow.source.bootstrap_servers) == (
        *("prod-us-west-2", "orders"),
        "kafka.useast.example.com:9093",
    )


def test_a_mistake_in_the_files_is_reported(tmp_path: Path) -> None:
    stacks = write_stack(tmp_path, a_topology(a_flow(topics=["("])))
    with pytest.raises(ReplicationError, match="bad-pattern"):
        a_run("test", stacks).document()


@pytest.mark.process
def test_without_declared_the_parameters_are_read_from_pulumi(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(CannotRunError):
        ValidationRun(read_settings("prod-us-west-2", STACKS), Path("report.json")).document()


def test_the_path_of_the_html_report_is_passed_to_the_job() -> None:
    assert "--html" not in a_run("prod-us-west-2").arguments
    run = replace(a_run("prod-us-west-2"), html=Path("report.html"))
    assert run.arguments[run.arguments.index("--html") :][:2] == ["--html", "report.html"]
