"""The job: checks flows of a parameter document. Call `run` from Python, `validate.py` from a shell."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from py4j.protocol import Py4JError  # type: ignore[import-untyped]

from kafka_replication.components.clients.errors import ClusterError
from kafka_replication.components.contract import report
from kafka_replication.components.contract.parameters import FlowParameters, Parameters
from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.contract.remedies import advice, with_remedies
from kafka_replication.components.contract.report import CheckOutcome, Finding, FlowOutcome
from kafka_replication.spark.checks.all_checks import CHECKS, Check, SharedReadings, shared_readings
from kafka_replication.spark.checks.parity.proven import positions_to_publish
from kafka_replication.spark.read.credentials import Resolve, resolver
from kafka_replication.spark.read.flows import open_flow
from kafka_replication.spark.read.frames import Progress
from kafka_replication.spark.read.sessions import SessionOptions, Spark, log_of_pods, lost_executors, spark_jvm

#: A published verdict has room for the ids of this many topics.
_TOPICS_WITH_IDS = 5_000


@dataclass(frozen=True)
class Options:
    """How the job runs: `catch_up_seconds` is how long a target that is behind may take to catch up, `secrets` the
    folder of mounted Secrets; without it the Kubernetes API is asked for them.
    """

    session: SessionOptions = field(default_factory=SessionOptions)
    catch_up_seconds: float = 30
    kubeconfig: Path | None = None
    depth: report.Depth = report.Depth.FULL
    progress: Progress = field(default=lambda _: None, repr=False)
    secrets: Path | None = None


def run(document: Parameters, flows: Sequence[FlowParameters], options: Options) -> report.Report:
    """Check `flows` of the document in one JVM. The report says what could not be checked, and why."""
    began = time.monotonic()
    resolve = resolver(options.kubeconfig, options.secrets)
    outcomes: tuple[FlowOutcome, ...] = ()
    failure: Finding | None = None
    try:
        options.progress("starting the JVM")
        with spark_jvm(options.session, lambda: options.progress("starting Spark")) as spark:
            checked = (check_flow(flow, spark, resolve, options, document.flows) for flow in flows)
            outcomes = tuple(
                _with_remedies(outcome, flow, document) for outcome, flow in zip(checked, flows, strict=True)
            )
    except CannotRunError as error:
        failure = _finding(error)
    except (Py4JError, ConnectionError) as error:
        failure = _finding(_spark_lost(error, options.session))
    others = tuple(flow.name for flow in document.flows if flow not in flows)
    return report.Report(document.stack, _now(), time.monotonic() - began, () if failure else outcomes, failure, others)


def check_flow(
    flow: FlowParameters, spark: Spark, resolve: Resolve, options: Options, flows: Sequence[FlowParameters] = ()
) -> FlowOutcome:
    """Return the outcome of one of the document's `flows`; an unreachable cluster is the flow's only error."""
    began_at = _now()
    why_not = {check.name: reason for check in CHECKS if (reason := check.why_not(flow)) is not None}
    checks: list[CheckOutcome] = []
    failure: Finding | None = None
    topic_ids: report.TopicIds = {}
    depth = options.depth
    try:
        with (
            open_flow(flow, spark, resolve, options.progress) as opened,
            shared_readings(opened, flows, options.catch_up_seconds, options.kubeconfig, options.depth) as readings,
        ):
            if sum(map(len, opened.topic_ids.values())) <= _TOPICS_WITH_IDS:
                topic_ids = opened.topic_ids
            if not readings.without_loops.partitions:
                why_not |= {check.name: "every topic of the flow loops" for check in CHECKS if check.needs_topics}
            reasons = {acceptance.finding: acceptance.reason for acceptance in flow.accepted}
            checks = [
                report.accepting(_outcome(check, readings), reasons) for check in CHECKS if check.name not in why_not
            ]
            depth = readings.reached_depth
    except (CannotRunError, ClusterError) as error:
        checks, failure = [], _finding(error)
    checked_at = _now()
    return FlowOutcome(
        name=flow.name,
        namespace=flow.namespace,
        digest=flow.digest,
        source=flow.source.alias,
        target=flow.target.alias,
        policy=flow.policy,
        checked_at=checked_at,
        checks=tuple(sorted(checks, key=lambda check: list(report.CheckName).index(report.CheckName(check.name)))),
        error=failure,
        not_run={name.value: why_not[name] for name in report.CheckName if why_not.get(name)},
        replication=flow.replication,
        shape=flow.shape,
        advice=advice(flow),
        topic_ids=topic_ids,
        depth=depth,
        positions=positions_to_publish(flow.digest, checked_at, checks) if depth is not report.Depth.QUICK else None,
        began_at=began_at,
    )


def _with_remedies(outcome: FlowOutcome, flow: FlowParameters, document: Parameters) -> FlowOutcome:
    every = outcome.checks
    checks = (with_remedies(check, flow, document.stack, document.topology, every) for check in every)
    return replace(outcome, checks=tuple(checks))


def _outcome(check: Check, readings: SharedReadings) -> CheckOutcome:
    """Return the check's outcome, or the error that kept it from running."""
    try:
        return check.run(readings)
    except (CannotRunError, ClusterError) as error:
        return CheckOutcome(check.name, error.what, {}, (_finding(error),))


def _spark_lost(error: Exception, session: SessionOptions) -> CannotRunError:
    if session.executor_pods and log_of_pods:
        # Spark ends its JVM when too many of its pods fail.
        return lost_executors(session.conf)
    what = f"Spark's JVM ended or no longer answers ({type(error).__name__})"
    why = "It may have run out of memory, or somebody stopped it."
    remedy = "see Spark's log on the terminal; raise --driver-memory if it ran out of memory."
    return CannotRunError("spark-lost", what, f"Spark master {session.master}", why, remedy)


def _finding(error: CannotRunError | ClusterError) -> Finding:
    return Finding(
        error.code, report.FindingSeverity.ERROR, f"{error.what}, at {error.where}. {error.why} Remedy: {error.remedy}"
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
