"""Credentials in plain text are recognized by their names and values; references to credentials are accepted."""

import pytest

from kafka_replication.components.checks.property_values import is_open_credential
from kafka_replication.components.properties.definitions import Owner, PropertyType, definitions, supported_versions

#: Kafka hides these in its logs, but certificates are public, and the options of a JAAS configuration are judged one by
#: one.
NO_CREDENTIALS = {"sasl.jaas.config", "ssl.keystore.certificate.chain", "ssl.truststore.certificates"}


def test_exactly_the_properties_that_kafka_hides_are_credentials() -> None:
    known = [
        definition
        for version in supported_versions()
        for owner in Owner
        for definition in definitions(version, owner).values()
        if definition.name not in NO_CREDENTIALS
    ]
    assert {definition.name for definition in known if is_open_credential(definition.name, "hunter2")} == {
        definition.name for definition in known if definition.type is PropertyType.PASSWORD
    }


@pytest.mark.parametrize(
    ("name", "value", "is_open"),
    [
        ("ssl.key.password", "hunter2", True),
        ("ssl.key.password", "", False),
        ("ssl.key.password", "${secret:mirror:password}", False),
        ("ssl.key.password", "hunter2${secret:mirror:suffix}", True),
        ("encryption.key", "hunter2", True),
        ("passphrase", "hunter2", True),
        ("api.token", "hunter2", True),
        ("mask.token", "true", False),
        ("message.key", "id", False),
        ("sasl.jaas.config", "OAuthBearerLoginModule required;", False),
        ("sasl.jaas.config", 'M required storeKey=true keyTab="/mnt/user.keytab";', False),
        ("sasl.jaas.config", 'M required username="me" password="${secret:mirror:password}";', False),
        ("sasl.jaas.config", 'M required username="${secret:mirror:user}" password="hunter2";', True),
        ("sasl.jaas.config", 'M required password="${secret:mirror:password}hunter2";', True),
        ("sasl.jaas.config", "M required password = hunter2;", True),
        ("KAFKA_OPTS", "-Djavax.net.ssl.trustStorePassword=hunter2", True),
        ("KAFKA_OPTS", "-Djavax.net.ssl.trustStorePassword=$(PASSWORD)", False),
        ("value.literal", "Bearer hunter2", True),
        ("value.literal", " basic aHVudGVyMg==", True),
        ("value.literal", "Bearer ${secret:mirror:token}", False),
        ("headers", "X-Id: 1, Authorization: Bearer hunter2", True),
        ("value.literal", "Bearer", False),
        ("description", "the basic form of a header", False),
    ],
)
def test_a_credential_is_open_if_any_part_of_it_is_plain_text(name: str, value: str, is_open: bool) -> None:
    assert is_open_credential(name, value) is is_open
