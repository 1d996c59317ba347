"""What the README shows is what the project takes: its topologies have no problem."""

import re
from typing import Any

import pytest
import yaml

from components.checks import check_topology
from components.parsing import parse_topology
from infra.settings import ROOT

BLOCKS: list[dict[str, Any]] = [
    yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
]
(TOPOLOGY,) = [block for block in BLOCKS if "clusters" in block]
REPLICATIONS = {
    name: value
    for block in BLOCKS
    for name, value in block.items()
    if isinstance(value, dict) and "kind" in value and "apiVersion" not in block
}


def test_the_topology_has_no_problem() -> None:
    assert list(check_topology(parse_topology(TOPOLOGY))) == []


@pytest.mark.parametrize("name", REPLICATIONS)
def test_a_replication_has_no_problem_among_its_clusters(name: str) -> None:
    clusters = {**TOPOLOGY["clusters"], "eucentral": {**TOPOLOGY["clusters"]["useast"], "region": "eu-central-1"}}
    topology = {**TOPOLOGY, "clusters": clusters, "replications": {name: REPLICATIONS[name]}}
    assert [str(problem) for problem in check_topology(parse_topology(topology))] == []
