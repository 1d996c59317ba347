"""The faults that an alert must be raised for, each in a flow of its own."""

import datetime
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from kubernetes import client
from rich.console import Console

from components.contract.published_verdict import config_map_name
from components.kafka.login_modules import LOGIN_MODULES
from infra.local import paths
from infra.local.build import artifacts
from infra.local.certificates import Authority
from infra.local.endpoints import ADMIN
from infra.local.parts import operator as operator_part
from infra.local.parts import processes
from infra.local.parts.part import java_command, plain_environment
from infra.local.state import write_private
from tests.bench.fault_clusters import denied
from tests.bench.fault_connectors import FAILING
from tests.bench.fault_places import Place, delete_topics, expect_ends
from tests.bench.fault_stack import World
from tests.bench.monitoring_stack import RECORDS, a_topic, write

Making = Callable[[World], AbstractContextManager[object]]

_KILL_SECONDS = 0.5
_TOOL_SECONDS = 120
#: Bytes a second that the slow consumer gets, and what is produced for each of its partitions each second.
_SLOW_BYTES, _FAST_RECORDS, _FAST_SECONDS = 500, 10, 1.0


@dataclass(frozen=True)
class Fault:
    """A fault of a flow that lasts while the body of `making` runs.

    `alert` must fire within `minutes`; `also` may, as a consequence of the same fault, and no other may.
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


def _kill_worker(component: str) -> None:
    """Kill the worker of this component, which the operator starts again."""
    for worker in operator_part.workers():
        process = processes.find(worker) if f"/{component}/" in worker.name else None
        if process is not None:
            with suppress(psutil.NoSuchProcess):
                process.kill()


@contextmanager
def _killed(_: World) -> Iterator[None]:
    """The worker is killed whenever it has started again, as one that does not fit into its memory."""

    with _repeated(lambda: _kill_worker("stock-mirrormaker2"), _KILL_SECONDS):
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
    """A new topic whose records are on the target; returns its remote topic."""
    a_topic(world.east, topic)
    remote = f"useast.{topic}"

    expect_ends(world.west, {remote: RECORDS})
    return remote


@contextmanager
def _stalled(world: World) -> Iterator[None]:
    """Somebody leaves a topic out of the connector's list by hand; its partition stands still, and the others move."""
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
def _secret_changed(world: World, flow: str, name: str, data: Mapping[str, str]) -> Iterator[None]:
    """Other values in a Secret of a flow, by key; its worker starts again with them, and at the end without."""
    core, namespace = client.CoreV1Api(world.deployed.api), f"mirror-{flow}"
    before = {key: (core.read_namespaced_secret(name, namespace).data or {})[key] for key in data}
    core.patch_namespaced_secret(name, namespace, {"stringData": dict(data)})
    _kill_worker(f"{flow}-connect")
    try:
        yield
    finally:
        core.patch_namespaced_secret(name, namespace, {"data": before})
        _kill_worker(f"{flow}-connect")


def _wrong_password(world: World) -> AbstractContextManager[None]:
    return _secret_changed(world, "traffic-sales", "traffic-sales-source-credentials", {"password": "wrong"})


@contextmanager
def _expired(world: World) -> Iterator[None]:
    certificate, key = _expired_certificate()
    with _secret_changed(world, "orders", "useast-client", {"user.crt": certificate, "user.key": key}):
        yield


def _expired_certificate() -> tuple[str, str]:
    """A certificate of the user `mirror` that expired yesterday, and its key, as PEM."""
    authority = Authority("useast")
    signer = x509.load_pem_x509_certificate(authority.certificate.read_bytes())
    signing = serialization.load_pem_private_key(authority.key.read_bytes(), password=None)
    assert isinstance(signing, ec.EllipticCurvePrivateKey)
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "mirror")]))
        .issuer_name(signer.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=30))
        .not_valid_after(now - datetime.timedelta(days=1))
        .sign(signing, hashes.SHA256())
    )
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    texts = (
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(serialization.Encoding.PEM, form, plain),
    )
    return texts[0].decode(), texts[1].decode()


@contextmanager
def _growing(world: World) -> Iterator[None]:
    """The source cluster gives the consumer of a flow fewer bytes than are produced."""
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
    """Kafka's own tool: the Python client cannot change quotas."""
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
def _never_validated(world: World) -> Iterator[None]:
    core, flow = client.CoreV1Api(world.deployed.api), "ledger-to-uswest"
    name, namespace = config_map_name(flow), f"mirror-{flow}"
    kept = core.read_namespaced_config_map(name, namespace)
    core.delete_namespaced_config_map(name, namespace)
    try:
        yield
    finally:
        metadata = client.V1ObjectMeta(name=name)
        body = client.V1ConfigMap(metadata=metadata, data=kept.data, binary_data=kept.binary_data)
        core.create_namespaced_config_map(namespace, body)


#: A worker that starts with credentials that are refused has connectors that fail, so that nothing reports records.
_OF_A_RESTART = ("MirrorMetricsAbsent", "MirrorHeartbeatSilent")
#: The faults of one flow are made one after the other, those of different flows at the same time.
FAULTS = (
    Fault("one partition stands still, the others move", "traffic-logs", _stalled, "MirrorPartitionStalled", 25),
    Fault("a topic grows faster than it is replicated", "traffic-clicks", _growing, "MirrorLagGrowing", 25),
    Fault("the source connector is paused by hand", "traffic-sales", _paused, "MirrorHeartbeatSilent", 12),
    Fault("the heartbeat connector is stopped", "ledger-to-useast", _without_heartbeats, "MirrorHeartbeatSilent", 12),
    Fault("a worker is killed again and again", "stock", _killed, "MirrorMetricsAbsent", 8),
    Fault("a remote topic is deleted, and may not be created", "stock", _deleted, "MirrorTopicMissing", 10),
    Fault("a task fails", "orders", _failing, "MirrorTaskFailed", 8),
    Fault("the client certificate has expired", "orders", _expired, "MirrorTaskFailed", 8, _OF_A_RESTART),
    Fault(
        "the password in the Secret is wrong",
        "traffic-sales",
        _wrong_password,
        "MirrorTaskFailed",
        8,
        _OF_A_RESTART,
    ),
    Fault("nobody has validated", "ledger-to-uswest", _never_validated, "MirrorVerdictStale", 12),
)
