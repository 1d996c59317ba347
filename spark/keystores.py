"""Converts JKS and PKCS12 truststores to PEM with the JVM's KeyStore, so that executors elsewhere need no file."""

import base64

from components.contract.problems import CannotRunError
from spark.credentials import KeystoreToPem
from spark.kafka_errors import JavaError, JavaObject
from spark.sessions import Spark


def keystore_to_pem(spark: Spark) -> KeystoreToPem:
    """A function that returns a truststore's certificates as PEM. It raises CannotRunError, which holds no value."""
    jvm, gateway = spark.jvm, spark.gateway

    def convert(keystore: bytes, password: str, kind: str, where: str) -> str:
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
        certificates = [store.getCertificate(alias) for alias in _all(store.aliases())]
        blocks = [_block(bytes(each.getEncoded())) for each in certificates if each is not None]
        if not blocks:
            raise CannotRunError(
                "truststore-empty",
                "the truststore holds no certificate",
                where,
                "The job would trust no broker.",
                "add the certificate authority of the cluster.",
            )
        return "\n".join(blocks)

    return convert


def _all(enumeration: JavaObject) -> list[str]:
    found = []
    while enumeration.hasMoreElements():
        found.append(str(enumeration.nextElement()))
    return found


def _block(der: bytes) -> str:
    return f"-----BEGIN CERTIFICATE-----\n{base64.encodebytes(der).decode()}-----END CERTIFICATE-----"
