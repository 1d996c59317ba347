"""Rings of prefixless flows: which are open, through which clusters."""

from spark.parameters import FlowParameters
from spark.rings import rings
from tests.spark.documents import a_cluster, a_flow, a_guard, a_pair, without_offset_syncs


def a_leg(source: str, target: str, guard: bool = False, topics: tuple[str, ...] = ("ledger",)) -> FlowParameters:
    return a_flow(
        name=f"{source}-{target}",
        policy="identity",
        source=a_cluster(source),
        target=a_cluster(target),
        topics=list(topics),
        guard=a_guard(source, target) if guard else None,
        **without_offset_syncs(),
    )


def found(flow: FlowParameters, *others: FlowParameters) -> dict[str, str]:
    return {topic: str(ring) for topic, ring in rings(flow, (flow, *others), ["ledger", "audit"]).items()}


def test_a_pair_without_a_guard_is_a_ring_seen_from_both_sides() -> None:
    there, back = a_pair(guarded=False)
    assert found(there, back) == {"ledger": "useast -> uswest -> useast"}
    assert found(back, there) == {"ledger": "uswest -> useast -> uswest"}


def test_a_guarded_pair_is_none() -> None:
    there, back = a_pair()
    assert found(there, back) == {}


def test_a_pair_with_one_guard_is_a_ring_in_which_records_gain_marks() -> None:
    """The guarded half drops what the other half should have marked, but does not."""
    there, back = a_leg("useast", "uswest", guard=True), a_leg("uswest", "useast")
    ring = rings(there, (there, back), ["ledger"])["ledger"]
    assert (str(ring), ring.marks) == ("useast -> uswest -> useast", ("replicated-from-useast",))


def test_a_ring_of_three_is_named_along_its_way() -> None:
    legs = a_leg("a", "b"), a_leg("b", "c"), a_leg("c", "a")
    assert found(*legs) == {"ledger": "a -> b -> c -> a"}


def test_one_direction_and_other_topics_and_prefixes_close_no_ring() -> None:
    there = a_leg("useast", "uswest")
    assert found(there) == {}
    assert found(there, a_leg("uswest", "useast", topics=("orders",))) == {}
    assert found(there, a_flow(source=a_cluster("uswest"), target=a_cluster("useast"), topics=["ledger"])) == {}
    assert found(a_leg("a", "b"), a_leg("b", "c"), a_leg("c", "b")) == {}


def test_only_the_topics_that_both_ways_carry_are_in_the_ring() -> None:
    there, back = a_leg("useast", "uswest", topics=(".*",)), a_leg("uswest", "useast")
    assert found(there, back) == {"ledger": "useast -> uswest -> useast"}
