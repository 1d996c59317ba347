"""How a region's node is configured: an unencrypted listener or one user too many must not go unnoticed."""

import base64
import shlex
from pathlib import Path

import pytest

from kafka_replication.infra.local.endpoints import USERS, Region, password_key, with_passwords
from kafka_replication.infra.local.parts.kafka import QUICK_AND_SMALL, new_cluster_id, server_properties

PORTS = {"kafka-useast": 20001, "kafka-useast-tls": 20002}
PASSWORDS = {password_key("useast", user): f"{user}-password" for user in USERS}


@pytest.fixture
def region() -> Region:
    """The region useast with the test's own certificates."""
    return Region("useast", PORTS, PASSWORDS)


def properties(region: Region) -> dict[str, str]:
    """The properties without those that only make the node quick and small."""
    settings = server_properties(region, 20003, Path("/keystore.pem"), Path("/log"))
    return {key: value for key, value in settings.items() if key not in QUICK_AND_SMALL}


def test_the_whole_configuration_of_a_node(region: Region) -> None:
    plain = (
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
        'username="admin" password="admin-password" '
        'user_admin="admin-password" user_mirror="mirror-password" '
        'user_validator="validator-password" user_app="app-password";'
    )
    listeners = "CLIENT://127.0.0.1:20001,TLS://127.0.0.1:20002,CONTROLLER://127.0.0.1:20003"
    assert properties(region) == {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": "1@127.0.0.1:20003",
        "controller.listener.names": "CONTROLLER",
        "listeners": listeners,
        "advertised.listeners": listeners,
        "listener.security.protocol.map": "CLIENT:SASL_SSL,TLS:SSL,CONTROLLER:SASL_SSL",
        "inter.broker.listener.name": "CLIENT",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "sasl.mechanism.controller.protocol": "PLAIN",
        "listener.name.client.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
        "listener.name.client.plain.sasl.jaas.config": plain,
        "listener.name.client.scram-sha-512.sasl.jaas.config": (
            "org.apache.kafka.common.security.scram.ScramLoginModule required;"
        ),
        "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.controller.plain.sasl.jaas.config": plain,
        "listener.name.tls.ssl.client.auth": "required",
        "listener.name.tls.ssl.principal.mapping.rules": "RULE:^CN=([^,]+).*$/$1/",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": "/keystore.pem",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(region.ca_file),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "false",
        "super.users": "User:admin",
        "log.dirs": "/log",
    }


def test_the_repr_of_a_region_and_its_users_shows_no_password(region: Region) -> None:
    assert not [password for password in PASSWORDS.values() if password in repr(region)]


def test_a_client_logs_in_as_the_user_that_was_asked_for(region: Region) -> None:
    assert region.client_config("validator") == {
        "bootstrap.servers": "127.0.0.1:20001",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "validator",
        "sasl.password": "validator-password",
        "ssl.ca.location": str(region.ca_file),
        "log_level": 2,
    }


def test_a_cluster_id_has_sixteen_bytes_and_does_not_start_with_a_dash() -> None:
    ids = [new_cluster_id() for _ in range(500)]
    assert {len(base64.urlsafe_b64decode(f"{each}==")) for each in ids} == {16}
    assert not [each for each in ids if each.startswith("-")]


def test_passwords_are_made_once_and_need_no_quotes() -> None:
    first = with_passwords({}, ("useast/app", "uswest/app"))
    assert first["useast/app"] != first["uswest/app"]
    assert all(shlex.quote(password) == password and len(password) == 32 for password in first.values())
    assert with_passwords(first, ("useast/app", "uswest/app")) == first
