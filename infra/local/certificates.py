"""The certificate authorities of the local stack and the certificates that they sign, as PEM with PKCS#8 keys."""

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from kafka_replication.infra.local import paths
from kafka_replication.infra.local.state import write_private

LIFETIME = datetime.timedelta(days=3650)


@dataclass(frozen=True)
class KeyPair:
    """A private key (mode 0600) and its certificate."""

    certificate: Path
    key: Path

    def exists(self) -> bool:
        return self.certificate.exists() and self.key.exists()

    def write(self, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
        encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        write_private(self.key, key.private_bytes(encoding, form, serialization.NoEncryption()))
        write_private(self.certificate, certificate.public_bytes(encoding))


@dataclass(frozen=True)
class Authority:
    """A certificate authority. Kubernetes and each region have their own, so trusting the wrong one fails."""

    name: str

    @property
    def directory(self) -> Path:
        """Return the folder of the authority's own files and of those that it issued."""
        return paths.certificates() / self.name

    def pair(self, name: str) -> KeyPair:
        """Return the places of a key and its certificate, which may not exist yet."""
        return KeyPair(self.directory / f"{name}.crt", self.directory / f"{name}.key")

    @property
    def certificate(self) -> Path:
        """Return the certificate that clients trust."""
        return self.pair("ca").certificate

    def ensure(self) -> None:
        """Create the authority unless it exists."""
        pair = self.pair("ca")
        if pair.exists():
            return
        key = ec.generate_private_key(ec.SECP256R1())
        subject = _name(f"replicate local {self.name}")
        usage = x509.KeyUsage(
            digital_signature=True,
            key_cert_sign=True,
            crl_sign=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            encipher_only=False,
            decipher_only=False,
        )
        certificate = (
            _certificate(subject, subject, key.public_key(), key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .sign(key, hashes.SHA256())
        )
        pair.write(certificate, key)

    def issue(self, common_name: str) -> KeyPair:
        """Return the key and certificate of `common_name`, for a server on loopback or a client; created once."""
        self.ensure()
        pair = self.pair(common_name)
        if pair.exists():
            return pair
        signer = x509.load_pem_x509_certificate(self.certificate.read_bytes())
        signing_file = self.pair("ca").key
        signing_key = serialization.load_pem_private_key(signing_file.read_bytes(), password=None)
        if not isinstance(signing_key, ec.EllipticCurvePrivateKey):
            raise TypeError(f"{signing_file} holds a {type(signing_key).__name__}, not an elliptic curve key")
        key = ec.generate_private_key(ec.SECP256R1())
        loopback = x509.IPAddress(ipaddress.IPv4Address("127.0.0.1"))
        certificate = (
            _certificate(_name(common_name), signer.subject, key.public_key(), signing_key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName([loopback, x509.DNSName("localhost")]), critical=False)
            .add_extension(
                x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]),
                critical=False,
            )
            .sign(signing_key, hashes.SHA256())
        )
        pair.write(certificate, key)
        return pair

    def keystore(self, common_name: str) -> Path:
        """Write one PEM file with the key, its certificate and the authority's, which Kafka calls a keystore."""
        pair = self.issue(common_name)
        store = self.directory / f"{common_name}.keystore.pem"
        parts = (pair.key, pair.certificate, self.certificate)
        write_private(store, "".join(part.read_text(encoding="ascii") for part in parts))
        return store


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, issuer_key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        # If the clock is set back a little, a new certificate must stay valid.
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + LIFETIME)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key), critical=False)
    )
