"""Entry of the stand-in: `python -m kafka_replication.infra.local.prometheus --kubeconfig … --folder … --port …`."""

import argparse
import logging
import signal
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from kafka_replication.components.render.monitoring import API_VERSION
from kafka_replication.infra.kubernetes.api import ApiError
from kafka_replication.infra.local.operator.reconcile import CachedReads
from kafka_replication.infra.local.prometheus.configuration import UnsupportedError, write_files

log = logging.getLogger(__name__)

FIELD_MANAGER = "prometheus-operator"
INTERVAL_SECONDS = 1.0
_RELOAD_SECONDS = 30.0


@dataclass
class Configurer:
    """Keeps the files of one Prometheus, and makes it read them again when they have changed."""

    api: CachedReads
    folder: Path
    address: str
    _read: dict[str, str] = field(default_factory=dict, init=False)
    _complaint: str = field(default="", init=False)

    def round(self) -> None:
        """Write what has changed. A failure is logged once, and the next round tries again."""
        try:
            self.api.begin_round()
            pods = self.api.list_all("v1", "Pod")
            monitors, rules = (self.api.list_all(API_VERSION, kind) for kind in ("PodMonitor", "PrometheusRule"))
            files = write_files(self.folder, monitors, rules, pods)
            if files != self._read:
                answer = httpx.post(f"{self.address}/-/reload", timeout=_RELOAD_SECONDS, trust_env=False)
                if answer.is_error:
                    raise httpx.HTTPError(f"Prometheus keeps its earlier configuration: {answer.text.strip()}")
                self._read = files
                log.info("configured with %d PodMonitors and %d PrometheusRules", len(monitors), len(rules))
        except (ApiError, UnsupportedError, httpx.HTTPError) as error:
            complaint = str(error)
        else:
            complaint = ""
        if complaint and complaint != self._complaint:
            log.warning("%s", complaint)
        self._complaint = complaint


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT. Return 0."""
    parser = argparse.ArgumentParser(prog="python -m kafka_replication.infra.local.prometheus", description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, required=True, help="kubeconfig of a user who may read everything")
    parser.add_argument("--folder", type=Path, required=True, help="folder of Prometheus' files")
    parser.add_argument("--port", type=int, required=True, help="port of Prometheus on 127.0.0.1")
    options = parser.parse_args(arguments)
    logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    ending = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ending.set())
    with CachedReads(options.kubeconfig, field_manager=FIELD_MANAGER) as api:
        configurer = Configurer(api, options.folder, f"http://127.0.0.1:{options.port}")
        while not ending.is_set():
            configurer.round()
            ending.wait(INTERVAL_SECONDS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
