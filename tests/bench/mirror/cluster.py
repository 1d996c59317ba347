"""Two brokers and a Connect worker for this bench, with both compilers of the JVM, and proxies between them."""

import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT, Popen, TimeoutExpired, run
from typing import Any

import httpx
import psutil
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.local.artifacts import Artifacts
from kafka_replication.infra.local.certificates import Authority
from kafka_replication.infra.local.operator.resources import connect_resource
from kafka_replication.infra.local.operator.worker_properties import (
    as_properties_file,
    on_one_machine,
    worker_properties,
)
from kafka_replication.infra.local.parts.kafka import QUICK_AND_SMALL, new_cluster_id
from kafka_replication.infra.local.parts.part import LOG_CONFIGURATION, expect_ok, plain_environment
from kafka_replication.infra.local.parts.processes import free_port
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from tests.bench.mirror import proxy

#: Seconds until a server answers, or a connector runs.
READY_SECONDS, STOP_SECONDS = 120, 20
BROKER_MIB, WORKER_MIB = 1_024, 2_048


@dataclass
class Server:
    """A process whose output is in a file."""

    name: str
    process: "Popen[bytes]"
    output: Path

    @property
    def cpu_seconds(self) -> float:
        times = psutil.Process(self.process.pid).cpu_times()
        return float(times.user + times.system)

    @property
    def resident_mib(self) -> float:
        return float(psutil.Process(self.process.pid).memory_info().rss) / 2**20

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS)
        except TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def expect_running(self) -> None:
        """Raise a CannotRunError with the last lines of the output if the process has ended."""
        if self.process.poll() is not None:
            lines = self.output.read_text(errors="replace").splitlines()[-20:]
            raise not_running("the process has ended", self.name, "\n".join(lines))


def _java(built: Artifacts, heap_mib: int, main_class: str, *arguments: str | Path) -> list[str | Path]:
    """Return a command without what makes the JVMs of the local stack start quickly."""
    log = f"-Dlog4j2.configurationFile={LOG_CONFIGURATION}"
    return [built.jdk.java, f"-Xmx{heap_mib}m", log, "-cp", f"{built.connect_lib}/*", main_class, *arguments]


def not_running(what: str, where: str, printed: str) -> CannotRunError:
    """Return the error of a part of the bench that does not run."""
    return CannotRunError(
        "bench", what, where, "The bench measures nothing without it.", "see the lines below", printed
    )


@dataclass
class Broker:
    """A broker. Its clients in this process connect to `direct`; those of the worker to `far`, through the proxy, which
    goes on to `behind`.
    """

    alias: str
    direct: int
    behind: int
    far: int
    tls: bool
    server: Server

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.direct}"

    @property
    def far_address(self) -> str:
        return f"127.0.0.1:{self.far}"


class Machines:
    """All servers of a bench, in a folder that is deleted at the end."""

    def __init__(self, built: Artifacts, folder: Path) -> None:
        self.built, self.folder = built, folder
        self.proxies: list[Server] = []
        self._stack = ExitStack()

    def __enter__(self) -> "Machines":
        self.folder.mkdir(parents=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self, name: str, command: Sequence[str | Path]) -> Server:
        output = self.folder / f"{name}.log"
        with output.open("wb") as file:
            process = Popen(list(command), stdin=DEVNULL, stdout=file, stderr=STDOUT, env=plain_environment())
        server = Server(name, process, output)
        self._stack.callback(server.stop)
        return server

    def broker(self, alias: str, *, tls: bool) -> Broker:
        """Start a broker, and return it once it answers. Raises BenchError."""
        taken: set[int] = set()
        direct, behind, far, controller = (free_port(taken) for _ in range(4))
        data = self.folder / alias
        data.mkdir()
        where = f"127.0.0.1:{controller}"
        settings = {
            **QUICK_AND_SMALL,
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@{where}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"DIRECT://127.0.0.1:{direct},FAR://127.0.0.1:{behind},CONTROLLER://{where}",
            "advertised.listeners": f"DIRECT://127.0.0.1:{direct},FAR://127.0.0.1:{far}",
            "listener.security.protocol.map": (
                f"DIRECT:PLAINTEXT,FAR:{'SSL' if tls else 'PLAINTEXT'},CONTROLLER:PLAINTEXT"
            ),
            "inter.broker.listener.name": "DIRECT",
            "log.dirs": str(data / "log"),
            "num.io.threads": "8",
            "num.network.threads": "3",
        }
        if tls:
            settings |= {
                "listener.name.far.ssl.keystore.type": "PEM",
                "listener.name.far.ssl.keystore.location": str(Authority(alias).keystore("broker")),
            }
        properties = data / "server.properties"
        properties.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        form = _java(
            self.built, BROKER_MIB, "kafka.tools.StorageTool", "format", "-t", new_cluster_id(), "-c", properties
        )
        if (done := run(form, stdout=PIPE, stderr=STDOUT, env=plain_environment(), check=False)).returncode:
            raise not_running("the storage could not be formatted", alias, done.stdout.decode(errors="replace"))
        server = self._start(alias, _java(self.built, BROKER_MIB, "kafka.Kafka", properties))
        broker = Broker(alias, direct, behind, far, tls, server)
        wait_for(f"broker {alias} to answer", lambda: _expect_answer(broker), READY_SECONDS)
        return broker

    def proxy(self, links: list[proxy.Link]) -> Server:
        """Start the proxy of these links."""
        process = proxy.start(links)
        server = Server("proxy", process, self.folder / "proxy.log")
        self.proxies.append(server)
        self._stack.callback(server.stop)
        return server

    def worker(self, connect: Mapping[str, Any], target: Broker, name: str) -> "Worker":
        """Start a worker from a rendered KafkaConnect, and return it once it answers. Raises BenchError."""
        port, plugins = free_port(set()), self.folder / "plugins"
        plugins.mkdir(exist_ok=True)
        item = {**connect, "metadata": {"uid": "", "generation": 1, **connect["metadata"]}}
        properties = on_one_machine(worker_properties(connect_resource(item)), port, plugins, self.folder)
        unneeded = ("config.providers", "prometheus.", "metric.reporters")
        properties = {key: value for key, value in properties.items() if not key.startswith(unneeded)}
        properties |= client_properties(target) | {
            f"{prefix}.{key}": value
            for prefix in ("producer", "consumer", "admin")
            for key, value in client_properties(target).items()
        }
        properties["rest.advertised.host.name"] = "127.0.0.1"
        file = self.folder / f"{name}.properties"
        file.write_text(as_properties_file(properties))
        server = self._start(
            name, _java(self.built, WORKER_MIB, "org.apache.kafka.connect.cli.ConnectDistributed", file)
        )
        worker = Worker(server, httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30))
        wait_for("the worker to answer", worker.expect_answer, READY_SECONDS)
        return worker


def client_properties(broker: Broker) -> dict[str, str]:
    """Return how the worker's clients reach a broker."""
    tls = {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(Authority(broker.alias).certificate)}
    own = {"bootstrap.servers": broker.far_address, "security.protocol": "SSL" if broker.tls else "PLAINTEXT"}
    return own | (tls if broker.tls else {})


def _expect_answer(broker: Broker) -> None:
    broker.server.expect_running()
    try:
        AdminClient({"bootstrap.servers": broker.address, "log_level": 0}).list_topics(timeout=1)
    except KafkaException as error:
        raise NotYetError(str(error)) from error


@dataclass
class Worker:
    """A Connect worker, over its REST API."""

    server: Server
    client: httpx.Client

    def expect_answer(self) -> None:
        self.server.expect_running()
        expect_ok(self.client, "/connectors")

    def run(self, name: str, config: Mapping[str, str]) -> None:
        """Create a connector. Raises BenchError."""
        answer = self.client.post("/connectors", json={"name": name, "config": dict(config)})
        if answer.status_code != httpx.codes.CREATED:
            raise not_running("the connector was refused", name, answer.text)

    def failed(self, name: str) -> str:
        """Return why a task has failed; empty while none has."""
        answer = self.client.get(f"/connectors/{name}/status").json()
        traces = [part.get("trace", "") for part in (answer.get("connector", {}), *answer.get("tasks", ()))]
        return next((trace[:2_000] for trace in traces if trace), "")

    def remove(self, name: str) -> None:
        self.client.delete(f"/connectors/{name}")
