"""What the status of a KafkaConnect says."""

from datetime import UTC, datetime
from typing import Any

import pytest

from kafka_replication.infra.local.operator.conditions import (
    Condition,
    WorkerReport,
    not_ready,
    readiness,
    status_body,
    unsupported,
    warning,
    warnings,
)
from kafka_replication.infra.local.operator.worker_processes import WorkerState
from kafka_replication.infra.local.operator.worker_properties import jvm_arguments
from tests.infra.operator.builders import a_connect

READY, STARTING, ENDED = WorkerState.READY, WorkerState.STARTING, WorkerState.ENDED
FIXED = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true"]


@pytest.mark.parametrize(
    ("replicas", "workers", "condition"),
    [
        pytest.param(1, [WorkerReport(0, READY, 1)], Condition("Ready"), id="all-serve"),
        pytest.param(0, [], Condition("Ready"), id="none-wanted"),
        pytest.param(2, [], not_ready("Creating", "0 of 2 workers started"), id="just-created"),
        pytest.param(
            1, [WorkerReport(0, STARTING, 1)], not_ready("Creating", "worker 0 does not serve yet"), id="starting"
        ),
        pytest.param(
            2,
            [WorkerReport(0, STARTING, 1), WorkerReport(1, ENDED, 2, "no route")],
            not_ready(
                "WorkerNotReady",
                "worker 1 ended and is being restarted: no route (bootstrapServers kafka.uswest:9093)",
            ),
            id="the-one-with-a-problem-is-named-with-the-address",
        ),
        pytest.param(
            1,
            [WorkerReport(0, READY, 1, outdated=True)],
            not_ready("Rolling", "1 of 1 workers still have the previous configuration"),
            id="serves-with-the-old-configuration",
        ),
        pytest.param(
            1, [WorkerReport(0, READY, 1), WorkerReport(1, READY, 2)], Condition("Ready"), id="one-too-many-serves"
        ),
    ],
)
def test_a_connect_cluster_is_ready_once_all_its_workers_serve_the_new_configuration(
    replicas: int, workers: list[WorkerReport], condition: Condition
) -> None:
    assert readiness(a_connect(replicas=replicas), workers, {}) == condition


def test_a_refused_pod_is_reported_before_any_other_reason() -> None:
    """Otherwise a roll that a quota blocks would report `Rolling` for ever."""
    workers = [WorkerReport(0, READY, 1, outdated=True)]
    expected = not_ready("PodNotCreated", "worker 1 of 3 is not started: exceeded quota: small")
    assert readiness(a_connect(replicas=3), workers, {2: "other", 1: "exceeded quota: small"}) == expected


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        pytest.param({"template": {"pod": {"volumes": [{"name": "a"}]}}}, "mounts volumes", id="volumes"),
        pytest.param(
            {"template": {"connectContainer": {"volumeMounts": [{"name": "a"}]}}}, "mounts volumes", id="mounts"
        ),
        pytest.param({"authentication": {"type": "oauth"}}, "type oauth", id="authentication"),
        pytest.param(
            {
                "authentication": {
                    "type": "custom",
                    "sasl": True,
                    "config": {"sasl.login.callback.handler.class": "io.strimzi.kafka.oauth.client.Handler"},
                }
            },
            "uses Strimzi's OAuth library (io.strimzi.kafka.oauth)",
            id="oauth-in-v1",
        ),
    ],
)
def test_a_resource_that_one_machine_cannot_run_is_reported(spec: dict[str, Any], words: str) -> None:
    condition = unsupported(a_connect(**spec))
    assert condition is not None
    assert condition.reason == "UnsupportedLocally"
    assert words in condition.message


def test_an_ordinary_resource_is_supported() -> None:
    assert unsupported(a_connect(tls={"trustedCertificates": []})) is None


def test_each_dropped_ignored_or_capped_setting_is_a_warning() -> None:
    connect = a_connect(config={"group.id": "x"}, image="example/connect", jvmOptions={"-Xmx": "2g", "-XX": {"A": "b"}})
    assert warnings(connect, jvm_arguments(connect.jvm_options)[1]) == [
        warning("ForbiddenConfiguration", "config group.id is dropped: the operator sets it"),
        warning("IgnoredLocally", "spec.image is ignored on the local stack"),
        warning("JvmOptions", "jvmOptions -Xmx 2g is capped at 512m on the local stack"),
        warning("JvmOptions", "jvmOptions -XX is ignored on the local stack"),
    ]


@pytest.mark.parametrize(
    ("options", "heap"),
    [
        pytest.param({}, "-Xmx256m", id="none"),
        pytest.param({"-Xmx": "384m"}, "-Xmx384m", id="as-asked"),
        pytest.param({"-Xmx": "1G"}, "-Xmx512m", id="capped"),
        pytest.param({"-Xmx": "100000k"}, "-Xmx97m", id="kibibytes"),
    ],
)
def test_the_heap_has_the_requested_size_up_to_a_limit(options: dict[str, str], heap: str) -> None:
    assert jvm_arguments(options)[0] == [heap, *FIXED]


def test_system_properties_reach_the_worker() -> None:
    given = {"javaSystemProperties": [{"name": "a", "value": "b"}]}
    assert jvm_arguments(given)[0] == ["-Xmx256m", *FIXED, "-Da=b"]


def test_the_status_of_a_connect_cluster_has_all_its_fields() -> None:
    workers = [WorkerReport(0, STARTING, 20001), WorkerReport(1, READY, 20002)]
    now = datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert status_body(a_connect(replicas=2), not_ready("Creating", "m"), [warning("W", "w")], workers, now) == {
        "observedGeneration": 3,
        "conditions": [
            {
                "type": "NotReady",
                "status": "True",
                "reason": "Creating",
                "message": "m",
                "lastTransitionTime": "2026-01-01T12:00:00Z",
            },
            {
                "type": "Warning",
                "status": "True",
                "reason": "W",
                "message": "w",
                "lastTransitionTime": "2026-01-01T12:00:00Z",
            },
        ],
        "replicas": 1,
        "labelSelector": "strimzi.io/cluster=orders,strimzi.io/name=orders-connect",
        "url": "http://127.0.0.1:20002",
    }
