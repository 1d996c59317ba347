"""Count and digest of one side of a partition, and what equal ones prove. Pure."""

from dataclasses import dataclass, field

from spark.transforms import PLACED_MODULUS


@dataclass(frozen=True)
class Sums:
    """Count and order-free digest of the compared records of one side of a partition.

    `low_placed` and `high_placed` are sums of each record's digest times its offset, modulo PLACED_MODULUS; `first` is
    the offset of the first record. The other fields are not compared: records that the guard sets `aside` and their
    digest, records that carry both marks (`looped`) or that a filter drops (`filtered`), and times.
    """

    records: int = 0
    low: int = 0
    high: int = 0
    aside: int = field(default=0, compare=False)
    looped: int = field(default=0, compare=False)
    oldest_ms: int | None = field(default=None, compare=False)
    newest_ms: int | None = field(default=None, compare=False)
    low_placed: int = field(default=0, compare=False)
    high_placed: int = field(default=0, compare=False)
    first: int | None = field(default=None, compare=False)
    low_aside: int = field(default=0, compare=False)
    high_aside: int = field(default=0, compare=False)
    filtered: int = field(default=0, compare=False)


def same_places(source: Sums, target: Sums) -> bool:
    """Whether equal records are at the same distances on both sides, so that their order is the same.

    If each record of the target is `shift` offsets further on, the sum of digest times offset differs by `shift` times
    the sum of the digests. Markers and records sent again change the distances, and then this is False.
    """
    if source.first is None or target.first is None:
        return True
    shift = target.first - source.first
    pairs = ((source.low, source.low_placed, target.low_placed), (source.high, source.high_placed, target.high_placed))
    return all((placed + shift * digests - there) % PLACED_MODULUS == 0 for digests, placed, there in pairs)
