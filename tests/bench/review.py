"""The cost of `replicate diff` and `replicate render`, and how it grows: `python -m tests.bench.review`."""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console

from tests.builders import a_cluster

CLUSTERS = 200
SIZES = (500, 1_000, 2_000)
#: One in so many replications is changed.
CHANGED = 10


def a_large_topology(replications: int, *, changed: bool) -> dict[str, Any]:
    """Flows from 100 clusters to 100 others; in the changed topology every tenth has one more topic."""
    half = CLUSTERS // 2
    clusters = {
        f"c{number}": a_cluster(f"region-{number % 20}", bootstrapServers=f"c{number}:9093")
        for number in range(CLUSTERS)
    }
    flows = {}
    for number in range(replications):
        topics = [f"team{number}-.*", f"orders-{number}", rf"audit\.v[0-9]+-{number}", f"(bills|rates)-{number}-.*"]
        if changed and number % CHANGED == 0:
            topics.append(f"ledger-{number}")
        flows[f"f{number}"] = {
            "kind": "flow",
            "source": f"c{number % half}",
            "target": f"c{half + (number + number // half) % half}",
            "topics": topics,
            "groups": [f"app{number}-.*"],
            "policy": "identity" if number % 3 == 0 else "default",
        }
    return {"strimzi": "1.2", "clusters": clusters, "replications": flows}


def main() -> None:
    console = Console(highlight=False)
    console.print(f"topologies of {CLUSTERS} clusters, every tenth flow changed; load average {os.getloadavg()[0]:.1f}")
    # Removed at the end: while a file system still deletes ten thousands of files, it creates new ones slowly.
    with tempfile.TemporaryDirectory() as temporary:
        first: dict[str, float] = {}
        for size in SIZES:
            console.print(f"{size:>6} flows: {_costs(Path(temporary) / str(size), size, first)}", soft_wrap=True)


def _costs(folder: Path, size: int, first: dict[str, float]) -> str:
    """The cost of each command, and its growth since the smallest size, whose seconds are stored in `first`."""
    stacks, out = _repository(folder, size), folder / "out"
    costs = []
    for name, arguments in _commands(stacks, out).items():
        seconds, mebibytes = _measured(arguments)
        first.setdefault(name, seconds)
        growth = seconds / first[name] / (size / SIZES[0])
        took = f"{name} {seconds:.1f} s"
        if name == "render":
            took += f" (the files alone {_files_alone(out, folder / 'again'):.1f} s)"
        costs.append(f"{took}, {mebibytes:.0f} MiB, {growth:.2f} times as much for each flow")
    return "; ".join(costs)


def _repository(folder: Path, size: int) -> Path:
    """A repository whose only commit has the topology, and whose work tree has the changed topology."""
    stacks = folder / "stacks"
    (stacks / "topologies").mkdir(parents=True)
    (stacks / "Pulumi.test.yaml").write_text("config: {'replication:topology': test}\n")
    for changed in (False, True):
        data = a_large_topology(size, changed=changed)
        (stacks / "topologies" / "test.yaml").write_text(yaml.dump(data, Dumper=yaml.CSafeDumper))
        if not changed:
            for arguments in (["init", "--quiet"], ["add", "stacks"], [*_AUTHOR, "commit", "--quiet", "--message=a"]):
                subprocess.run(["git", "-C", str(folder), *arguments], check=True)
    return stacks


_AUTHOR = ["-c", "user.name=bench", "-c", "user.email=bench@example.com", "-c", "commit.gpgsign=false"]


def _commands(stacks: Path, out: Path) -> dict[str, list[str]]:
    replicate = [
        "-c",
        "import sys; from kafka_replication.infra.commands.app import main; sys.argv[0] = 'replicate'; main()",
    ]
    return {
        "diff": [*replicate, "diff", "test", "--against", "HEAD", "--stacks", str(stacks), "--json"],
        "render": [*replicate, "render", "test", "--stacks", str(stacks), "--out", str(out)],
    }


def _measured(arguments: list[str]) -> tuple[float, float]:
    """Seconds and peak memory in MiB of a separate Python process; the peak is the largest so far, as sizes grow."""
    began = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    seconds = time.perf_counter() - began
    return seconds, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def _files_alone(rendered: Path, folder: Path) -> float:
    """Seconds that a plain loop takes for what was rendered: on a slow disk, rendering mostly creates small files."""
    contents = {path.relative_to(rendered): path.read_text() for path in rendered.rglob("*.yaml")}
    began = time.perf_counter()
    for parent in {(folder / path).parent for path in contents}:
        parent.mkdir(parents=True, exist_ok=True)
    for path, text in contents.items():
        (folder / path).write_text(text)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
