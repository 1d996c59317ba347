"""The faults that must raise an alert, each in its own flow."""

import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from kubernetes import client
from rich.console import Console

from kafka_replication.components.contract.published_verdict import config_map_name
from kafka_replication.components.kafka.connections import LOGIN_MODULES
from kafka_replication.components.render.connector_config import GUARD_FILTER
from kafka_replication.infra.local import artifacts, paths
from kafka_replication.infra.local.endpoints import ADMIN
from kafka_replication.infra.local.parts.part import java_command, plain_environment
from kafka_replication.infra.local.state import write_private
from kafka_replication.infra.local.traffic import LEDGER
from tests.bench.fault_clusters import denied
from tests.bench.fault_connectors import FAILING
from tests.bench.fault_places import Place, expect_ends
from tests.bench.fault_stack import World
from tests.bench.monitoring_logins import expired_certificate, kill_worker, wrong_password
from tests.bench.monitoring_stack import RECORDS, a_topic, write
from tests.topics import delete_topics

Making = Callable[[World], AbstractContextManager[object]]

_KILL_SECONDS = 0.5
_TOOL_SECONDS = 120
#: Bytes per second that the slow consumer gets, and what is produced for each of its partitions per second.
_SLOW_BYTES, _FAST_RECORDS, _FAST_SECONDS = 500, 10, 1.0
_MUCH_RECORDS = 40


@dataclass(frozen=True)
class Fault:
    """A fault of a flow that lasts while the body of `making` runs.

    `alert` must fire within `minutes`. `also` may fire, as a consequence of the same fault; no other alert may.
    """

    what: str
    flow: str
    making: Making
    alert: str
    minutes: int
    also: tuple[str, ...] = ()


def _connectors(world: World, flow: str, role: str) -> list[str]:
    return [each for each in world.connectors(flow) if role in each.lower()]


def _paused(world: World) -> AbstractContextManager[None]:
    return world.stopped("traffic-sales", _connectors(world, "traffic-sales", "source"), "paused")


def _without_heartbeats(world: World) -> AbstractContextManager[None]:
    return world.stopped("ledger-to-useast", _connectors(world, "ledger-to-useast", "heartbeat"))


@contextmanager
def _repeated(act: Callable[[], None], seconds: float) -> Iterator[None]:
    """Do it again and again until the body ends."""
    ended = threading.Event()

    def work() -> None:
        while not ended.wait(seconds):
            act()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def _killed(_: World) -> Iterator[None]:
    """Kill the worker whenever it has started again, as if it did not fit into its memory."""

    with _repeated(lambda: kill_worker("stock-mirrormaker2"), _KILL_SECONDS):
        yield


@contextmanager
def _failing(world: World) -> Iterator[None]:
    name = "orders-source"
    world.deployed.edit_connector(name, {"config": FAILING})
    try:
        yield
    finally:
        world.deployed.edit_connector(name, {"config": dict.fromkeys(FAILING)})


def _replicated(world: World, topic: str) -> str:
    """Create a topic and wait until its records are on the target; returns its remote topic."""
    a_topic(world.east, topic)
    remote = f"useast.{topic}"

    expect_ends(world.west, {remote: RECORDS})
    return remote


@contextmanager
def _stalled(world: World) -> Iterator[None]:
    """Somebody removes a topic from the connector's list by hand: its partition makes no progress, the others do."""
    topic, name = f"logs-stalled-{world.run}", "traffic-logs-source"
    _replicated(world, topic)
    before = world.deployed.connector(name)["spec"]["config"]["topics"]
    world.deployed.edit_connector(name, {"config": {"topics": "logs-app"}})
    try:
        write(world.east, topic, 0, 5, 1)
        yield
    finally:
        world.deployed.edit_connector(name, {"config": {"topics": before}})


@contextmanager
def _deleted(world: World) -> Iterator[None]:
    """Somebody deletes a remote topic, and the connectors may not create it again."""
    topic = f"stock-deleted-{world.run}"
    remote = _replicated(world, topic)
    with denied("uswest", "TOPIC", remote, "CREATE")(world, Place(world, "deleted")):
        delete_topics(world.west, [remote])
        yield


@contextmanager
def _growing(world: World) -> Iterator[None]:
    """A quota of the source cluster gives the consumer of a flow fewer bytes than are produced."""
    name = "useast->uswest|traffic-clicks-source-0|replication-consumer"
    who = ("--entity-type", "users", "--entity-name", "mirror", "--entity-type", "clients", "--entity-name", name)

    def fast() -> None:
        for partition in range(3):
            write(world.east, "clicks", partition, _FAST_RECORDS, 2)

    _alter_quota(world, *who, "--add-config", f"consumer_byte_rate={_SLOW_BYTES}")
    try:
        with _repeated(fast, _FAST_SECONDS):
            yield
    finally:
        _alter_quota(world, *who, "--delete-config", "consumer_byte_rate")


def _alter_quota(world: World, *words: str) -> None:
    """Change a quota with Kafka's own tool, because the Python client cannot."""
    built = artifacts.ensure(Console(quiet=True))
    login = f'{LOGIN_MODULES["PLAIN"]} required username="{ADMIN}" password="{world.east.users[ADMIN].password}";'
    file = paths.data() / "quota-client.properties"
    properties = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": login,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(world.east.ca_file),
    }
    write_private(file, "".join(f"{key}={value}\n" for key, value in properties.items()))
    reached: tuple[str | Path, ...] = ("--bootstrap-server", world.east.bootstrap_servers, "--command-config", file)
    command = java_command(
        built.jdk, [built.connect_lib / "*"], "kafka.admin.ConfigCommand", *reached, "--alter", *words, heap_mib=128
    )
    done = subprocess.run(
        list(map(str, command)),
        env=plain_environment(),
        capture_output=True,
        text=True,
        timeout=_TOOL_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@contextmanager
def _returned(world: World) -> Iterator[None]:
    """Somebody removes the guard's filter from one flow of a pair by hand, and the other side writes a lot."""
    (name,) = _connectors(world, "ledger-to-uswest", "source")
    before = world.deployed.connector(name)["spec"]["config"]["transforms"]
    rest = [each for each in before.split(",") if each != GUARD_FILTER]
    world.deployed.edit_connector(name, {"config": {"transforms": ",".join(rest)}})

    def much() -> None:
        for partition in range(LEDGER.topics["ledger"]):
            write(world.west, "ledger", partition, _MUCH_RECORDS, 3)

    try:
        with _repeated(much, _FAST_SECONDS):
            yield
    finally:
        world.deployed.edit_connector(name, {"config": {"transforms": before}})


@contextmanager
def _never_validated(world: World) -> Iterator[None]:
    core, flow = client.CoreV1Api(world.deployed.api), "orders"
    name, namespace = config_map_name(flow), f"mirror-{flow}"
    kept = core.read_namespaced_config_map(name, namespace)
    core.delete_namespaced_config_map(name, namespace)
    try:
        yield
    finally:
        metadata = client.V1ObjectMeta(name=name)
        body = client.V1ConfigMap(metadata=metadata, data=kept.data, binary_data=kept.binary_data)
        core.create_namespaced_config_map(namespace, body)


#: A manual change in Kubernetes is also drift, if it stays for long.
_BY_HAND = ("MirrorDrift",)
#: The faults of one flow are made one after the other, those of different flows at the same time.
FAULTS = (
    Fault(
        "one partition stands still, the others move", "traffic-logs", _stalled, "MirrorPartitionStalled", 25, _BY_HAND
    ),
    Fault("a topic grows faster than it is replicated", "traffic-clicks", _growing, "MirrorLagGrowing", 25),
    Fault("the source connector is paused by hand", "traffic-sales", _paused, "MirrorHeartbeatSilent", 12, _BY_HAND),
    Fault(
        "the heartbeat connector is stopped",
        "ledger-to-useast",
        _without_heartbeats,
        "MirrorHeartbeatSilent",
        12,
        _BY_HAND,
    ),
    Fault("a worker is killed again and again", "stock", _killed, "MirrorMetricsAbsent", 8),
    Fault("a remote topic is deleted, and may not be created", "stock", _deleted, "MirrorTopicMissing", 10),
    Fault("a task fails", "orders", _failing, "MirrorTaskFailed", 8, _BY_HAND),
    Fault("the client certificate has expired", "orders", expired_certificate, "MirrorCertificateExpired", 8, _BY_HAND),
    Fault(
        "the password in the Secret is wrong",
        "traffic-sales",
        wrong_password,
        "MirrorLoginRefused",
        8,
        _BY_HAND,
    ),
    Fault("nobody has validated", "orders", _never_validated, "MirrorVerdictStale", 12),
    Fault(
        "a pair sends records back, because its filter was removed",
        "ledger-to-uswest",
        _returned,
        "MirrorRecordsReturn",
        25,
        _BY_HAND,
    ),
)
