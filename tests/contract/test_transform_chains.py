"""Connect fails on the transform chains that `check` refuses, and runs the other chains as the check predicts.

Otherwise the check could refuse a chain that works, or accept one that stops every task at its first record.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_replication.components.checks import check_topology
from kafka_replication.components.contract.problems import Problem, Severity
from kafka_replication.components.kafka import plugins
from kafka_replication.components.topology.parsing import parse_topology
from tests.builders import a_flow, a_topology
from tests.contract.chains import SOURCES, Connect, a_record, chain_config

WRONG: Mapping[str, Any] = yaml.safe_load((SOURCES / "wrong.yaml").read_text())
RIGHT: Mapping[str, Any] = yaml.safe_load((SOURCES / "right.yaml").read_text())
#: A heartbeat's key and value begin with binary numbers. Source: org.apache.kafka.connect.mirror.Heartbeat.
HEARTBEAT = a_record(topic="useast.heartbeats", key="\0\0useast", value="\0\0\1")


def a_transformed_flow(case: Mapping[str, Any]) -> dict[str, Any]:
    transforms = {key: case[key] for key in ("before", "converters") if key in case}
    return {"transforms": transforms, "replicateHeartbeats": case.get("heartbeats", False)}


def problems(case: Mapping[str, Any]) -> list[Problem]:
    return list(check_topology(parse_topology(a_topology(a_flow(**a_transformed_flow(case))))))


@pytest.fixture(scope="module")
def connect(tmp_path_factory: pytest.TempPathFactory) -> Connect:
    return Connect(Path(tmp_path_factory.mktemp("classes")))


@pytest.fixture(scope="module")
def answers(connect: Connect) -> dict[str, dict[str, Any]]:
    """What Connect does with every chain, by name."""
    asked = {}
    for name, case in WRONG.items():
        sent = a_record(**({"value": case["value"]} if "value" in case else {}))
        records = [HEARTBEAT] if case.get("heartbeats") else [sent]
        asked[name] = (chain_config(a_transformed_flow(case)), records)
    for name, case in RIGHT.items():
        asked[name] = (chain_config(a_transformed_flow(case)), [a_record(**case["sent"])])
    return dict(zip(asked, connect.sent(list(asked.values())), strict=True))


def test_connect_finds_the_same_classes_by_the_same_short_names(connect: Connect) -> None:
    simple = {name.rpartition(".")[2].rpartition("$")[2] for names in plugins.CLASSES.values() for name in names}
    without_kind = {re.sub("(HeaderConverter|Converter)$", "", name) for name in simple}
    names = sorted({*simple, *without_kind, *plugins.FOR_KEY_OR_VALUE, "Cast$Value", "Transformation", "Header"})
    found = {name: full for name, full in connect.classes(names).items() if full is not None}
    assert found == plugins.SHORT_NAMES


@pytest.mark.parametrize("name", WRONG)
def test_a_refused_chain_fails_in_connect(name: str, answers: Mapping[str, Any]) -> None:
    if "connect" in WRONG[name]:
        assert WRONG[name]["connect"] in answers[name].get("error", "no error")
    else:
        assert answers[name] == {"records": [None]}


@pytest.mark.parametrize("name", WRONG)
def test_a_chain_that_fails_in_connect_is_refused(name: str) -> None:
    found = problems(WRONG[name])
    expected = {WRONG[name]["code"], *WRONG[name].get("also", [])}
    assert {problem.code for problem in found} == expected, "\n".join(map(str, found))
    assert any(WRONG[name].get("remedy", "") in problem.remedy for problem in found), "\n".join(map(str, found))


@pytest.mark.parametrize("name", RIGHT)
def test_records_arrive_exactly_as_the_chain_should_change_them(name: str, answers: Mapping[str, Any]) -> None:
    sent, arrives = a_record(**RIGHT[name]["sent"]), RIGHT[name]["arrives"]
    assert answers[name] == {"records": [{**sent, **arrives}]}


@pytest.mark.parametrize("name", RIGHT)
def test_a_chain_that_works_is_accepted(name: str) -> None:
    found = problems(RIGHT[name])
    assert [problem for problem in found if problem.severity is Severity.ERROR] == []
    assert [problem.code for problem in found] == RIGHT[name].get("warnings", [])


#: Headers that a user's transform drops after the guard -> whether the guard of the way back stops the record.
DROPPED = {"trace": True, "replicated-from-useast": False, "Replicated-From-useast": True}


def a_guarded_flow(source: str, target: str, dropped: str) -> dict[str, Any]:
    clean = {"type": "DropHeaders", "config": {"headers": dropped}}
    guarded = {"policy": "identity", "loopGuard": True, "source": source, "target": target}
    return {**guarded, "transforms": {"after": {"clean": clean}}}


def test_a_record_returns_only_if_a_refused_transform_drops_its_marker(connect: Connect) -> None:
    there, back = (
        [chain_config(a_guarded_flow(*aliases, dropped)) for dropped in DROPPED]
        for aliases in (("useast", "uswest"), ("uswest", "useast"))
    )
    arrived = connect.sent([(chain, [a_record(topic="orders")]) for chain in there])
    returned = connect.sent([(chain, each["records"]) for chain, each in zip(back, arrived, strict=True)])
    assert [each["records"] == [None] for each in returned] == list(DROPPED.values())


@pytest.mark.parametrize("dropped", DROPPED)
def test_a_transform_that_drops_the_guards_marker_is_refused(dropped: str) -> None:
    found = check_topology(parse_topology(a_topology(a_flow(**a_guarded_flow("useast", "uswest", dropped)))))
    assert ("guard-marker-touched" in {problem.code for problem in found}) is not DROPPED[dropped]
