"""Faults of the logins that connectors use: a wrong password in a Secret, a client certificate that has expired."""

import datetime
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress

import psutil
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from kubernetes import client

from kafka_replication.infra.local.certificates import Authority
from kafka_replication.infra.local.parts import operator as operator_part
from kafka_replication.infra.local.parts import processes
from tests.bench.fault_stack import World


def kill_worker(component: str) -> None:
    """Kill the worker of this component, which the operator starts again."""
    for worker in operator_part.workers():
        process = processes.find(worker) if f"/{component}/" in worker.name else None
        if process is not None:
            with suppress(psutil.NoSuchProcess):
                process.kill()


@contextmanager
def _secret_changed(world: World, flow: str, name: str, data: Mapping[str, str]) -> Iterator[None]:
    """Change values in a Secret of a flow, by key; its worker restarts with them, and again without them at the end."""
    core, namespace = client.CoreV1Api(world.deployed.api), f"mirror-{flow}"
    before = {key: (core.read_namespaced_secret(name, namespace).data or {})[key] for key in data}
    core.patch_namespaced_secret(name, namespace, {"stringData": dict(data)})
    kill_worker(f"{flow}-connect")
    try:
        yield
    finally:
        core.patch_namespaced_secret(name, namespace, {"data": before})
        kill_worker(f"{flow}-connect")


def wrong_password(world: World) -> AbstractContextManager[None]:
    return _secret_changed(world, "traffic-sales", "traffic-sales-source-credentials", {"password": "wrong"})


@contextmanager
def expired_certificate(world: World) -> Iterator[None]:
    certificate, key = _made_expired()
    with _secret_changed(world, "orders", "useast-client", {"user.crt": certificate, "user.key": key}):
        yield


def _made_expired() -> tuple[str, str]:
    """A certificate of the user `mirror` that expired yesterday, with its key, as PEM."""
    authority = Authority("useast")
    signer = x509.load_pem_x509_certificate(authority.certificate.read_bytes())
    signing = serialization.load_pem_private_key(authority.pair("ca").key.read_bytes(), password=None)
    assert isinstance(signing, ec.EllipticCurvePrivateKey)
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "mirror")]))
        .issuer_name(signer.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=30))
        .not_valid_after(now - datetime.timedelta(days=1))
        .sign(signing, hashes.SHA256())
    )
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    texts = (
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(serialization.Encoding.PEM, form, plain),
    )
    return texts[0].decode(), texts[1].decode()
