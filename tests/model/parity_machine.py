"""A state machine over both logs of a partition: no verdict passes missing, stray or reordered records, and none fails
a flow in which nothing went wrong."""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kafka_replication.components.contract.report import FindingSeverity, Verdict
from kafka_replication.spark.checks.parity.differences import RESTARTS
from tests.model.logs import (
    KEYS,
    Logs,
    codes,
    healthy,
    key_of,
    keys_only_on,
    keys_that_differ,
    missing,
    out_of_order,
    strays,
    verdict,
)

FEW = st.integers(1, 12)
#: What happens in a run in addition to what a healthy flow does. A filter or an open transaction is not a fault.
KINDS = (
    "none",
    "none",
    "none",
    "filtered",
    "open",
    "lost",
    "dropped",
    "stray",
    "swapped",
    "copied",
    "repeated",
    "source anew",
    "target anew",
    "several",
)


def only_if(kind: str) -> Callable[..., Any]:
    """A rule for one kind of fault. With one kind at a time, no fault can hide another."""
    chosen: Callable[..., Any] = precondition(lambda self: self.kind in (kind, "several"))
    return chosen


class Parity(RuleBasedStateMachine):
    """What producers, MirrorMaker, retention and people may do to a partition."""

    kinds: tuple[str, ...] = KINDS
    policies: tuple[bool, ...] = (False, True)

    def __init__(self) -> None:
        super().__init__()
        self.logs = Logs(0)
        self.kind = "none"
        self.wrong = self.anew = self.aborted = False
        self.restarts = 0
        #: Copies that something else wrote, and how many offset syncs there were then.
        self.repeated = (0, 0)

    @initialize(lag_max=st.sampled_from((0, 3, 100)), evaluated=st.booleans(), data=st.data())
    def begin(self, lag_max: int, evaluated: bool, data: Any) -> None:
        self.logs = Logs(lag_max, compacted=data.draw(st.sampled_from(self.policies)), evaluated=evaluated)
        self.kind = data.draw(st.sampled_from(self.kinds))

    @rule(records=FEW)
    def produce(self, records: int) -> None:
        self.logs.produce(records)

    @rule(offsets=st.integers(1, 3))
    def mark_or_abort(self, offsets: int) -> None:
        self.logs.leave_out(offsets)
        self.aborted = True

    @rule(offsets=st.integers(1, 30))
    def replicate(self, offsets: int) -> None:
        self.logs.replicate(offsets)

    @precondition(lambda self: self.restarts < RESTARTS)
    @rule(again=st.integers(0, 6))
    def restart(self, again: int) -> None:
        """More restarts within a young topic look like a second connector."""
        self.logs.restart(again)
        self.restarts += 1

    @precondition(lambda self: self.logs.synced_since_restart)
    @rule()
    def congest(self) -> None:
        """From now on, an offset sync waits, and the next one replaces it.

        If MirrorMaker drops the first sync after a restart, as many records may be lost unseen as it sent again.
        """
        self.logs.congest()

    @precondition(lambda self: self.logs.congested)
    @rule()
    def clear_congestion(self) -> None:
        self.logs.clear_congestion()

    @rule(data=st.data())
    def expire_on_source(self, data: Any) -> None:
        """Retention overtakes the connector only if that is the fault of this run."""
        end = len(self.logs.source) if self.kind in ("lost", "several") else self.logs.position
        end = min(end, self.logs.committed_end)
        before = data.draw(st.integers(self.logs.source_start, max(end, self.logs.source_start)))
        self.logs.expire_on_source(before)
        self.wrong = self.wrong or bool(self.logs.lost)

    @rule(data=st.data())
    def expire_on_target(self, data: Any) -> None:
        self.logs.target_start = data.draw(st.integers(self.logs.target_start, len(self.logs.target)))

    @precondition(lambda self: self.logs.compacted)
    @rule(side=st.sampled_from(("source", "target")), tombstones=st.booleans(), data=st.data())
    def compact(self, side: str, tombstones: bool, data: Any) -> None:
        """A tombstone is kept for a day, so it is replicated before it is removed."""
        end = min(self.logs.position, self.logs.committed_end) if side == "source" else len(self.logs.target)
        self.logs.compact(side, data.draw(st.integers(0, end)), tombstones=tombstones)

    @precondition(lambda self: self.logs.evaluated or self.kind in ("filtered", "several"))
    @rule()
    def filter_next(self) -> None:
        """A transform drops the next record that is produced. If the job can evaluate it, it hides no other fault."""
        self.logs.filtered.add(self.logs.number)

    @precondition(lambda self: "open" in self.kinds and self.kind in ("open", "stray"))
    @rule(ends=st.booleans())
    def leave_open(self, ends: bool) -> None:
        """A transaction begins, or the open one is committed. The connector reads uncommitted records."""
        self.logs.open_at = None if ends else self.logs.committed_end

    @only_if("lost")
    @precondition(lambda self: self.logs.synced_since_restart and self.logs.open_at is None)
    @rule(records=FEW, more=FEW, sent=st.booleans())
    def overtake(self, records: int, more: int, sent: bool) -> None:
        """Retention removes records that have not crossed. Many follow at once, so that all syncs but the newest are
        dropped; that one is `sent`, or still waits.
        """
        self.logs.replicate(len(self.logs.source))
        self.logs.produce(records + more)
        self.logs.expire_on_source(self.logs.position + records)
        self.wrong = True
        self.logs.congest()
        self.logs.replicate(len(self.logs.source))
        if sent:
            self.logs.clear_congestion()

    @only_if("dropped")
    @rule(records=st.integers(1, 4))
    def drop_next(self, records: int) -> None:
        self.logs.dropped.update(range(self.logs.number, self.logs.number + records))
        self.wrong = True

    @only_if("dropped")
    @precondition(lambda self: self.logs.compacted)
    @rule(keys=st.integers(1, KEYS - 1), times=FEW, expired=st.integers(0, 2))
    def lose_keys(self, keys: int, times: int, expired: int) -> None:
        """Each key is written again, and the source keeps the newest record of each. Those of some keys never arrive.
        The target has removed its oldest records by age.
        """
        logs = self.logs
        numbers = range(logs.number, logs.number + times * KEYS)
        logs.dropped.update(number for number in numbers if key_of(number) < keys)
        logs.produce(len(numbers))
        logs.replicate(len(logs.source))
        logs.compact("source", logs.position, tombstones=False)
        logs.target_start = max(logs.target_start, min(expired, len(logs.target)))
        self.wrong = True

    @only_if("stray")
    @rule()
    def write_stray(self) -> None:
        self.logs.target.append(-1 - len(self.logs.target))
        self.wrong = True

    @only_if("swapped")
    @precondition(lambda self: len(self.logs.target) - self.logs.target_start > 1)
    @rule(data=st.data())
    def swap(self, data: Any) -> None:
        target = self.logs.target
        at = data.draw(st.integers(self.logs.target_start, len(target) - 2))
        target[at], target[at + 1] = target[at + 1], target[at]
        self.wrong = True

    @precondition(lambda self: self.kind == "copied" and len(self.logs.target) - self.logs.target_start > 1)
    @rule(data=st.data())
    def copy_block(self, data: Any) -> None:
        """Something else copies older records again, without the newest one."""
        end = len(self.logs.target)
        begin = data.draw(st.integers(self.logs.target_start, end - 2))
        self.logs.copy(begin, data.draw(st.integers(begin + 1, end - 1)))
        self.wrong = True

    @precondition(lambda self: self.kind == "repeated")
    @rule(data=st.data())
    def repeat(self, data: Any) -> None:
        """Something else copies everything from some record on again, through to the newest."""
        end = len(self.logs.target)
        begin = data.draw(st.integers(self.logs.target_start, end))
        self.logs.copy(begin, end)
        self.repeated, self.wrong = (end - begin, len(self.logs.syncs)), True

    @only_if("source anew")
    @rule(records=st.integers(0, 12))
    def make_source_anew(self, records: int) -> None:
        self.logs.make_source_anew(records)
        self.wrong = self.anew = True

    @only_if("target anew")
    @rule()
    def make_target_anew(self) -> None:
        self.logs.make_target_anew()
        self.wrong = self.anew = True

    @invariant()
    def the_verdict_is_right(self) -> None:
        found = verdict(self.logs)
        if found is Verdict.PASS:
            self.nothing_is_wrong()
        if found is not Verdict.FAIL:
            self.nothing_is_certain()
        if not self.wrong:
            self.nothing_fails_once_all_is_replicated()

    def nothing_is_wrong(self) -> None:
        logs = self.logs
        if logs.compacted:
            expired = logs.target_start and not logs.target_log.size
            assert expired or not keys_that_differ(logs), f"keys {keys_that_differ(logs)} differ"
        if logs.cleaned or (logs.compacted and self.anew):
            return
        # What replaces records that the target has removed seems to have expired there.
        assert not missing(logs) or (self.anew and logs.target_start), f"{missing(logs)} are missing"
        assert not strays(logs), f"{strays(logs)} are of somebody else"
        assert not out_of_order(logs), "records are out of order"
        copies, syncs = self.repeated
        if self.kind == "repeated" and not logs.target_start and syncs == len(logs.syncs):
            assert not copies or 2 * copies < len(logs.target), f"{copies} copies that no sync shows count as a restart"
        if not self.anew and not logs.target_start:
            assert not logs.lost, f"{logs.lost} were removed before they were replicated"

    def nothing_is_certain(self) -> None:
        """More differing records than a side has removed, or than the job could not read, must fail."""
        logs = self.logs
        if self.anew or logs.filtered or logs.evaluated:
            return
        unknown = logs.source_start + len(logs.source) - logs.committed_end
        if logs.compacted:
            assert keys_only_on("source", logs) <= logs.target_start
            assert keys_only_on("target", logs) <= unknown
        else:
            assert len({number for _, number in logs.held("target") if number < 0}) <= unknown

    def nothing_fails_once_all_is_replicated(self) -> None:
        failed = [code for code, severity in codes(healthy(self.logs)).items() if severity is FindingSeverity.FAIL]
        # Once nothing is left of a transaction, aborted records look like lost ones.
        assert failed in ([], ["lost-to-retention"] if self.aborted else [])
