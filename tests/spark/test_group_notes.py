"""What groups of a flow that works would miss after a failover."""

from dataclasses import replace

from kafka_replication.components.contract.report import FindingSeverity
from kafka_replication.components.kafka.mirror_records import Checkpoint, latest_checkpoints
from kafka_replication.components.kafka.positions import TopicPartition
from kafka_replication.spark.checks.offsets.check import no_checkpoints, unjudged_records, without_copies
from kafka_replication.spark.checks.offsets.position_proof import Position
from tests.spark.documents import a_flow, a_pair
from tests.spark.forging import written

POSITION = Position("checkout-a", TopicPartition("orders", 0), 105, Checkpoint(105, 101), 101)


def test_groups_without_an_offset_on_the_target_are_noted_if_the_flow_copies_no_offsets() -> None:
    flow = a_flow()
    silent = flow.model_copy(update={"checkpoints": flow.checkpoints.model_copy(update={"sync_group_offsets": False})})
    alone, active = replace(POSITION, on_target=None), replace(POSITION, group="b", on_target=None, active=True)
    noted = without_copies(silent, [POSITION, alone, active])
    assert noted is not None
    assert noted.message.startswith("1 group has no offset on uswest, because the flow does not copy group offsets")
    assert without_copies(silent, [POSITION, active]) is None
    assert without_copies(flow, [alone]) is None


def test_the_offsets_of_a_guarded_flow_prove_nothing_of_records_that_came_another_way() -> None:
    guarded, _ = a_pair()
    noted = unjudged_records(guarded, 3)
    assert noted is not None
    assert (noted.severity, noted.count) == (FindingSeverity.NOTE, 3)
    assert noted.message == (
        "records on uswest that did not come through this flow were not judged. A group that continues on uswest skips "
        "those before its offset there, unless it has read them on useast"
    )
    assert unjudged_records(guarded, 0) is None
    assert unjudged_records(a_flow(), 3) is None


def test_a_tombstone_among_checkpoints_is_reported_with_what_mirror_maker_cannot_do_after_it() -> None:
    """MirrorMaker ignores other foreign records, but after a tombstone a restarted connector loads no checkpoint."""
    garbage, tombstone = (b"who knows", b"what"), (b"a key", None)
    plain = no_checkpoints(a_flow(), latest_checkpoints(written(garbage)))
    both = no_checkpoints(a_flow(), latest_checkpoints(written(garbage, tombstone)))
    alone = no_checkpoints(a_flow(), latest_checkpoints(written(tombstone)))
    assert (plain.count, both.count) == (1, 2)
    assert "holds 1 record that is no checkpoint. It has no value: when" in alone.message
    assert plain.message == "useast.checkpoints.internal holds 1 record that is no checkpoint"
    assert both.message == (
        "useast.checkpoints.internal holds 2 records that are no checkpoints. 1 of them has no value: when the "
        "checkpoint connector is restarted after it, it cannot load its checkpoints, and does not translate offsets of "
        "records that were replicated before. Remedy: find out what writes other records to the topic, and stop it. "
        "Then stop the checkpoint connector, delete the topic on uswest, and start the connector: it writes the "
        "checkpoints of all groups again"
    )
