"""Measures `failover --switch` on the local stack: seconds to the first record on the target, and skipped records.

Ten groups consume in Deployments of one pod each, and a Deployment produces. A stand-in for a kubelet starts and ends a
process for each pod, with the address in its environment. First a planned failover whose command is killed once, and
one that is not; last a disaster, in which the broker of the source is killed. Nothing is asserted about time.

`--kinds` moves one application of each kind instead: a StatefulSet with a variable of its container, Deployments with a
Secret and a ConfigMap, and a consumer that a program stops and starts; first `continuous`, then planned with `--fence`,
and each command once more after it is done.
"""

import argparse
import base64
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from unittest.mock import patch

import psutil
import yaml
from confluent_kafka import KafkaException
from rich.console import Console

from kafka_replication.infra.kubernetes.api import ApiError, KubernetesApi, Object, Reference
from kafka_replication.infra.local import stack
from kafka_replication.infra.local.acls import apply_acls
from kafka_replication.infra.local.endpoints import ADMIN, Endpoints, part_name
from kafka_replication.infra.local.parts import control_plane
from kafka_replication.infra.local.state import load_state
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from tests.bench.drill_fence import MAY_DENY
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
                self.running[uid] = self.start(pod["spec"]["containers"][0])
                self.report(pod)

    def start(self, container: Object) -> "subprocess.Popen[bytes]":
        role, group = container["args"]
        address = self.address(container["env"][0])
        region = next(each for each in self.endpoints.regions.values() if each.bootstrap_servers == address)
        code = f"from tests.bench.switch_application import run; run({role!r}, {group!r}, {self.log(group)!r})"
        return subprocess.Popen(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env={**os.environ, "CLIENT": json.dumps(region.client_config(ADMIN))},
        )

    def address(self, variable: Object) -> str:
        """The value of a variable of a pod."""
        if "value" in variable:
            return str(variable["value"])
        ((reference, place),) = variable["valueFrom"].items()
        kind = {"configMapKeyRef": "ConfigMap", "secretKeyRef": "Secret"}[reference]
        held = self.api.get(Reference("v1", kind, NAMESPACE, place["name"]))
        assert held is not None
        value = str(held["data"][place["key"]])
        return base64.b64decode(value).decode() if kind == "Secret" else value

    def log(self, group: str) -> str:
        return str(self.folder / f"{group}.log")

    def report(self, pod: Object) -> None:
        metadata = pod["metadata"]
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        at = Reference("v1", "Pod", NAMESPACE, metadata["name"])
        self.api.apply_status(at, {"phase": "Running", "conditions": [ready]})


@dataclass(frozen=True)
class Application:
    """What runs in a workload of this name, and what holds the address that it reads."""

    name: str
    kind: str = "Deployment"
    holder: str = "ConfigMap"
    held: str = CONFIG.name
    role: str = "consumer"

    @property
    def reference(self) -> Reference:
        return Reference("apps/v1", self.kind, NAMESPACE, self.name)

    @property
    def entry(self) -> dict[str, object]:
        """Its entry in the switch file."""
        settings = [{"kind": self.holder, "name": self.held, "key": "bootstrap"}]
        groups = [self.name] if self.role == "consumer" else []
        own = {"namespace": NAMESPACE, "kind": self.kind, "name": self.name}
        return {**own, "role": self.role, "groups": groups, "settings": settings}

    def deploy(self, api: KubernetesApi, address: str, replicas: int = 1) -> None:
        """Apply the workload and what holds its address."""
        metadata, key = {"namespace": NAMESPACE}, {"name": self.held, "key": "bootstrap"}
        source: Object = {"valueFrom": {f"{self.holder[0].lower()}{self.holder[1:]}KeyRef": key}}
        if self.holder == "Container":
            source = {"value": address}
        else:
            value = base64.b64encode(address.encode()).decode() if self.holder == "Secret" else address
            held = {"apiVersion": "v1", "kind": self.holder, "data": {"bootstrap": value}}
            api.apply({**held, "metadata": {**metadata, "name": self.held}})
        labels = {"app": self.name}
        container = {"name": "app", "image": "app", "args": [self.role, self.name]}
        pod = {"containers": [{**container, "env": [{"name": "bootstrap", **source}]}]}
        template = {"metadata": {"labels": labels}, "spec": pod}
        spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
        service = {"serviceName": self.name} if self.kind == "StatefulSet" else {}
        body = {"apiVersion": "apps/v1", "kind": self.kind, "spec": {**spec, **service}}
        api.apply({**body, "metadata": {**metadata, "name": self.name}})


TEN = [*(Application(f"plain-orders-{number}") for number in range(GROUPS)), Application("writer", role="producer")]
OF_EACH_KIND = [
    Application("plain-orders-set", kind="StatefulSet", holder="Container", held="app"),
    Application("plain-orders-secret", holder="Secret"),
    Application("writer", role="producer"),
]
HOOK_GROUP = "plain-orders-hook"


def create_namespace(api: KubernetesApi) -> None:
    api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})

    def expect_account() -> None:
        if api.get(Reference("v1", "ServiceAccount", NAMESPACE, "default")) is None:
            raise NotYetError("no account yet")

    wait_for("the account", expect_account, SECONDS)


def switch_file(folder: Path, applications: Sequence[Application], *commands: Mapping[str, object]) -> str:
    path = folder / "switch.yaml"
    path.write_text(yaml.safe_dump({"workloads": [each.entry for each in applications], "commands": list(commands)}))
    return str(path)


def consumed(kubelet: Kubelet, group: str) -> list[tuple[float, str, int, int]]:
    path = Path(kubelet.log(group))
    rows = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
    return [(float(at), topic, int(partition), int(number)) for at, topic, partition, number in rows]


def await_consumption(kubelet: Kubelet, groups: list[str], topic: str, since: float) -> None:
    """Wait until each group has consumed ten more records of the topic."""

    def probe() -> None:
        for group in groups:
            got = sum(at > since and name == topic for at, name, _, _ in consumed(kubelet, group))
            if got < 10:
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


def returned(deployed: Deployed, kubelet: Kubelet, applications: Sequence[Application], *hooks: str) -> None:
    """Begin again on the source, with nothing on the target, as before a first failover."""
    api, address = kubelet.api, kubelet.endpoints.regions["useast"].bootstrap_servers
    groups = [*(each.name for each in applications if each.role == "consumer"), *hooks]
    for each in applications:
        each.deploy(api, address, 0)
    wait_for("the pods to end", lambda: _expect_none(kubelet), SECONDS)
    if hooks:
        hook(kubelet, "stop", address)
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
    for each in applications:
        each.deploy(api, address)
    if hooks:
        hook(kubelet, "start", address)
    await_consumption(kubelet, groups, TOPIC, time.time())


def _expect_none(kubelet: Kubelet) -> None:
    if kubelet.running:
        raise NotYetError(f"{len(kubelet.running)} run")


HOOK = [sys.executable, "-m", "tests.bench.switch_application"]


def hook(kubelet: Kubelet, step: str, address: str) -> None:
    """Call the program of the file as the switch does."""
    environment = {**os.environ, "REPLICATE_STEP": step, "REPLICATE_BOOTSTRAP": address}
    subprocess.run(HOOK, cwd=kubelet.folder, env=environment, check=True)


def ten(deployed: Deployed, kubelet: Kubelet) -> None:
    """Move ten groups, killed once, then without that, then without a source."""
    groups = [each.name for each in TEN if each.role == "consumer"]
    switch = ("--switch", switch_file(kubelet.folder, TEN))
    await_consumption(kubelet, groups, TOPIC, 0)
    moved(deployed, kubelet, groups, *switch, "--watch-seconds", "2", kill_at="point of no return")
    returned(deployed, kubelet, TEN)
    moved(deployed, kubelet, groups, *switch, "--watch-seconds", "2")
    returned(deployed, kubelet, TEN)
    psutil.Process(load_state().parts[part_name("useast")].pid).kill()
    moved(deployed, kubelet, groups, "--mode", "disaster", *switch)


def of_each_kind(deployed: Deployed, kubelet: Kubelet) -> None:
    """Move an application of each kind with `continuous`, and then with `--fence`."""
    groups = [*(each.name for each in OF_EACH_KIND if each.role == "consumer"), HOOK_GROUP]
    command = {"name": "gateway", "command": HOOK, "groups": [HOOK_GROUP], "reports": True}
    switch = ("--switch", switch_file(kubelet.folder, OF_EACH_KIND, command), "--watch-seconds", "2")
    clients = {each.bootstrap_servers: each.client_config(ADMIN) for each in kubelet.endpoints.regions.values()}
    os.environ |= {
        "PYTHONPATH": f"{ROOT}",
        "HOOK": json.dumps({"group": HOOK_GROUP, "log": kubelet.log(HOOK_GROUP), "clients": clients}),
    }
    source = kubelet.endpoints.regions["useast"].bootstrap_servers
    hook(kubelet, "start", source)
    try:
        await_consumption(kubelet, groups, TOPIC, 0)
        moved(deployed, kubelet, groups, "--mode", "continuous", *switch)
        subprocess.run(failover_command(deployed, "plain", "--mode", "continuous", *switch), cwd=ROOT, check=True)
        returned(deployed, kubelet, OF_EACH_KIND, HOOK_GROUP)
        apply_acls(kubelet.endpoints.regions["useast"], [MAY_DENY])
        moved(deployed, kubelet, groups, "--fence", *switch)
        subprocess.run(failover_command(deployed, "plain", "--fence", *switch), cwd=ROOT, check=True)
    finally:
        hook(kubelet, "stop", source)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", action="store_true", help="move one application of each kind")
    kinds = parser.parse_args().kinds
    if "REPLICATE_LOCAL" not in os.environ:
        raise SystemExit("set REPLICATE_LOCAL to a folder for a local stack of its own, which is removed at the end")
    controllers = (*control_plane.CONTROLLERS, "statefulset-controller")
    with patch.object(control_plane, "CONTROLLERS", controllers):
        endpoints = stack.up(Console())
    try:
        with tempfile.TemporaryDirectory() as name, prepared(endpoints, Path(name), SHAPES[:1]).running() as deployed:
            api = KubernetesApi(endpoints.kubeconfig, field_manager="bench")
            kubelet = Kubelet(api, endpoints, Path(name))
            create_namespace(api)
            for each in OF_EACH_KIND if kinds else TEN:
                each.deploy(api, endpoints.regions["useast"].bootstrap_servers)
            with kubelet.working():
                (of_each_kind if kinds else ten)(deployed, kubelet)
            stack.up(Console(quiet=True))
    finally:
        stack.down(Console(), purge=True)


if __name__ == "__main__":
    main()
