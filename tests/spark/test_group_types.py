"""Groups that MirrorMaker does not translate, because they are no consumer groups."""

import pytest

from kafka_replication.components.contract.remedies import with_remedies
from kafka_replication.components.contract.report import Coverage, FindingSeverity, Verdict
from kafka_replication.components.kafka.positions import TopicPartition
from kafka_replication.spark.checks.offsets.check import not_translated, nothing_to_translate, with_findings
from tests.spark.documents import a_flow

Commits = dict[str, dict[TopicPartition, int]]
ORDERS, PAYMENTS = TopicPartition("orders", 0), TopicPartition("payments", 0)
STREAMS: Commits = {"checkout-app": {ORDERS: 5, TopicPartition("orders", 1): 7}}
SHARE = (
    "checkout-share is a share group, or a streams group without a committed offset. MirrorMaker translates the "
    "offsets of consumer groups only: on uswest, a share group begins where `share.auto.offset.reset` says"
)


def test_groups_are_told_apart_by_what_they_have_committed() -> None:
    commits: Commits = {"app": {ORDERS: 5, PAYMENTS: 7}, "elsewhere": {PAYMENTS: 7}, "share": {}}
    streams, share = not_translated(a_flow(groups=[".*"]), commits, {"orders"})
    assert (streams.code, streams.count, streams.message.split()[0]) == ("streams-group", 1, "app")
    assert (share.code, share.count, share.message.split()[0]) == ("share-group-selected", 1, "share")


@pytest.mark.parametrize(
    ("groups", "names", "code", "severity", "words"),
    [
        pytest.param(
            STREAMS,
            ["checkout-.*"],
            "streams-group",
            FindingSeverity.ERROR,
            "checkout-app is a streams group (`group.protocol=streams`). MirrorMaker translates the offsets of "
            "consumer groups only. It has no checkpoint, and no offset on uswest that the flow has written",
            id="a streams group",
        ),
        pytest.param(
            {"checkout-share": {}},
            ["checkout-share"],
            "share-group",
            FindingSeverity.ERROR,
            SHARE,
            id="a share group that the flow names",
        ),
        pytest.param(
            {"checkout-share": {}},
            [".*"],
            "share-group-selected",
            FindingSeverity.NOTE,
            f"{SHARE}; nothing shows whether they consume topics of the flow",
            id="a share group that a pattern selects",
        ),
    ],
)
def test_a_group_that_is_no_consumer_group_is_named_with_its_type(
    groups: Commits, names: list[str], code: str, severity: FindingSeverity, words: str
) -> None:
    """Such a group passed with the words "no consumer group matches yet"."""
    flow = a_flow(groups=names)
    found = tuple(not_translated(flow, groups, {"orders"}))
    assert [(each.code, each.severity, each.message) for each in found] == [(code, severity, words)]
    outcome = with_findings(nothing_to_translate(flow, [], ()), found)
    assert [each.code for each in outcome.findings] == [code]
    assert outcome.verdict is (Verdict.ERROR if severity is FindingSeverity.ERROR else Verdict.PASS)


def test_the_offsets_of_a_streams_group_count_as_not_judged_and_its_remedy_is_a_failover() -> None:
    found = tuple(not_translated(a_flow(), STREAMS, {"orders"}))
    outcome = with_findings(nothing_to_translate(a_flow(), ["checkout-a"], ()), found)
    assert outcome.coverage == Coverage("committed offsets", 0, {"streams-group": 2})
    (_, streams) = with_remedies(outcome, a_flow(), "prod").findings
    assert "move its group with `replicate failover prod orders`" in streams.message
