"""The job: every flow of a parameter document, checked; call `run` from Python, `validate.py` from a shell."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from spark.advice import advice
from spark.checks import access, heartbeats, loops, offsets, parity, parts, retention
from spark.checks.parity_readings import first_pass
from spark.checks.translation import SyncHistory
from spark.credentials import Resolve, resolver
from spark.errors import CannotRunError, ReadError
from spark.flows import OpenFlow, Progress, opened
from spark.parameters import FlowParameters, Parameters
from spark.positions import TopicPartition
from spark.report import CheckOutcome, Finding, FlowOutcome, Report, Severity
from spark.rings import rings
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
            flows = tuple(check_flow(flow, spark, resolve, options, parameters.whole) for flow in parameters.flows)
    except CannotRunError as failure:
        return Report(parameters.stack, _now(), time.monotonic() - began, (), _finding(failure))
    except (Py4JError, ConnectionError) as failure:
        lost = ReadError(
            "spark-lost",
            f"Spark's JVM ended or no longer answers ({type(failure).__name__})",
            f"Spark master {options.session.master}",
            "see Spark's log on the terminal; raise --driver-memory if it ran out of memory",
        )
        return Report(parameters.stack, _now(), time.monotonic() - began, (), _finding(lost))
    return Report(parameters.stack, _now(), time.monotonic() - began, flows)


def check_flow(
    flow: FlowParameters, spark: SparkSession, resolve: Resolve, options: Options, whole: Sequence[FlowParameters] = ()
) -> FlowOutcome:
    """The outcome of one flow among the `whole` document; a cluster that does not let us in is the flow's one error."""
    found = _Found()
    failure: Finding | None = None
    try:
        with opened(flow, spark, resolve, options.progress) as live:
            found = _checked(live, options, whole)
    except CannotRunError as error:
        failure = _finding(error)
    return FlowOutcome(
        name=flow.name,
        namespace=flow.namespace,
        digest=flow.digest,
        source=flow.source.alias,
        target=flow.target.alias,
        policy=flow.policy,
        checked_at=_now(),
        checks=found.checks,
        error=failure,
        not_run={**_not_run(flow), **found.not_run},
        replication=flow.replication,
        shape=flow.shape,
        advice=advice(flow),
    )


@dataclass(frozen=True)
class _Found:
    """What was checked, and what could not be for a reason that only the clusters showed."""

    checks: tuple[CheckOutcome, ...] = ()
    not_run: Mapping[str, str] = field(default_factory=dict)


def _not_run(flow: FlowParameters) -> dict[str, str]:
    off = {}
    if flow.acls is None:
        off[access.NAME] = "the parameters tell no ACLs"
    if not flow.heartbeats.enabled:
        off[heartbeats.NAME] = "the flow has no heartbeats"
    if not flow.checkpoints.enabled:
        off[offsets.NAME] = "the flow writes no checkpoints"
    if not flow.offset_syncs.enabled:
        off[retention.NAME] = "the flow has no offset syncs"
    elif flow.guard is not None or flow.transformed:
        by = "guard" if flow.guard is not None else "transforms"
        off[retention.NAME] = f"offset syncs cannot tell what its {by} left out from what was lost"
    return off


def _checked(live: OpenFlow, options: Options, whole: Sequence[FlowParameters]) -> _Found:
    looping = loops.find_loops(live, rings(live.flow, whole, live.partitions))
    calm = loops.without_loops(live, looping) if looping else live
    outcomes = []
    if parts.parts_of(live.flow):
        outcomes.append(_guarded(parts.NAME, lambda: parts.check_division(live.flow, whole, live.source.topics())))
    if live.flow.acls is not None:
        live.progress(f"{live.flow.name}: asking for ACLs")
        outcomes.append(_guarded(access.NAME, lambda: access.check_access(live)))
    # Read before anything waits: what the checkpoints must have caught up with by the end.
    live.progress(f"{live.flow.name}: reading offset syncs")
    syncs = offsets.read_syncs(calm)
    if live.flow.heartbeats.enabled:
        with heartbeats.Observer(live.target, live.flow.heartbeats, options.catch_up_seconds) as observer:
            translated = _offsets_outcome(calm, syncs)
            live.progress(f"{live.flow.name}: watching heartbeats arrive")
            outcomes.append(_guarded(heartbeats.NAME, lambda: heartbeats.check_heartbeats(live, observer)))
    else:
        translated = _offsets_outcome(calm, syncs)
    outcomes += translated
    outcomes += _records_compared(calm, syncs, looping, options)
    everything_loops = not calm.partitions
    over = dict.fromkeys((offsets.NAME, retention.NAME), "every topic of the flow loops") if everything_loops else {}
    return _Found(tuple(outcomes), over)


def _offsets_outcome(live: OpenFlow, syncs: dict[TopicPartition, SyncHistory]) -> list[CheckOutcome]:
    if not live.flow.checkpoints.enabled or not live.partitions:
        return []
    live.progress(f"{live.flow.name}: translating consumer offsets")
    return [_guarded(offsets.NAME, lambda: offsets.check_offsets(live, syncs))]


def _records_compared(
    live: OpenFlow, syncs: dict[TopicPartition, SyncHistory], looping: Sequence[loops.Loop], options: Options
) -> list[CheckOutcome]:
    """parity and retention, which share one reading of all records."""
    retained = live.partitions and retention.NAME not in _not_run(live.flow)
    names = (parity.NAME, retention.NAME) if retained else (parity.NAME,)
    try:
        first = first_pass(live, options.catch_up_seconds, syncs)
    except CannotRunError as error:
        return [CheckOutcome(name, error.what, {}, (_finding(error),)) for name in names]

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

    compared = _guarded(parity.NAME, lambda: parity.check_parity(live, first, looping, options.catch_up_seconds, syncs))
    return [compared, _guarded(retention.NAME, lost)] if retained else [compared]


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
