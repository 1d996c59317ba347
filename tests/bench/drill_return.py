"""The drill of the return with the policy `identity`: a flow in the other direction takes the place of the first."""

from dataclasses import replace
from functools import partial
from typing import Any

import yaml

from kafka_replication.infra.local.traffic import produce
from kafka_replication.infra.machine.waiting import wait_for
from kafka_replication.infra.stack.settings import read_settings
from tests.bench.drill_commands import Drills
from tests.bench.drill_counting import everything, stand
from tests.bench.drill_moves import RECORDS, counted_back, fill, kill_at_steps, moved, work
from tests.bench.drill_rows import append
from tests.bench.drill_shapes import Shape, turned_flow
from tests.bench.drill_traffic import CROSSING_SECONDS, expect_crossed
from tests.local.flows import Deployed


def returned(drills: Drills, shape: Shape) -> None:
    """Groups and producers move to the target, work there, and return together with their records."""
    assert shape.turned
    fill(drills, shape, drills.seed + 9)
    groups = stand(drills.source, shape, "turned", drills.seed)
    calls = [("failover", shape.flow, "--watch-seconds", "1")]
    document, row = moved(drills, shape, "planned", calls, groups)
    if document is None:
        raise RuntimeError(row.refused)
    for topic in shape.topics:
        produce(drills.target, topic, RECORDS, seed=2 * drills.seed + 21)
    consumed = work(drills, shape, groups)
    replace_flow(drills, shape, {"source": {"state": "stopped"}})
    kills = kill_at_steps(drills, shape, "beginning", ("failback", shape.turned))
    began = drills.call("failback", shape.turned)
    print(began.stdout, began.stderr, flush=True)
    if began.returncode != 0:
        raise RuntimeError("the beginning was not set")
    replace_flow(drills, shape, {})
    for topic in shape.topics:
        crossed = partial(expect_crossed, drills.target, drills.source, topic, topic)
        wait_for("records to return", crossed, CROSSING_SECONDS, 1)
    document, row = moved(drills, shape, "back", [("failover", shape.turned, "--watch-seconds", "1")], groups)
    row = replace(row, kills=row.kills + kills)
    sent, arrived = drills.logs(shape)
    twice = (everything(sent) - everything(arrived)).total()
    print(f"{twice} records stand more often on the source than on the target", flush=True)
    append(drills.rows, row if document is None else counted_back(drills, row, everything(arrived), consumed, sent))


def replace_flow(drills: Drills, shape: Shape, connectors: dict[str, Any]) -> None:
    """Deploy the flow that leads back instead of the shape's."""
    settings = drills.deployed.settings
    file = settings.stacks / "topologies" / f"{settings.stack}.yaml"
    topology = yaml.safe_load(file.read_text())
    topology["replications"].pop(shape.flow, None)
    topology["replications"][shape.turned] = turned_flow(shape, connectors)
    file.write_text(yaml.safe_dump(topology, sort_keys=False))
    Deployed(read_settings(settings.stack, settings.stacks), drills.deployed.endpoints).up()
