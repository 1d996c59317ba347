"""The API servers of Strimzi's two API versions: each starts when a test first asks for it, and stops after the tests
of this folder, because an idle one takes processor time too.
"""

import contextlib
from collections.abc import Callable, Iterator

import pytest

from tests.contract.api_servers import DEFINITIONS, ApiServer, running


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
