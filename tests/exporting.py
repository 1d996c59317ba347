"""`replicate exporter` as a process, and a scrape of it."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.request import Request, urlopen

from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from tests.repository import ROOT

SECONDS = 60


@contextmanager
def exporter(*words: object, every_seconds: int = 3600) -> "Iterator[tuple[subprocess.Popen[str], str]]":
    """The running command and its address. Without `every_seconds`, no second look ends it in time."""
    code = "from kafka_replication.infra.commands.app import main; main()"
    options = ["--listen", "127.0.0.1:0", "--every", str(every_seconds)]
    command = [sys.executable, "-c", code, "exporter", *map(str, words), *options]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            said = process.stderr.readline()
            assert said.startswith("serving http://127.0.0.1:"), said + process.stderr.read()
            yield process, said.split()[1].rstrip(",")
        finally:
            process.kill()


def scrape(address: str) -> str:
    """What Prometheus gets that has been looked at."""

    def probe() -> str:
        asked = Request(address, headers={"Accept": "application/openmetrics-text;version=1.0.0"})
        with urlopen(asked, timeout=SECONDS) as answer:
            assert answer.headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
            text = str(answer.read().decode())
        if "mirror_" not in text:
            raise NotYetError("no look has ended")
        return text

    return wait_for("the first look", probe, SECONDS)
