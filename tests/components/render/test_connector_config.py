"""A connector's configuration consists of named layers: their order, their reasons, and the properties that a
KafkaMirrorMaker2 gets."""

import itertools
from typing import Any

import pytest

from kafka_replication.components.kafka.connectors import ConnectorRole
from kafka_replication.components.properties.clients import SOURCE_CONSUMER, client_properties
from kafka_replication.components.render.client_settings import PRESETS
from kafka_replication.components.render.config_layers import EffectiveSetting, LayerName, layer, merged, values
from kafka_replication.components.render.connector_config import connector_layers, connector_settings
from kafka_replication.components.render.kafka_connectors import connector_config
from tests.builders import a_resolved_flow

ROLES: tuple[ConnectorRole, ...] = ("source", "checkpoint", "heartbeat")
ORDER = ["project default", "preset", "connector", "part", "fixed", "clusters", "agreement", "selection", "model"]


@pytest.mark.parametrize("role", ROLES)
def test_the_layers_of_a_connector_are_in_order(role: ConnectorRole) -> None:
    assert [layer.name.value for layer in connector_layers(a_resolved_flow(), role)] == ORDER


@pytest.mark.parametrize(("lower", "higher"), list(itertools.pairwise(ORDER)))
def test_a_later_layer_wins_and_is_named(lower: str, higher: str) -> None:
    layers = [layer(LayerName(name), {"offset.lag.max": name}, f"by {name}") for name in (lower, higher)]
    assert merged(layers) == {"offset.lag.max": EffectiveSetting(higher, "offset.lag.max", higher, f"by {higher}")}


SOURCES = {"fast": {"topics": ["orders"], "config": {"admin.timeout.ms": 3}}, "bulk": {"topics": ["logs"]}}


@pytest.mark.parametrize(
    ("part", "flow", "key", "wanted"),
    [
        pytest.param(
            "",
            {"tuning": {"preset": "throughput"}},
            "producer.override.linger.ms",
            (20, "preset"),
            id="a preset over Kafka's default",
        ),
        pytest.param(
            "",
            {"connectors": {"source": {"config": {"replication.factor": 2}}}},
            "replication.factor",
            (2, "connector"),
            id="the user over our default",
        ),
        pytest.param(
            "",
            {
                "tuning": {"preset": "throughput"},
                "connectors": {"source": {"config": {"producer.override.linger.ms": 7}}},
            },
            "producer.override.linger.ms",
            (7, "connector"),
            id="the user over a preset",
        ),
        pytest.param(
            "fast",
            {"topics": [], "connectors": {"source": {"config": {"admin.timeout.ms": 2}}, "sources": SOURCES}},
            "admin.timeout.ms",
            (3, "part"),
            id="one of several source connectors over their common settings",
        ),
        pytest.param(
            "",
            {"connectors": {"source": {"config": {"offset.lag.max": 5}}}},
            "offset.lag.max",
            (100, "model"),
            id="the model over the user, whose setting the checks report",
        ),
    ],
)
def test_the_layer_with_the_highest_precedence_sets_a_property(
    part: str, flow: dict[str, Any], key: str, wanted: tuple[object, str]
) -> None:
    setting = merged(connector_layers(a_resolved_flow(**flow), "source", part))[key]
    assert (setting.value, setting.layer) == wanted


def test_a_property_of_the_model_names_the_topology_key_that_decides_it() -> None:
    settings = merged(connector_layers(a_resolved_flow(), "source"))
    whys = {key: settings[key].why for key in ("offset.lag.max", "topics", "source.cluster.sasl.jaas.config")}
    assert whys == {
        "offset.lag.max": "replications.orders.offsetSyncs.lagMax",
        "topics": "replications.orders.topics",
        "source.cluster.sasl.jaas.config": "clusters.useast.authentication",
    }


def test_layers_hold_plain_values_and_secret_placeholders_but_no_config_map_placeholders() -> None:
    settings = merged(connector_layers(a_resolved_flow(), "source"))
    assert settings["source.cluster.bootstrap.servers"].value == "kafka.useast.example.com:9093"
    assert not [key for key, setting in settings.items() if "${cfmap:" in str(setting.value)]
    assert "${secret:" in str(settings["source.cluster.sasl.jaas.config"].value)


@pytest.mark.parametrize("role", ROLES)
def test_a_mirrors_connector_gets_all_properties_except_connections_topics_and_groups(role: ConnectorRole) -> None:
    """KafkaMirrorMaker2 has fields for these, and silently drops them from a connector's `config`."""
    flow = a_resolved_flow()
    left_out = set(connector_config(flow, role)) - set(connector_settings(flow, role))
    assert {key for key in left_out if ".cluster." not in key and not key.startswith("producer.override.")} == {
        "source": {"topics", "topics.exclude"},
        "checkpoint": {"topics", "topics.exclude", "groups", "groups.exclude"},
        "heartbeat": set(),
    }[role]
    assert not [key for key in connector_settings(flow, role) if ".cluster." in key]


def test_start_from_latest_sets_auto_offset_reset_of_the_source_consumer_only() -> None:
    latest = a_resolved_flow(startFrom="latest")
    assert connector_config(latest, "source")["source.consumer.auto.offset.reset"] == "latest"
    assert not [key for role in ROLES[1:] for key in connector_config(latest, role) if "auto.offset.reset" in key]
    assert "source.consumer.auto.offset.reset" not in connector_config(a_resolved_flow(), "source")


def test_a_flow_that_stops_at_a_gap_resets_nowhere_and_starts_where_its_group_says() -> None:
    changed = connector_config(a_resolved_flow(onLoss="stop"), "source").items()
    assert dict(changed - connector_config(a_resolved_flow(), "source").items()) == {
        "source.consumer.auto.offset.reset": "none",
        "source.consumer.group.id": "__mm2-starts.orders",
    }


def test_topic_acl_sync_follows_the_flows_setting() -> None:
    assert connector_config(a_resolved_flow(), "source")["sync.topic.acls.enabled"] is False
    assert connector_config(a_resolved_flow(syncTopicAcls=True), "source")["sync.topic.acls.enabled"] is True


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_tunes_source_connectors_only_and_gives_a_reason_for_each_setting(preset: str) -> None:
    flow = a_resolved_flow(tuning={"preset": preset})
    by_role = {role: connector_layers(flow, role)[1].properties for role in ROLES}
    assert by_role == {"source": PRESETS[flow.settings.tuning.preset], "checkpoint": {}, "heartbeat": {}}
    assert all(given.why.endswith(".") for given in by_role["source"].values())


@pytest.mark.parametrize(
    ("strimzi", "wanted"),
    [
        pytest.param("1.2", "${strimzidir:/opt/kafka/init:rack.id}", id="the file that the init container writes"),
        pytest.param("0.46", "${strimzidir:/opt/kafka/init:rack.id}", id="since worker files hold placeholders"),
        pytest.param(
            "0.45", "${file:/tmp/strimzi-connect.properties:consumer.client.rack}", id="a value in the worker file"
        ),
    ],
)
def test_the_consumer_of_a_source_connector_reads_from_the_nearest_replica(strimzi: str, wanted: str) -> None:
    """MirrorMaker makes this consumer itself, so the rack in the workers' configuration never reaches it."""
    rack: dict[str, Any] = {"connect": {"rack": {"topologyKey": "topology.kubernetes.io/zone"}}}
    assert connector_config(a_resolved_flow(strimzi=strimzi, **rack), "source")["consumer.client.rack"] == wanted
    assert "consumer.client.rack" not in connector_config(a_resolved_flow(strimzi=strimzi, **rack), "checkpoint")
    assert "consumer.client.rack" not in connector_config(a_resolved_flow(strimzi=strimzi), "source")
    own: dict[str, Any] = {"connectors": {"source": {"config": {"source.consumer.client.rack": "a"}}}}
    config = connector_config(a_resolved_flow(strimzi=strimzi, **rack, **own), "source")
    reached = client_properties(SOURCE_CONSUMER, config)
    assert reached["client.rack"] == ("a", "source.consumer.client.rack")


def test_a_rack_from_a_variable_reaches_the_consumer_of_a_source_connector() -> None:
    """There is no init container then, and so no file."""
    rack = {"type": "environment-variable", "envVarName": "RACK"}
    config = connector_config(a_resolved_flow(connect={"rack": rack}), "source")
    assert config["consumer.client.rack"] == "${strimzienv:RACK}"


def test_a_repeated_entry_is_rendered_once() -> None:
    """Connect of Kafka 4.2 refuses a list with duplicates."""
    flow = a_resolved_flow(topics=["orders", "payments", "orders"], groups=["web", "web"], topicsExclude=["tmp", "tmp"])
    config = values(connector_layers(flow, "checkpoint"))
    assert (config["topics"], config["groups"]) == ("orders,payments", "web")
    assert str(config["topics.exclude"]).count("tmp") == 1
