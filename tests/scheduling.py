"""Which process of a run of the tests gets which of them, and in which order."""

from contextlib import suppress
from typing import Any

from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]  # it has no types

_APART = {"infra", "local", "spark", "infra/operator", "infra/provider"}
"""Folders of which each file is a unit."""

_ALONE = {"contract/test_running_connect.py"}
"""Files that are a unit of their own, although the rest of their folder is one: that shares three API servers."""

_LONGEST = (
    "local/example",
    "local/test_promotion.py",
    "local/test_pair.py",
    "local/test_announced_effects.py",
    "infra/operator/test_running_stack.py",
    "local/test_api_switch.py",
    "infra/provider/test_deployment.py",
    "local/",
    "spark/test_standalone.py",
    "infra/operator/test_running_v1beta2.py",
    "infra/operator/test_worker_pods.py",
    "spark/test_incremental.py",
    "spark/test_forged_flows.py",
    "infra/operator/test_running_mirror_maker2.py",
    "contract",
    "model",
    "spark/",
    "infra/",
)
"""Beginnings of the names of units, the longest unit first."""

_SPARK_ON_A_STACK = (
    "arriving_heartbeats changed_headers checkpoint_reading deleted_topics few_records filtered forged_compaction "
    "forged_flows forged_shapes forged_starts forged_transactions heartbeats incremental kept_on_clusters movement "
    "open_transactions other_groups quick recreated refusals short_partitions small_reads standalone submitted "
    "sync_reading timeouts topic_settings"
)

ON_A_STACK = (
    "local/",
    "contract/test_running_connect.py",
    "infra/test_commit_rights.py",
    "infra/test_ready.py",
    "infra/operator/test_running",
    "infra/operator/test_worker_pods.py",
    "infra/provider/test_deployment.py",
    "infra/provider/test_provider_process.py",
    *(f"spark/test_{name}.py" for name in _SPARK_ON_A_STACK.split()),
)
"""Beginnings of the names of units whose tests ask for `endpoints`."""


class UnitScheduling(LoadScopeScheduling):  # type: ignore[misc]
    """Gives whole units to a process: the tests of a unit share what they start, and some depend on their order.

    A process that ends within a test leaves its other tests to the rest. xdist would run that test again, which may end
    the next process too. It would also give away units without a test to run, and then wait forever for their results.
    """

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)

    def _assign_work_unit(self, node: Any) -> None:
        if not self.workqueue:
            # Those before it took two: few tests run.
            return
        if runs_without_stack(node.gateway.id, self.numnodes):
            unit = next((each for each in self.workqueue if not each.startswith(ON_A_STACK)), None)
            if unit is None:
                node.shutdown()
                return
            self.workqueue.move_to_end(unit, last=False)
        # The process may have ended, and xdist not have heard of it yet. remove_node then gives its units to the rest.
        with suppress(OSError):
            super()._assign_work_unit(node)
        # A process begins its last test only once it knows whether another test follows.
        if self.workqueue and self._pending_of(self.assigned_work[node]) < 2:
            self._assign_work_unit(node)

    def remove_node(self, node: Any) -> str | None:
        """Return the test that the process ran when it ended, if any."""
        left = self.assigned_work.pop(node)
        waiting = [(unit, test) for unit, tests in left.items() for test, is_done in tests.items() if not is_done]
        if not waiting:
            return None
        unit, running = waiting[0]
        left[unit][running] = True
        self.workqueue.update({unit: tests for unit, tests in left.items() if not all(tests.values())})
        for other in self.assigned_work:
            self._reschedule(other)
        return str(running)


def runs_without_stack(worker: str, workers: int) -> bool:
    """Whether this process, such as gw2 of 3, only runs units that need no local stack: the last of three or more."""
    return workers > 2 and int(worker.removeprefix("gw")) == workers - 1


def unit_of(nodeid: str) -> str:
    """The file of a test, or its folder if the tests of the folder share more."""
    file = nodeid.split("::")[0].removeprefix("tests/")
    folder = file.rpartition("/")[0]
    return file if folder in _APART or file in _ALONE else folder


def place_of(unit: str) -> tuple[bool, int]:
    """Units on a stack come first, so that none of them waits for a process that runs anything else."""
    longest = next((place for place, name in enumerate(_LONGEST) if unit.startswith(name)), len(_LONGEST))
    return not unit.startswith(ON_A_STACK), longest
