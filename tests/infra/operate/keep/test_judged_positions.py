"""How the bench that kills keepers judges what they have published, and how rows get into the page."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from kafka_replication.components.contract.kept_positions import (
    KeptPosition,
    Look,
    PositionKey,
    look_record,
    position_record,
)
from kafka_replication.components.kafka.positions import TopicPartition
from kafka_replication.components.kafka.record_identity import KafkaRecord
from kafka_replication.infra.local.endpoints import Region
from tests.bench.drill_counting import Log
from tests.bench.drill_shapes import SHAPES
from tests.bench.keeper_kills import judge
from tests.bench.keeper_traffic import Group
from tests.pages import put_rows, section, table

ORDERS = TopicPartition("plain-orders", 0)
#: Ten records, the third again at the end; the target has them at offsets that are 2 higher, and the first two again at
#: its end.
SENT: Log = {(ORDERS.topic, 0): [*((offset, b"%d" % offset) for offset in range(10)), (10, b"2")]}
ARRIVED: Log = {("useast.plain-orders", 0): [*((at + 2, b"%d" % at) for at in range(10)), (12, b"0"), (13, b"1")]}


@pytest.fixture
def group() -> Group:
    """It has committed 4."""
    group = Group(cast(Region, SimpleNamespace(alias="useast")), "checkout", ())
    group.commits.append((1.0, {(ORDERS.topic, 0): 4}, True))
    return group


@pytest.mark.parametrize(
    ("committed", "offset", "skipping", "invented", "again"),
    [
        pytest.param(4, 6, 0, 0, 2, id="exact, but for records that were sent again"),
        pytest.param(4, 0, 0, 0, 4, id="from the beginning"),
        pytest.param(4, 7, 1, 0, 2, id="one too far"),
        pytest.param(3, 5, 0, 1, 2, id="an offset that the group has not committed"),
        pytest.param(0, 3, 1, 1, 0, id="the source may be lost before it sends a record again"),
    ],
)
def test_a_position_is_judged_by_its_records(
    group: Group, committed: int, offset: int, skipping: int, invented: int, again: int
) -> None:
    position = KeptPosition(committed=committed, offset=offset, topic_id="", source_end=0)
    records = [
        position_record("plain", PositionKey("checkout", ORDERS), position),
        position_record("plain", PositionKey("of an earlier run", ORDERS), position),
        position_record("plain", PositionKey("checkout", ORDERS), None),
        look_record("plain", Look(at_ms=1, checkpoints=0)),
    ]
    published = [KafkaRecord(ORDERS, number, 0, *record, []) for number, record in enumerate(records)]
    found = judge(published, SENT, ARRIVED, [group], SHAPES[0])
    assert (found.looks, found.positions) == (1, 1)
    assert (len(found.skipping), len(found.invented), found.again) == (skipping, invented, [again])


def test_a_new_row_replaces_the_row_of_its_name_and_the_others_stay(tmp_path: Path) -> None:
    page, head = tmp_path / "page.md", ("shape", "kills")
    begin, end = "Before.\n\n<!-- keeper kills: begin -->\n\n", "\n\n<!-- keeper kills: end -->\n"
    page.write_text(f"{begin}{table(head, [('default policy', '1'), ('pair', '2')])}{end}")
    put_rows(page, "keeper kills", head, [("pair", "3"), ("pair, a worker killed", "4")])
    rows = [("default policy", "1"), ("pair", "3"), ("pair, a worker killed", "4")]
    assert section(page.read_text(), "keeper kills") == table(head, rows)
