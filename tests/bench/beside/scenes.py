"""Forged flows with one fault each, and two without one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kafka_replication.infra.local.endpoints import Region
from tests.spark.scenes import Headers, Scene, produce
from tests.topics import remove_records

#: Records of each of two partitions; a group has committed COMMITTED of the first.
RECORDS, PARTITIONS, COMMITTED = 2_000, 2, 1_500
_EARLIER = 100


@dataclass(frozen=True)
class Case:
    """What is wrong, and how the target's first partition is written; `group` gets its offset on the target or not."""

    what: str
    write: Callable[[Scene], None]
    group: bool = True
    earlier: int = 0


def _with(*parts: range) -> Callable[[Scene], None]:
    def write(scene: Scene) -> None:
        for part in parts:
            scene.write(scene.target, scene.remote(scene.name), 0, part)

    return write


def _changed_header(scene: Scene) -> None:
    _with(range(1_001))(scene)
    headers: Headers = [("added", b"x")]
    produce(scene.target, scene.remote(scene.name), 0, [(b"k1001", b"0 1001", scene.began_ms + 1_001, headers)])
    _with(range(1_002, RECORDS))(scene)


_ALL = _with(range(RECORDS))
CASES: Mapping[str, Case] = {
    "none": Case("no fault", _ALL),
    "begun-later": Case(
        "no fault: the first 100 records of each source partition have expired before", _ALL, earlier=_EARLIER
    ),
    "missing": Case("3 records are missing", _with(range(1_000), range(1_003, RECORDS))),
    "duplicate": Case("10 records arrive twice", _with(range(1_000), range(990, RECORDS))),
    "reordered": Case(
        "two blocks of 10 are swapped",
        _with(range(1_000), range(1_010, 1_020), range(1_000, 1_010), range(1_020, RECORDS)),
    ),
    "header": Case("one record has another header", _changed_header),
    "group": Case("a group has no position on the target", _ALL, group=False),
}


def forged(scene: Scene, case: Case) -> None:
    """Write both sides of the flow."""
    scene.replicate(records=0, partitions=PARTITIONS)
    for partition in range(PARTITIONS):
        if case.earlier:
            _earlier(scene.source, scene, partition, case.earlier)
        scene.write(scene.source, scene.name, partition, range(RECORDS))
        syncs = range(0, 1_000, 10)
        scene.sync(scene.name, partition, *((case.earlier + offset, offset) for offset in syncs))
    case.write(scene)
    scene.write(scene.target, scene.remote(scene.name), 1, range(RECORDS))
    if case.group:
        scene.translate(f"{scene.name}-group", case.earlier + COMMITTED, 991)
    else:
        scene.commit(f"{scene.name}-group", case.earlier + COMMITTED)


def _earlier(region: Region, scene: Scene, partition: int, records: int) -> None:
    """Write records that retention has removed before the flow began."""
    scene.write(region, scene.name, partition, range(records))
    remove_records(region, scene.name, partition, records)
