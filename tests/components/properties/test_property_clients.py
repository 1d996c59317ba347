"""Which clients a connector has, and which of the user's properties reach them."""

import pytest

from kafka_replication.components.properties.clients import (
    CHECKPOINTS_CONSUMER,
    DATA_PRODUCER,
    PREFIXES,
    SOURCE_ADMIN,
    SOURCE_CONSUMER,
    client_properties,
    clients,
    split_prefix,
    worker_properties,
)
from kafka_replication.components.properties.definitions import Owner, definitions, supported_versions


def names(role: Owner, location: str = "source") -> list[str]:
    return [client.name for client in clients(role, location)]


def test_each_connector_has_the_clients_that_kafka_creates_for_it() -> None:
    connect = ["data-producer", "offsets-consumer", "connect-admin"]
    assert names(Owner.SOURCE) == ["source-consumer", "source-admin", "target-admin", "offset-syncs-producer", *connect]
    assert names(Owner.CHECKPOINT) == [
        *("source-admin", "target-admin", "offset-syncs-consumer", "checkpoints-consumer"),
        *connect,
    ]
    assert names(Owner.HEARTBEAT) == ["target-admin", *connect]


@pytest.mark.parametrize("location", ["source", "target"])
@pytest.mark.parametrize(("role", "kind"), [(Owner.SOURCE, "producer"), (Owner.CHECKPOINT, "consumer")])
def test_offset_syncs_are_on_the_side_that_the_location_names(role: Owner, kind: str, location: str) -> None:
    """Otherwise properties for the cluster that holds them would reach nothing."""
    [client] = [client for client in clients(role, location) if client.name.startswith("offset-syncs")]
    assert client.side == location
    assert client.prefixes == (f"{location}.cluster.", f"{kind}.", f"{location}.{kind}.")


def test_without_offset_syncs_no_client_writes_them() -> None:
    assert not any(name.startswith("offset-syncs") for name in names(Owner.SOURCE, ""))


@pytest.mark.parametrize(("role", "location"), [(Owner.WORKER, "source"), (Owner.SOURCE, "elsewhere")])
def test_an_unknown_connector_or_location_is_refused(role: Owner, location: str) -> None:
    with pytest.raises(ValueError, match="is no"):
        clients(role, location)


def test_the_more_specific_prefix_wins_in_any_order_of_the_keys() -> None:
    layers = {
        "source.cluster.client.id": "ignored: no security setting",
        "source.cluster.ssl.protocol": "lowest",
        "consumer.ssl.protocol": "middle",
        "source.consumer.ssl.protocol": "highest",
    }
    for keys in (list(layers), list(reversed(layers))):
        config = {key: layers[key] for key in keys}
        assert client_properties(SOURCE_CONSUMER, config) == {
            "ssl.protocol": ("highest", "source.consumer.ssl.protocol")
        }


def test_properties_of_other_clients_do_not_reach_a_client() -> None:
    config = {
        "target.consumer.fetch.max.bytes": 1,
        "consumer.override.fetch.max.bytes": 2,
        "consumer.poll.timeout.ms": 3,
        "producer.linger.ms": 4,
        "target.cluster.security.protocol": "SSL",
        "source.cluster.alias": "useast",
    }
    assert client_properties(SOURCE_CONSUMER, config) == {}
    assert client_properties(SOURCE_ADMIN, {**config, "admin.timeout.ms": 5}) == {}
    assert client_properties(CHECKPOINTS_CONSUMER, config) == {
        "fetch.max.bytes": (1, "target.consumer.fetch.max.bytes"),
        "security.protocol": ("SSL", "target.cluster.security.protocol"),
    }


def test_a_user_cannot_override_what_mirrormaker_fixes() -> None:
    config = {"consumer.enable.auto.commit": True, "consumer.auto.offset.reset": "latest"}
    reached = {"auto.offset.reset": ("latest", "consumer.auto.offset.reset")}
    assert client_properties(SOURCE_CONSUMER, config) == reached


def test_the_data_producer_has_one_prefix_on_the_connector_and_another_on_the_worker() -> None:
    assert client_properties(DATA_PRODUCER, {"producer.linger.ms": 1, "producer.override.linger.ms": 2}) == {
        "linger.ms": (2, "producer.override.linger.ms")
    }
    worker = {"producer.linger.ms": 3, "linger.ms": 4, "producer.override.linger.ms": 5}
    assert worker_properties(DATA_PRODUCER, worker) == {"linger.ms": (3, "producer.linger.ms")}


def test_prefixed_properties_of_connects_admin_win_over_plain_ones() -> None:
    [admin] = [client for client in clients(Owner.SOURCE) if client.name == "connect-admin"]
    worker = {"admin.retries": 3, "retries": 4, "request.timeout.ms": 5, "offset.flush.interval.ms": 6}
    assert worker_properties(admin, worker) == {
        "retries": (3, "admin.retries"),
        "request.timeout.ms": (5, "request.timeout.ms"),
    }


def test_under_exactly_once_connect_fixes_the_properties_of_transactions() -> None:
    [producer] = [client for client in clients(Owner.SOURCE, exactly_once=True) if client.name == "data-producer"]
    config = {"producer.override.transactional.id": "mine", "producer.override.enable.idempotence": False}
    assert client_properties(producer, config) == {}


@pytest.mark.parametrize(
    ("key", "split"),
    [
        ("source.consumer.fetch.max.bytes", ("source.consumer.", "fetch.max.bytes")),
        ("consumer.override.fetch.max.bytes", ("consumer.override.", "fetch.max.bytes")),
        ("target.cluster.bootstrap.servers", ("target.cluster.", "bootstrap.servers")),
        ("consumer.poll.timeout.ms", None),
        ("admin.timeout.ms", None),
        ("target.cluster.alias", None),
        ("offset.lag.max", None),
    ],
)
def test_a_key_is_split_at_its_longest_prefix(key: str, split: tuple[str, str] | None) -> None:
    assert split_prefix(key) == split


def test_every_property_that_is_set_for_a_client_is_known_to_kafka() -> None:
    """A misspelt one would be shown as effective without being so."""
    for version in supported_versions():
        for role in (Owner.SOURCE, Owner.CHECKPOINT, Owner.HEARTBEAT):
            for client in (*clients(role), *clients(role, "target", exactly_once=True)):
                assert {*client.defaults, *client.fixed} <= set(definitions(version, client.kind)), client.name
                assert set(client.prefixes) <= set(PREFIXES)
