"""Access to a stack's cluster: the error for each kind of broken kubeconfig and of missing answer."""

import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from kubernetes.config import ConfigException, incluster_config, kube_config

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.kubernetes.access import api_client, asking_kubernetes
from kafka_replication.infra.kubernetes.api import ApiError, KubernetesApi
from kafka_replication.infra.stack.environment import stack_environment
from kafka_replication.infra.stack.settings import StackSettings, read_settings
from tests.infra.stacks import write_stack

TOKEN = "hunter2"


def a_kubeconfig(server: str = "https://127.0.0.1:1", **cluster: str) -> str:
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "a",
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "clusters": [{"name": "a", "cluster": {"server": server, **cluster}}],
        "users": [{"name": "a", "user": {"token": TOKEN}}],
    }
    return json.dumps(document, indent=2)


def a_stack(folder: Path, **access: object) -> StackSettings:
    write_stack(folder)
    file = folder / "Pulumi.test.yaml"
    lines = [f"  kubernetes:{key}: {json.dumps(value)}\n" for key, value in access.items()]
    file.write_text(file.read_text() + "".join(lines))
    return read_settings("test", folder)


@pytest.mark.parametrize(
    ("text", "context", "message"),
    [
        pytest.param(None, None, "No configuration found", id="missing"),
        pytest.param("", None, "is empty", id="empty"),
        pytest.param("just text", None, "it is not a kubeconfig", id="text"),
        pytest.param(f"users: [{{token: {TOKEN}", None, "it is not a kubeconfig", id="no YAML"),
        pytest.param(a_kubeconfig(), "nowhere", "Expected object with name nowhere", id="another context"),
    ],
)
def test_an_unusable_kubeconfig_is_reported_with_its_path_and_without_its_contents(
    tmp_path: Path, text: str | None, context: str | None, message: str
) -> None:
    file = tmp_path / "kubeconfig"
    if text is not None:
        file.write_text(text)
    with pytest.raises(CannotRunError, match=message) as caught:
        connect(a_stack(tmp_path, kubeconfig=str(file), **({"context": context} if context else {})))
    assert str(file) in caught.value.what
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize(
    ("access", "what"),
    [
        pytest.param({"kubeconfig": {"secure": "v1:abc"}}, "`kubernetes:kubeconfig` is encrypted", id="encrypted"),
        pytest.param({"context": {"secure": "v1:abc"}}, "`kubernetes:context` is encrypted", id="encrypted-context"),
        pytest.param({"kubeconfig": a_kubeconfig()}, "`kubernetes:kubeconfig` is a whole file", id="a-whole-file"),
    ],
)
def test_an_encrypted_or_inline_kubeconfig_is_refused_without_showing_it(
    tmp_path: Path, access: dict[str, object], what: str
) -> None:
    with pytest.raises(CannotRunError) as caught:
        connect(a_stack(tmp_path, **access))
    assert what in caught.value.what
    assert TOKEN not in str(caught.value)


def test_a_refused_connection_is_reported(tmp_path: Path) -> None:
    with pytest.raises(CannotRunError, match="does not answer: Connection refused, at stack test"):
        ask(tmp_path, "https://127.0.0.1:1")


def test_an_expired_certificate_is_reported(tmp_path: Path) -> None:
    with tls_server(tmp_path) as port, pytest.raises(CannotRunError, match="does not answer: certificate has expired"):
        ask(tmp_path, f"https://127.0.0.1:{port}", **{"certificate-authority": str(tmp_path / "certificate.pem")})


@pytest.mark.parametrize(("status", "remedy"), [(401, "renew the certificate or token"), (403, "grant it.")])
def test_an_unauthorized_and_a_forbidden_request_have_different_remedies(status: int, remedy: str) -> None:
    """More rights do not help a user whose credentials the cluster no longer accepts."""
    with pytest.raises(CannotRunError, match=f"Kubernetes answers {status} Refused") as caught, asking():
        raise ApiError(status, "Refused", "you may not")
    assert caught.value.remedy.startswith(remedy)


def asking() -> AbstractContextManager[None]:
    return asking_kubernetes("stack test", "The command reads from this cluster.", "grant it.")


def connect(settings: StackSettings) -> KubernetesApi:
    return api_client(settings, stack_environment(settings).kubernetes_access())


def ask(folder: Path, server: str, **cluster: str) -> None:
    file = folder / "kubeconfig"
    file.write_text(a_kubeconfig(server, **cluster))
    with asking(), KubernetesApi(file, field_manager="tester") as api:
        api.list_all("v1", "Namespace")


@contextmanager
def tls_server(folder: Path) -> Iterator[int]:
    """A server whose certificate expired yesterday."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=2))
        .not_valid_after(now - timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    file = folder / "certificate.pem"
    file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private = folder / "key.pem"
    plain = serialization.NoEncryption()
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, plain)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file, private)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        answering = threading.Thread(target=_answer, args=(listener, context), daemon=True)
        answering.start()
        yield int(listener.getsockname()[1])
        listener.shutdown(socket.SHUT_RDWR)
        answering.join()


def _answer(listener: socket.socket, context: ssl.SSLContext) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        try:
            context.wrap_socket(connection, server_side=True).close()
        except OSError:
            connection.close()


def test_a_pod_without_a_kubeconfig_uses_its_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The exporter in the cluster has nothing else. A named kubeconfig or context is never replaced by the account."""
    token, authority = tmp_path / "token", tmp_path / "ca.crt"
    token.write_text("of-the-pod")
    authority.write_text("certificate")
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(token))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(authority))
    monkeypatch.setattr(kube_config, "KUBE_CONFIG_DEFAULT_LOCATION", str(tmp_path / "none"))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    with KubernetesApi(field_manager="test") as api:
        assert api._client.configuration.host == "https://10.0.0.1:443"
        assert api._client.configuration.api_key == {"BearerToken": "bearer of-the-pod"}
    for named in ({"context": "prod"}, {"kubeconfig": tmp_path / "missing"}):
        with pytest.raises(ConfigException):
            KubernetesApi(field_manager="test", **named)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST")
    with pytest.raises(ConfigException):
        KubernetesApi(field_manager="test")
