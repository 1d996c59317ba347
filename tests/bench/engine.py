"""What our program adds to the cost of `preview` and `up`, compared with a bare program for the same objects.

`python -m tests.bench.engine` runs it. Both go through the real engine, with its state in files, to an API server of
their own, which has Strimzi's definitions and no operator: nothing starts a worker. Only the ratios within one run are
meaningful.
"""

import json
import os
import resource
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

# Read when infra.local.paths is imported: the bench's control plane keeps its state, ports and processes to itself.
_OWN = Path(__file__).resolve().parents[2] / ".local" / "bench"
os.environ["REPLICATE_LOCAL"] = str(_OWN)

import yaml
from pulumi import automation
from rich.console import Console

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.local import paths, stack
from kafka_replication.infra.local.provider.servicer import serve
from kafka_replication.infra.machine.waiting import exclusive
from tests.bench.engine_objects import CLUSTERS, a_topology, plain_objects
from tests.bench.engine_stacks import OBJECTS, PROGRAMS, PROJECT, select

FLOWS = 100
ROUNDS = 2
#: How many times the bare program's processor time ours may take; wall time depends on what else the machine does.
MOST = 1.10
#: What is measured, and the engine's command for it; the second `up` has nothing to do.
STEPS = {"preview": "preview", "up": "up", "up again": "up"}
_OTHER_RUN_SECONDS = 3600.0
_COMMAND_SECONDS = 3600.0


@contextmanager
def control_plane() -> Iterator[None]:
    """etcd, kube-apiserver and kube-controller-manager without an object, removed with all that they hold."""
    quiet = Console(quiet=True)
    # The remains of a killed run would be in the way of this one's objects.
    stack.down(quiet, purge=True)
    try:
        stack.start(quiet, stack.CONTROL_PLANE)
        yield
    finally:
        stack.down(quiet, purge=True)


@contextmanager
def stack_of(name: str) -> Iterator[Path]:
    """A folder with the stack, its topology and objects and its state; the provider runs beside the engine."""
    topology = a_topology(FLOWS)
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


@dataclass(frozen=True)
class Cost:
    """What a command took; `processor_seconds` are those of the program, the engine and a provider that it started.

    On a busy machine they are more meaningful than `seconds`.
    """

    seconds: float
    processor_seconds: float


def measured(name: str, command: str, folder: Path) -> tuple[Cost, Mapping[str, int]]:
    """The cost of a separate Python process, and the number of resources by kind of change."""
    arguments = [sys.executable, "-m", "tests.bench.engine_stacks", name, command, str(folder)]
    began, used = time.perf_counter(), _processor_seconds()
    answer = subprocess.run(arguments, check=True, stdout=subprocess.PIPE, text=True, timeout=_COMMAND_SECONDS)
    return Cost(time.perf_counter() - began, _processor_seconds() - used), json.loads(answer.stdout)


def _processor_seconds() -> float:
    """The processor seconds of all descendants that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def a_round(name: str) -> Iterator[tuple[str, Cost]]:
    """Each step of one program with its cost, in its own cluster."""
    with control_plane(), stack_of(name) as folder:
        yield from _steps(name, folder)


def _steps(name: str, folder: Path) -> Iterator[tuple[str, Cost]]:
    objects = len(json.loads((folder / OBJECTS).read_text()))
    # Pulumi counts its stack as a resource, and each flow of ours is a component.
    resources = objects + 1 + (FLOWS if name == "ours" else 0)
    for step, command in STEPS.items():
        cost, changes = measured(name, command, folder)
        expected = {"same" if step == "up again" else "create": resources}
        if changes != expected:
            raise SystemExit(f"{step} of the program `{name}` was to be {expected}, and was {changes}")
        yield step, cost


def main() -> int:
    console = Console(highlight=False)
    console.print(
        f"{FLOWS} flows between {CLUSTERS} clusters, by our program and by one of the bare objects, in turn; "
        f"load average {os.getloadavg()[0]:.1f}",
        soft_wrap=True,
    )
    costs: dict[str, dict[str, list[Cost]]] = defaultdict(lambda: defaultdict(list))
    try:
        with exclusive(_OWN / "bench.lock", console, "running the bench", _OTHER_RUN_SECONDS):
            for number in range(ROUNDS):
                # The two programs take turns at being first, so that other load on the machine favours neither.
                for name in sorted(PROGRAMS, reverse=number % 2 == 0):
                    for step, cost in a_round(name):
                        costs[step][name].append(cost)
                        console.print(f"  round {number + 1}, {name}: {step} {_shown(cost)}")
    except CannotRunError as error:
        console.print(str(error), style="red", markup=False)
        return 2
    ratios = []
    for step in STEPS:
        ours, bare = (_median(costs[step][name]) for name in ("ours", "bare"))
        ratio = ours.seconds / bare.seconds
        of_processor = ours.processor_seconds / bare.processor_seconds
        ratios.append(of_processor)
        console.print(
            f"{step:>8} {FLOWS} flows: ours {_shown(ours)}, bare {_shown(bare)}; "
            f"{ratio:.2f} times the time, {of_processor:.2f} times the processor time",
            soft_wrap=True,
        )
    if max(ratios) > MOST:
        console.print(f"more than {MOST} times the processor time of the bare program", style="red")
        return 1
    return 0


def _shown(cost: Cost) -> str:
    return f"{cost.seconds:.1f} s ({cost.processor_seconds:.1f} s of the processor)"


def _median(costs: Sequence[Cost]) -> Cost:
    return Cost(
        statistics.median(each.seconds for each in costs), statistics.median(each.processor_seconds for each in costs)
    )


if __name__ == "__main__":
    sys.exit(main())
