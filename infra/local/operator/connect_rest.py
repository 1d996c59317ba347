"""Calls the REST interface of one Connect worker. Deadlines are short, because a worker blocks calls until it has
joined its group.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx

from kafka_replication.components.kafka.connectors import Failure, failures
from kafka_replication.infra.kubernetes.api import Object

CALL_SECONDS = 10.0
HEALTH_SECONDS = 1.0


class RestError(Exception):
    """Connect refused a call; `status` is 0 if it did not answer in time."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status

    @property
    def passing(self) -> bool:
        """Return whether repeating the call may help: no answer, a worker that starts or stops, or a rebalance."""
        return self.status in {0, 404, 409, 503}


@dataclass(frozen=True)
class RunningConnector:
    """A connector as Connect knows it: its configuration (placeholders unresolved) and its status body."""

    config: Mapping[str, str]
    status: Object

    @property
    def state(self) -> str:
        return str(self.status["connector"]["state"])

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Return what failed of the connector and its tasks."""
        return tuple(failures(self.status))


class ConnectRest:
    """Every method except healthy() raises RestError."""

    def __init__(self, port: int) -> None:
        self._http = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=CALL_SECONDS, trust_env=False)

    def healthy(self) -> bool:
        """Return whether the worker has joined its group and serves. Source: KIP-1017."""
        try:
            return self._http.get("/health", timeout=HEALTH_SECONDS).is_success
        except httpx.HTTPError:
            return False

    def connectors(self) -> dict[str, RunningConnector]:
        """Return every connector whose status Connect knows by now."""
        answer = self._call("GET", "/connectors?expand=info&expand=status")
        return {
            name: RunningConnector(connector["info"]["config"], connector["status"])
            for name, connector in answer.items()
            if "info" in connector and "status" in connector
        }

    def status(self, name: str) -> Object:
        """Return the status of one connector, as Connect answers it."""
        return self.call(name, "GET", "/status")

    def create(self, name: str, config: Mapping[str, str], initial_state: str) -> Object:
        body = {"name": name, "config": dict(config), "initial_state": initial_state}
        return self._call("POST", "/connectors", body)

    def topics(self, name: str) -> list[str]:
        """Return the names of the topics that the connector has used, sorted."""
        return sorted(self.call(name, "GET", "/topics").get(name, {}).get("topics", []))

    def call(self, name: str, method: str, path: str = "", body: Any = None) -> Object:
        """Call Connect about one connector, at a path below it. Return its answer, empty if it has none."""
        # The names of a KafkaMirrorMaker2's connectors contain an arrow.
        return self._call(method, f"/connectors/{quote(name, safe='')}{path}", body)

    def _call(self, method: str, path: str, body: Any = None) -> Object:
        try:
            answer = self._http.request(method, path, json=body)
        except httpx.HTTPError as error:
            raise RestError(0, f"Connect at {self._http.base_url} did not answer: {error}") from error
        if not answer.is_success:
            raise RestError(answer.status_code, _message(answer))
        return dict(answer.json()) if answer.content else {}


def _message(answer: httpx.Response) -> str:
    try:
        return str(answer.json()["message"])
    except (ValueError, KeyError, TypeError):
        return f"HTTP {answer.status_code}: {answer.text[:500]}"
