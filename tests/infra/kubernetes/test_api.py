"""The small client of an API server, against a server that records connections."""

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from kafka_replication.infra.kubernetes.api import KubernetesApi

CONNECTIONS: list[object] = []
CONFIG_MAPS = {"name": "configmaps", "kind": "ConfigMap", "namespaced": True}


class Handler(BaseHTTPRequestHandler):
    """Knows the kind ConfigMap, and has no objects."""

    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        CONNECTIONS.append(self.client_address)

    def do_GET(self) -> None:
        body = json.dumps({"resources": [CONFIG_MAPS], "items": []}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing on the terminal."""


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[Path]:
    """The kubeconfig of a server that runs during the test."""
    CONNECTIONS.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        cluster = {"name": "here", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}
        context = {"name": "here", "context": {"cluster": "here", "user": "here"}}
        found = {"clusters": [cluster], "contexts": [context], "users": [{"name": "here", "user": {}}]}
        file = tmp_path / "kubeconfig"
        file.write_text(yaml.safe_dump({**found, "current-context": "here"}))
        yield file
        server.shutdown()
        thread.join()


def test_an_old_connection_is_reused(kubeconfig: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If it were closed, a provider thread that takes it at that moment would find a bad file descriptor."""
    now = time.monotonic
    with KubernetesApi(kubeconfig, field_manager="tester") as api:
        assert api.list_all("v1", "ConfigMap") == []
        first = list(CONNECTIONS)
        monkeypatch.setattr(time, "monotonic", lambda: now() + 3600)
        assert api.list_all("v1", "ConfigMap") == []
    assert CONNECTIONS == first != []


def test_calls_to_this_machine_bypass_the_proxy_of_the_environment(
    kubeconfig: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with KubernetesApi(kubeconfig, field_manager="tester") as api:
        assert api.list_all("v1", "ConfigMap") == []
