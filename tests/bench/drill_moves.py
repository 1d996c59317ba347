"""Moves the groups of a drill with the commands, and counts what their consumers get afterwards."""

import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeAlias

from kafka_replication.infra.local.endpoints import Region
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
    since,
    without_offset,
)
from tests.bench.drill_rows import Row, append, counted
from tests.bench.drill_shapes import Shape
from tests.bench.drill_traffic import await_crossing, send, send_and_kill
from tests.local.moving import read_on, stand_at

RECORDS = 900


def fill(drills: Drills, shape: Shape, seed: int) -> None:
    """Produce more records and wait until they are replicated; a worker is killed meanwhile if the shape says so."""
    if shape.resent:
        send_and_kill(drills.deployed.endpoints, shape, RECORDS, seed)
    else:
        send(drills.deployed.endpoints, shape, RECORDS, seed)
    await_crossing(drills.deployed.endpoints, shape)


def options(groups: Iterable[str]) -> list[str]:
    return [part for name in groups for part in ("--group", name)]


#: What all calls of the command printed with `--json`.
Document: TypeAlias = dict[str, list[dict[str, object]]]


def failed_over(
    drills: Drills, shape: Shape, mode: str, groups: Mapping[str, Offsets], *more: str
) -> tuple[Document | None, Row]:
    """Run the command for each flow of the shape; returns what it printed and the row; None if it refused."""
    found, row = moved(drills, shape, mode, [("failover", each, "--mode", mode, *more) for each in shape.flows], groups)
    if found is None:
        append(drills.rows, row)
    return found, row


def moved(
    drills: Drills, shape: Shape, way: str, calls: Iterable[tuple[str, ...]], groups: Mapping[str, Offsets]
) -> tuple[Document | None, Row]:
    """Run commands that move these groups, one after the other; returns what they printed, or None if one refused."""
    began, document, row = time.monotonic(), Document(), Row(shape.name, way, len(groups))
    for verb, flow, *more in calls:
        call = (verb, flow, *more, *options(groups))
        kills = kill_at_steps(drills, shape, "planned" if (verb, way) == ("failover", "back") else way, call)
        answer = drills.call(*call, "--json")
        row = replace(row, seconds=round(time.monotonic() - began, 1), kills=row.kills + kills)
        if answer.returncode != 0:
            return None, replace(row, refused=refusal(answer))
        for name, each in json.loads(answer.stdout).items():
            document.setdefault(name, []).extend(each if isinstance(each, list) else ())
    for each in (left := document.get("leftAlone", [])):
        print(f"left alone: {each}", flush=True)
    alone = f"; {len(left)} left alone" if left else ""
    return document, replace(row, announced=announced(document, way), note=alone)


def kill_at_steps(drills: Drills, shape: Shape, way: str, call: tuple[str, ...]) -> int:
    """Run the command and kill it at each step, if the shape says so; returns the number of killed runs."""
    return sum(drills.kill_at(step, *call) for step in STEPS[way]) if shape.kills else 0


def with_counts(
    drills: Drills, shape: Shape, row: Row, groups: Mapping[str, Offsets], own: Mapping[str, Offsets]
) -> Row:
    """The row with what consumers count: from the groups' offsets, and from MirrorMaker's own offsets."""
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
    """What a consumer of the group reads from its committed offsets."""
    found: Counter[bytes] = Counter()
    for topic in {topic for topic, _ in log}:
        found += read_on(region, group, topic, ends_of(region, topic))
    return found


def work(drills: Drills, shape: Shape, groups: Mapping[str, Offsets]) -> dict[str, Counter[bytes]]:
    """Let each group consume half of its remaining records on the target; returns what each has consumed by then."""
    sent, arrived = drills.logs(shape)
    consumed = {}
    for group, offsets in groups.items():
        began = positions(drills.target, shape, group)
        worked = halfway(drills.target, began)
        consumed[group] = before(sent, offsets) | (since(arrived, began) - since(arrived, worked))
        for topic in {topic for topic, _ in worked}:
            stand_at(drills.target, group, topic, {each[1]: at for each, at in worked.items() if each[0] == topic})
    return consumed


def counted_back(
    drills: Drills, row: Row, every: Counter[bytes], consumed: Mapping[str, Counter[bytes]], sent: Log
) -> Row:
    """The row with what consumers count on the source after the groups have returned to it."""
    total = Count()
    for group, each in consumed.items():
        found = count(each, every, read_as(drills.source, group, sent))
        print(f"{group} back: {found}", flush=True)
        total += found
    return counted(row, total, None)


def halfway(region: Region, offsets: Offsets) -> dict[tuple[str, int], int]:
    """The offsets halfway between these and the ends."""
    ends = {topic: ends_of(region, topic) for topic in {topic for topic, _ in offsets}}
    return {place: (offset + ends[place[0]][place[1]]) // 2 for place, offset in offsets.items()}


def resumed(drills: Drills, *flows: str) -> None:
    """Start again what a failover stopped."""
    for flow in flows:
        answer = drills.call("resume", flow)
        print(answer.stdout[-300:], answer.stderr[-600:] if answer.returncode else "", flush=True)
