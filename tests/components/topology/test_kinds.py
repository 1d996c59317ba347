"""The kind of a replication: a program gives it by the class, a file only by the key `kind`."""

from typing import Any

import pytest

from kafka_replication import Flow, MirrorMaker2, PrefixlessPair, Split
from kafka_replication.components.contract.problems import ReplicationError
from kafka_replication.components.topology.model import Replication, SplitPart
from kafka_replication.components.topology.parsing import parse_topology
from tests.builders import a_flow, a_topology


@pytest.mark.parametrize(
    ("replication", "kind"),
    [
        (Flow(source="useast", target="uswest"), "flow"),
        (PrefixlessPair(between=("useast", "uswest"), topics=("orders",)), "prefixlessPair"),
        (Split(source="useast", target="uswest", parts={"all": SplitPart(topics=("orders",))}), "split"),
        (MirrorMaker2(source="useast", target="uswest"), "mirrorMaker2"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_program_need_not_repeat_the_kind(replication: Replication, kind: str) -> None:
    assert replication.kind == kind


def test_a_file_without_a_kind_is_refused() -> None:
    """A guess could replicate in one direction what was meant for both."""
    flow = {key: value for key, value in a_flow().items() if key != "kind"}
    with pytest.raises(ReplicationError) as caught:
        parse_topology(a_topology(flow))
    (problem,) = caught.value.problems
    assert (problem.code, problem.where) == ("missing-key", "replications.orders.kind")


def test_every_mistake_in_a_call_of_a_model_is_reported_as_in_a_file() -> None:
    values: dict[str, Any] = {"source": "useast", "topics": "orders", "grops": ("checkout",)}
    with pytest.raises(ReplicationError) as raised:
        Flow(**values)
    assert [(problem.code, problem.where) for problem in raised.value.problems] == [
        ("unknown-key", "Flow.grops"),
        ("missing-key", "Flow.target"),
        ("wrong-type", "Flow.topics"),
    ]
