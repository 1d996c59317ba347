"""A problem points to where the file can be changed, and the next check accepts its remedy."""

from typing import Any

import pytest

from kafka_replication.components.checks import check_topology
from kafka_replication.components.contract.problems import Problem, ReplicationError
from kafka_replication.components.topology.parsing import parse_topology
from tests.builders import a_flow, a_topology


def reported(replication: dict[str, Any]) -> list[Problem]:
    try:
        return list(check_topology(parse_topology(a_topology(replication))))
    except ReplicationError as error:
        return list(error.problems)


def only(replication: dict[str, Any]) -> tuple[str, str, str]:
    (problem,) = reported(replication)
    return problem.code, problem.where.removeprefix("replications.orders."), problem.remedy


@pytest.mark.parametrize(
    ("other", "code", "remedy"),
    [
        ("useast", "equal-aliases", "name another cluster's alias."),
        ("uswets", "unknown-alias", "did you mean `uswest`?"),
        ("mars", "unknown-alias", "name one of these, or add the cluster under `clusters`."),
    ],
)
def test_a_wrong_alias_of_a_pair_is_reported_at_between(other: str, code: str, remedy: str) -> None:
    pair = {"kind": "prefixlessPair", "between": ["useast", other], "topics": ["ledger"]}
    assert {(problem.code, problem.where, problem.remedy) for problem in reported(pair)} == {
        (code, "replications.orders.between", remedy)
    }


def test_a_namespace_that_is_too_long_is_reported_at_its_own_name() -> None:
    problem = only(a_flow(namespace={"name": "n" * 64}))
    assert problem == ("name-too-long", "namespace.name", "shorten it by at least 1.")


def test_a_split_without_parts_is_refused() -> None:
    split = {"kind": "split", "source": "useast", "target": "uswest", "groups": ["app"], "parts": {}}
    assert only(split) == ("out-of-range", "parts", "give `parts` more entries.")


def test_the_remedy_for_auto_offset_reset_is_start_from() -> None:
    config = {"source.cluster.auto.offset.reset": "latest"}
    code, _, remedy = only(a_flow(connectors={"source": {"config": config}}))
    assert (code, remedy) == ("property-without-effect", "set `startFrom` of the flow.")


@pytest.mark.parametrize("place", ["config", "predicate"])
def test_a_credential_of_a_transform_is_reported_without_showing_it(place: str) -> None:
    held = {"db.password": "hunter2"}
    given = {"config": held} if place == "config" else {"predicate": {"type": "com.acme.Known", "config": held}}
    flow = a_flow(transforms={"before": {"mask": {"type": "com.acme.Mask", **given}}})
    (problem,) = reported(flow)
    assert problem.code == "plain-text-credential"
    assert problem.where.startswith(f"replications.orders.transforms.before.mask.{place}.")
    assert "hunter2" not in str(problem)
