"""`make drills`: fails over each shape of flow in each mode on the local stack, with consumers that count.

Each row is printed and kept at once, so that an interrupted run loses nothing. `--write` puts the table into the page
of the commands. The last drill kills the broker of the source; it is started again.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import psutil
from rich.console import Console

from infra.local import stack
from infra.local.endpoints import Region, part_name
from infra.local.state import load_state
from tests.bench.drill_commands import STEPS, Drills, announced, refusal
from tests.bench.drill_counting import (
    Count,
    Log,
    Offsets,
    before,
    count,
    ends_of,
    everything,
    positions,
    read_log,
    since,
    stand,
    synced,
    without_offset,
)
from tests.bench.drill_rows import Row, append, counted, read, write_table
from tests.bench.drill_shapes import SHAPES, Shape, prepared
from tests.bench.drill_traffic import await_crossing, send, send_and_kill, traffic
from tests.local.moving import read_on, stand_at
from tests.repository import ROOT

RECORDS = 900


def fill(drills: Drills, shape: Shape, seed: int) -> None:
    """More records, which cross; a worker is killed meanwhile if the shape says so."""
    if shape.resent:
        send_and_kill(drills.deployed.endpoints, shape, RECORDS, seed)
    else:
        send(drills.deployed.endpoints, shape, RECORDS, seed)
    await_crossing(drills.deployed.endpoints, shape)


def options(groups: Iterable[str]) -> list[str]:
    return [part for name in groups for part in ("--group", name)]


def planned(drills: Drills, shape: Shape) -> None:
    """Producers are stopped, and every record has crossed; then back."""
    fill(drills, shape, drills.seed)
    groups = stand(drills.source, shape, "planned", drills.seed)
    own = synced(drills.target, shape, groups)
    answer, row = failed_over(drills, shape, "planned", groups, "--watch-seconds", "1")
    if answer is not None:
        append(drills.rows, with_counts(drills, shape, row, groups, own))
        back(drills, shape, groups)
    resumed(drills, shape.flow)


def continuous(drills: Drills, shape: Shape) -> None:
    """Producers write on while groups move."""
    fill(drills, shape, drills.seed + 1)
    with traffic(drills.deployed.endpoints, shape, drills.seed + 2):
        groups = stand(drills.source, shape, "continuous", drills.seed)
        own = synced(drills.target, shape, groups)
        answer, row = failed_over(drills, shape, "continuous", groups)
    if answer is not None:
        await_crossing(drills.deployed.endpoints, shape)
        append(drills.rows, with_counts(drills, shape, row, groups, own))
        resumed(drills, shape.flow)


def failed_over(
    drills: Drills, shape: Shape, mode: str, groups: Mapping[str, Offsets], *more: str
) -> tuple[str | None, Row]:
    """Run the command; None instead of its output if it refused, with the row appended."""
    call = ("failover", shape.flow, "--mode", mode, *options(groups), *more)
    kills = sum(drills.kill_at(step, *call) for step in STEPS[mode]) if shape.kills else 0
    began = time.monotonic()
    answer = drills.call(*call, "--json")
    row = Row(shape.name, mode, len(groups), seconds=round(time.monotonic() - began, 1), kills=kills)
    if answer.returncode != 0:
        append(drills.rows, replace(row, refused=refusal(answer)))
        return None, row
    document = json.loads(answer.stdout)
    for each in document["leftAlone"]:
        print(f"left alone: {each}")
    alone = f"; {len(document['leftAlone'])} left alone" if document["leftAlone"] else ""
    return answer.stdout, replace(row, announced=announced(document, mode), note=alone)


def with_counts(
    drills: Drills, shape: Shape, row: Row, groups: Mapping[str, Offsets], own: Mapping[str, Offsets]
) -> Row:
    """The row with what consumers count: from where the groups stand, and from MirrorMaker's own offsets."""
    sent, arrived = drills.logs(shape)
    every, ours, theirs, without = everything(sent), Count(), Count(), 0
    for group, offsets in groups.items():
        consumed = before(sent, offsets)
        found = count(consumed, every, read_as(drills.target, group, arrived))
        beside = count(consumed, every, since(arrived, own[group]))
        missing = without_offset(shape, own[group])
        print(f"{group}: {found}; MirrorMaker's own: {beside}, no offset in {missing} partitions", flush=True)
        ours, theirs, without = ours + found, theirs + beside, without + missing
    return replace(counted(row, ours, theirs), own_without=without)


def read_as(region: Region, group: str, log: Log) -> Counter[bytes]:
    """What an application of the group reads from where it stands."""
    found: Counter[bytes] = Counter()
    for topic in {topic for topic, _ in log}:
        found += read_on(region, group, topic, ends_of(region, topic))
    return found


def back(drills: Drills, shape: Shape, groups: Mapping[str, Offsets]) -> None:
    """The groups work on the target for a while, each for half of what is left to it, and go back."""
    sent, arrived = drills.logs(shape)
    consumed = {}
    for group, offsets in groups.items():
        began = positions(drills.target, shape, group)
        worked = halfway(drills.target, began)
        consumed[group] = before(sent, offsets) | (since(arrived, began) - since(arrived, worked))
        for topic in {topic for topic, _ in worked}:
            stand_at(drills.target, group, topic, {each[1]: at for each, at in worked.items() if each[0] == topic})
    verb = ("failover", shape.back, "--watch-seconds", "1") if shape.back else ("failback", shape.flow)
    kills = sum(drills.kill_at(step, *verb, *options(groups)) for step in STEPS["back"]) if shape.kills else 0
    answer, row = drills.call(*verb, *options(groups), "--json"), Row(shape.name, "back", len(groups), kills=kills)
    if answer.returncode != 0:
        append(drills.rows, replace(row, refused=refusal(answer)))
        return
    row, total = replace(row, announced=announced(json.loads(answer.stdout), "planned")), Count()
    for group in groups:
        found = count(consumed[group], everything(sent), read_as(drills.source, group, sent))
        print(f"{group} back: {found}", flush=True)
        total += found
    append(drills.rows, counted(row, total, None))
    if shape.back:
        resumed(drills, shape.back)


def halfway(region: Region, offsets: Offsets) -> dict[tuple[str, int], int]:
    """Offsets in the middle between these and the ends."""
    ends = {topic: ends_of(region, topic) for topic in {topic for topic, _ in offsets}}
    return {place: (offset + ends[place[0]][place[1]]) // 2 for place, offset in offsets.items()}


def resumed(drills: Drills, flow: str) -> None:
    """Start what a failover stopped."""
    answer = drills.call("resume", flow)
    print(answer.stdout[-300:], answer.stderr[-600:] if answer.returncode else "", flush=True)


def disaster(drills: Drills, shapes: Sequence[Shape]) -> None:
    """The source's broker is killed under traffic; what the target alone knows decides."""
    groups = {}
    for shape in shapes:
        fill(drills, shape, drills.seed + 3)
        groups[shape] = stand(drills.source, shape, "disaster", drills.seed)
    with ExitStack() as writing:
        for shape in shapes:
            writing.enter_context(traffic(drills.deployed.endpoints, shape, drills.seed + 4))
        for shape in shapes:
            synced(drills.target, shape, groups[shape])
        psutil.Process(load_state().parts[part_name("useast")].pid).kill()
        print("the broker of useast is killed", flush=True)
        found = [(shape, *without_source(drills, shape, groups[shape])) for shape in shapes]
        for flow in dict.fromkeys(shape.flow for shape in shapes):
            answer = drills.call("stop", flow)
            print(answer.stdout[-200:], answer.stderr[-500:] if answer.returncode else "", flush=True)
    stack.up(Console(quiet=True))
    for shape, row, got, own in found:
        append(drills.rows, after_return(drills, shape, row, groups[shape], got, own))
    for flow in dict.fromkeys(shape.flow for shape in shapes):
        resumed(drills, flow)


Got: TypeAlias = dict[str, Counter[bytes]]


def without_source(drills: Drills, shape: Shape, groups: Mapping[str, Offsets]) -> tuple[Row, Got, Got]:
    """The command, and what each group reads after it and from MirrorMaker's own offsets."""
    arrived = read_log(drills.target, map(shape.remote, shape.topics))
    own = {group: since(arrived, positions(drills.target, shape, group)) for group in groups}
    answer, row = failed_over(drills, shape, "disaster", groups)
    got, without = {}, 0
    for group in groups if answer is not None else ():
        # A partition without an offset begins at `auto.offset.reset`, so no group can be asked to read it all.
        stands = positions(drills.target, shape, group)
        got[group], without = since(arrived, stands), without + without_offset(shape, stands)
    if answer is not None:
        for each in json.loads(answer)["preconditions"]:
            print(f"{shape.flow}: {each['name']}: {each['value']}", flush=True)
    return replace(row, without=without), got, own


def after_return(drills: Drills, shape: Shape, row: Row, groups: Mapping[str, Offsets], got: Got, own: Got) -> Row:
    """The row, now that the source can be read again. A record that never crossed is lost, not skipped."""
    sent, arrived = drills.logs(shape)
    every, crossed = everything(sent), everything(arrived)
    total, beside = Count(), Count()
    for group, found in got.items():
        consumed = before(sent, groups[group])
        total += count(consumed, (every & crossed) | consumed, found)
        beside += count(consumed, (every & crossed) | consumed, own[group])
    return replace(counted(row, total, beside), lost=(every - crossed).total())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=Path, default=ROOT / ".local" / "drills.jsonl", help="file that keeps the rows")
    parser.add_argument("--only", action="append", default=[], metavar="SHAPE", help="deploy only this shape")
    parser.add_argument("--mode", action="append", default=[], choices=("continuous", "planned", "disaster"))
    parser.add_argument("--write", action="store_true", help="write the rows of the file into the page, and end")
    given = parser.parse_args()
    if given.write:
        write_table(read(given.rows))
        return 0
    if "REPLICATE_LOCAL" not in os.environ:
        parser.error("set REPLICATE_LOCAL to a folder for a local stack of its own, which is removed at the end")
    shapes = [shape for shape in SHAPES if shape.name in (given.only or [each.name for each in SHAPES])]
    modes = given.mode or ("continuous", "planned", "disaster")
    endpoints = stack.up(Console())
    try:
        with tempfile.TemporaryDirectory() as folder, prepared(endpoints, Path(folder), shapes).running() as running:
            run(Drills(running, given.rows, 10 * (int(time.time()) % 1_000_000)), shapes, modes)
    finally:
        stack.down(Console(), purge=True)
    return 0


def run(drills: Drills, shapes: Sequence[Shape], modes: Sequence[str]) -> None:
    """One drill after the other; the one that kills the broker comes last."""
    for shape in shapes:
        if "continuous" in modes:
            continuous(drills, shape)
        if "planned" in modes:
            planned(drills, shape)
    if "disaster" in modes:
        disaster(drills, shapes)


if __name__ == "__main__":
    sys.exit(main())
