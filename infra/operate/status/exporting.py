"""Serves the result of the newest look at stacks. A scrape never causes a look."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from components.contract.problems import CannotRunError
from infra.operate.status.document import StatusDocument
from infra.operate.status.exporter import Drift, families, times

#: A look without any answer takes at most this long, because every question has a deadline.
_LOOK_SECONDS = 60
#: This many looks may be missed before the newest one no longer counts.
_INTERVALS = 3


@dataclass(frozen=True)
class _Look:
    ended: float
    values: list[Metric]
    times: list[Metric]


class Newest(Collector):
    """The result of the newest look. If no other look follows in time, only the time of this one is still served."""

    def __init__(self, worst: int, every_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._worst, self._clock = worst, clock
        self._believed_seconds = _INTERVALS * every_seconds + _LOOK_SECONDS
        self._look: _Look | None = None

    def take(self, document: StatusDocument, drift: Drift = MappingProxyType({})) -> None:
        """Serve this look from now on."""
        self._look = _Look(self._clock(), families(document, self._worst, drift), times(document))

    def collect(self) -> list[Metric]:
        """The metrics of one scrape."""
        look = self._look
        if look is None:
            return []
        return look.values if self._clock() - look.ended <= self._believed_seconds else look.times


@contextmanager
def serving(newest: Newest, host: str, port: int) -> Iterator[int]:
    """Serve over HTTP while the body runs; yields the port, which 0 lets the system choose. Raises CannotRunError."""
    registry = CollectorRegistry()
    registry.register(newest)
    try:
        server, thread = start_http_server(port, host, registry)
    except OSError as error:
        raise CannotRunError(
            "cannot-listen",
            f"cannot listen: {(error.strerror or str(error)).lower()}",
            f"{host}:{port}",
            "Prometheus scrapes the exporter at this address.",
            "stop what listens there, or name another address of this machine with `--listen HOST:PORT`.",
        ) from None
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
