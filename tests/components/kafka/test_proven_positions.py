"""Where a group continues if the source is lost: as far ahead as is proven, and no further."""

import pytest

from kafka_replication.components.kafka.positions import OffsetRange
from kafka_replication.components.kafka.proven_positions import (
    ProvenPosition,
    Span,
    TargetPlace,
    further,
    place_after_loss,
    place_in,
)

DENSE = Span(100, 200, 40, 140, dense=True)
SPARSE = DENSE._replace(dense=False)
LOG = OffsetRange(40, 150)


@pytest.mark.parametrize(
    ("span", "committed", "place"),
    [
        pytest.param(DENSE, 100, TargetPlace(40, 0), id="its first record"),
        pytest.param(DENSE, 157, TargetPlace(97, 0), id="in between: the place of each record is known"),
        pytest.param(DENSE, 200, TargetPlace(140, 0), id="its end"),
        pytest.param(DENSE, 207, TargetPlace(140, 7), id="after its end: later records may be read again"),
        pytest.param(DENSE, 99, None, id="before it: older records were not compared"),
        pytest.param(SPARSE, 200, TargetPlace(140, 0), id="the end of a span with markers"),
        pytest.param(SPARSE, 199, None, id="in a span with markers the place of a record is unknown"),
    ],
)
def test_a_span_gives_the_place_where_a_group_continues(span: Span, committed: int, place: TargetPlace | None) -> None:
    assert place_in(span, committed) == place


def test_the_furthest_place_counts() -> None:
    assert further(None, TargetPlace(3, 5), TargetPlace(7, 0), None) == TargetPlace(7, 0)
    assert further(None) is None


@pytest.mark.parametrize(
    ("upstream", "downstream", "kept", "log", "offset"),
    [
        pytest.param(157, 60, None, LOG, 97, id="the span is more exact than the checkpoint"),
        pytest.param(207, 144, None, LOG, 144, id="the checkpoint is newer than the span"),
        pytest.param(99, 60, None, LOG, 60, id="the offset is before the span"),
        pytest.param(157, 60, None, LOG._replace(end=139), 60, id="the target lost the end of its log"),
        pytest.param(157, 60, None, LOG._replace(start=98), 98, id="the target deleted the record at the place"),
        pytest.param(
            99, 60, ProvenPosition(90, 70, 0), LOG, 70, id="the published position is further ahead than the checkpoint"
        ),
        pytest.param(99, 60, ProvenPosition(100, 70, 0), LOG, 60, id="the group was reset to an earlier offset since"),
        pytest.param(
            99, 60, ProvenPosition(90, 151, 0), LOG, 60, id="the published position is after the end of the log"
        ),
    ],
)
def test_a_published_position_moves_a_group_forward_only_if_it_still_holds(
    upstream: int, downstream: int, kept: ProvenPosition | None, log: OffsetRange, offset: int
) -> None:
    assert place_after_loss(upstream, downstream, DENSE, kept, log) == offset
    assert place_after_loss(upstream, downstream, None, kept, log) == max(downstream, log.start)
