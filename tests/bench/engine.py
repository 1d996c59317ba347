"""What our program adds to `preview` and `up` of the same objects by a bare one: `python -m tests.bench.engine`.

Both go through the real engine, with its state in files, to an API server of their own, which has Strimzi's
definitions and no operator: nothing starts a worker. Only the ratios of one run mean something.
"""

import json
import os
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# Read when infra.local.paths is imported: the bench's control plane keeps its state, ports and processes to itself.
_OWN = Path(__file__).resolve().parents[2] / ".local" / "bench"
os.environ["REPLICATE_LOCAL"] = str(_OWN)

import yaml
from pulumi import automation
from rich.console import Console

from components.contract.problems import CannotRunError
from components.flows.resolved import resolve_flows
from components.render.deployments import deployment_objects, deployments
from components.render.planned_objects import waits
from components.topology.parsing import parse_topology
from infra.local import paths, stack
from infra.local.provider import serve
from infra.machine.locks import exclusive
from tests.bench.engine_stacks import OBJECTS, PROGRAMS, PROJECT, select
from tests.builders import a_cluster

CLUSTERS = 20
FLOWS = 100
ROUNDS = 2
#: What is measured, by the engine's command for it; the second `up` has nothing to do.
STEPS = {"preview": "preview", "up": "up", "up again": "up"}
_OTHER_RUN_SECONDS = 3600.0
_COMMAND_SECONDS = 3600.0


def a_topology() -> dict[str, Any]:
    """Flows from ten clusters to ten others, whose credentials are Secrets of our making."""
    half = CLUSTERS // 2
    clusters = {
        f"c{number}": a_cluster(
            f"region-{number}",
            bootstrapServers=f"c{number}:9093",
            tls={"trust": {"config": f"c{number}Ca"}},
            authentication={
                "type": "scram-sha-512",
                "username": "mirror",
                "password": {"config": f"c{number}Password"},
            },
        )
        for number in range(CLUSTERS)
    }
    flows = {
        f"f{number}": {
            "kind": "flow",
            "source": f"c{number % half}",
            "target": f"c{half + (number + number // half) % half}",
            "topics": [f"team{number}-.*", f"orders-{number}"],
            "groups": [f"app{number}-.*"],
        }
        for number in range(FLOWS)
    }
    return {"strimzi": "1.2", "clusters": clusters, "replications": flows}


def plain_objects(topology: dict[str, Any]) -> list[dict[str, Any]]:
    """The objects of the topology as `bare_program` takes them, under the Pulumi names that they have with us."""
    return [
        {
            "name": f"{deployment.name}-{planned.key}",
            "manifest": planned.manifest,
            "after": [f"{deployment.name}-{key}" for key in earlier[planned.key]],
            "secretValues": dict(planned.secret_values),
        }
        for deployment in deployments(resolve_flows(parse_topology(topology), None, {}))
        for earlier in [waits(deployment_objects(deployment))]
        for planned in deployment_objects(deployment)
    ]


@contextmanager
def control_plane() -> Iterator[None]:
    """etcd, kube-apiserver and kube-controller-manager without an object, removed with all that they hold."""
    quiet = Console(quiet=True)
    # What a killed run left would be in the way of the objects of this one.
    stack.down(quiet, purge=True)
    try:
        stack.start(quiet, stack.CONTROL_PLANE)
        yield
    finally:
        stack.down(quiet, purge=True)


@contextmanager
def stack_of(name: str) -> Iterator[Path]:
    """A folder with the stack, its topology and objects and its state; the provider runs beside the engine."""
    topology = a_topology()
    with tempfile.TemporaryDirectory() as temporary, serve(paths.kubeconfig()) as port:
        folder = Path(temporary)
        (folder / "state").mkdir()
        (folder / "topologies").mkdir()
        (folder / "topologies" / "bench.yaml").write_text(yaml.safe_dump(topology))
        (folder / OBJECTS).write_text(json.dumps(plain_objects(topology)))
        os.environ |= {
            "KUBECONFIG": str(paths.kubeconfig()),
            "PULUMI_BACKEND_URL": f"file://{folder / 'state'}",
            "PULUMI_CONFIG_PASSPHRASE": secrets.token_urlsafe(),
            "PULUMI_DEBUG_PROVIDERS": f"kubernetes:{port}",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            "PULUMI_HOME": str(folder / "home"),
            "PULUMI_SKIP_UPDATE_CHECK": "true",
        }
        keys = [f"{PROJECT}:{alias}{what}" for alias in topology["clusters"] for what in ("Ca", "Password")]
        values = {key: automation.ConfigValue(value=secrets.token_urlsafe(), secret=True) for key in keys}
        values[f"{PROJECT}:topology"] = automation.ConfigValue(value="bench")
        select(name, folder, lambda: None).set_all_config(values)
        yield folder


def measured(name: str, command: str, folder: Path) -> tuple[float, Mapping[str, int]]:
    """Seconds of a Python of its own, and the number of resources by kind of change."""
    arguments = [sys.executable, "-m", "tests.bench.engine_stacks", name, command, str(folder)]
    began = time.perf_counter()
    answer = subprocess.run(arguments, check=True, stdout=subprocess.PIPE, text=True, timeout=_COMMAND_SECONDS)
    return time.perf_counter() - began, json.loads(answer.stdout)


def a_round(name: str) -> Iterator[tuple[str, float]]:
    """Each step of one program with its seconds, in a cluster of its own."""
    with control_plane(), stack_of(name) as folder:
        yield from _steps(name, folder)


def _steps(name: str, folder: Path) -> Iterator[tuple[str, float]]:
    objects = len(json.loads((folder / OBJECTS).read_text()))
    # Pulumi counts its stack as a resource, and each flow of ours is a component.
    resources = objects + 1 + (FLOWS if name == "ours" else 0)
    for step, command in STEPS.items():
        seconds, changes = measured(name, command, folder)
        expected = {"same" if step == "up again" else "create": resources}
        if changes != expected:
            raise SystemExit(f"{step} of the program `{name}` was to be {expected}, and was {changes}")
        yield step, seconds


def main() -> int:
    console = Console(highlight=False)
    console.print(
        f"{FLOWS} flows between {CLUSTERS} clusters, by our program and by one of the bare objects, in turn; "
        f"load average {os.getloadavg()[0]:.1f}",
        soft_wrap=True,
    )
    seconds: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    try:
        with exclusive(_OWN / "bench.lock", console, "running the bench", _OTHER_RUN_SECONDS):
            for number in range(ROUNDS):
                # Each is first in turn: what the machine does beside the bench shall favour neither.
                for name in sorted(PROGRAMS, reverse=number % 2 == 0):
                    for step, took in a_round(name):
                        seconds[step][name].append(took)
                        console.print(f"  round {number + 1}, {name}: {step} {took:.1f} s")
    except CannotRunError as error:
        console.print(str(error), style="red", markup=False)
        return 2
    for step in STEPS:
        ours, bare = (statistics.median(seconds[step][name]) for name in ("ours", "bare"))
        console.print(f"{step:>8} {FLOWS} flows: ours {ours:.1f} s, bare {bare:.1f} s, {ours / bare:.2f} times")
    return 0


if __name__ == "__main__":
    sys.exit(main())
