"""Several source connectors in one flow: each has its topics, one has the heartbeats, and checkpoints cover all."""

from typing import Any

from kafka_replication.components.flows.resolved import ResolvedFlow
from kafka_replication.components.render.kafka_connectors import (
    connector_config,
    connector_objects,
    placeholders_of,
    topics_config_maps,
)
from kafka_replication.components.render.namespaces import access_objects
from tests.builders import a_resolved_flow

SOURCES: dict[str, Any] = {
    "fast": {"topics": ["orders"], "tasksMax": 6},
    "bulk": {"topics": ["logs-.*"], "config": {"producer.override.compression.type": "zstd"}},
}


def a_divided_flow(sources: dict[str, Any] | None = None, **connectors: Any) -> ResolvedFlow:
    return a_resolved_flow(topics=[], connectors={"sources": sources or SOURCES, **connectors})


def test_each_source_connector_is_a_resource_of_its_own() -> None:
    rendered = {planned.key: planned for planned in connector_objects(a_divided_flow())}
    assert [planned.name for planned in rendered.values()] == [
        "orders-source-fast",
        "orders-source-bulk",
        "orders-checkpoint",
        "orders-heartbeat",
    ]
    assert rendered["source-connector-fast"].manifest["spec"]["tasksMax"] == 6


def test_each_source_connector_has_its_own_topics_and_the_checkpoint_connector_has_all() -> None:
    resolved = a_divided_flow()
    maps = {part: placeholders_of(config_map)["topics"] for part, config_map in topics_config_maps(resolved).items()}
    assert connector_config(resolved, "source", "fast")["topics"] == maps["fast"]
    assert connector_config(resolved, "source", "bulk")["topics"] == maps["bulk"]
    assert connector_config(resolved, "checkpoint")["topics"] == f"{maps['fast']},{maps['bulk']}"


def test_heartbeats_are_replicated_by_exactly_one_source_connector() -> None:
    resolved = a_divided_flow()
    enabled = [
        connector_config(resolved, "source", part).get("heartbeats.replication.enabled", True) for part in SOURCES
    ]
    assert enabled == [True, False]


def test_a_source_connectors_own_properties_override_the_common_ones() -> None:
    common = {"config": {"producer.override.compression.type": "lz4", "producer.override.linger.ms": 20}}
    resolved = a_divided_flow(source=common)
    config = connector_config(resolved, "source", "bulk")
    assert config["producer.override.compression.type"] == "zstd"
    assert config["producer.override.linger.ms"] == 20
    assert connector_config(resolved, "source", "fast")["producer.override.compression.type"] == "lz4"


def test_changing_the_topics_of_one_source_connector_changes_no_other() -> None:
    before = a_divided_flow()
    after = a_divided_flow({**SOURCES, "bulk": {**SOURCES["bulk"], "topics": ["logs-.*", "traces"]}})
    assert connector_config(before, "source", "fast") == connector_config(after, "source", "fast")
    assert connector_config(before, "source", "bulk") != connector_config(after, "source", "bulk")


def test_the_role_names_the_config_maps_of_every_connectors_topics() -> None:
    resolved = a_divided_flow()
    role, _ = access_objects(resolved)
    names = role.manifest["rules"][0]["resourceNames"]
    assert {config_map.name for config_map in topics_config_maps(resolved).values()} <= set(names)


def test_a_repeated_exclusion_is_rendered_once() -> None:
    """Kafka 4.3 refuses a list of exclusions with a repeated entry."""
    sources = {"fast": {"topics": ["orders"], "topicsExclude": ["__.*", "old-.*"]}}
    flow = a_resolved_flow(topics=[], topicsExclude=["old-.*"], groupsExclude=["__.*"], connectors={"sources": sources})
    lists = [config_map.manifest["data"] for config_map in topics_config_maps(flow).values()]
    written = [entries.split(",") for data in lists for key, entries in data.items() if key.endswith("exclude")]
    assert written
    assert all(len(entries) == len(set(entries)) for entries in written)
    assert "old-.*" in written[0]
