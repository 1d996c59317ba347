"""Which ports are free, and who holds one that is not."""

import random
import socket
from collections.abc import Iterable

import psutil

FIRST, LAST = 20000, 32000
"""Below the range that the kernel gives to outgoing connections: one of those could take a port of a stopped part."""


def is_free(port: int) -> bool:
    """Whether a server could listen on the port of 127.0.0.1 now."""
    with socket.socket() as probe:
        # As servers do: connections of the last run that are still in TIME_WAIT do not hold the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def is_open(port: int) -> bool:
    """Whether a server accepts connections on the port of 127.0.0.1 now."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def free_port(taken: Iterable[int] = ()) -> int:
    """A port that is free now and not among those promised to somebody else already."""
    promised = set(taken)
    choice = random.SystemRandom()
    while True:
        port = choice.randint(FIRST, LAST)
        if port not in promised and is_free(port):
            return port


def holder(port: int) -> str:
    """Who listens on the port, as far as this user may see."""
    for process in psutil.process_iter(["pid", "name"]):
        try:
            for connection in process.net_connections(kind="tcp"):
                if connection.status == psutil.CONN_LISTEN and connection.laddr.port == port:
                    return f"process {process.pid} ({process.name()})"
        except psutil.Error:
            continue
    return "a process of another user"
