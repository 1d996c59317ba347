"""How much more our program asks of Pulumi's engine than a bare program with the same objects: counted, not timed."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml

from infra import program
from tests.bench.bare_program import register
from tests.bench.engine_objects import a_topology, plain_objects
from tests.components.recorder import Recorder, Registered, record

FLOWS = 3


@pytest.fixture
def recorders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Recorder, Recorder]:
    """Recorders of what our program and the bare one registered, in this order."""
    topology = a_topology(FLOWS)
    (tmp_path / "topologies").mkdir()
    (tmp_path / "topologies" / "bench.yaml").write_text(yaml.safe_dump(topology))
    (tmp_path / "Pulumi.test.yaml").write_text("config:\n  replication:topology: bench\n")
    (tmp_path / "objects.json").write_text(json.dumps(plain_objects(topology)))
    secrets = {f"replication:{alias}{what}": "x" for alias in topology["clusters"] for what in ("Ca", "Password")}
    pulumi.runtime.set_all_config({**secrets, "replication:topology": "bench"}, sorted(secrets))
    monkeypatch.setattr(program, "_await_registration", lambda: None)
    try:
        return record(lambda: program.deploy(tmp_path)), record(lambda: register(tmp_path / "objects.json"))
    finally:
        pulumi.runtime.set_all_config({}, [])


def test_the_program_registers_the_bare_objects_and_one_component_per_flow(
    recorders: tuple[Recorder, Recorder],
) -> None:
    ours, bare = recorders
    components = [each for each in ours.resources if each.token == "replication:kafka:Flow"]
    assert len(components) == FLOWS
    assert _plain([each for each in ours.resources if each not in components]) == _plain(bare.resources)


def test_only_workers_have_hooks_and_only_components_and_custom_resources_have_aliases(
    recorders: tuple[Recorder, Recorder],
) -> None:
    for each in recorders[0].resources:
        strimzi = "kafka.strimzi.io" in each.token
        assert len(each.hooks) == each.token.endswith(":KafkaConnect"), each.name
        assert len(each.aliases) == (strimzi or each.token.startswith("replication:")), each.name


def test_registrations_are_less_than_ten_percent_larger_than_the_bare_ones(
    recorders: tuple[Recorder, Recorder],
) -> None:
    """The parent is part of each URN, also of those that a resource depends on."""
    ours, bare = (sum(each.size for each in recorder.resources) for recorder in recorders)
    assert ours < 1.1 * bare


def test_importing_the_program_loads_no_package_that_only_some_deployments_need() -> None:
    code = "import infra.program, sys; print(*sorted(sys.modules))"
    answer = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    loaded = {name.partition(".")[0] for name in answer.stdout.split()}
    assert not loaded & {"kubernetes", "pulumi_kubernetes", "requests", "rich", "ruamel"}


def _plain(resources: list[Registered]) -> list[Any]:
    """What both programs must register of each object, in an order that does not depend on when it was registered."""
    return sorted(
        (
            [each.name, each.token, each.inputs, sorted(urn.rsplit("::", 1)[-1] for urn in each.dependencies)]
            for each in resources
        ),
        key=lambda plain: plain[0],
    )
