"""The job: every flow of a parameter document, checked; call `run` from Python, `validate.py` from a shell."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import SparkSession

from spark.checks import heartbeats, offsets, parity, retention
from spark.checks.translation import SyncHistory
from spark.credentials import Resolve, resolver
from spark.errors import CannotRunError
from spark.flows import OpenFlow, Progress, opened
from spark.parameters import FlowParameters, Parameters
from spark.positions import TopicPartition
from spark.report import CheckOutcome, Finding, FlowOutcome, Report, Severity
from spark.sessions import SessionOptions, session


@dataclass(frozen=True)
class Options:
    """How the job runs. `catch_up_seconds`: how long a target that is behind may take before that is a failure."""

    session: SessionOptions = field(default_factory=SessionOptions)
    catch_up_seconds: float = 30
    kubeconfig: Path | None = None
    progress: Progress = field(default=lambda _: None, repr=False)


def run(parameters: Parameters, options: Options) -> Report:
    """Check every flow of `parameters` in one Spark session; whatever keeps the job from judging is in the report."""
    began = time.monotonic()
    resolve = resolver(options.kubeconfig)
    try:
        options.progress("starting Spark")
        with session(options.session) as spark:
            flows = tuple(check_flow(flow, spark, resolve, options) for flow in parameters.flows)
    except CannotRunError as failure:
        return Report(parameters.stack, _now(), time.monotonic() - began, (), _finding(failure))
    return Report(parameters.stack, _now(), time.monotonic() - began, flows)


def check_flow(flow: FlowParameters, spark: SparkSession, resolve: Resolve, options: Options) -> FlowOutcome:
    """The outcome of one flow; a cluster that does not let us in is the flow's one error."""
    checks: tuple[CheckOutcome, ...] = ()
    failure: Finding | None = None
    try:
        with opened(flow, spark, resolve, options.progress) as live:
            checks = _checked(live, options)
    except CannotRunError as error:
        failure = _finding(error)
    return FlowOutcome(
        flow.name,
        flow.namespace,
        flow.digest,
        flow.source.alias,
        flow.target.alias,
        flow.policy,
        _now(),
        checks,
        failure,
        _not_run(flow),
    )


def _not_run(flow: FlowParameters) -> dict[str, str]:
    off = {}
    if not flow.heartbeats.enabled:
        off[heartbeats.NAME] = "the flow has no heartbeats"
    if not flow.checkpoints.enabled:
        off[offsets.NAME] = "the flow writes no checkpoints"
    return off


def _checked(live: OpenFlow, options: Options) -> tuple[CheckOutcome, ...]:
    # Read before anything waits: what the checkpoints must have caught up with by the end.
    live.progress(f"{live.flow.name}: reading offset syncs")
    syncs = offsets.read_syncs(live)
    outcomes = []
    if live.flow.heartbeats.enabled:
        with heartbeats.Observer(live.target, live.flow.heartbeats) as observer:
            translated = _offsets_outcome(live, syncs)
            live.progress(f"{live.flow.name}: watching heartbeats arrive")
            outcomes.append(_guarded(heartbeats.NAME, lambda: heartbeats.check_heartbeats(live, observer)))
    else:
        translated = _offsets_outcome(live, syncs)
    outcomes += translated
    outcomes += _records_compared(live, syncs, options)
    return tuple(outcomes)


def _offsets_outcome(live: OpenFlow, syncs: dict[TopicPartition, SyncHistory]) -> list[CheckOutcome]:
    if not live.flow.checkpoints.enabled:
        return []
    live.progress(f"{live.flow.name}: translating consumer offsets")
    return [_guarded(offsets.NAME, lambda: offsets.check_offsets(live, syncs))]


def _records_compared(live: OpenFlow, syncs: dict[TopicPartition, SyncHistory], options: Options) -> list[CheckOutcome]:
    """parity and retention, which share one reading of all records."""
    try:
        first = parity.first_pass(live, options.catch_up_seconds)
    except CannotRunError as error:
        return [CheckOutcome(name, error.what, {}, (_finding(error),)) for name in (parity.NAME, retention.NAME)]

    def lost() -> CheckOutcome:
        policies = live.source.cleanup_policies(live.partitions)
        return retention.judge(
            [
                retention.Replicated(
                    partition,
                    syncs.get(partition, SyncHistory()),
                    log,
                    first.target_logs[partition],
                    first.dense(partition),
                    policies.get(partition.topic, ""),
                )
                for partition, log in first.source_logs.items()
            ]
        )

    return [
        _guarded(parity.NAME, lambda: parity.check_parity(live, first, options.catch_up_seconds)),
        _guarded(retention.NAME, lost),
    ]


def _guarded(name: str, check: Callable[[], CheckOutcome]) -> CheckOutcome:
    """The check's outcome, or the error that kept it from running."""
    try:
        return check()
    except CannotRunError as error:
        return CheckOutcome(name, error.what, {}, (_finding(error),))


def _finding(error: CannotRunError) -> Finding:
    return Finding(error.code, Severity.ERROR, f"{error.what}, at {error.where}. Remedy: {error.remedy}")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
