"""Which requests the operator sends to the API server in a round, against a server that records them."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from kafka_replication.infra.kubernetes.api import Reference
from kafka_replication.infra.local.operator.reconcile import CachedReads

SECRET = Reference("v1", "Secret", "here", "login")
RESOURCES = {"resources": [{"name": "secrets", "kind": "Secret", "namespaced": True}]}


class Store(ThreadingHTTPServer):
    """One Secret and the revision of the whole store; `asked` are the paths of all requests but those for Events."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.revision = 1
        self.asked: list[str] = []

    def change(self) -> None:
        """Somebody else changes any object."""
        self.revision += 1


class Handler(BaseHTTPRequestHandler):
    server: Store
    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.split("?")[0]
        if path != "/api/v1/events":
            self.server.asked.append(f"{self.command} {path}")
        found = {"metadata": {"resourceVersion": str(self.server.revision)}, "status": {"allowed": False}}
        body = json.dumps(RESOURCES if path == "/api/v1" else found).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_DELETE(self) -> None:
        self._answer()

    def log_message(self, *_: object) -> None:
        """Nothing on the terminal."""


@pytest.fixture
def store() -> Iterator[Store]:
    with Store() as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def api(store: Store, tmp_path: Path) -> Iterator[CachedReads]:
    """A client that already knows the plural of Secret."""
    cluster = {"name": "here", "cluster": {"server": f"http://127.0.0.1:{store.server_port}"}}
    context = {"name": "here", "context": {"cluster": "here", "user": "here"}}
    found = {"clusters": [cluster], "contexts": [context], "users": [{"name": "here", "user": {}}]}
    file = tmp_path / "kubeconfig"
    file.write_text(yaml.safe_dump({**found, "current-context": "here"}))
    with CachedReads(file, field_manager="tester") as client:
        client.is_namespaced("v1", "Secret")
        store.asked.clear()
        yield client


def revision_of_the_secret(api: CachedReads) -> str:
    """The revision at which the API server was asked for the Secret."""
    found = api.get(SECRET)
    assert found is not None
    return str(found["metadata"]["resourceVersion"])


def test_a_round_reads_nothing_again_while_no_object_changes(store: Store, api: CachedReads) -> None:
    for _ in range(3):
        api.begin_round()
        assert revision_of_the_secret(api) == "1"
    assert store.asked == ["GET /api/v1/namespaces/here/secrets/login"]


def test_a_round_sees_what_changed_before_it(store: Store, api: CachedReads) -> None:
    api.begin_round()
    revision_of_the_secret(api)
    store.change()
    api.begin_round()
    assert revision_of_the_secret(api) == "2"


def test_the_operator_sees_its_own_writes_within_a_round(store: Store, api: CachedReads) -> None:
    api.begin_round()
    revision_of_the_secret(api)
    store.change()
    api.delete(SECRET)
    assert revision_of_the_secret(api) == "2"


def test_an_access_review_is_sent_each_time_and_keeps_the_cached_answers(store: Store, api: CachedReads) -> None:
    """The API server evaluates roles a moment after it has stored them, so no answer is kept."""
    api.begin_round()
    revision_of_the_secret(api)
    assert not api.may_get("someone", "secrets", "here", "login")
    assert not api.may_get("someone", "secrets", "here", "login")
    revision_of_the_secret(api)
    review = "POST /apis/authorization.k8s.io/v1/subjectaccessreviews"
    assert store.asked == ["GET /api/v1/namespaces/here/secrets/login", review, review]
