"""Properties are checked for the Kafka that workers really run; another version has other properties and defaults."""

from typing import Any

import pytest

from kafka_replication.components.contract.problems import ReplicationError
from kafka_replication.components.flows.operators import kafka_version, strimzi
from kafka_replication.components.topology.workers import ConnectCluster


@pytest.mark.parametrize(
    ("operator", "kafka"),
    [
        ("v1beta2", "3.9"),
        ("0.45", "3.9"),
        ("0.46", "4.0"),
        ("0.47.1", "4.0"),
        ("0.48", "4.1"),
        ("0.50", "4.1"),
        ("0.51", "4.2"),
        ("v1", "4.2"),
        ("1.0", "4.2"),
        ("1.2", "4.3"),
        ("1.9", "4.3"),
    ],
)
def test_without_a_version_workers_run_the_operators_default(operator: str, kafka: str) -> None:
    assert kafka_version(ConnectCluster(), strimzi(operator)) == kafka


@pytest.mark.parametrize(("version", "kafka"), [("3.9.1", "3.9"), ("3.8.0.1.2", "3.8"), ("4.2.0-custom", "4.2")])
def test_the_workers_own_version_wins_even_in_a_vendors_format(version: str, kafka: str) -> None:
    assert kafka_version(ConnectCluster(version=version), strimzi("1.2")) == kafka


@pytest.mark.parametrize("version", ["latest", "4.2", "", 4.2])
def test_a_version_that_no_operator_accepts_is_refused(version: Any) -> None:
    with pytest.raises(ReplicationError, match=r"at ConnectCluster\.version"):
        ConnectCluster(version=version)
