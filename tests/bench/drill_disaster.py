"""The drill that kills the broker of the source under traffic, for all shapes at once."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TypeAlias

import psutil
from rich.console import Console

from kafka_replication.infra.local import stack
from kafka_replication.infra.local.endpoints import part_name
from kafka_replication.infra.local.state import load_state
from tests.bench.drill_commands import Drills
from tests.bench.drill_counting import (
    Count,
    Offsets,
    before,
    count,
    everything,
    positions,
    read_log,
    since,
    stand,
    synced,
    without_offset,
)
from tests.bench.drill_moves import failed_over, fill, resumed
from tests.bench.drill_rows import Row, append, counted
from tests.bench.drill_shapes import Shape
from tests.bench.drill_traffic import traffic


def disaster(drills: Drills, shapes: Sequence[Shape]) -> None:
    """The source's broker is killed under traffic; the failover uses only what the target knows."""
    flows = dict.fromkeys(flow for shape in shapes for flow in shape.flows)
    groups: dict[Shape, Mapping[str, Offsets]] = {}
    for shape in shapes:
        fill(drills, shape, drills.seed + 3)
        groups[shape] = stand(drills.source, shape, "disaster", drills.seed)
    try:
        found, failed = under_traffic(drills, groups)
    finally:
        stack.up(Console(quiet=True))
    for shape, row, got, own in found:
        append(drills.rows, after_return(drills, shape, row, groups[shape], got, own))
    resumed(drills, *flows)
    if failed:
        raise RuntimeError("\n".join(failed))


Got: TypeAlias = dict[str, Counter[bytes]]


def under_traffic(
    drills: Drills, groups: Mapping[Shape, Mapping[str, Offsets]]
) -> tuple[list[tuple[Shape, Row, Got, Got]], list[str]]:
    """Kill the broker while producers write; returns what the groups of each shape get without it, and what failed."""
    found, failed = [], []
    with ExitStack() as writing:
        for shape in groups:
            writing.enter_context(traffic(drills.deployed.endpoints, shape, drills.seed + 4))
        for shape, standing in groups.items():
            synced(drills.target, shape, standing)
        psutil.Process(load_state().parts[part_name("useast")].pid).kill()
        print("the broker of useast is killed", flush=True)
        for shape, standing in groups.items():
            try:
                row, got, own = without_source(drills, shape, standing)
            except RuntimeError as error:
                failed.append(f"{shape.name}: {error}")
                continue
            if not row.refused:
                found.append((shape, row, got, own))
        for flow in dict.fromkeys(flow for shape in groups for flow in shape.flows):
            answer = drills.call("stop", flow)
            print(answer.stdout[-200:], answer.stderr[-500:] if answer.returncode else "", flush=True)
    return found, failed


def without_source(drills: Drills, shape: Shape, groups: Mapping[str, Offsets]) -> tuple[Row, Got, Got]:
    """Run the command; returns what each group reads after it, and what it reads from MirrorMaker's own offsets."""
    arrived = read_log(drills.target, map(shape.remote, shape.topics))
    own = {group: since(arrived, positions(drills.target, shape, group)) for group in groups}
    document, row = failed_over(drills, shape, "disaster", groups)
    got, without = {}, 0
    for group in groups if document is not None else ():
        # Where a group has no offset, it starts at `auto.offset.reset`, so it is not expected to read everything.
        stands = positions(drills.target, shape, group)
        got[group], without = since(arrived, stands), without + without_offset(shape, stands)
    for each in document["preconditions"] if document is not None else ():
        print(f"{shape.flow}: {each['name']}: {each['value']}", flush=True)
    return replace(row, without=without), got, own


def after_return(drills: Drills, shape: Shape, row: Row, groups: Mapping[str, Offsets], got: Got, own: Got) -> Row:
    """The row, once the source can be read again. A record that was never replicated is lost, not skipped."""
    sent, arrived = drills.logs(shape)
    every, crossed = everything(sent), everything(arrived)
    total, beside = Count(), Count()
    for group, found in got.items():
        consumed = before(sent, groups[group])
        total += count(consumed, (every & crossed) | consumed, found)
        beside += count(consumed, (every & crossed) | consumed, own[group])
    return replace(counted(row, total, beside), lost=(every - crossed).total())
