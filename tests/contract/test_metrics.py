"""Both exporters report what alerts and dashboards read, from Kafka's own metrics, in every form of their names.

Without it an alert on a name that nobody reports would stay silent, and look like a flow without trouble.
"""

import pytest

from tests.contract.exporters import EXPORTED_BY, FORMS, REFUSED, Series, exported

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
def test_failed_and_running_tasks_are_reported_by_the_connector_s_plain_name(kafka: str, form: str, by: str) -> None:
    for state, count in (("failed", 1), ("running", 2)):
        name = f"kafka_connect_connect_worker_metrics_connector_{state}_task_count"
        assert of_name(kafka, form, by, name) == [Series(name, CONNECTOR, count)]


@pytest.mark.parametrize(("kafka", "form", "by"), CASES)
def test_lag_in_records_is_that_of_the_consumer_that_replicates(kafka: str, form: str, by: str) -> None:
    (series,) = of_name(kafka, form, by, "kafka_consumer_consumer_fetch_manager_metrics_records_lag")
    client = "useast->uswest|orders-source-0|replication-consumer"
    assert series.value == 7
    assert series.labels["client_id"].strip('"') == client
    assert (series.labels["topic"], series.labels["partition"]) == ("orders", "3")


@pytest.mark.parametrize(("kafka", "form", "by"), CASES)
def test_the_latency_of_checkpoints_tells_no_groups_apart(kafka: str, form: str, by: str) -> None:
    """It was recorded as 1 s for the first group and 5 s for the second: no alert can be on one group."""
    name = f"kafka_connect_{TYPES[form][1]}_checkpoint_latency_ms"
    found = {each.labels["group"]: each.value for each in of_name(kafka, form, by, name)}
    assert found == ({"first": 5000, "second": 5000} if form == "legacy" else {"first": 1000})


def test_kafka_refuses_a_second_group_under_the_new_names() -> None:
    assert exported("4.3")["new"][REFUSED] == "Sensor checkpoint-latency already exists"
