"""Makes the files that the container of a worker writes when it starts, and reads Secrets for them. Pure.

In Strimzi 0.45 (v1beta2) the files contain secret values, which connectors read. In later versions they contain
placeholders: Kafka resolves only once, so a connector that reads such a file gets a placeholder and fails.

Source: Strimzi 0.45 kafka_connect_config_generator.sh, kafka_connect_tls_prepare_certificates.sh,
kafka_mirror_maker_2_run.sh, kafka_mirror_maker_2_connector_config_generator.sh, KafkaConnectConfiguration; Strimzi 1.2
ReconcilerUtils.validatedSecret.
"""

import base64
import fnmatch
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, pkcs12

from kafka_replication.components.kafka.connections import login_module
from kafka_replication.infra.local.operator import resources
from kafka_replication.infra.local.operator.mirror_maker2 import CONNECTOR_FILE, STORES
from kafka_replication.infra.local.operator.resources import ClusterConnection, ConnectResource, SecretEntry
from kafka_replication.infra.local.operator.worker_properties import (
    as_properties_file,
    credential_entries,
    for_every_client,
    security_protocol,
    user_config,
    worker_properties,
)

#: The data of Secrets in base64, as the API server returns it, by name of the Secret.
SecretData = Mapping[str, Mapping[str, str]]


class InvalidSecretError(Exception):
    """A Secret, or a key of it, is missing or unusable; the message names it."""


def secret_names(connect: ConnectResource) -> list[str]:
    """Return the Secrets that the resource itself refers to."""
    trusted = {certificate.secret for access in connect.access for certificate in access.tls or ()}
    return sorted(trusted | {credential.secret for credential in credential_entries(connect)})


def trusted_certificates(connect: ConnectResource, secrets: SecretData) -> dict[str, str]:
    """Return each cluster's trusted certificates as PEM, by key of the operator's Secret. Raises InvalidSecretError."""
    return {access.trust_key: _joined(connect, access.tls, secrets) for access in connect.access if access.tls}


def _joined(connect: ConnectResource, trusted: Iterable[SecretEntry], secrets: SecretData) -> str:
    parts: list[str] = []
    for certificate in trusted:
        data = _data(connect, secrets, certificate.secret)
        keys = fnmatch.filter(sorted(data), certificate.key)
        if not keys:
            raise _missing(certificate)
        parts += [_certificate(f"{connect.namespace}/{certificate.secret}:{key}", data[key]) for key in keys]
    return "\n".join(parts)


def check_credentials(connect: ConnectResource, secrets: SecretData) -> None:
    """Raise InvalidSecretError if a credential that the workers will read does not exist."""
    for credential in credential_entries(connect):
        secret_value(connect, secrets, credential)


def secret_value(connect: ConnectResource, secrets: SecretData, where: SecretEntry) -> bytes:
    """Return the value of one key. Raises InvalidSecretError."""
    data = _data(connect, secrets, where.secret)
    if where.key not in data:
        raise _missing(where)
    return base64.b64decode(data[where.key])


def _missing(where: SecretEntry) -> InvalidSecretError:
    return InvalidSecretError(f"Items with key(s) [{where.key}] are missing in Secret {where.secret}")


def contents_digest(secrets: SecretData) -> str:
    """Return a digest that changes with the data, so that workers are rolled; it does not reveal a value."""
    content = json.dumps({name: dict(data) for name, data in secrets.items()}, sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


def _data(connect: ConnectResource, secrets: SecretData, name: str) -> Mapping[str, str]:
    if name not in secrets:
        raise InvalidSecretError(f"Secret {name} not found in namespace {connect.namespace}")
    return secrets[name]


def _certificate(where: str, encoded: str) -> str:
    """Return the first certificate of a key: Strimzi 1.2 ignores the others."""
    try:
        first, *_ = x509.load_pem_x509_certificates(base64.b64decode(encoded))
    except ValueError as error:
        raise InvalidSecretError(f"Secret {where} is not a PEM certificate") from error
    return first.public_bytes(Encoding.PEM).decode().strip()


CONNECT_FILE = "/tmp/strimzi-connect.properties"
OWN_STORES = "/tmp/kafka/cluster"


@dataclass(frozen=True)
class WorkerFiles:
    """The configuration of the workers of one resource, and the contents of their files.

    `secrets` holds the Secrets that the resource refers to. `store_password` protects every key store.
    """

    connect: ConnectResource
    secrets: SecretData = field(repr=False)
    store_password: str = field(repr=False)

    def properties(self) -> dict[str, str]:
        """Return the worker configuration of a pod. It contains secret values only for an operator before 0.46."""
        connect = self.connect
        if not connect.has_values_in_files:
            return worker_properties(connect)
        access = connect.own_cluster
        return {
            "bootstrap.servers": connect.bootstrap_servers,
            # In a pod this is the pod's own address when the container starts.
            "rest.advertised.host.name": "127.0.0.1",
            "rest.advertised.port": "8083",
            "plugin.path": "/opt/kafka/plugins",
            **connect.group,
            **connect.component.converters,
            **user_config(connect),
            **for_every_client({"security.protocol": security_protocol(access)}),
            **self._stores(access),
            **for_every_client(self._sasl(access)),
            "consumer.client.rack": "",
        }

    def files(self) -> dict[str, bytes]:
        """Return the contents by path in a pod. Raises InvalidSecretError."""
        files = {CONNECT_FILE: as_properties_file(self.properties()).encode()}
        if not self.connect.has_values_in_files:
            return files
        trusted = trusted_certificates(self.connect, self.secrets)
        for access in self.connect.access:
            path = f"{STORES}/{access.alias}" if access.alias else OWN_STORES
            if access.tls:
                files[f"{path}.truststore.p12"] = truststore(trusted[access.trust_key], self.store_password)
            if isinstance(access.authentication, resources.CertificateLogin):
                login = access.authentication
                where = f"{self.connect.namespace}/{login.key.secret}"
                certificate, key = (
                    secret_value(self.connect, self.secrets, entry) for entry in (login.certificate, login.key)
                )
                files[f"{path}.keystore.p12"] = keystore(certificate, key, self.store_password, where)
        if self.connect.component is resources.KAFKA_MIRROR_MAKER_2:
            files[CONNECTOR_FILE] = as_properties_file(dict(self._connector_passwords())).encode()
        return files

    def _stores(self, access: ClusterConnection) -> dict[str, str]:
        properties: dict[str, str] = {}
        stores = ["truststore"] if access.tls else []
        if isinstance(access.authentication, resources.CertificateLogin):
            stores.append("keystore")
        for store in stores:
            place = {f"ssl.{store}.location": f"{OWN_STORES}.{store}.p12", f"ssl.{store}.password": self.store_password}
            properties |= for_every_client(place) | {f"ssl.{store}.type": "PKCS12"}
        return properties

    def _sasl(self, access: ClusterConnection) -> dict[str, str]:
        match access.authentication:
            case resources.PasswordLogin(mechanism, username, password):
                login = login_module(mechanism, username=username, password=self._text(password))
                return {"sasl.mechanism": mechanism, "sasl.jaas.config": login}
        return {}

    def _connector_passwords(self) -> Iterator[tuple[str, str]]:
        for access in self.connect.clusters:
            if access.tls:
                yield "ssl.truststore.password", self.store_password
            match access.authentication:
                case resources.PasswordLogin(password=password):
                    yield f"{access.alias}.sasl.password", self._text(password)
                case resources.CertificateLogin():
                    yield "ssl.keystore.password", self.store_password

    def _text(self, where: SecretEntry) -> str:
        return secret_value(self.connect, self.secrets, where).decode()


def truststore(certificates: str, password: str) -> bytes:
    """Return a PKCS#12 trust store for Java that contains these PEM certificates."""
    entries = [
        pkcs12.PKCS12Certificate(certificate, f"ca-{number}".encode())
        for number, certificate in enumerate(x509.load_pem_x509_certificates(certificates.encode()))
    ]
    return pkcs12.serialize_java_truststore(entries, _encryption(password))


def keystore(certificates: bytes, key: bytes, password: str, where: str) -> bytes:
    """Return a PKCS#12 store with a PEM key and its certificate chain. Raises InvalidSecretError."""
    try:
        chain = x509.load_pem_x509_certificates(certificates)
        private = serialization.load_pem_private_key(key, None)
    except (ValueError, TypeError):
        private = None
    if not isinstance(private, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
        raise InvalidSecretError(f"Secret {where} is not a PEM certificate and an unencrypted PEM key")
    return pkcs12.serialize_key_and_certificates(b"client", private, chain[0], chain[1:], _encryption(password))


def _encryption(password: str) -> serialization.KeySerializationEncryption:
    return serialization.BestAvailableEncryption(password.encode())
