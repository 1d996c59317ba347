"""Objects that validate a stack in its cluster, among documents to import: they are named and left as they are."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kafka_replication.infra.commands.app import app
from kafka_replication.infra.review.render import rendered_files, write_files
from kafka_replication.infra.stack.settings import read_settings
from tests.builders import a_flow, a_topology
from tests.infra.stacks import write_stack

IMAGE = f"registry.example.com/validation@sha256:{'0' * 64}"


@pytest.mark.parametrize(
    ("asked", "scheduled"),
    [
        pytest.param(None, "", id="without"),
        pytest.param({"image": IMAGE}, "CronJob", id="as a Job"),
        pytest.param(
            {"image": IMAGE, "workload": "SparkApplication", "executors": {}},
            "ScheduledSparkApplication",
            id="as a SparkApplication",
        ),
        pytest.param({"image": IMAGE, "exporter": {"namespace": "tools"}}, "CronJob", id="with an exporter"),
    ],
)
def test_a_flow_is_imported_the_same_with_and_without_its_validation(
    tmp_path: Path, asked: dict[str, Any] | None, scheduled: str
) -> None:
    validated = {} if asked is None else {"validation": {"inCluster": asked}}
    settings = read_settings("test", write_stack(tmp_path, a_topology(a_flow()), **validated))
    rendered, imported = tmp_path / "rendered", tmp_path / "imported"
    write_files(rendered_files(settings, {}), rendered)
    files = [str(each) for each in sorted(rendered.rglob("*.yaml")) if each.name != "kustomization.yaml"]
    answer = CliRunner().invoke(app, ["import", *files, "--out", str(imported)])
    assert answer.exit_code == 0, answer.output
    assert "deploying it would change neither records nor offsets" in answer.output
    left_out = f" {scheduled} mirror-orders/orders-validation. It is not part of a replication."
    assert (left_out in answer.output) is bool(scheduled)
    (topology,) = (imported / "stacks" / "topologies").glob("*.yaml")
    assert "validation" not in topology.read_text()
