"""The commands of the promotion workflow, run on the local stack: each job promotes only its own environment."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from kafka_replication.infra.deploy.engine import deployment
from kafka_replication.infra.local.endpoints import Endpoints
from kafka_replication.infra.local.traffic import create_topics, produce
from kafka_replication.infra.stack.project import local_folder
from kafka_replication.infra.stack.settings import read_settings
from tests.repository import ROOT
from tests.workflows.workflow import Runner, a_repository, load, set_up

FIRST, SECOND = "local-useast", "local-uswest"
NAMESPACE = "workflow-evidence"


@pytest.fixture
def repository(endpoints: Endpoints, tmp_path: Path) -> Iterator[Path]:
    """The project with an environment for each region, the second to follow after an hour; destroyed in the end."""
    folder = a_repository(tmp_path / "repository")
    (folder / ".local").symlink_to(ROOT / ".local")
    set_up(folder)
    file = folder / "stacks" / "topologies" / "local-pair.yaml"
    topology = yaml.safe_load(file.read_text())
    topology["replications"] = {"merged": {**topology["replications"]["ledger"], "topics": ["merged"]}}
    file.write_text(yaml.safe_dump(topology))
    environments = [
        {"name": "east", "waves": [{"stacks": [FIRST], "soakMinutes": 60}]},
        {"name": "west", "waves": [{"stacks": [SECOND]}]},
    ]
    plan = {"evidenceNamespace": NAMESPACE, "environments": environments}
    (folder / "stacks" / "promotion.yaml").write_text(yaml.safe_dump(plan))
    for seed, region in enumerate(endpoints.regions.values(), start=1):
        create_topics(region, {"merged": 2})
        produce(region, "merged", 100, seed=seed)
    yield folder
    deployment.destroy(read_settings(FIRST, folder / "stacks"), lambda _: None)


def test_a_job_promotes_its_environment_and_the_next_waits_for_the_soak_time(repository: Path) -> None:
    job = load("promote")["jobs"]["promote"]
    (step,) = [step for step in job["steps"] if step.get("name") == "Promote"]

    def promoted(environment: str) -> tuple[int, str]:
        values = {"matrix.environment": environment, "secrets.PULUMI_ACCESS_TOKEN": "", "github.actor": "ann"}
        # With the tests' settings for Spark, which halve the time for few records.
        settings = {name: os.environ[name] for name in ("SPARK_SUBMIT_OPTS", "PYSPARK_SUBMIT_ARGS")}
        given = {"REPLICATE_LOCAL": str(local_folder()), **settings}
        runner = Runner(repository, repository.parent, values, given)
        answer = runner.run_job({"steps": [step]})["Promote"]
        return answer.returncode, answer.stdout + answer.stderr

    code, printed = promoted("east")
    assert code == 0, printed
    assert f"every stack up to {FIRST} runs its model and is proven" in printed
    assert SECOND not in printed
    code, printed = promoted("west")
    assert code != 0
    assert "soak" in printed
    assert deployment.outputs_if_deployed(read_settings(SECOND, repository / "stacks")) == {}
