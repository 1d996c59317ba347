"""What validates a stack in its cluster, among documents to import: named, left as it is, and in nobody's way."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from infra.commands.app import app
from infra.review.render import rendered_files, write_files
from infra.settings import read_settings
from tests.builders import a_flow, a_topology
from tests.infra.stacks import write_stack

IMAGE = f"registry.example.com/validation@sha256:{'0' * 64}"


@pytest.mark.parametrize("validated", [False, True], ids=["without", "with"])
def test_a_flow_is_imported_the_same_with_and_without_its_validation(tmp_path: Path, validated: bool) -> None:
    asked = {"validation": {"inCluster": {"image": IMAGE}}} if validated else {}
    settings = read_settings("test", write_stack(tmp_path, a_topology(a_flow()), **asked))
    rendered, imported = tmp_path / "rendered", tmp_path / "imported"
    write_files(rendered_files(settings, {}), rendered)
    files = [str(each) for each in sorted(rendered.rglob("*.yaml")) if each.name != "kustomization.yaml"]
    answer = CliRunner().invoke(app, ["import", *files, "--out", str(imported)])
    assert answer.exit_code == 0, answer.output
    assert "deploying it would change neither records nor offsets" in answer.output
    assert ("CronJob mirror-orders/orders-validation. It is not part of a replication." in answer.output) is validated
    (topology,) = (imported / "stacks" / "topologies").glob("*.yaml")
    assert "validation" not in topology.read_text()
