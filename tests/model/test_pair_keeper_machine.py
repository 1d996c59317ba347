"""In a prefixless pair, with what was kept before a region was lost, no group skips a record; a bug in it is found."""

import sys
from collections.abc import Iterable
from typing import Any

import pytest

from kafka_replication.components.kafka.log_ends import CopiedBack
from kafka_replication.components.kafka.mirror_records import OffsetSync
from tests.model.machine import UNTIL_FOUND, run
from tests.model.pair_keeper_machine import PairKeeper

RUNS = 300
_add, _scan = CopiedBack.add, CopiedBack.scan


def one_too_early(self: CopiedBack, sync: OffsetSync) -> None:
    _add(self, sync._replace(downstream=sync.downstream - 1))


def without_own_records(self: CopiedBack, _: Iterable[int], end: int) -> None:
    _scan(self, (), end)


BUGS: dict[str, tuple[object, str, Any]] = {
    "records of the target's producers are ignored": (CopiedBack, "before", lambda *_: sys.maxsize),
    "a group that has not consumed a copy has consumed it": (CopiedBack, "add", one_too_early),
    "the target's newest records are taken for copies": (CopiedBack, "scan", without_own_records),
}


#: Numbers of searches that find these bugs within a few dozen histories; others take hundreds.
FOUND_EARLY = {
    "records of the target's producers are ignored": 1,
    "a group that has not consumed a copy has consumed it": 3,
    "the target's newest records are taken for copies": 1,
}


def test_no_record_is_skipped_whenever_a_region_is_lost() -> None:
    run(PairKeeper, RUNS)


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_in_the_keeper_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*BUGS[bug])
    with pytest.raises((AssertionError, ExceptionGroup)):
        run(PairKeeper, UNTIL_FOUND, number=FOUND_EARLY.get(bug, 0))
