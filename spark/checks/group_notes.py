"""Notes about a flow that works: what its groups would miss after a failover all the same. Pure."""

from collections.abc import Sequence

from components.contract.parameters import FlowParameters
from components.contract.report import Finding, note
from components.contract.wording import agreeing, numbered
from spark.checks.translation import Position


def without_copies(flow: FlowParameters, positions: Sequence[Position]) -> Finding | None:
    """The note about groups that would start on the target without an offset, because the flow writes none there."""
    if flow.checkpoints.sync_group_offsets:
        return None
    without = {each.group for each in positions if each.on_target is None and not each.active}
    if not without:
        return None
    begin = agreeing(len(without), "[the group begins|the groups begin] at the offset that `auto.offset.reset` of ")
    return note(
        "group-offsets-not-copied",
        f"{numbered(len(without), 'group[|s] [has|have] no offset on ')}{flow.target.alias}, because the flow does not "
        f"copy group offsets (`syncGroupOffsets: false`). After a failover, {begin}"
        f"{agreeing(len(without), '[its|their]')} consumers selects",
        len(without),
    )


def unjudged_records(flow: FlowParameters, positions: int) -> Finding | None:
    """The note that records which reached a guarded flow's target another way were not judged. `positions` is the
    number of committed offsets."""
    if flow.guard is None or not positions:
        return None
    return note(
        "own-records-not-judged",
        f"records on {flow.target.alias} that did not come through this flow were not judged. A group that continues "
        f"on {flow.target.alias} skips those before its offset there, unless it has read them on {flow.source.alias}",
        positions,
    )
