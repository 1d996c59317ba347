"""Resolves references to credentials, and builds the Kafka client options from them.

`Secret` and `ClientOptions` hold the values, and their repr does not show them. No message here holds a value.
"""

import base64
import binascii
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from py4j.protocol import Py4JJavaError as JavaError  # type: ignore[import-untyped]

from kafka_replication.components.clients.login import ClientConfig, Purpose, client_config
from kafka_replication.components.contract.parameters import (
    CertificateAuthentication,
    ClusterParameters,
    CredentialReference,
    SecretReference,
    Trust,
)
from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.kafka.connections import login_module
from kafka_replication.spark.read.sessions import Spark


@dataclass(frozen=True)
class Secret:
    """A resolved credential and where it came from. Only where it came from is ever shown."""

    reference: CredentialReference
    value: bytes = field(repr=False)

    def text(self) -> str:
        """Return the value as text, without the line break that editors and `echo` add."""
        try:
            return self.value.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError:
            what = "the value is not UTF-8 text"
            why = "Kafka's client takes passwords and PEM as text."
            remedy = "store it as text."
            raise CannotRunError("credential-not-text", what, str(self.reference), why, remedy) from None


@dataclass(frozen=True)
class ClientOptions:
    """How to log in to one cluster: `config` for this process's client, `properties` for Spark's reader."""

    alias: str
    bootstrap_servers: str
    properties: Mapping[str, str] = field(repr=False)
    config: ClientConfig = field(repr=False)


Resolve = Callable[[CredentialReference], Secret]
_PURPOSE = Purpose("The job reads both clusters of a flow with the login of its parameter document.")
#: (keystore, password, format JKS or PKCS12, where) -> the certificates as PEM.
KeystoreToPem = Callable[[bytes, str, str, str], str]


def resolver(kubeconfig: Path | None = None, secrets: Path | None = None) -> Resolve:
    """Return a function that resolves references. It reads Secrets as files NAMESPACE/NAME/KEY in the folder `secrets`,
    or without one from the Kubernetes API, with `kubeconfig`, $KUBECONFIG or the pod's account.
    """

    def resolve(reference: CredentialReference) -> Secret:
        if reference.secret is not None and secrets is not None:
            return Secret(reference, _mounted_value(reference.secret, secrets))
        if reference.secret is not None:
            return Secret(reference, _secret_value(reference.secret, kubeconfig))
        if reference.file is not None:
            return Secret(reference, _file_value(reference.file))
        name = reference.env or ""
        if name not in os.environ:
            raise _missing("the variable is not set", str(reference), f"export {name} for the job.")
        return Secret(reference, os.environ[name].encode())

    return resolve


def client_options(cluster: ClusterParameters, resolve: Resolve, keystore_to_pem: KeystoreToPem) -> ClientOptions:
    """Return the logins to `cluster`, with certificates inline so that executors need no file."""

    def read(reference: CredentialReference) -> str:
        secret = resolve(reference)
        if cluster.trust is not None and reference == cluster.trust.certificates:
            return _pem(secret, "CERTIFICATE")
        if isinstance(cluster.authentication, CertificateAuthentication):
            return _pem(secret, "CERTIFICATE" if reference == cluster.authentication.certificate else "PRIVATE KEY")
        return secret.text()

    def keystore(trust: Trust) -> str:
        assert trust.password is not None
        certificates = resolve(trust.certificates)
        password = resolve(trust.password).text()
        return keystore_to_pem(certificates.value, password, trust.format, str(certificates.reference))

    config = client_config(cluster, read, _PURPOSE, keystore)
    return ClientOptions(cluster.alias, cluster.bootstrap_servers, java_properties(config), config)


def java_properties(config: ClientConfig) -> dict[str, str]:
    """Return the same login for Kafka's Java client, which Spark's reader uses."""
    given = {key: str(value) for key, value in config.items()}
    properties = {"security.protocol": given["security.protocol"]}
    if "ssl.ca.pem" in given:
        properties |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": given["ssl.ca.pem"]}
    if "sasl.mechanism" in given:
        mechanism = given["sasl.mechanism"]
        options = {key: _jaas_escaped(given[f"sasl.{key}"]) for key in ("username", "password")}
        properties |= {"sasl.mechanism": mechanism, "sasl.jaas.config": login_module(mechanism, **options)}
    if "ssl.key.pem" in given:
        properties |= {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": given["ssl.certificate.pem"],
            "ssl.keystore.key": given["ssl.key.pem"],
        }
    return properties


def _jaas_escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _pem(secret: Secret, kind: str) -> str:
    # Kafka reports "No matching CERTIFICATE entries in PEM file" both for a PKCS#1 key and for an empty file.
    text = secret.text()
    if f"-----BEGIN {kind}-----" not in text:
        what = f"no '-----BEGIN {kind}-----' block"
        why = "Kafka's client reads certificates and PKCS#8 keys as PEM only."
        remedy = "store PEM; a private key must be PKCS#8 and not encrypted (openssl pkcs8 -topk8 -nocrypt)."
        raise CannotRunError("credential-not-pem", what, str(secret.reference), why, remedy)
    return text


def _missing(what: str, where: str, remedy: str) -> CannotRunError:
    why = "The parameter document says that it holds a credential."
    return CannotRunError("credential-missing", what, where, why, remedy)


def _file_value(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise _missing(f"{error.strerror}", f"file {path}", "give a path that the job's user can read.") from None


def _mounted_value(reference: SecretReference, secrets: Path) -> bytes:
    try:
        return secrets.joinpath(reference.namespace, reference.name, reference.key).read_bytes()
    except OSError as error:
        what = f"{error.strerror}: {error.filename}"
        where = f"secret {reference.namespace}/{reference.name} key {reference.key}"
        raise _missing(what, where, "mount this key of the Secret there, or leave `--secrets` out.") from None


def _secret_value(reference: SecretReference, kubeconfig: Path | None) -> bytes:
    # Imported here, because a job whose references are files or variables needs no Kubernetes client.
    from kubernetes import client
    from urllib3.exceptions import HTTPError

    from kafka_replication.spark.read.kubernetes import TIMEOUT_SECONDS, api_client

    where = f"secret {reference.namespace}/{reference.name} key {reference.key}"
    try:
        secret = client.CoreV1Api(api_client(kubeconfig)).read_namespaced_secret(
            reference.name, reference.namespace, _request_timeout=TIMEOUT_SECONDS
        )
    except client.ApiException as error:
        remedy = "let the job's account `get` this Secret." if error.status == 403 else "create it or correct the name."
        raise _missing(f"Kubernetes answers {error.reason}", where, remedy) from None
    except HTTPError:
        raise CannotRunError(
            "kubernetes-unreachable",
            "the Kubernetes API server does not answer",
            where,
            "The credential is kept in a Secret there.",
            "check --kubeconfig.",
        ) from None
    encoded = (secret.data or {}).get(reference.key)
    if encoded is None:
        what = "the Secret has no such key"
        why = "The parameter document says that the key holds a credential."
        raise CannotRunError("credential-missing", what, where, why, "correct the key, or add it to the Secret.")
    try:
        return base64.b64decode(encoded, validate=True)
    except binascii.Error:
        raise CannotRunError(
            "credential-not-text",
            "the value is not base64",
            where,
            "Kubernetes keeps every value of a Secret as base64.",
            "write the Secret again.",
        ) from None


def keystore_to_pem(spark: Spark) -> KeystoreToPem:
    """Return a function that returns a truststore's certificates as PEM, or raises CannotRunError without any value.

    Only Java reads JKS files, so this is all that the driver still asks the JVM for.
    """

    def convert(keystore: bytes, password: str, kind: str, where: str) -> str:
        jvm, gateway = spark.jvm, spark.gateway
        characters = gateway.new_array(jvm.char, len(password))
        for index, character in enumerate(password):
            characters[index] = character
        store = jvm.java.security.KeyStore.getInstance(kind)
        try:
            store.load(jvm.java.io.ByteArrayInputStream(keystore), characters)
        except JavaError:
            raise CannotRunError(
                "truststore-unreadable",
                f"not a {kind} truststore, or the password is wrong",
                where,
                "The job takes the cluster's certificate authorities from it.",
                "correct the truststore, its format or its password.",
            ) from None
        aliases = store.aliases()
        blocks = []
        while aliases.hasMoreElements():
            certificate = store.getCertificate(aliases.nextElement())
            if certificate is not None:
                encoded = base64.encodebytes(bytes(certificate.getEncoded())).decode()
                blocks.append(f"-----BEGIN CERTIFICATE-----\n{encoded}-----END CERTIFICATE-----")
        if not blocks:
            what = "the truststore holds no certificate"
            why = "The job would trust no broker."
            remedy = "add the certificate authority of the cluster."
            raise CannotRunError("truststore-empty", what, where, why, remedy)
        return "\n".join(blocks)

    return convert
