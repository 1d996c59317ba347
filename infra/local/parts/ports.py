"""Finds free ports, and the process that listens on a port."""

import random
import socket
from collections.abc import Iterable

import psutil

FIRST, LAST = 20000, 32000
"""Below the kernel's range for outgoing connections, which could take the port of a stopped part."""


def is_free(port: int) -> bool:
    """Whether a server could listen on this port of 127.0.0.1."""
    with socket.socket() as probe:
        # Servers set it too: connections in TIME_WAIT from the last run do not block the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def is_open(port: int) -> bool:
    """Whether a server accepts connections on this port of 127.0.0.1."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def free_port(taken: Iterable[int] = ()) -> int:
    """A free port that is not in `taken`, which are reserved but not in use yet."""
    promised = set(taken)
    choice = random.SystemRandom()
    while True:
        port = choice.randint(FIRST, LAST)
        if port not in promised and is_free(port):
            return port


def holder(port: int) -> str:
    """The process that listens on the port, if this user may see it."""
    for process in psutil.process_iter(["pid", "name"]):
        try:
            for connection in process.net_connections(kind="tcp"):
                if connection.status == psutil.CONN_LISTEN and connection.laddr.port == port:
                    return f"process {process.pid} ({process.name()})"
        except psutil.Error:
            continue
    return "a process of another user"
