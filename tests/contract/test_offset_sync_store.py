"""Our port of MirrorMaker's offset sync store translates offsets as the Java class of each Kafka version does.

Otherwise tests/model would test the validation job against a MirrorMaker that nobody runs.
"""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from kafka_replication.components.kafka.mirror_records import OffsetSync
from tests.contract.java_programs import answer
from tests.contract.property_definitions import KAFKAS
from tests.model.offset_sync_store import OffsetSyncStore

PROGRAM = Path(__file__).with_name("OffsetSyncs.java")
CASES, LONGEST, LARGEST_STEP = 150, 120, 20


def a_case(chance: random.Random) -> dict[str, Any]:
    """Syncs that mostly advance in small or doubling steps, and sometimes fall back."""
    syncs, upstream, downstream = [], 0, 0
    for _ in range(chance.randrange(1, LONGEST)):
        step = chance.choice([1, chance.randrange(1, 200), 1 << chance.randrange(LARGEST_STEP)])
        fallen = chance.random() < 0.01
        upstream = max(0, upstream - step) if fallen else upstream + step
        downstream += chance.randrange(1, step + 1)
        syncs.append([upstream, downstream])
    asked = sorted({0, upstream, upstream + 5, *(chance.randrange(upstream + 1) for _ in range(20))})
    loaded = chance.randrange(len(syncs))
    return {"mustReadToEnd": chance.random() < 0.5, "loaded": loaded, "syncs": syncs, "asked": asked}


def ported(case: dict[str, Any]) -> list[list[int | None]]:
    store = OffsetSyncStore(case["mustReadToEnd"])
    found = []
    for index, (upstream, downstream) in enumerate(case["syncs"]):
        store.read_to_end = index >= case["loaded"]
        store.add(OffsetSync(upstream, downstream))
        found.append([store.translate(each) for each in case["asked"]])
    return found


@pytest.mark.parametrize("kafka", KAFKAS)
def test_the_port_translates_offsets_as_kafkas_class_does(kafka: str) -> None:
    _, jars = KAFKAS[kafka]
    chance = random.Random(7)  # the same cases each time
    cases = [a_case(chance) for _ in range(CASES)]
    said = answer(PROGRAM, jars, json.dumps(cases))
    assert [ported(case) for case in cases] == json.loads(said.splitlines()[-1])
