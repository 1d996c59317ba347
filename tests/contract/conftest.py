"""The API servers of Strimzi's two API versions: each starts when a test first asks for it, and stops after the tests
of this folder, because an idle one takes processor time too.
"""

import contextlib
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafka_replication.infra.deploy.engine import deployment
from kafka_replication.infra.kubernetes.api import KubernetesApi, reference
from kafka_replication.infra.local.provider.servicer import serve
from tests.contract.api_servers import DEFINITIONS, ApiServer, running
from tests.contract.worlds import KINDS, World


@pytest.fixture(scope="package")
def api_server_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], ApiServer]]:
    """Returns the API server of an API version, for tests that choose one."""
    with contextlib.ExitStack() as stack:
        servers: dict[str, ApiServer] = {}

        def server_of(version: str) -> ApiServer:
            if version not in servers:
                folder = tmp_path_factory.mktemp(f"api-server-{version}")
                servers[version] = stack.enter_context(running(version, folder))
            return servers[version]

        yield server_of


@pytest.fixture(scope="package", params=DEFINITIONS)
def api_server(request: pytest.FixtureRequest, api_server_of: Callable[[str], ApiServer]) -> ApiServer:
    """The API server of each API version in turn: a test with this fixture runs once for each version."""
    return api_server_of(request.param)


@pytest.fixture
def world(
    tmp_path: Path, api_server_of: Callable[[str], ApiServer], monkeypatch: pytest.MonkeyPatch
) -> Iterator[World]:
    server = api_server_of("v1")
    namespace = f"a{uuid.uuid4().hex[:6]}"
    server.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    (tmp_path / "state").mkdir()
    # There is no operator that would report anything as ready.
    monkeypatch.setattr(deployment, "wait_ready", lambda *_: None)
    with contextlib.ExitStack() as opened, serve(server.kubeconfig) as port:

        def tool(name: str) -> KubernetesApi:
            return opened.enter_context(KubernetesApi(server.kubeconfig, field_manager=name))

        monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "home"))
        monkeypatch.setenv("PULUMI_BACKEND_URL", f"file://{tmp_path / 'state'}")
        monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "test")
        monkeypatch.setenv("PULUMI_DEBUG_PROVIDERS", f"kubernetes:{port}")
        yield World(tmp_path, server, namespace, tool)
        # A flow between the same clusters in another namespace would disturb the next test.
        for version, kind in KINDS:
            for each in server.api.list_all(version, kind, namespace=namespace):
                server.api.delete(reference(each))
