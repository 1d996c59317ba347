"""How peak memory is counted. Without these tests the demo's figure may leave out the largest process."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_replication.infra.local.parts import processes
from kafka_replication.infra.local.parts.processes import ProcessRecord
from kafka_replication.infra.local.stack import MemoryWatch, memory_by_process
from kafka_replication.infra.local.state import PartRecord, State, save_state
from kafka_replication.infra.machine.waiting import NotYetError, wait_for

pytestmark = pytest.mark.process

MIB = 1024 * 1024
LARGE = "import signal; block = bytearray(b'x') * (100 << 20); print('ready', flush=True); signal.pause()"


@pytest.fixture
def large(tmp_path: Path) -> Iterator[ProcessRecord]:
    """A part of the test's own stack that takes 100 MiB."""
    record = processes.start("large", (sys.executable, "-c", LARGE), tmp_path / "large.log", dict(os.environ))
    save_state(State().with_part(PartRecord(**record.model_dump())))

    def expect_ready() -> None:
        if "ready" not in processes.last_lines(record.log):
            raise NotYetError("an empty log")

    wait_for("the large process", expect_ready, 120)
    yield record
    processes.stop(record, grace_seconds=0)


def test_a_part_and_this_process_are_counted_once_each(large: ProcessRecord) -> None:
    sample = memory_by_process([large, large])
    assert sample[f"large/{large.pid}"] > 100 * MIB
    assert sample[f"command/{os.getpid()}"] > 0
    assert [name for name in sample if name.endswith(f"/{large.pid}")] == [f"large/{large.pid}"]


def test_the_watch_keeps_the_peak_after_the_process_ended(large: ProcessRecord) -> None:
    with MemoryWatch(sample_seconds=0.01) as watch:
        wait_for("a sample", lambda: _expect_peak(watch), 120)
        processes.stop(large, grace_seconds=0)
    assert watch.peak_bytes > 100 * MIB
    assert f"large/{large.pid}" in watch.peak_by_process


def _expect_peak(watch: MemoryWatch) -> None:
    if watch.peak_bytes < 100 * MIB:
        raise NotYetError(f"a peak of {watch.peak_bytes} bytes")
