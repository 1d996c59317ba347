"""Both exporters report the metrics that alerts and dashboards read, in every form of Kafka's names for them.

An alert on a name that nobody reports would stay silent, as if the flow were healthy.
"""

import re
from collections import Counter
from typing import Any

import pytest

from kafka_replication.components.flows.resolved import resolve_flows
from kafka_replication.components.render.deployments import deployments
from kafka_replication.components.render.metrics import CHECKPOINT_LATENCY, LATENCY_MAX, READ, RECORD_COUNT
from kafka_replication.components.render.monitoring import Relabeling, relabelings
from kafka_replication.components.topology.parsing import parse_topology
from tests.builders import a_cluster, a_flow, a_topology
from tests.contract.exporters import BOTH, EXPORTED_BY, FORMS, REFUSED, Series, exported

CASES = [
    pytest.param(kafka, form, by, id=f"{kafka}-{form}-{by}")
    for kafka, forms in FORMS.items()
    for form in forms
    for by in EXPORTED_BY
]
TYPES = {
    "legacy": ("mirror_mirrorsourceconnector", "mirror_mirrorcheckpointconnector"),
    "new": ("plugins", "plugins"),
}
PARTITION = {"source": "useast", "target": "uswest", "topic": "useast.orders", "partition": "3"}
CONNECTOR = {"connector": "useast->uswest.MirrorSourceConnector"}


def of_name(kafka: str, form: str, by: str, name: str) -> list[Series]:
    return [each for each in exported(kafka)[form][by] if each.name == name]


@pytest.mark.parametrize(("kafka", "form", "by"), CASES)
def test_a_partition_is_reported_with_its_clusters_topic_and_number(kafka: str, form: str, by: str) -> None:
    for attribute, value in (("record_count", 1), ("replication_latency_ms_max", 250)):
        (series,) = of_name(kafka, form, by, f"kafka_connect_{TYPES[form][0]}_{attribute}")
        assert series.value == value
        assert PARTITION.items() <= series.labels.items()


@pytest.mark.parametrize(("kafka", "form", "by"), CASES)
def test_failed_and_running_tasks_are_reported_under_the_connectors_plain_name(kafka: str, form: str, by: str) -> None:
    for state, count in (("failed", 1), ("running", 2)):
        name = f"kafka_connect_connect_worker_metrics_connector_{state}_task_count"
        assert of_name(kafka, form, by, name) == [Series(name, CONNECTOR, count)]


@pytest.mark.parametrize(("kafka", "form", "by"), CASES)
def test_the_lag_in_records_comes_from_the_replicating_consumer(kafka: str, form: str, by: str) -> None:
    (series,) = of_name(kafka, form, by, "kafka_consumer_consumer_fetch_manager_metrics_records_lag")
    client = "useast->uswest|orders-source-0|replication-consumer"
    assert series.value == 7
    assert series.labels["client_id"].strip('"') == client
    assert (series.labels["topic"], series.labels["partition"]) == ("orders", "3")


@pytest.mark.parametrize(("kafka", "form", "by"), CASES)
def test_the_checkpoint_latency_does_not_distinguish_groups(kafka: str, form: str, by: str) -> None:
    """1 s was recorded for the first group and 5 s for the second, so no alert can watch a single group."""
    name = f"kafka_connect_{TYPES[form][1]}_checkpoint_latency_ms"
    found = {each.labels["group"]: each.value for each in of_name(kafka, form, by, name)}
    assert found == ({"first": 5000, "second": 5000} if form == "legacy" else {"first": 1000})


MIRRORS = {
    "kind": "mirrorMaker2",
    "target": "uswest",
    "sources": {"useast": {"topics": ["orders"]}, "eucentral": {"topics": ["orders"]}},
}
CLUSTERS = {"useast": a_cluster(), "uswest": a_cluster("us-west-2"), "eucentral": a_cluster("eu-central-1")}


@pytest.mark.parametrize(("kafka", "form", "by"), CASES)
@pytest.mark.parametrize(
    ("replication", "flow"), [(a_flow(), "orders"), (MIRRORS, "orders-from-useast")], ids=["flow", "two mirrors"]
)
def test_prometheus_sees_every_metric_under_one_name_with_its_flow(
    kafka: str, form: str, by: str, replication: dict[str, Any], flow: str
) -> None:
    (deployment,) = deployments(resolve_flows(parse_topology(a_topology(replication, clusters=CLUSTERS)), None, {}))
    steps = relabelings(deployment.flows, "prod")
    seen = [relabelled(each, steps) for each in exported(kafka)[form][by]]
    assert {each.name for each in seen if each.labels.get("flow") == flow} >= set(READ)


def counted(by: str, replication: dict[str, Any]) -> dict[str, int]:
    """The number of series in Prometheus for each metric, if workers report it in both forms."""
    (deployment,) = deployments(resolve_flows(parse_topology(a_topology(replication, clusters=CLUSTERS)), None, {}))
    steps = relabelings(deployment.flows, "prod")
    seen = Counter(relabelled(each, steps).name for each in exported("4.3")[BOTH][by])
    return {name: seen[name] for name in (RECORD_COUNT, LATENCY_MAX, CHECKPOINT_LATENCY)}


@pytest.mark.parametrize("by", EXPORTED_BY)
@pytest.mark.parametrize("replication", [a_flow(), {**a_flow(), "kind": "mirrorMaker2"}], ids=["flow", "mirror"])
def test_a_metric_in_both_forms_is_counted_once(by: str, replication: dict[str, Any]) -> None:
    """Otherwise each sum in an alert or a panel would be doubled. Checkpoints have a series for each of two groups."""
    once = {RECORD_COUNT: 1, LATENCY_MAX: 1, CHECKPOINT_LATENCY: 2}
    assert counted(by, replication) == {RECORD_COUNT: 2, LATENCY_MAX: 2, CHECKPOINT_LATENCY: 3}, (
        "Kafka reports it twice"
    )
    config = {"config": {"metric.names.formats": "legacy, new"}}
    assert counted(by, {**replication, "connectors": {"source": config, "checkpoint": config}}) == once


def relabelled(series: Series, steps: list[Relabeling]) -> Series:
    """The series after Prometheus has relabelled it. Source: model/relabel, action `replace`."""
    labels = {"__name__": series.name, **series.labels}
    for step in steps:
        value = ";".join(labels.get(name, "") for name in step.get("sourceLabels", []))
        if (found := re.fullmatch(step.get("regex", "(.*)"), value, re.DOTALL)) is not None:
            labels[step["targetLabel"]] = found.expand(step["replacement"].replace("$1", r"\1"))
    return Series(labels.pop("__name__"), labels, series.value)


def test_kafka_refuses_a_second_group_under_the_new_names() -> None:
    assert exported("4.3")["new"][REFUSED] == "Sensor checkpoint-latency already exists"
