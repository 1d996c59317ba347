"""Wrong settings that users report, each with its code and its remedy, and correct settings."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_replication.components.checks import check_topology
from kafka_replication.components.contract.problems import Problem
from kafka_replication.components.topology.parsing import parse_topology
from tests.builders import a_flow, a_topology

CORPUS: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "wrong_settings.yaml").read_text())


def problems_of(at: str, settings: dict[str, Any], flow: dict[str, Any] | None = None, **top: Any) -> list[Problem]:
    """The problems of a flow with these properties on one of its connectors or on its workers."""
    whole = a_flow(**(flow or {}))
    if at == "worker":
        whole["connect"] = {**whole.get("connect", {}), "config": settings}
    else:
        connectors = whole.get("connectors", {})
        whole["connectors"] = {**connectors, at: {**connectors.get(at, {}), "config": settings}}
    return list(check_topology(parse_topology(a_topology(whole, **top))))


def name_of(wrong: dict[str, Any]) -> str:
    return f"{wrong['at']} {wrong['key']}={wrong['value']}"


def test_the_corpus_is_large_and_has_no_duplicates() -> None:
    assert len(CORPUS) >= 80
    duplicates = [
        name
        for name, count in Counter(f"{name_of(wrong)} {wrong.get('flow')}" for wrong in CORPUS).items()
        if count > 1
    ]
    assert not duplicates


@pytest.mark.parametrize("wrong", CORPUS, ids=[name_of(wrong) for wrong in CORPUS])
def test_a_wrong_setting_is_reported_with_its_code_and_names_its_remedy(wrong: dict[str, Any]) -> None:
    problems = problems_of(wrong["at"], {wrong["key"]: wrong["value"]}, wrong.get("flow"))
    assert [problem.code for problem in problems] == [wrong["code"]], "\n".join(map(str, problems))
    assert problems[0].where.endswith(f"config.{wrong['key']}")
    assert wrong["key"] in problems[0].what
    assert wrong.get("remedy", "") in problems[0].remedy, problems[0].remedy
    assert "hunter2" not in str(problems[0])


CORRECT: dict[str, tuple[str, dict[str, Any]]] = {
    "sizes of the consumer that reads records": (
        "source",
        {"source.consumer.max.partition.fetch.bytes": 10485760, "consumer.fetch.max.bytes": 52428800},
    ),
    "the producer of records": (
        "source",
        {
            "producer.override.max.request.size": 10485760,
            "producer.override.compression.type": "zstd",
            "producer.override.acks": "all",
            "producer.override.linger.ms": "50",
        },
    ),
    "the producer of offset syncs by its full prefix": ("source", {"source.producer.linger.ms": 5}),
    "numbers and booleans as text": ("source", {"replication.factor": "3", "sync.topic.configs.enabled": "FALSE"}),
    "the cluster's own replication factor": ("source", {"replication.factor": -1}),
    "topic configuration that is not copied": ("source", {"config.properties.exclude": "retention\\..*"}),
    "a custom filter with its own keys": (
        "source",
        {"config.property.filter.class": "com.example.Filter", "com.example.filter.allow": "retention.ms"},
    ),
    "isolation of the source consumer": ("source", {"source.consumer.isolation.level": "read_committed"}),
    "security settings that do not concern the connection": (
        "source",
        {
            "source.cluster.ssl.endpoint.identification.algorithm": "https",
            "target.cluster.ssl.enabled.protocols": "TLSv1.3",
        },
    ),
    "tolerance of errors": ("source", {"errors.tolerance": "none", "errors.log.enable": True}),
    "a value from a Secret": ("source", {"producer.override.linger.ms": "${secret:mirror-orders/tuning:linger}"}),
    "timeouts of the admin client": ("checkpoint", {"admin.timeout.ms": 120000, "admin.request.timeout.ms": 60000}),
    "the consumer of checkpoints": ("checkpoint", {"target.consumer.fetch.max.wait.ms": 100}),
    "the replication factor of checkpoints": ("checkpoint", {"checkpoints.topic.replication.factor": 3}),
    "the replication factor of offset syncs": ("source", {"offset-syncs.topic.replication.factor": 3}),
    "heartbeats' topic": ("heartbeat", {"heartbeats.topic.replication.factor": 3, "producer.override.linger.ms": 0}),
    "properties of the workers": (
        "worker",
        {
            "offset.flush.interval.ms": 10000,
            "scheduled.rebalance.max.delay.ms": 60000,
            "producer.linger.ms": 20,
            "config.storage.replication.factor": 3,
            "ssl.endpoint.identification.algorithm": "https",
            "producer.ssl.key.password": "${secret:mirror-orders/tls:password}",
        },
    ),
    "converters of the workers and their keys": (
        "worker",
        {"value.converter": "com.example.AvroConverter", "value.converter.schema.registry.url": "http://registry:8081"},
    ),
}


@pytest.mark.parametrize(("at", "settings"), CORRECT.values(), ids=CORRECT)
def test_a_correct_setting_is_no_problem(at: str, settings: dict[str, Any]) -> None:
    assert not [str(problem) for problem in problems_of(at, settings)]


@pytest.mark.parametrize(
    ("key", "remedy"),
    [
        ("topics", "`topics` of this source connector"),
        ("topics.exclude", "`topicsExclude` of this source connector"),
        ("offset.lag.max", "`offsetSyncs.lagMax` of this source connector"),
        ("value.converter", "`transforms.converters.value` of this source connector"),
        ("consumer.auto.offset.reset", "`startFrom` of this source connector"),
        ("replication.policy.separator", "`separator` of the flow"),
        ("source.cluster.alias", "`source` of the flow"),
    ],
)
def test_the_remedy_for_one_of_several_source_connectors_names_a_key_that_may_be_set(key: str, remedy: str) -> None:
    """Such a flow has no `topics` of its own, so the next check would refuse a remedy that sets them on the flow."""
    sources = {"eu": {"topics": ["orders"], "config": {key: "1"}}}
    flow = a_flow(topics=[], connectors={"sources": sources})
    (problem,) = check_topology(parse_topology(a_topology(flow)))
    assert remedy in problem.remedy
