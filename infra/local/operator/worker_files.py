"""The files that the container of a worker writes when it starts, and that connectors may read. Pure.

In Strimzi 0.45 (v1beta2) they contain secret values, and connectors read credentials from them, as in
`${file:/tmp/strimzi-connect.properties:sasl.jaas.config}`. In later versions they contain placeholders. Kafka resolves
only once, so a connector that reads such a file gets a placeholder instead of a password, and fails.

Source: Strimzi 0.45 kafka_connect_config_generator.sh, kafka_connect_tls_prepare_certificates.sh,
kafka_mirror_maker_2_run.sh, kafka_mirror_maker_2_connector_config_generator.sh, KafkaConnectConfiguration.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import pkcs12

from components.kafka.connections import LOGIN_MODULES
from infra.local.operator.cluster_access import (
    CertificateAuthentication,
    ClusterAccess,
    PasswordAuthentication,
    SecretKey,
)
from infra.local.operator.mirror_maker2_versions import CONNECTOR_FILE, STORES
from infra.local.operator.resources import KAFKA_MIRROR_MAKER_2, ConnectResource
from infra.local.operator.secret_contents import InvalidSecretError, SecretData, secret_value, trusted_certificates
from infra.local.operator.worker_properties import (
    as_properties_file,
    for_every_client,
    security_protocol,
    user_config,
    worker_properties,
)

CONNECT_FILE = "/tmp/strimzi-connect.properties"
OWN_STORES = "/tmp/kafka/cluster"


@dataclass(frozen=True)
class WorkerFiles:
    """The configuration of the workers of one resource, and the contents of their files.

    `secrets` holds the Secrets that the resource refers to. `store_password` protects every key store; the caller
    chooses it.
    """

    connect: ConnectResource
    secrets: SecretData = field(repr=False)
    store_password: str = field(repr=False)

    def properties(self) -> dict[str, str]:
        """The whole worker configuration, as in a pod. It contains secret values only for an operator before 0.46."""
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
        """Contents by path in a pod. Raises InvalidSecretError."""
        files = {CONNECT_FILE: as_properties_file(self.properties()).encode()}
        if not self.connect.has_values_in_files:
            return files
        trusted = trusted_certificates(self.connect, self.secrets)
        for access in self.connect.access:
            path = f"{STORES}/{access.alias}" if access.alias else OWN_STORES
            if access.tls:
                files[f"{path}.truststore.p12"] = truststore(trusted[access.trust_key], self.store_password)
            if isinstance(access.authentication, CertificateAuthentication):
                files[f"{path}.keystore.p12"] = self._keystore(access.authentication)
        if self.connect.component is KAFKA_MIRROR_MAKER_2:
            files[CONNECTOR_FILE] = as_properties_file(dict(self._connector_passwords())).encode()
        return files

    def _stores(self, access: ClusterAccess) -> dict[str, str]:
        found: dict[str, str] = {}
        stores = {
            "truststore": bool(access.tls),
            "keystore": isinstance(access.authentication, CertificateAuthentication),
        }
        for store in (name for name, there in stores.items() if there):
            place = {f"ssl.{store}.location": f"{OWN_STORES}.{store}.p12", f"ssl.{store}.password": self.store_password}
            found |= for_every_client(place) | {f"ssl.{store}.type": "PKCS12"}
        return found

    def _sasl(self, access: ClusterAccess) -> dict[str, str]:
        match access.authentication:
            case PasswordAuthentication(mechanism, username, password):
                value = self._text(password)
                login = f'{LOGIN_MODULES[mechanism]} required username="{username}" password="{value}";'
                return {"sasl.mechanism": mechanism, "sasl.jaas.config": login}
        return {}

    def _connector_passwords(self) -> Iterator[tuple[str, str]]:
        for access in self.connect.clusters:
            if access.tls:
                yield "ssl.truststore.password", self.store_password
            match access.authentication:
                case PasswordAuthentication(password=password):
                    yield f"{access.alias}.sasl.password", self._text(password)
                case CertificateAuthentication():
                    yield "ssl.keystore.password", self.store_password

    def _keystore(self, pair: CertificateAuthentication) -> bytes:
        certificate, key = (secret_value(self.connect, self.secrets, each) for each in (pair.certificate, pair.key))
        return keystore(certificate, key, self.store_password, f"{self.connect.namespace}/{pair.key.secret}")

    def _text(self, where: SecretKey) -> str:
        return secret_value(self.connect, self.secrets, where).decode()


def truststore(certificates: str, password: str) -> bytes:
    """A PKCS#12 trust store for Java that contains these PEM certificates."""
    entries = [
        pkcs12.PKCS12Certificate(certificate, f"ca-{number}".encode())
        for number, certificate in enumerate(x509.load_pem_x509_certificates(certificates.encode()))
    ]
    return pkcs12.serialize_java_truststore(entries, _encryption(password))


def keystore(certificates: bytes, key: bytes, password: str, where: str) -> bytes:
    """A PKCS#12 store with a private key and its certificate chain, both given as PEM. Raises InvalidSecretError."""
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
