"""What a key in the workers' configuration means."""

import pytest

from kafka_replication.components.properties.definitions import CONNECTORS, Owner, definitions, supported_versions
from kafka_replication.components.properties.keys import (
    ClientProperty,
    OtherOwner,
    OwnProperty,
    PassedOn,
    Unknown,
    WithoutEffect,
    worker_key_meaning,
)


@pytest.mark.parametrize("version", supported_versions())
def test_every_property_that_the_worker_defines_is_its_own(version: str) -> None:
    meaning = {key: worker_key_meaning(key, version) for key in definitions(version, Owner.WORKER)}
    assert {key: meant for key, meant in meaning.items() if not isinstance(meant, OwnProperty)} == {}


@pytest.mark.parametrize(
    ("key", "clients", "missed"),
    [
        pytest.param("producer.linger.ms", ["data-producer"], [], id="the producer of the records"),
        pytest.param(
            "linger.ms", ["storage-producer"], ["data-producer"], id="only the producer of the workers' topics"
        ),
        pytest.param("admin.retries", ["connect-admin"], [], id="the admin client"),
        pytest.param("consumer.security.protocol", ["offsets-consumer"], [], id="security is given to all alike"),
    ],
)
def test_a_clients_property_reaches_the_clients_of_the_workers(key: str, clients: list[str], missed: list[str]) -> None:
    meaning = worker_key_meaning(key, "4.2")
    assert isinstance(meaning, ClientProperty)
    assert [[client.name for client in reached] for reached in (meaning.clients, meaning.missed)] == [clients, missed]


@pytest.mark.parametrize(
    ("key", "instead"),
    [
        ("producer.override.linger.ms", "`producer.linger.ms`"),
        ("source.consumer.fetch.max.bytes", "`source.consumer.fetch.max.bytes` on the connector"),
        ("consumer.fetch.max.bytes", "`source.consumer.fetch.max.bytes` on the source connector"),
        ("producer.fetch.max.bytes", "`source.consumer.fetch.max.bytes` on the source connector"),
    ],
    ids=["a connector's override", "a connector's client", "a consumer of sinks", "of another kind"],
)
def test_a_key_that_no_worker_reads_is_reported_with_an_alternative(key: str, instead: str) -> None:
    meaning = worker_key_meaning(key, "4.2")
    assert isinstance(meaning, WithoutEffect)
    assert meaning.instead == instead


def test_under_exactly_once_workers_read_offsets_and_fix_transactions() -> None:
    assert isinstance(worker_key_meaning("consumer.fetch.max.bytes", "4.2", exactly_once=True), ClientProperty)
    assert isinstance(worker_key_meaning("producer.transactional.id", "4.2", exactly_once=True), WithoutEffect)
    assert isinstance(worker_key_meaning("producer.transactional.id", "4.2"), ClientProperty)


def test_a_property_of_connectors_names_the_connectors() -> None:
    meaning = worker_key_meaning("offset.lag.max", "4.2")
    assert isinstance(meaning, OtherOwner)
    assert meaning.owners == (CONNECTORS[0],)


@pytest.mark.parametrize(
    ("key", "nearest", "known_in"),
    [
        ("offset.flush.interval", "offset.flush.interval.ms", ()),
        ("producer.lingerms", "producer.linger.ms", ()),
        ("colour", None, ()),
        ("auto.include.jmx.reporter", None, ("3.9",)),
    ],
)
def test_an_unknown_key_names_the_nearest_and_the_versions_that_know_it(
    key: str, nearest: str | None, known_in: tuple[str, ...]
) -> None:
    assert worker_key_meaning(key, "4.2") == Unknown(nearest, known_in)


def test_a_key_of_a_storage_topic_or_a_configuration_provider_is_passed_on() -> None:
    assert worker_key_meaning("config.storage.max.message.bytes", "4.2") == PassedOn()
    assert worker_key_meaning("config.providers.secret.class", "4.2") == PassedOn()
