"""Measures `failover --switch` on the local stack: seconds to the first record on the target, and skipped records.

Ten groups consume in Deployments of one pod each, and a Deployment produces. A stand-in for a kubelet starts and ends a
process for each pod, with the address in its ConfigMap. First a planned failover whose command is killed once, and one
that is not; last a disaster, in which the broker of the source is killed. Nothing is asserted about time.
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread

import psutil
import yaml
from confluent_kafka import KafkaException
from rich.console import Console

from kafka_replication.infra.kubernetes.api import ApiError, KubernetesApi, Object, Reference
from kafka_replication.infra.local import stack
from kafka_replication.infra.local.endpoints import ADMIN, Endpoints, part_name
from kafka_replication.infra.local.state import load_state
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from tests.bench.drill_shapes import SHAPES, prepared
from tests.bench.switch_application import REMOTE, TOPIC
from tests.local.flows import Deployed
from tests.local.moving import failover_command, forget
from tests.repository import ROOT

GROUPS, NAMESPACE = 10, "shop"
SECONDS = 300.0
CONFIG = Reference("v1", "ConfigMap", NAMESPACE, "kafka")


@dataclass
class Kubelet:
    """Runs a process for each pod of the namespace, and reports it ready."""

    api: KubernetesApi
    endpoints: Endpoints
    folder: Path
    running: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)

    @contextlib.contextmanager
    def working(self) -> Iterator[None]:
        ended = Event()

        def rounds() -> None:
            while not ended.wait(0.1):
                with contextlib.suppress(ApiError):
                    self.round()

        thread = Thread(target=rounds)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            for process in self.running.values():
                process.kill()

    def round(self) -> None:
        pods = {pod["metadata"]["uid"]: pod for pod in self.api.list_all("v1", "Pod", namespace=NAMESPACE)}
        for uid in [uid for uid in self.running if uid not in pods]:
            self.running.pop(uid).terminate()
        for uid, pod in pods.items():
            if uid not in self.running and "deletionTimestamp" not in pod["metadata"]:
                self.running[uid] = self.start(pod["spec"]["containers"][0]["args"])
                self.report(pod)

    def start(self, args: list[str]) -> "subprocess.Popen[bytes]":
        role, group = args
        config = self.api.get(CONFIG)
        assert config is not None
        address = config["data"]["bootstrap"]
        region = next(each for each in self.endpoints.regions.values() if each.bootstrap_servers == address)
        code = f"from tests.bench.switch_application import run; run({role!r}, {group!r}, {self.log(group)!r})"
        return subprocess.Popen(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env={**os.environ, "CLIENT": json.dumps(region.client_config(ADMIN))},
        )

    def log(self, group: str) -> str:
        return str(self.folder / f"{group}.log")

    def report(self, pod: Object) -> None:
        metadata = pod["metadata"]
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        at = Reference("v1", "Pod", NAMESPACE, metadata["name"])
        self.api.apply_status(at, {"phase": "Running", "conditions": [ready]})


def deploy(api: KubernetesApi, address: str) -> list[str]:
    """Create the Deployments and their ConfigMap; returns the groups."""
    metadata = {"namespace": NAMESPACE}
    api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    config = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"bootstrap": address}}
    api.apply({**config, "metadata": {**metadata, "name": CONFIG.name}})
    groups = [f"plain-orders-{number}" for number in range(GROUPS)]

    def expect_account() -> None:
        if api.get(Reference("v1", "ServiceAccount", NAMESPACE, "default")) is None:
            raise NotYetError("no account yet")

    wait_for("the account", expect_account, SECONDS)
    for name in (*groups, "writer"):
        labels = {"app": name}
        args = ["producer" if name == "writer" else "consumer", name]
        container = {"name": "app", "image": "app", "args": args}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
        spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
        body = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec}
        api.apply({**body, "metadata": {**metadata, "name": name}})
    return groups


def switch_file(folder: Path, groups: list[str]) -> Path:
    settings = [{"kind": "ConfigMap", "name": CONFIG.name, "key": "bootstrap"}]
    common = {"namespace": NAMESPACE, "settings": settings}
    workloads = [{**common, "name": group, "groups": [group]} for group in groups]
    path = folder / "switch.yaml"
    path.write_text(yaml.safe_dump({"workloads": [*workloads, {**common, "name": "writer", "role": "producer"}]}))
    return path


def consumed(kubelet: Kubelet, group: str) -> list[tuple[float, str, int, int]]:
    path = Path(kubelet.log(group))
    rows = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
    return [(float(at), topic, int(partition), int(number)) for at, topic, partition, number in rows]


def await_consumption(kubelet: Kubelet, groups: list[str], topic: str, since: float) -> None:
    """Wait until each group has consumed fifty more records of the topic."""

    def probe() -> None:
        for group in groups:
            got = sum(at > since and name == topic for at, name, _, _ in consumed(kubelet, group))
            if got < 50:
                raise NotYetError(f"{group} has consumed {got}")

    wait_for("the groups to consume", probe, SECONDS)


def moved(deployed: Deployed, kubelet: Kubelet, groups: list[str], *options: str, kill_at: str = "") -> None:
    """Run the command, killed once as soon as it prints `kill_at`, and print what came of it."""
    began = time.time()
    calls = [kill_at, ""] if kill_at else [""]
    for step in calls:
        command = failover_command(deployed, "plain", *options)
        with subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                print(f"{time.time() - began:6.1f} {line}", end="", flush=True)
                if step and step in line:
                    process.kill()
    if process.returncode:
        raise RuntimeError(f"exit code {process.returncode}")
    ended = time.time()
    await_consumption(kubelet, groups, REMOTE, began)
    firsts = []
    skipped = again = 0
    for group in groups:
        rows = consumed(kubelet, group)
        firsts.append(min(at for at, topic, _, _ in rows if topic == REMOTE and at > began) - began)
        lost, twice = counts(rows, written(kubelet))
        skipped, again = skipped + lost, again + twice
    killed = ", killed once" if kill_at else ""
    print(
        f"{' '.join(options)}{killed}: first record on the target after {min(firsts):.1f} s, "
        f"of the last group after {max(firsts):.1f} s; command {ended - began:.1f} s; skipped {skipped}, again {again}",
        flush=True,
    )


def written(kubelet: Kubelet) -> dict[int, list[int]]:
    rows = [line.split() for line in Path(kubelet.log("writer")).read_text().splitlines()]
    by_partition: dict[int, list[int]] = {}
    for number, partition in rows:
        by_partition.setdefault(int(partition), []).append(int(number))
    return by_partition


def counts(rows: list[tuple[float, str, int, int]], every: Mapping[int, list[int]]) -> tuple[int, int]:
    """How many records a group passed over between its first and its newest remote one, and how many it read twice."""
    numbers = [number for _, _, _, number in rows]
    got = set(numbers)
    newest: dict[int, int] = {}
    first: dict[int, int] = {}
    for _, topic, partition, number in rows:
        first[partition] = min(number, first.get(partition, number))
        if topic == REMOTE:
            newest[partition] = max(number, newest.get(partition, 0))
    spans = [(first[partition], end, every[partition]) for partition, end in newest.items()]
    skipped = sum(number not in got for begin, end, numbers_ in spans for number in numbers_ if begin < number < end)
    return skipped, len(numbers) - len(got)


def returned(deployed: Deployed, kubelet: Kubelet, groups: list[str]) -> None:
    """Begin again on the source, with nothing on the target, as before a first failover."""
    api, source = kubelet.api, kubelet.endpoints.regions["useast"]
    names = [Reference("apps/v1", "Deployment", NAMESPACE, name) for name in (*groups, "writer")]
    for name in names:
        api.patch(name, [{"op": "replace", "path": "/spec/replicas", "value": 0}])
    wait_for("the pods to end", lambda: _expect_none(kubelet), SECONDS)
    address = {"op": "replace", "path": "/data/bootstrap", "value": source.bootstrap_servers}
    api.patch(CONFIG, [address])
    for group in groups:
        Path(kubelet.log(group)).unlink()

    def expect_forgotten() -> None:
        try:
            forget(kubelet.endpoints.regions["uswest"], groups)
        except KafkaException as error:
            raise NotYetError(str(error)) from error

    wait_for("the groups to be deleted", expect_forgotten, SECONDS)
    command = failover_command(deployed, "plain")
    command[command.index("failover")] = "resume"
    subprocess.run(command, cwd=ROOT, check=True)
    for name in names:
        api.patch(name, [{"op": "replace", "path": "/spec/replicas", "value": 1}])
    await_consumption(kubelet, groups, TOPIC, time.time())


def _expect_none(kubelet: Kubelet) -> None:
    if kubelet.running:
        raise NotYetError(f"{len(kubelet.running)} run")


def main() -> None:
    if "REPLICATE_LOCAL" not in os.environ:
        raise SystemExit("set REPLICATE_LOCAL to a folder for a local stack of its own, which is removed at the end")
    endpoints = stack.up(Console())
    try:
        with tempfile.TemporaryDirectory() as name, prepared(endpoints, Path(name), SHAPES[:1]).running() as deployed:
            folder = Path(name)
            api = KubernetesApi(endpoints.kubeconfig, field_manager="bench")
            kubelet = Kubelet(api, endpoints, folder)
            groups = deploy(api, endpoints.regions["useast"].bootstrap_servers)
            file = str(switch_file(folder, groups))
            with kubelet.working():
                await_consumption(kubelet, groups, TOPIC, 0)
                moved(deployed, kubelet, groups, "--switch", file, "--watch-seconds", "2", kill_at="point of no return")
                returned(deployed, kubelet, groups)
                moved(deployed, kubelet, groups, "--switch", file, "--watch-seconds", "2")
                returned(deployed, kubelet, groups)
                psutil.Process(load_state().parts[part_name("useast")].pid).kill()
                moved(deployed, kubelet, groups, "--mode", "disaster", "--switch", file)
            stack.up(Console(quiet=True))
    finally:
        stack.down(Console(), purge=True)


if __name__ == "__main__":
    main()
