"""The records of the example traffic: the same seed always makes the same records."""

import random
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

NULL_KEY_SHARE = 0.05
NULL_VALUE_SHARE = 0.05
DISTINCT_KEYS = 500


@dataclass(frozen=True)
class Record:
    """A record to produce. Keys, values and header values may be null; header names may repeat."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]

    def partition(self, number: int, partitions: int) -> int:
        """The partition of record `number`: by its key, or in turn if the key is null, where librdkafka would pick at
        random."""
        return (number if self.key is None else zlib.crc32(self.key)) % partitions


def records(
    topic: str, count: int, seed: int, value_bytes: int = 100, first: int = 0, header: str | None = None
) -> Iterator[Record]:
    """Records number `first` to `first + count - 1` of the topic's endless sequence for this seed.

    Every seventh record also carries the header named `header`, if one is given.
    """
    for number in range(first, first + count):
        # Each record has a generator of its own, so any part of the sequence can be made without the part before it.
        chance = random.Random(f"{seed}/{topic}/{number}")
        key = None if chance.random() < NULL_KEY_SHARE else f"key-{chance.randrange(DISTINCT_KEYS)}".encode()
        value = None if chance.random() < NULL_VALUE_SHARE else _value(topic, number, value_bytes, chance)
        headers: list[tuple[str, bytes | None]] = [("trace", chance.randbytes(8)), ("seed", str(seed).encode())]
        if number % 10 == 0:
            headers += [("empty", b""), ("null", None), ("trace", b"again")]
        if header is not None and number % 7 == 0:
            headers.append((header, b"true"))
        yield Record(key, value, tuple(headers))


def _value(topic: str, number: int, size: int, chance: random.Random) -> bytes:
    return f"{topic} {number} ".encode().ljust(size, b".")[: max(size - 8, 0)] + chance.randbytes(min(8, size))
