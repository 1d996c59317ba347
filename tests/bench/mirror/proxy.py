"""A TCP proxy that makes a connection on one machine as slow as one between regions.

It delays each byte by half a round trip in each direction, limits the bytes a second of all connections together, and
keeps at most a window of bytes in flight on each connection, as TCP does: a window is free again a whole round trip
after its bytes were read. With `receive.buffer.bytes` or `send.buffer.bytes` set, Kafka's clients fix the size of that
window; with -1, the operating system does.

It runs in a process of its own: `python -m tests.bench.mirror.proxy '{"from": 9092, "to": 9093, …}' …`
"""

import asyncio
import json
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from subprocess import DEVNULL, Popen

_CHUNK = 256 * 1024


@dataclass(frozen=True)
class Link:
    """Connections to `listen` go on to `to`. `down` is from the server to its client; the windows are in bytes."""

    listen: int
    to: int
    round_trip_ms: float = 0
    down_window: int = 4_194_304
    up_window: int = 4_194_304
    #: Both directions on their own; 0 is no limit.
    bytes_per_second: int = 0


@dataclass
class _Wire:
    """One direction of a link, which all its connections share."""

    half_seconds: float
    bytes_per_second: int
    busy_until: float = 0

    def arrival(self, now: float, size: int) -> float:
        """Return when bytes that are sent now have arrived."""
        if self.bytes_per_second:
            self.busy_until = max(now, self.busy_until) + size / self.bytes_per_second
            now = self.busy_until
        return now + self.half_seconds


@dataclass
class _Stream:
    """One direction of one connection."""

    wire: _Wire
    window: int
    in_flight: int = 0
    free: asyncio.Event = field(default_factory=asyncio.Event)
    queue: "asyncio.Queue[tuple[float, bytes]]" = field(default_factory=asyncio.Queue)

    async def read(self, reader: asyncio.StreamReader) -> None:
        loop = asyncio.get_running_loop()
        with suppress(OSError):
            while True:
                while self.in_flight >= self.window:
                    self.free.clear()
                    await self.free.wait()
                data = await reader.read(min(_CHUNK, self.window - self.in_flight))
                if not data:
                    break
                self.in_flight += len(data)
                self.queue.put_nowait((self.wire.arrival(loop.time(), len(data)), data))
        self.queue.put_nowait((0, b""))

    async def write(self, writer: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        with suppress(OSError):
            while True:
                due, data = await self.queue.get()
                if not data:
                    break
                if (wait := due - loop.time()) > 0:
                    await asyncio.sleep(wait)
                writer.write(data)
                await writer.drain()
                loop.call_later(self.wire.half_seconds, self._acknowledged, len(data))
        writer.close()

    def _acknowledged(self, size: int) -> None:
        self.in_flight -= size
        self.free.set()


async def _serve(link: Link) -> asyncio.Server:
    half = link.round_trip_ms / 2_000
    up, down = _Wire(half, link.bytes_per_second), _Wire(half, link.bytes_per_second)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            to_reader, to_writer = await asyncio.open_connection("127.0.0.1", link.to, limit=_CHUNK)
        except OSError:
            writer.close()
            return
        sends, receives = _Stream(up, link.up_window), _Stream(down, link.down_window)
        await asyncio.gather(
            sends.read(reader), sends.write(to_writer), receives.read(to_reader), receives.write(writer)
        )

    return await asyncio.start_server(connected, "127.0.0.1", link.listen, limit=_CHUNK)


async def _run(links: list[Link]) -> None:
    servers = [await _serve(link) for link in links]
    await asyncio.gather(*(server.serve_forever() for server in servers))


def start(links: list[Link]) -> "Popen[bytes]":
    """Start the proxy of these links; the caller ends it."""
    root = Path(__file__).resolve().parents[3]
    command = [sys.executable, "-m", __name__, *(json.dumps(asdict(link)) for link in links)]
    return Popen(command, cwd=root, stdin=DEVNULL)


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(_run([Link(**json.loads(text)) for text in sys.argv[1:]]))
