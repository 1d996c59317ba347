"""`make drills`: fails over each shape of flow in each mode on the local stack, with consumers that count.

Each row is printed and kept at once, so that an interrupted run loses nothing. A drill that fails is printed, and the
next one begins. `--write` puts the table into the page of the commands. The broker of the source is killed and started
again late, and the flow of a shape is replaced last.
"""

import argparse
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from rich.console import Console

from kafka_replication.infra.local import stack
from tests.bench.drill_commands import Drills
from tests.bench.drill_counting import Offsets, everything, stand, synced
from tests.bench.drill_disaster import disaster
from tests.bench.drill_fence import fenced
from tests.bench.drill_moves import counted_back, failed_over, fill, moved, resumed, with_counts, work
from tests.bench.drill_return import returned
from tests.bench.drill_rows import append, read, write_table
from tests.bench.drill_shapes import SHAPES, Shape, prepared
from tests.bench.drill_traffic import await_crossing, traffic
from tests.repository import ROOT

MODES = ("continuous", "planned", "fenced", "disaster", "turned")


def planned(drills: Drills, shape: Shape) -> None:
    """Fail over after producers are stopped and every record is replicated; then return."""
    fill(drills, shape, drills.seed)
    groups = stand(drills.source, shape, "planned", drills.seed)
    own = synced(drills.target, shape, groups)
    document, row = failed_over(drills, shape, "planned", groups, "--watch-seconds", "1")
    if document is not None:
        append(drills.rows, with_counts(drills, shape, row, groups, own))
        if not shape.turned:
            back(drills, shape, groups)
    resumed(drills, *shape.flows)


def continuous(drills: Drills, shape: Shape) -> None:
    """Producers keep writing while groups move."""
    fill(drills, shape, drills.seed + 1)
    with traffic(drills.deployed.endpoints, shape, drills.seed + 2):
        groups = stand(drills.source, shape, "continuous", drills.seed)
        own = synced(drills.target, shape, groups)
        document, row = failed_over(drills, shape, "continuous", groups)
    if document is not None:
        await_crossing(drills.deployed.endpoints, shape)
        append(drills.rows, with_counts(drills, shape, row, groups, own))
        resumed(drills, *shape.flows)


def back(drills: Drills, shape: Shape, groups: Mapping[str, Offsets]) -> None:
    """Each group consumes half of its remaining records on the target, and then returns."""
    consumed = work(drills, shape, groups)
    sent, _ = drills.logs(shape)
    calls: list[tuple[str, ...]] = [("failback", each) for each in shape.flows]
    if shape.back:
        calls = [("failover", shape.back, "--watch-seconds", "1")]
    document, row = moved(drills, shape, "back", calls, groups)
    append(drills.rows, row if document is None else counted_back(drills, row, everything(sent), consumed, sent))
    if shape.back:
        resumed(drills, shape.back)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=Path, default=ROOT / ".local" / "drills.jsonl", help="file that keeps the rows")
    parser.add_argument("--only", action="append", default=[], metavar="SHAPE", help="deploy only this shape")
    parser.add_argument("--mode", action="append", default=[], choices=MODES)
    parser.add_argument("--write", action="store_true", help="write the rows of the file into the page, and end")
    given = parser.parse_args()
    if given.write:
        write_table(read(given.rows))
        return 0
    if "REPLICATE_LOCAL" not in os.environ:
        parser.error("set REPLICATE_LOCAL to a folder for a local stack of its own, which is removed at the end")
    shapes = [shape for shape in SHAPES if shape.name in (given.only or [each.name for each in SHAPES])]
    endpoints = stack.up(Console())
    try:
        with tempfile.TemporaryDirectory() as folder, prepared(endpoints, Path(folder), shapes).running() as running:
            drills = Drills(running, given.rows, 10 * (int(time.time()) % 1_000_000))
            failed = [name for name, drill in chosen(drills, shapes, given.mode or MODES) if not passes(name, drill)]
    finally:
        stack.down(Console(), purge=True)
    print("".join(f"failed: {name}\n" for name in failed), end="")
    return 1 if failed else 0


def chosen(drills: Drills, shapes: Sequence[Shape], modes: Sequence[str]) -> list[tuple[str, Callable[[], None]]]:
    """The drills by name, in their order."""
    each_alone = {"continuous": continuous, "planned": planned, "fenced": fenced}
    found: list[tuple[str, Callable[[], None]]] = [
        (f"{shape.name}, {mode}", partial(drill, drills, shape))
        for shape in shapes
        for mode, drill in each_alone.items()
        if mode in modes and (mode != "fenced" or shape.fenced)
    ]
    if "disaster" in modes:
        found.append(("disaster", partial(disaster, drills, shapes)))
    turning = [shape for shape in shapes if shape.turned and "turned" in modes]
    return found + [(f"{shape.name}, back", partial(returned, drills, shape)) for shape in turning]


def passes(name: str, drill: Callable[[], None]) -> bool:
    """Run a drill; returns whether it completed."""
    try:
        drill()
    except Exception:  # noqa: BLE001
        print(f"{name} failed:\n{traceback.format_exc()}", flush=True)
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
