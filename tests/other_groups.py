"""Makes groups that are no consumer groups: a streams group (KIP-1071), and a share group (KIP-932)."""

import socket
import ssl
import struct
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager

from confluent_kafka import Consumer, KafkaException, ShareConsumer, TopicPartition
from confluent_kafka.admin import AdminClient

from kafka_replication.components.clients.errors import PASSING
from kafka_replication.infra.local.endpoints import ADMIN, Region
from kafka_replication.infra.machine.waiting import NotYetError, wait_for

_HEARTBEAT, _CORRELATION, _SECONDS = 88, 1, 30
_JOIN, _LEAVE = 0, -1
_NULL_STRUCT, _PRESENT, _NO_TAGS, _FALSE = b"\xff", b"\x01", b"\0", b"\0"


def make_streams_group(region: Region, group: str, topic: str) -> None:
    """Let a member of a streams group join and leave."""
    with streams_member(region, group, topic):
        pass


@contextmanager
def streams_member(region: Region, group: str, topic: str) -> Iterator[None]:
    """Provide a member of a streams group; no Python client speaks this protocol."""
    _await_coordinator(region, group)
    with closing(_connected(region)) as connection:

        def join() -> None:
            if error := _heartbeat(connection, group, _JOIN, topic):
                raise NotYetError(f"error {error}")

        wait_for(f"streams group {group} to have a member", join, _SECONDS)
        yield
        assert _heartbeat(connection, group, _LEAVE, topic) == 0


def make_share_group(region: Region, group: str, topic: str) -> None:
    """Let a member of a share group join and leave."""
    consumer = ShareConsumer({**region.client_config(ADMIN), "group.id": group})
    try:
        consumer.subscribe([topic])

        def assigned() -> None:
            consumer.poll(timeout=0.2)
            if group not in listed(region):
                raise NotYetError(f"only {', '.join(listed(region))}")

        wait_for(f"share group {group} to exist", assigned, _SECONDS)
    finally:
        consumer.close()


def listed(region: Region) -> list[str]:
    try:
        return [str(group.id) for group in AdminClient(region.client_config(ADMIN)).list_groups(timeout=_SECONDS)]
    except KafkaException:
        return []


def _await_coordinator(region: Region, group: str) -> None:
    """Wait for the coordinator of a group; the first question creates the topic that keeps groups."""
    consumer = Consumer({**region.client_config(ADMIN), "group.id": group})

    def probe() -> None:
        try:
            consumer.committed([TopicPartition(group, 0)], timeout=_SECONDS)
        except KafkaException as error:
            if error.args[0].code() not in PASSING:
                raise
            raise NotYetError(str(error)) from error

    with closing(consumer):
        wait_for(f"a coordinator of {group}", probe, _SECONDS)


def _connected(region: Region) -> ssl.SSLSocket:
    """Connect to the listener on which a certificate is the login."""
    host, _, port = region.tls_bootstrap_servers.partition(":")
    pair = region.users[ADMIN].certificate
    context = ssl.create_default_context(cafile=str(region.ca_file))
    context.check_hostname = False
    context.load_cert_chain(pair.certificate, pair.key)
    return context.wrap_socket(socket.create_connection((host, int(port)), _SECONDS))


def _heartbeat(connection: ssl.SSLSocket, group: str, epoch: int, topic: str) -> int:
    """Send version 0 of a StreamsGroupHeartbeat, with one subtopology that reads the topic; return its error code."""
    joins = epoch == _JOIN
    subtopology = _string("0") + _array([_string(topic)]) + 5 * _array([]) + _NO_TAGS
    topology = _PRESENT + struct.pack(">i", 0) + _array([subtopology]) + _NO_TAGS
    tasks = _array([] if joins else None)
    body = (
        _string(group)
        + _string("member")
        + struct.pack(">ii", epoch, 0)
        + 2 * _string(None)
        + struct.pack(">i", 45_000 if joins else -1)
        + (topology if joins else _NULL_STRUCT)
        + 3 * tasks
        + _string("process" if joins else None)
        + _NULL_STRUCT
        + tasks
        + 2 * _array(None)
        + _FALSE
        + _NO_TAGS
    )
    client = b"test"
    header = struct.pack(">hhih", _HEARTBEAT, 0, _CORRELATION, len(client)) + client + _NO_TAGS
    connection.sendall(struct.pack(">i", len(header + body)) + header + body)
    (size,) = struct.unpack(">i", _read(connection, 4))
    answer = _read(connection, size)
    # Correlation id, tags, throttle time, and then the error.
    (error,) = struct.unpack_from(">h", answer, 9)
    return int(error)


def _read(connection: ssl.SSLSocket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        assert part, "the broker closed the connection"
        data += part
    return data


def _string(text: str | None) -> bytes:
    """Return a compact nullable string of fewer than 127 bytes."""
    return b"\0" if text is None else bytes([len(text.encode()) + 1]) + text.encode()


def _array(items: Iterable[bytes] | None) -> bytes:
    """Return a compact nullable array of fewer than 127 items."""
    listed = None if items is None else list(items)
    return b"\0" if listed is None else bytes([len(listed) + 1]) + b"".join(listed)
