"""What a key in a connector's configuration means, and where it would have an effect."""

from typing import Any

import pytest

from kafka_replication.components.properties.definitions import CONNECTORS, Owner, definitions, supported_versions
from kafka_replication.components.properties.keys import (
    ClientProperty,
    OtherOwner,
    OwnProperty,
    PassedOn,
    Unknown,
    WithoutEffect,
    connector_key_meaning,
)

SOURCE, CHECKPOINT, HEARTBEAT = CONNECTORS


def own(role: Owner, key: str, **place: Any) -> str:
    meaning = connector_key_meaning(role, key, "4.2", **place)
    assert isinstance(meaning, OwnProperty), meaning
    return meaning.definition.name


def reached(role: Owner, key: str, **place: Any) -> tuple[list[str], list[str]]:
    meaning = connector_key_meaning(role, key, "4.2", **place)
    assert isinstance(meaning, ClientProperty), meaning
    return [client.name for client in meaning.clients], [client.name for client in meaning.missed]


@pytest.mark.parametrize(
    ("role", "key", "name"),
    [
        pytest.param(SOURCE, "offset.lag.max", "offset.lag.max", id="the connector's"),
        pytest.param(CHECKPOINT, "topics", "topics", id="its topic filter's"),
        pytest.param(SOURCE, "consumer.poll.timeout.ms", "consumer.poll.timeout.ms", id="looks like a client's"),
        pytest.param(SOURCE, "errors.tolerance", "errors.tolerance", id="Connect's"),
        pytest.param(
            SOURCE,
            "topic.creation.default.replication.factor",
            "replication.factor",
            id="a group of topics that Connect creates",
        ),
    ],
)
def test_a_property_that_the_connector_defines_is_recognized_as_its_own(role: Owner, key: str, name: str) -> None:
    assert own(role, key) == name


@pytest.mark.parametrize("version", supported_versions())
@pytest.mark.parametrize("role", CONNECTORS)
def test_nothing_that_a_connector_defines_is_unknown(role: Owner, version: str) -> None:
    meaning = {key: connector_key_meaning(role, key, version) for key in definitions(version, role)}
    assert {key: meant for key, meant in meaning.items() if not isinstance(meant, OwnProperty | WithoutEffect)} == {}


@pytest.mark.parametrize(
    ("role", "key", "place", "expected"),
    [
        pytest.param(
            SOURCE, "source.consumer.fetch.max.bytes", {}, (["source-consumer"], []), id="cluster and kind of client"
        ),
        pytest.param(SOURCE, "consumer.fetch.max.bytes", {}, (["source-consumer"], []), id="kind of client"),
        pytest.param(
            SOURCE,
            "source.cluster.ssl.protocol",
            {},
            (["source-consumer", "source-admin", "offset-syncs-producer"], []),
            id="cluster",
        ),
        pytest.param(
            SOURCE,
            "producer.linger.ms",
            {},
            (["offset-syncs-producer"], ["data-producer"]),
            id="not the producer of the records",
        ),
        pytest.param(
            SOURCE,
            "producer.override.linger.ms",
            {},
            (["data-producer"], ["offset-syncs-producer"]),
            id="the producer of the records",
        ),
        pytest.param(
            SOURCE,
            "target.producer.linger.ms",
            {"offset_syncs_location": "target"},
            (["offset-syncs-producer"], ["data-producer"]),
            id="offset syncs on the target",
        ),
        pytest.param(
            SOURCE,
            "consumer.override.fetch.max.bytes",
            {"exactly_once": True},
            (["offsets-consumer"], ["source-consumer"]),
            id="the reader of offsets under exactly-once",
        ),
        pytest.param(
            SOURCE,
            "consumer.override.fetch.max.bytes",
            {"config": {"offsets.storage.topic": "own"}},
            (["offsets-consumer"], ["source-consumer"]),
            id="the reader of the connector's own offsets",
        ),
        pytest.param(
            SOURCE,
            "admin.override.retries",
            {"config": {"topic.creation.default.partitions": 1}},
            (["connect-admin"], ["source-admin", "target-admin"]),
            id="the creator of topics",
        ),
        pytest.param(
            HEARTBEAT,
            "consumer.override.security.protocol",
            {},
            (["offsets-consumer"], []),
            id="security is given to all kinds alike",
        ),
    ],
)
def test_a_client_property_reaches_some_clients_and_misses_others(
    role: Owner, key: str, place: dict[str, Any], expected: tuple[list[str], list[str]]
) -> None:
    assert reached(role, key, **place) == expected


@pytest.mark.parametrize(
    ("role", "key", "owners"),
    [
        pytest.param(CHECKPOINT, "offset.lag.max", (SOURCE,), id="the source's on the checkpoint connector"),
        pytest.param(SOURCE, "sync.group.offsets.enabled", (CHECKPOINT,), id="the checkpoint's on the source"),
        pytest.param(HEARTBEAT, "topics", (SOURCE, CHECKPOINT), id="a property of two connectors"),
        pytest.param(SOURCE, "offset.flush.interval.ms", (Owner.WORKER,), id="the workers'"),
    ],
)
def test_a_property_of_another_owner_names_the_owner(role: Owner, key: str, owners: tuple[Owner, ...]) -> None:
    meaning = connector_key_meaning(role, key, "4.2")
    assert isinstance(meaning, OtherOwner)
    assert meaning.owners == owners


@pytest.mark.parametrize(
    ("role", "key", "why", "instead"),
    [
        pytest.param(
            SOURCE,
            "source.cluster.fetch.max.bytes",
            "MirrorMaker passes only addresses and security settings from `source.cluster.` to its clients.",
            "`source.consumer.fetch.max.bytes`",
            id="no connection setting after the prefix of a cluster",
        ),
        pytest.param(
            SOURCE,
            "consumer.max.request.size",
            "It is a property of producers; `consumer.` reaches only consumers.",
            "`producer.override.max.request.size`",
            id="a message's size on the wrong client",
        ),
        pytest.param(
            SOURCE,
            "max.request.size",
            "It is a property of Kafka clients, and a connector's clients take it only with a prefix.",
            "`producer.override.max.request.size`",
            id="no prefix",
        ),
        pytest.param(
            HEARTBEAT,
            "ssl.truststore.location",
            "MirrorMaker's connectors define it but never read it; their clients take it with a prefix.",
            "`target.cluster.ssl.truststore.location`",
            id="defined and never read",
        ),
        pytest.param(
            HEARTBEAT,
            "producer.linger.ms",
            "A heartbeat connector has no client that takes `producer.`.",
            "`producer.override.linger.ms`",
            id="no such client",
        ),
        pytest.param(
            HEARTBEAT,
            "consumer.fetch.max.bytes",
            "A heartbeat connector has no client that takes `consumer.`.",
            "",
            id="no such client, and none of its kind",
        ),
        pytest.param(
            SOURCE,
            "target.producer.acks",
            "A source connector has no client that takes `target.producer.`.",
            "`producer.override.acks`",
            id="offset syncs are on the other side",
        ),
        pytest.param(
            SOURCE,
            "consumer.override.fetch.max.bytes",
            "`consumer.override.` reaches only one client, and this connector has that client only with exactly-once, "
            "or with the connector's own `offsets.storage.topic`.",
            "`source.consumer.fetch.max.bytes`",
            id="a client that this connector does not have",
        ),
        pytest.param(
            SOURCE,
            "consumer.enable.auto.commit",
            "Kafka always sets `enable.auto.commit` of this client to `false`.",
            "",
            id="fixed by MirrorMaker",
        ),
    ],
)
def test_a_key_that_no_client_reads_is_reported_with_the_reason_and_an_alternative(
    role: Owner, key: str, why: str, instead: str
) -> None:
    meaning = connector_key_meaning(role, key, "4.2")
    assert isinstance(meaning, WithoutEffect)
    assert (meaning.why, meaning.instead) == (why, instead)


@pytest.mark.parametrize(
    ("key", "nearest", "known_in"),
    [
        pytest.param("refresh.topic.interval.seconds", "refresh.topics.interval.seconds", (), id="misspelt"),
        pytest.param("consumer.fetch.max.byte", "consumer.fetch.max.bytes", (), id="misspelt behind a prefix"),
        pytest.param("sourc.consumer.fetch.max.bytes", "source.consumer.fetch.max.bytes", (), id="a misspelt prefix"),
        pytest.param("source.bootstrap.servers", "source.cluster.bootstrap.servers", (), id="half a prefix"),
        pytest.param("target.fetch.max.bytes", None, (), id="half a prefix for which there is no client"),
        pytest.param("colour", None, (), id="no similar key"),
        pytest.param("topics.blacklist", None, ("3.9",), id="a key of an older Kafka"),
        pytest.param("metric.names.formats", None, ("4.3",), id="a key of a newer Kafka"),
        pytest.param("consumer.auto.include.jmx.reporter", None, ("3.9",), id="a client's key of an older Kafka"),
    ],
)
def test_an_unknown_key_names_the_nearest_and_the_versions_that_know_it(
    key: str, nearest: str | None, known_in: tuple[str, ...]
) -> None:
    assert connector_key_meaning(SOURCE, key, "4.2") == Unknown(nearest, known_in)


@pytest.mark.parametrize(
    ("key", "config"),
    [
        ("transforms.Route.regex", {}),
        ("predicates.P.pattern", {}),
        ("value.converter.schemas.enable", {}),
        ("config.providers.file.class", {}),
        ("topic.creation.default.cleanup.policy", {}),
        ("my.key", {"topic.filter.class": "com.example.Filter"}),
        ("source.consumer.my.key", {"source.consumer.interceptor.classes": "com.example.Interceptor"}),
    ],
)
def test_a_key_that_a_plugin_reads_is_passed_on(key: str, config: dict[str, object]) -> None:
    assert connector_key_meaning(SOURCE, key, "4.2", config=config) == PassedOn()


@pytest.mark.parametrize(
    "value",
    ["org.apache.kafka.connect.mirror.IdentityReplicationPolicy", "${cfmap:ns/replication:replication.policy.class}"],
    ids=["Kafka's own class", "a placeholder of ours"],
)
def test_a_misspelt_key_is_unknown_if_no_custom_class_could_read_it(value: str) -> None:
    config = {"replication.policy.class": value}
    assert isinstance(connector_key_meaning(SOURCE, "replication.polcy.separator", "4.2", config=config), Unknown)
