"""Parts of a replication: which one a topic belongs to, and which one is behind."""

from typing import Any

from kafka_replication.components.contract.parameters import FlowParameters
from kafka_replication.components.contract.report import Verdict
from kafka_replication.spark.checks.division import behind, check_division, labels
from tests.spark.documents import Json, a_cluster, a_flow

TOPICS = ["logs-a", "logs-b", "orders", "other"]


def a_part(name: str, *topics: str) -> Json:
    return {"name": name, "connector": f"orders-source-{name}", "topics": list(topics)}


def several(*parts: Json, **changes: Any) -> FlowParameters:
    """A flow with several source connectors over the union of their topics."""
    return a_flow(topics=[topic for part in parts for topic in part["topics"]], parts=list(parts), **changes)


def a_split(name: str, *topics: str, **changes: Any) -> FlowParameters:
    return a_flow(**{"name": name, "replication": "logs", "shape": "split", "topics": list(topics), **changes})


def found(flow: FlowParameters, *others: FlowParameters) -> dict[str, str]:
    return {each.code: each.message for each in check_division(flow, (flow, *others), TOPICS).findings}


def test_topics_that_each_belong_to_one_connector_pass_and_are_counted() -> None:
    outcome = check_division(several(a_part("bulk", "logs-.*"), a_part("core", "orders")), (), TOPICS)
    assert (outcome.verdict, outcome.findings) == (Verdict.PASS, ())
    assert (outcome.counts["parts"], outcome.counts["topics"]) == (2, 3)


def test_a_topic_of_two_connectors_is_reported_with_both() -> None:
    message = found(several(a_part("bulk", "logs-.*"), a_part("core", "orders", "logs-b")))["topic-in-two-parts"]
    assert message.startswith(
        "logs-b belongs to part bulk (connector orders-source-bulk) and part core (connector orders-source-core):"
    )


def test_a_topic_of_the_flow_that_no_connector_takes_is_reported() -> None:
    flow = a_flow(topics=["logs-.*", "orders"], parts=[a_part("bulk", "logs-.*")])
    assert found(flow)["topic-in-no-part"].startswith("orders is a topic of orders, but belongs to none of its parts")


def test_a_connector_that_selects_nothing_is_noted() -> None:
    outcome = check_division(several(a_part("bulk", "logs-.*"), a_part("none", "absent")), (), TOPICS)
    assert (outcome.verdict, [each.code for each in outcome.findings]) == (Verdict.PASS, ["part-without-topic"])


def test_a_topic_in_two_parts_of_a_split_is_reported_for_these_two_parts_only() -> None:
    first, second, third = a_split("logs-1", "logs-.*"), a_split("logs-2", "logs-b"), a_split("logs-3", "orders")
    assert "part logs-1 (namespace mirror-orders) and part logs-2" in found(first, second, third)["topic-in-two-parts"]
    assert "topic-in-two-parts" in found(second, first, third)
    assert found(third, first, second) == {}


def test_a_part_that_is_checked_for_only_some_topics_is_not_counted_twice() -> None:
    whole = a_split("logs-1", "logs-.*")
    outcome = check_division(whole.model_copy(update={"topics": ("logs-a",)}), (whole,), TOPICS)
    assert (outcome.verdict, outcome.counts["parts"]) == (Verdict.PASS, 1)


def test_another_direction_or_replication_may_have_the_same_topics() -> None:
    first = a_split("logs-1", "logs-.*")
    back = a_split("logs-back", "logs-.*", source=a_cluster("uswest"), target=a_cluster("useast"))
    assert found(first, back, a_split("archive", "logs-.*", replication="archive")) == {}


def test_only_the_part_that_is_behind_is_reported_with_its_topics() -> None:
    flow = several(a_part("bulk", "logs-.*"), a_part("core", "orders"))
    (finding,) = behind(flow, {"logs-a": 100, "logs-b": 30})
    assert (finding.code, finding.count) == ("part-behind", 130)
    assert finding.message == (
        "part bulk (connector orders-source-bulk) is 130 records behind in 2 topics: logs-a by 100, logs-b by 30"
    )


def test_an_undivided_flow_reports_no_part_as_behind() -> None:
    assert not list(behind(a_flow(), {"orders": 5}))
    assert labels(a_flow(), ["orders"]) == {}


def test_topics_are_labelled_with_their_connector() -> None:
    flow = several(a_part("bulk", "logs-.*"), a_part("core", "orders"))
    assert labels(flow, ["orders"]) == {"orders": "orders (part core (connector orders-source-core))"}


def test_a_topic_that_its_connector_excludes_is_neither_expected_nor_reported() -> None:
    bulk = {**a_part("bulk", "logs-.*"), "topicsExclude": ["logs-b"]}
    flow = several(bulk, a_part("core", "orders"))
    assert found(flow) == {}
    assert flow.replicated(TOPICS) == ["logs-a", "orders"]
