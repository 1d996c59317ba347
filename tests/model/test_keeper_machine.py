"""With what was kept before the source was lost, no group skips a record; a bug in it is found."""

import sys
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from kafka_replication.components.contract import kept_positions as contract
from kafka_replication.components.contract.kept_positions import KeptPositions, Look
from kafka_replication.components.kafka.log_ends import EndHistory, Ends
from kafka_replication.components.kafka.mirror_records import Checkpoint, Checkpoints
from kafka_replication.components.kafka.positions import TopicPartition
from tests.model.keeper_machine import REMOTE, Cluster, Keeper
from tests.model.machine import UNTIL_FOUND, run
from tests.model.partition import ORDERS

RUNS = 300
_ends, _before, _newest = Cluster.ends, EndHistory.before, contract.newest_checkpoint


def source_first(self: Cluster, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
    """The source's end from before the target was asked for its own."""
    partitions = list(partitions)
    if partitions == [REMOTE]:
        self.source_end = len(self.machine.partition.source)
        self.between()
    return {ORDERS: self.source_end} if partitions == [ORDERS] else _ends(self, partitions)


def one_further(self: EndHistory, committed: int) -> Ends:
    found = _before(self, committed)
    return found._replace(target=found.target + 1)


def checkpoint_is_older(
    group: str, source: TopicPartition, remote: TopicPartition, kept: KeptPositions, checkpoints: Checkpoints
) -> Checkpoint | None:
    newer = replace(kept, look=Look(at_ms=0, checkpoints=sys.maxsize))
    return _newest(group, source, remote, newer, checkpoints)


BUGS: dict[str, tuple[object, str, Any]] = {
    "the source is asked before the target": (Cluster, "ends", source_first),
    "the newest ends are used for every group": (EndHistory, "before", lambda self, _: self.ends[-1]),
    "a group continues one record too far": (EndHistory, "before", one_further),
    "a newer checkpoint at a lower offset does not count": (contract, "newest_checkpoint", checkpoint_is_older),
    "positions of a deleted topic count": (KeptPositions, "of", lambda self, *_: self),
}


#: Numbers of searches that find these bugs within a few dozen histories; others take hundreds.
FOUND_EARLY = {
    "positions of a deleted topic count": 9,
}


def test_no_record_is_skipped_whenever_the_source_is_lost() -> None:
    run(Keeper, RUNS)


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_in_the_keeper_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*BUGS[bug])
    with pytest.raises((AssertionError, ExceptionGroup)):
        run(Keeper, UNTIL_FOUND, number=FOUND_EARLY.get(bug, 0))
