"""Every check of the job, as a table. To add a check, add its name to `CheckName` and a record to `CHECKS`."""

from collections.abc import Callable
from dataclasses import dataclass

from components.contract.parameters import FlowParameters
from components.contract.report import CheckName, CheckOutcome
from spark.checks.access import check_access
from spark.checks.heartbeats import check_heartbeats
from spark.checks.offsets import check_offsets
from spark.checks.parity import check_parity
from spark.checks.parts import check_division, parts_of
from spark.checks.retention import check_retention
from spark.checks.shared_readings import SharedReadings

#: The reason of a check that nobody expects to run. The report does not mention it.
UNMENTIONED = ""


@dataclass(frozen=True)
class Check:
    """One check.

    `why_not` says why the check does not apply to a flow; None if it applies. A check that `needs_topics` has nothing
    to look at in a flow whose topics all loop.
    """

    name: CheckName
    why_not: Callable[[FlowParameters], str | None]
    run: Callable[[SharedReadings], CheckOutcome]
    needs_topics: bool = False


def _not_divided(flow: FlowParameters) -> str | None:
    return None if parts_of(flow) else UNMENTIONED


def _no_acls(flow: FlowParameters) -> str | None:
    return "the parameters list no ACLs" if flow.acls is None else None


def _no_checkpoints(flow: FlowParameters) -> str | None:
    return None if flow.checkpoints.enabled else "the flow writes no checkpoints"


def _no_heartbeats(flow: FlowParameters) -> str | None:
    return None if flow.heartbeats.enabled else "the flow has no heartbeats"


def _never(_: FlowParameters) -> None:
    return None


def _gaps_say_nothing(flow: FlowParameters) -> str | None:
    if not flow.offset_syncs.enabled:
        return "the flow has no offset syncs"
    if flow.guard is None and not flow.transformed:
        return None
    dropped_by = "guard" if flow.guard is not None else "transforms"
    return f"offset syncs cannot distinguish records that its {dropped_by} dropped from lost ones"


#: In the order in which they run. Heartbeats are observed in the background from the beginning, so `OFFSETS`, which
#: waits as well, runs before `HEARTBEATS` collects the observation.
CHECKS = (
    Check(
        CheckName.DIVISION,
        _not_divided,
        lambda read: check_division(read.flow.parameters, read.flows, read.flow.source.topics()),
    ),
    Check(CheckName.ACCESS, _no_acls, lambda read: check_access(read.flow)),
    Check(CheckName.OFFSETS, _no_checkpoints, lambda read: check_offsets(read.without_loops, read.syncs), True),
    Check(CheckName.HEARTBEATS, _no_heartbeats, lambda read: check_heartbeats(read.flow, read.observer)),
    Check(
        CheckName.PARITY,
        _never,
        lambda read: check_parity(read.without_loops, read.first_pass, read.loops, read.catch_up_seconds, read.syncs),
    ),
    Check(
        CheckName.RETENTION,
        _gaps_say_nothing,
        lambda read: check_retention(read.without_loops, read.first_pass, read.syncs),
        True,
    ),
)
