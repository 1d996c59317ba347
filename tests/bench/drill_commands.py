"""The commands that drills run, and what they report."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kafka_replication.infra.local.endpoints import Region
from tests.bench.drill_counting import Log, read_log
from tests.bench.drill_shapes import Shape
from tests.local.flows import Deployed
from tests.repository import ROOT

COMMAND_SECONDS = 300.0
#: What each command prints at its steps, in order.
STEPS = {
    "planned": ("✓ connectors", "is STOPPED", "point of no return", "committed on", "Start the consumers"),
    "planned with `--fence`": (
        "are denied",
        "✓ connectors",
        "is STOPPED",
        "point of no return",
        "committed on",
        "Start the consumers",
    ),
    "continuous": ("✓ connectors", "is STOPPED", "point of no return", "committed on", "Start the consumers"),
    "disaster": ("✓ source", "committed on", "Start the consumers"),
    "back": ("✓ positions", "point of no return", "committed on", "Start the consumers"),
    "beginning": ("✓ beginning", "changing the offsets of"),
    "back after `--fence`": (
        "✓ positions",
        "point of no return",
        "committed on",
        "allowed again",
        "Start the consumers",
    ),
}
AT_MOST = re.compile(r"at most (\d+)")


@dataclass(frozen=True)
class Drills:
    """The deployed shapes, and the file that keeps the rows."""

    deployed: Deployed
    rows: Path
    seed: int

    @property
    def source(self) -> Region:
        return self.deployed.endpoints.regions["useast"]

    @property
    def target(self) -> Region:
        return self.deployed.endpoints.regions["uswest"]

    def logs(self, shape: Shape) -> tuple[Log, Log]:
        """The records of a shape's topics on the source and the target."""
        return read_log(self.source, shape.topics), read_log(self.target, map(shape.remote, shape.topics))

    def call(self, verb: str, flow: str, *options: str) -> "subprocess.CompletedProcess[str]":
        """Run a command as a user does."""
        words = self.words(verb, flow, *options)
        return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False)

    def kill_at(self, step: str, verb: str, flow: str, *options: str) -> bool:
        """Run a command, and kill it with SIGKILL once it prints the text; False if it ended without printing it."""
        words = self.words(verb, flow, *options)
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        with subprocess.Popen(words, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                if step in line:
                    process.kill()
                    return True
        print(f"{verb} ended with {process.returncode} before `{step}`", flush=True)
        return False

    def words(self, verb: str, *options: str) -> list[str]:
        """The command line of a command for this stack."""
        code = "from kafka_replication.infra.commands.app import main; main()"
        named = [verb, self.deployed.settings.stack, *options, "--stacks", str(self.deployed.settings.stacks)]
        return [sys.executable, "-c", code, *named]


def announced(document: Mapping[str, list[dict[str, object]]], mode: str) -> str:
    """What the command reports about records that are read again, for all groups together."""
    if mode == "disaster":
        values = [str(each["value"]) for each in document["preconditions"] if each["name"] == "read again"]
        bound = [int(number) for each in values for number in AT_MOST.findall(each)]
        return f"at most {sum(bound)}"
    bounds = {str(each["readAgainIs"]) for each in document["positions"]} - {"exactly"}
    total = sum(int(str(each["readAgain"])) for each in document["positions"])
    return f"{' '.join(sorted(bounds))} {total}".strip()


def refusal(answer: "subprocess.CompletedProcess[str]") -> str:
    """The code of a refusal that is expected for the shape. Raises RuntimeError if the command failed otherwise."""
    found = re.search(r"\b([a-z]+-unsuited):", answer.stderr)
    if found is None:
        raise RuntimeError(f"{answer.stdout[-1500:]}{answer.stderr}")
    return found[1]
