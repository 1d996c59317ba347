"""Alerts of a flow on the series of `replicate exporter`, for faults that none of Kafka's metrics shows. If the
exporter gets no answer to a question, the series is missing; only MirrorExporterAbsent and MirrorNotAsked can then
fire.
"""

from collections.abc import Iterator

from components.contract import exported_series as series
from components.contract.published_verdict import PROOF_HOURS
from components.flows.resolved import ResolvedFlow
from components.flows.selections import each_source
from components.kafka.connectors import BEHIND_SECONDS
from components.render.alerts import STATUS, Alert, of_flow, runs, translates
from components.render.login_alerts import login_alerts
from components.render.metrics import RECORD_COUNT

#: A partition is stalled if records wait in it now, if they waited this long ago, and if it has not moved since.
_STILL_MINUTES = 15
#: The lag has grown if, during this time, it was always above its greatest value in the same time before.
_GROWING_MINUTES = 10


def exporter_alerts(flow: ResolvedFlow, stack: str) -> Iterator[Alert]:
    """Yield the alerts of a flow; a flow that is paused or stopped on purpose has none."""
    if not runs(flow.settings):
        return
    of, target, objectives = of_flow(flow, stack), flow.settings.target, flow.settings.objectives
    yield _absent(of)
    yield _not_asked(of)
    yield _topic_missing(of, target)
    # It is not known whether the newest records would pass the flow's own transforms.
    if not any(source.transforms.change_records for _, source in each_source(flow.settings)):
        yield _stalled(of)
        if objectives.lag_seconds is not None:
            yield _lag_high(of, target, objectives.lag_seconds)
        yield _lag_growing(of)
    if translates(flow.settings):
        yield _without_position(of, target)
        if objectives.read_again is not None:
            yield _read_again(of, objectives.read_again)
    yield _verdict_failed(of)
    yield _verdict_stale(of)
    yield from login_alerts(of)
    yield _drift(of)


def _absent(of: str) -> Alert:
    return Alert(
        "MirrorExporterAbsent",
        "warning",
        f"absent({series.UNASKED.name}{{{of}}})",
        10,
        "no exporter reports on this flow",
        "The exporter does not run, hangs, watches other stacks, or is not scraped. Alerts on its series cannot fire.",
        "replicate exporter {stack}",
    )


def _not_asked(of: str) -> Alert:
    return Alert(
        "MirrorNotAsked",
        "warning",
        f"max by (what) ({series.UNASKED.name}{{{of}}}) > 0",
        15,
        "{{ $labels.what }} is unknown to the exporter",
        "Kubernetes or a Kafka cluster does not answer the exporter or refuses it, or the published verdict cannot be "
        "read. Alerts that need this answer cannot fire.",
        STATUS,
    )


def _topic_missing(of: str, target: str) -> Alert:
    return Alert(
        "MirrorTopicMissing",
        "warning",
        f"max({series.MISSING_TOPICS.name}{{{of}}}) > 0",
        15,
        f"{{{{ $value }}}} topics do not exist on {target}",
        "They were deleted there, or the flow cannot create them.",
        STATUS,
    )


def _stalled(of: str) -> Alert:
    position = f"{series.PARTITION_POSITION.name}{{{of}}}"
    return Alert(
        "MirrorPartitionStalled",
        "critical",
        # A partition with this series has waiting records. Their timestamps do not show whether it moves, because
        # producers set them freely.
        f"count({position} == {position} offset {_STILL_MINUTES}m) > 0",
        5,
        f"for {_STILL_MINUTES} minutes {{{{ $value }}}} or more partitions have made no progress",
        "Records wait in them and do not cross. Other partitions may still make progress.",
        STATUS,
    )


def _lag_high(of: str, target: str, seconds: int) -> Alert:
    return Alert(
        "MirrorLagHigh",
        "warning",
        # Offsets are committed with a delay, so a flow that keeps up can seem this far behind.
        f"max({series.LAG_SECONDS.name}{{{of}}}) > {seconds + BEHIND_SECONDS}",
        5,
        f"a record has waited for {{{{ $value | humanizeDuration }}}}, and the objective is {seconds} s",
        f"It may not be on {target} yet, and a failover now would lose it.",
        STATUS,
    )


def _lag_growing(of: str) -> Alert:
    lag, window = f"{series.LAG_RECORDS.name}{{{of}}}", f"{_GROWING_MINUTES}m"
    least, crossing = f"min(min_over_time({lag}[{window}]))", f'{RECORD_COUNT}{{{of},topic!~".*heartbeats"}}[{window}]'
    return Alert(
        "MirrorLagGrowing",
        "warning",
        # The lag goes up and down with every commit of offsets, so its least value is compared with its greatest
        # before. A flow that keeps up with more records than before seems to lag by what crosses between two commits.
        f"{least} > max(max_over_time({lag}[{window}] offset {_GROWING_MINUTES + 1}m))\n"
        f"and on () {least} > {BEHIND_SECONDS} * sum(rate({crossing}))\n"
        # A stalled flow has its own alerts.
        f"and on () sum(increase({crossing})) > 0",
        5,
        f"for {_GROWING_MINUTES} minutes at least {{{{ $value }}}} records have been waiting, more than at any time in "
        f"the {_GROWING_MINUTES} minutes before",
        "Records cross, but more are produced. The longer this lasts, the more records a failover would lose.",
        STATUS,
    )


def _without_position(of: str, target: str) -> Alert:
    return Alert(
        "MirrorGroupWithoutPosition",
        "warning",
        f"max({series.GROUPS_WITHOUT_POSITION.name}{{{of}}}) > 0",
        15,
        f"{{{{ $value }}}} groups have no position on {target}",
        "After a failover they would begin at their `auto.offset.reset`: they would skip records, or read all again.",
        STATUS,
    )


def _read_again(of: str, records: int) -> Alert:
    return Alert(
        "MirrorReadAgainHigh",
        "warning",
        f"max by (group) ({series.GROUP_READ_AGAIN.name}{{{of}}}) > {records}",
        15,
        f"group {{{{ $labels.group }}}} would read {{{{ $value }}}} records again, and the objective is {records}",
        "Its translated position is far behind. `replicate failover` computes exact ones while both clusters answer.",
        STATUS,
    )


def _drift(of: str) -> Alert:
    return Alert(
        "MirrorDrift",
        "warning",
        f"max({series.DRIFT.name}{{{of}}}) > 0",
        60,
        "{{ $value }} of its objects and fields are not as deployed",
        "Somebody changed, added or deleted them by hand: the next deployment may undo that, or conflict with it.",
        "replicate diff {stack} --against cluster",
    )


def _verdict_failed(of: str) -> Alert:
    return Alert(
        "MirrorVerdictFailed",
        "critical",
        f'max({series.VERDICT.name}{{{of},{series.VERDICT.name}=~"fail|error"}}) > 0',
        1,
        "its newest validation did not pass",
        "Records or offsets are not on the target as they should be, or a check could not run.",
        "replicate validate {stack} --publish",
    )


def _verdict_stale(of: str) -> Alert:
    return Alert(
        "MirrorVerdictStale",
        "warning",
        f'max({series.VERDICT.name}{{{of},{series.VERDICT.name}="{series.NO_VERDICT}"}}) > 0\n'
        f"or max({series.VERDICT_CURRENT.name}{{{of}}}) == 0\n"
        f"or time() - max({series.VERDICT_TIME.name}{{{of}}}) > {PROOF_HOURS * 3600}",
        60,
        "its current state is not proven",
        f"No validation was published, or the newest is about another model or older than {PROOF_HOURS} hours.",
        "replicate validate {stack} --publish",
    )
