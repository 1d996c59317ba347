"""Runs small Java programs that call Kafka's own classes."""

import subprocess
from pathlib import Path

from kafka_replication.infra.machine.jdk import find_jdk
from kafka_replication.infra.machine.toolchain import JarSet, ensure_jars
from tests.building import building


def answer(program: Path, jars: JarSet, asked: str) -> str:
    """Return what the program prints for this standard input. Another process may fetch the same jars meanwhile."""
    jdk = find_jdk()
    with building("fetching jars") as console:
        directory = ensure_jars(jars, jdk, console)
    command = [jdk.java, "-XX:TieredStopAtLevel=1", "-cp", f"{directory}/*", program]
    words = [str(word) for word in command]
    ran = subprocess.run(words, input=asked, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    return ran.stdout
