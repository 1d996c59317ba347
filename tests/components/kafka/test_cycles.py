"""Rings of flows that keep topic names: whether a guard stops them, and through which clusters they lead."""

from kafka_replication.components.kafka.cycles import (
    Leg,
    cycle_of_selections,
    cycles_of_topics,
    legs_by_source,
    topic_that_circulates,
)
from tests.components.kafka.legs import a_leg


def found(first: Leg, *others: Leg) -> dict[str, str]:
    return {topic: str(ring) for topic, ring in cycles_of_topics(first, (first, *others), ["ledger", "audit"]).items()}


def test_a_pair_without_a_guard_is_a_ring_seen_from_both_sides() -> None:
    there, back = a_leg("useast", "uswest"), a_leg("uswest", "useast")
    assert found(there, back) == {"ledger": "useast -> uswest -> useast"}
    assert found(back, there) == {"ledger": "uswest -> useast -> uswest"}


def test_a_guarded_pair_is_not_a_ring() -> None:
    there, back = a_leg("useast", "uswest", guarded=True), a_leg("uswest", "useast", guarded=True)
    assert found(there, back) == {}


def test_a_pair_with_one_guard_is_a_ring_in_which_records_gain_marks() -> None:
    """The guarded half drops marked records, but the other half does not mark any."""
    there, back = a_leg("useast", "uswest", guarded=True), a_leg("uswest", "useast")
    ring = cycles_of_topics(there, (there, back), ["ledger"])["ledger"]
    assert (str(ring), ring.marks) == ("useast -> uswest -> useast", ("replicated-from-useast",))


def test_a_ring_of_three_clusters_is_named_by_its_path() -> None:
    legs = a_leg("a", "b"), a_leg("b", "c"), a_leg("c", "a")
    assert found(*legs) == {"ledger": "a -> b -> c -> a"}


def test_one_direction_other_topics_or_prefixes_form_no_ring() -> None:
    there = a_leg("useast", "uswest")
    assert found(there) == {}
    assert found(there, a_leg("uswest", "useast", "orders")) == {}
    assert found(there, a_leg("uswest", "useast", kind="default")) == {}
    assert found(a_leg("a", "b"), a_leg("b", "c"), a_leg("c", "b")) == {}


def test_only_topics_that_both_directions_replicate_are_in_the_ring() -> None:
    there, back = a_leg("useast", "uswest", ".*"), a_leg("uswest", "useast")
    assert found(there, back) == {"ledger": "useast -> uswest -> useast"}


def test_selections_form_the_same_ring_as_the_topic_that_they_share() -> None:
    """The check and the job must not disagree on what a ring is."""
    there, back = a_leg("useast", "uswest", "led.*"), a_leg("uswest", "useast", ".*ger")
    ring = cycle_of_selections(there, legs_by_source([there, back]))
    assert ring is not None
    assert topic_that_circulates(ring) == "ledger"
    assert cycles_of_topics(there, [there, back], ["ledger"]) == {"ledger": ring}


def test_legs_with_a_prefix_form_a_ring_only_for_a_topic_that_every_leg_selects_again() -> None:
    there, back = a_leg("useast", "uswest", ".*"), a_leg("uswest", "useast", "ledger", kind="default")
    assert cycle_of_selections(there, legs_by_source([there, back])) is None
    back = a_leg("uswest", "useast", ".*ledger", kind="default")
    ring = cycle_of_selections(there, legs_by_source([there, back]))
    assert ring is not None
    assert topic_that_circulates(ring) == "ledger"
