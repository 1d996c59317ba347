"""offsets-translate for a flow that has no offsets to translate."""

from kafka_replication.components.contract.report import Coverage, Verdict
from kafka_replication.components.kafka.mirror_records import Checkpoint, Checkpoints
from kafka_replication.components.kafka.positions import TopicPartition
from kafka_replication.spark.checks.offsets.check import nothing_to_translate, translated_groups
from tests.spark.documents import a_flow


def test_a_flow_without_groups_or_commits_passes_with_a_note() -> None:
    outcome = nothing_to_translate(a_flow(), [], ())
    assert (outcome.verdict, [each.code for each in outcome.findings]) == (Verdict.PASS, ["no-group-selected"])
    assert outcome.findings[0].message == "no consumer group on useast matches checkout-.* yet"
    outcome = nothing_to_translate(a_flow(), ["checkout-a"], ())
    assert (outcome.verdict, [each.code for each in outcome.findings]) == (Verdict.PASS, ["no-commit"])


def test_groups_that_another_flow_translates_for_its_topics_are_not_missed() -> None:
    """Flows between the same clusters share the checkpoints topic, and the other flow's group was called hidden."""
    places = {"checkout-a": "useast.orders", "checkout-b": "useast.payments", "billing": "useast.orders"}
    found = Checkpoints({(group, TopicPartition(topic, 0)): (0, Checkpoint(5, 5)) for group, topic in places.items()})
    assert translated_groups(a_flow(), found, {"orders"}) == {"checkout-a"}


def test_groups_that_only_the_connector_sees_are_an_error() -> None:
    """A user that may not describe groups sees none, which looks like a flow without groups."""
    outcome = nothing_to_translate(a_flow(), [], {"checkout-b", "checkout-a"})
    assert (outcome.verdict, outcome.coverage) == (Verdict.ERROR, Coverage("groups", 0, {"groups-not-visible": 2}))
    assert outcome.findings[0].message.startswith("checkout-a, checkout-b: the flow has translated offsets of these")
