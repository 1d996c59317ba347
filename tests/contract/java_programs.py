"""Runs small Java programs that call Kafka's own classes."""

import subprocess
from pathlib import Path

from rich.console import Console

from infra.local.build.artifacts import COLD_BUILD_SECONDS
from infra.machine import paths
from infra.machine.jars import JarSet, ensure_jars
from infra.machine.jdk import find_jdk
from infra.machine.locks import exclusive


def answer(program: Path, jars: JarSet, asked: str) -> str:
    """Return what the program prints for this standard input. Another process may fetch the same jars meanwhile."""
    jdk, console = find_jdk(), Console(quiet=True)
    with exclusive(paths.build_lock(), console, "fetching jars", COLD_BUILD_SECONDS):
        directory = ensure_jars(jars, jdk, console)
    command = [jdk.java, "-XX:TieredStopAtLevel=1", "-cp", f"{directory}/*", program]
    words = [str(word) for word in command]
    ran = subprocess.run(words, input=asked, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    return ran.stdout
