"""Where a flow back to the old origin begins, in a partition that has the same name on both clusters. Pure.

After a failover with the identity policy, the new origin's partition holds copies of the old origin's records, followed
by records that producers wrote there. The flow back begins at the first record of a producer, so that no copy returns
to its origin.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from components.kafka.exact_positions import NotProvenError
from components.kafka.record_identity import Identified


@dataclass(frozen=True)
class Beginning:
    """The flow back begins at `offset` of the new origin, and has `records` records to copy so far.

    `last_common` is the offset of the old origin's last record that the new origin has; None if it has none.
    `oldest_ms` is the lowest timestamp of the records to take back, None if there are none.
    """

    offset: int
    records: int
    last_common: int | None
    oldest_ms: int | None


def beginning(old: Iterable[Identified], new: Iterator[Identified], new_start: int, *, whole: bool) -> Beginning | None:
    """Compare both logs up to their ends; None if a larger part of them must be compared.

    `old` are the old origin's last records, or all with `whole`. `new` are the new origin's from `new_start` on, which
    is before any copy of the first of them. Raises NotProvenError if both origins' records are mixed.
    """
    at: dict[bytes, int] = {}
    first = None
    for each in old:
        first = first or each
        at[each.identity] = each.offset
    begin, last_common, own, oldest_ms, mixed = new_start, None, 0, None, None
    begun = whole
    for each in new:
        begun = begun or (first is not None and each.identity == first.identity)
        found = at.get(each.identity)
        if found is None:
            own += begun
            oldest_ms = each.time_ms if oldest_ms is None else min(oldest_ms, each.time_ms)
            continue
        if own and mixed is None and last_common is not None:
            mixed = (each.offset - own, each.offset, found)
        begin, own, oldest_ms = each.offset + 1, 0, None
        last_common = found if last_common is None else max(last_common, found)
    if not begun or (mixed is not None and not whole):
        return None
    if mixed is not None:
        copy = f"record {mixed[1]} of the new origin is a copy of the old origin's record {mixed[2]}"
        raise NotProvenError(f"records of both origins are mixed: {copy}, but follows records that are not copies")
    return Beginning(begin, own, last_common, oldest_ms)
