"""Kafka's own definitions of properties, by version and owner."""

import pytest

from kafka_replication.components.properties.definitions import (
    CONNECTORS,
    Definition,
    Origin,
    Owner,
    PropertyType,
    data_version,
    definitions,
    nearest,
    supported_versions,
)


def test_there_is_data_for_every_kafka_version_that_operators_run() -> None:
    assert supported_versions() == ("3.9", "4.2", "4.3")


@pytest.mark.parametrize(
    ("kafka", "data"),
    [
        pytest.param("4.2", "4.2", id="the same"),
        pytest.param("4.2.1", "4.2", id="a patch release"),
        pytest.param("4.1.1", "3.9", id="between two"),
        pytest.param("3.9.1.redhat-00001", "3.9", id="a vendor's form"),
        pytest.param("3.8.0.1.2", "3.9", id="older than all"),
        pytest.param("4.10", "4.3", id="newer than all, counted as a number"),
    ],
)
def test_a_version_uses_the_newest_data_that_is_not_newer(kafka: str, data: str) -> None:
    assert data_version(kafka) == data


def test_text_that_is_not_a_version_is_refused() -> None:
    with pytest.raises(ValueError, match="`latest` does not begin with a version"):
        data_version("latest")


def test_a_definition_holds_kafkas_own_default_documentation_and_values() -> None:
    assert definitions("4.2", Owner.SOURCE)["offset-syncs.topic.location"] == Definition(
        name="offset-syncs.topic.location",
        type=PropertyType.STRING,
        default="source",
        importance="low",
        documentation="The location (source/target) of the offset-syncs topic.",
        accepted=("source", "target"),
        origin=Origin.MIRROR,
    )


@pytest.mark.parametrize(
    ("owner", "key", "origin"),
    [
        (Owner.SOURCE, "offset.lag.max", Origin.MIRROR),
        (Owner.CHECKPOINT, "topics", Origin.MIRROR),
        (Owner.HEARTBEAT, "errors.tolerance", Origin.CONNECT),
        (Owner.SOURCE, "exactly.once.support", Origin.CONNECT),
        (Owner.SOURCE, "ssl.truststore.location", Origin.CLIENT),
        (Owner.WORKER, "offset.flush.interval.ms", Origin.CONNECT),
    ],
    ids=["MirrorMaker's", "a filter's", "Connect's", "Connect's for sources", "a client's", "the worker's"],
)
def test_a_definition_names_its_origin(owner: Owner, key: str, origin: Origin) -> None:
    assert definitions("4.2", owner)[key].origin is origin


def test_no_password_has_a_default() -> None:
    """A default that Kafka kept as a secret would be printed by every explanation."""
    kinds = [definitions(version, owner) for version in supported_versions() for owner in Owner]
    passwords = [
        definition for known in kinds for definition in known.values() if definition.type is PropertyType.PASSWORD
    ]
    assert passwords
    assert {password.default for password in passwords} == {None}


@pytest.mark.parametrize(
    ("key", "versions"),
    [
        ("heartbeats.replication.enabled", {"4.2", "4.3"}),
        ("metric.names.formats", {"4.3"}),
        ("topics.blacklist", {"3.9"}),
    ],
    ids=["new in 4.0", "new in 4.3", "removed in 4.0"],
)
def test_each_version_knows_only_its_own_properties(key: str, versions: set[str]) -> None:
    assert {version for version in supported_versions() if key in definitions(version, Owner.SOURCE)} == versions


def test_a_version_between_two_knows_the_properties_of_both() -> None:
    """Refusing a property that was added in between, or not yet removed, would be a false alarm."""
    between, older = definitions("4.1.0", Owner.SOURCE), definitions("3.9", Owner.SOURCE)
    assert set(between) == set(older) | set(definitions("4.2", Owner.SOURCE))
    assert {name: between[name] for name in older} == older


def test_every_documentation_is_one_line_of_plain_text() -> None:
    known = [
        definition
        for version in supported_versions()
        for owner in Owner
        for definition in definitions(version, owner).values()
    ]
    assert [
        definition.name for definition in known if "\n" in definition.documentation or "</" in definition.documentation
    ] == []


@pytest.mark.parametrize("role", CONNECTORS)
def test_a_connector_has_no_bootstrap_servers_of_its_own(role: Owner) -> None:
    assert "bootstrap.servers" not in definitions("4.2", role)
    assert "bootstrap.servers" in definitions("4.2", Owner.CLUSTER)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("refresh.topic.interval.seconds", "refresh.topics.interval.seconds"),
        ("sync.topic.acl.enabled", "sync.topic.acls.enabled"),
        ("colour", None),
    ],
)
def test_the_nearest_name_is_found_if_there_is_one(given: str, meant: str | None) -> None:
    assert nearest(given, definitions("4.2", Owner.SOURCE)) == meant
