"""How much more our program asks of Pulumi's engine than a bare program with the same objects: counted, not timed."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml

from kafka_replication.components.checks import check_topology
from kafka_replication.components.flows.resolved import resolve_flows
from kafka_replication.infra import program
from tests.bench.bare_program import register
from tests.bench.engine_objects import a_topology, plain_objects
from tests.components.recorder import Recorder, Registered, record

FLOWS = 3


def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Recorder, Recorder]:
    """Record what our program and the bare one register, in this order."""
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


@pytest.fixture
def recorders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Recorder, Recorder]:
    return recorded(tmp_path, monkeypatch)


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


def test_the_program_checks_the_topology_once_and_resolves_its_flows_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 100 flows, a second check of every replication would take longer than everything else in the program."""
    made: Counter[str] = Counter()

    def counted(real: Callable[..., Any], name: str) -> Callable[..., Any]:
        def count(*args: Any, **kwargs: Any) -> Any:
            made[name] += 1
            return real(*args, **kwargs)

        return count

    for module in ("kafka_replication.infra.stack.stack_checks", "kafka_replication.components.resources.registration"):
        monkeypatch.setattr(f"{module}.check_topology", counted(check_topology, "checks"))
    for module in ("kafka_replication.infra.stack.session", "kafka_replication.components.resources.registration"):
        monkeypatch.setattr(f"{module}.resolve_flows", counted(resolve_flows, "resolutions"))
    recorded(tmp_path, monkeypatch)
    assert made == {"checks": 1, "resolutions": 1}


def test_registrations_are_less_than_ten_percent_larger_than_the_bare_ones(
    recorders: tuple[Recorder, Recorder],
) -> None:
    """The parent is part of each URN, also of those that a resource depends on."""
    ours, bare = (sum(each.size for each in recorder.resources) for recorder in recorders)
    assert ours < 1.1 * bare


@pytest.mark.process
def test_importing_the_program_loads_no_package_that_only_some_deployments_need() -> None:
    code = "import kafka_replication.infra.program, sys; print(*sorted(sys.modules))"
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
