"""Connect fails at the chains of transforms that `check` refuses, and runs the others as the check says.

Without it the check follows transforms in our imagination: it refuses a chain that works, or lets one pass that stops
every task at its first record.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.checks import check_topology
from components.contract.problems import Problem, Severity
from components.topology.parsing import parse_topology
from tests.builders import a_flow, a_topology
from tests.contract.chains import SOURCES, Connect, a_record, chain_config

WRONG: Mapping[str, Any] = yaml.safe_load((SOURCES / "wrong.yaml").read_text())
RIGHT: Mapping[str, Any] = yaml.safe_load((SOURCES / "right.yaml").read_text())
#: Key and value of a heartbeat begin with binary numbers. Source: org.apache.kafka.connect.mirror.Heartbeat.
HEARTBEAT = a_record(topic="useast.heartbeats", key="\0\0useast", value="\0\0\1")


def a_transformed_flow(case: Mapping[str, Any]) -> dict[str, Any]:
    transforms = {key: case[key] for key in ("before", "converters") if key in case}
    return {"transforms": transforms, "replicateHeartbeats": case.get("heartbeats", False)}


def problems(case: Mapping[str, Any]) -> list[Problem]:
    return list(check_topology(parse_topology(a_topology(a_flow(**a_transformed_flow(case))))))


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What Connect does with every chain, by name."""
    asked = {}
    for name, case in WRONG.items():
        sent = a_record(**({"value": case["value"]} if "value" in case else {}))
        records = [HEARTBEAT] if case.get("heartbeats") else [sent]
        asked[name] = (chain_config(a_transformed_flow(case)), records)
    for name, case in RIGHT.items():
        asked[name] = (chain_config(a_transformed_flow(case)), [a_record(**case["sent"])])
    connect = Connect(Path(tmp_path_factory.mktemp("classes")))
    return dict(zip(asked, connect.sent(list(asked.values())), strict=True))


@pytest.mark.parametrize("name", WRONG)
def test_a_refused_chain_fails_in_connect(name: str, answers: Mapping[str, Any]) -> None:
    assert WRONG[name]["connect"] in answers[name].get("error", "no error")


@pytest.mark.parametrize("name", WRONG)
def test_a_chain_that_fails_in_connect_is_refused(name: str) -> None:
    found = problems(WRONG[name])
    expected = {WRONG[name]["code"], *WRONG[name].get("also", [])}
    assert {problem.code for problem in found} == expected, "\n".join(map(str, found))


@pytest.mark.parametrize("name", RIGHT)
def test_records_arrive_byte_by_byte_as_the_chain_says(name: str, answers: Mapping[str, Any]) -> None:
    sent, arrives = a_record(**RIGHT[name]["sent"]), RIGHT[name]["arrives"]
    assert answers[name] == {"records": [{**sent, **arrives}]}


@pytest.mark.parametrize("name", RIGHT)
def test_a_chain_that_works_is_accepted(name: str) -> None:
    found = problems(RIGHT[name])
    assert [problem for problem in found if problem.severity is Severity.ERROR] == []
    assert [problem.code for problem in found] == RIGHT[name].get("warnings", [])
