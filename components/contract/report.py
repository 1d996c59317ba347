"""The validation job's report: findings, outcomes, verdicts and the exit code. The job writes it, the program reads it.

A topology may accept a finding, by name and with a reason, if it says that something could not be judged. A fault that
the job has found cannot be accepted; it must be corrected. `spark/report/schema.json` describes the document; its
version is SCHEMA_VERSION. May be imported by anything; of ours it imports the evidence and problems only.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeAlias

from kafka_replication.components.contract.evidence import (
    ParityEvidence,
    ProvenTopic,
    PublishedPositions,
    SpannedTopic,
    Translated,
)
from kafka_replication.components.contract.grouping import grouped
from kafka_replication.components.contract.problems import CannotRunError


class Depth(StrEnum):
    """quick: only the newest records of each partition; incremental: what was not proven before; full: everything."""

    QUICK = "quick"
    INCREMENTAL = "incremental"
    FULL = "full"


def why_not_published(depth: Depth) -> CannotRunError | None:
    """Return why a verdict of this depth is not evidence for others; None if it is."""
    if depth is not Depth.QUICK:
        return None
    return CannotRunError(
        "quick-not-published",
        "`--publish` is given with `--depth quick`",
        "--publish",
        "A quick validation compares few records. Its verdict would replace one that is based on all records.",
        "leave `--publish` out, or use `--depth full`.",
    )


SCHEMA_VERSION = 1
SAMPLES = 20
ROWS = 50
Scalar: TypeAlias = str | int | float | bool | None
#: Kafka's id of each topic, by cluster alias and topic.
TopicIds: TypeAlias = Mapping[str, Mapping[str, str]]
Json: TypeAlias = Scalar | list["Json"] | dict[str, "Json"]


class Verdict(StrEnum):
    """pass: proven. fail: a problem was found. error: something could not be checked. partial: a quick validation found
    no problem in the part that it looked at; it proves nothing about the rest, and it is never published."""

    PASS = "pass"
    PARTIAL = "partial"
    FAIL = "fail"
    ERROR = "error"


class CheckName(StrEnum):
    """The checks, in the order in which a report lists them."""

    DIVISION = "topics-divided"
    ACCESS = "access"
    CONNECTORS = "connectors-run"
    HEARTBEATS = "heartbeats-arrive"
    OFFSETS = "offsets-translate"
    PARITY = "parity"
    RETENTION = "nothing-lost-to-retention"


class FindingSeverity(StrEnum):
    """How a finding affects its check's verdict; a note does not, nor does an error that the topology accepts."""

    FAIL = "fail"
    ERROR = "error"
    ACCEPTED = "accepted"
    NOTE = "note"


@dataclass(frozen=True)
class Finding:
    """One finding: `code` is stable, `message` names the topic or group, `count` is in records or objects.

    `accepted` is the topology's reason for accepting it, if it does.
    """

    code: str
    severity: FindingSeverity
    message: str
    count: int = 1
    accepted: str | None = None


@dataclass(frozen=True)
class Coverage:
    """How much of its claim a check has judged. `unit` names what is counted, in the plural. `not_judged` counts the
    rest, by the code of the finding that gives the reason.
    """

    unit: str
    judged: int
    not_judged: Mapping[str, int]

    @property
    def claimed(self) -> int:
        return self.judged + sum(self.not_judged.values())

    def __str__(self) -> str:
        why = ", ".join(f"{count} {code}" for code, count in sorted(self.not_judged.items()) if count)
        unit = self.unit.removesuffix("s") if self.claimed == 1 else self.unit
        return f"judged {self.judged} of {self.claimed} {unit}" + (f"; not judged: {why}" if why else "")

    def document(self) -> dict[str, Json]:
        return {"unit": self.unit, "judged": self.judged, "notJudged": dict(self.not_judged)}


@dataclass(frozen=True)
class CheckOutcome:
    """The outcome of one check. `counts` show what was looked at. Samples never hold a key or a value.

    `rows` holds one row for each consumer group or topic, worst first; the document has the first ROWS of them.
    `coverage` is None if the check could not begin, or in a report of an earlier release. `left_out` says what the
    check skipped because it was not asked to look at it; the check then never passes. The document lacks the following:
    `proven` is where the next validation may continue if this check passes. `beats` are the heartbeats that arrived
    during the run: when each was emitted (ms since 1970), and its latency in ms. `translated` are offsets of groups,
    and `spans` are the parts that parity has found equal.
    """

    name: str
    summary: str
    counts: Mapping[str, int | float]
    findings: tuple[Finding, ...] = ()
    samples: tuple[Mapping[str, Scalar], ...] = ()
    coverage: Coverage | None = None
    rows: tuple[Mapping[str, Scalar], ...] = ()
    left_out: str = ""
    proven: Mapping[str, ProvenTopic] = field(default_factory=dict)
    beats: tuple[tuple[int, int], ...] = ()
    translated: tuple[Translated, ...] = ()
    spans: Mapping[str, SpannedTopic] = field(default_factory=dict)

    @property
    def verdict(self) -> Verdict:
        """`pass` only if the check judged everything that it claims, or the topology accepts the rest."""
        severities = {finding.severity for finding in self.findings}
        if FindingSeverity.FAIL in severities:
            return Verdict.FAIL
        if FindingSeverity.ERROR in severities or self._not_judged_in_silence:
            return Verdict.ERROR
        return Verdict.PARTIAL if self.left_out else Verdict.PASS

    @property
    def accepted(self) -> dict[str, str]:
        """The topology's reason for each finding that it accepts, by code."""
        return {finding.code: finding.accepted for finding in self.findings if finding.accepted is not None}

    @property
    def _not_judged_in_silence(self) -> bool:
        """Whether something was not judged without a finding that says so."""
        not_judged = self.coverage.not_judged if self.coverage is not None else {}
        return any(count and code not in self.accepted for code, count in not_judged.items())

    def document(self) -> dict[str, Json]:
        return {
            "name": self.name,
            "verdict": self.verdict.value,
            "summary": self.summary,
            "counts": dict(self.counts),
            "findings": [_finding_document(finding) for finding in self.findings],
            "samples": [dict(sample) for sample in self.samples[:SAMPLES]],
            "coverage": self.coverage.document() if self.coverage is not None else None,
            "rows": [dict(row) for row in self.rows[:ROWS]],
            "rowsLeftOut": max(0, len(self.rows) - ROWS),
            "leftOut": self.left_out,
        }


@dataclass(frozen=True)
class FlowOutcome:
    """The outcome of one flow: its checks, or the error that kept all of them from running.

    `replication` names the replication that the flow is, or is a direction or part of. `advice` is for people who rely
    on the flow. `not_run` holds the reason for each check that did not run. From `topic_ids` the next run sees which
    topics were recreated. `began_at` is before the first read: a later change may not be in the verdict.
    """

    name: str
    namespace: str
    digest: str
    source: str
    target: str
    policy: str
    checked_at: str
    checks: tuple[CheckOutcome, ...] = ()
    error: Finding | None = None
    not_run: Mapping[str, str] = field(default_factory=dict)
    replication: str = ""
    shape: str = "flow"
    advice: tuple[str, ...] = ()
    topic_ids: TopicIds = field(default_factory=dict)
    depth: Depth = Depth.FULL
    positions: PublishedPositions | None = None
    began_at: str = ""

    @property
    def verdict(self) -> Verdict:
        if self.error is not None or not self.checks:
            return Verdict.ERROR
        return worst(check.verdict for check in self.checks)

    @property
    def evidence(self) -> ParityEvidence | None:
        """What was proven about the records, unless a finding had to be accepted for it."""
        passed = (check for check in self.checks if check.verdict is Verdict.PASS and not check.accepted)
        return next((ParityEvidence(self.digest, check.proven) for check in passed if check.proven), None)

    def document(self) -> dict[str, Json]:
        return {
            "name": self.name,
            "replication": self.replication or self.name,
            "shape": self.shape,
            "namespace": self.namespace,
            "digest": self.digest,
            "source": self.source,
            "target": self.target,
            "policy": self.policy,
            "checkedAt": self.checked_at,
            "depth": self.depth.value,
            "verdict": self.verdict.value,
            "error": _finding_document(self.error) if self.error else None,
            "checks": [check.document() for check in self.checks],
            "notRun": dict(self.not_run),
            "advice": list(self.advice),
            "topicIds": {alias: dict(ids) for alias, ids in self.topic_ids.items()},
            "positions": _positions_document(self.positions),
        }


@dataclass(frozen=True)
class ReplicationOutcome:
    """The flows of one replication together: both directions of a pair, or every part of a split."""

    name: str
    flows: tuple[FlowOutcome, ...]

    @property
    def verdict(self) -> Verdict:
        return worst(flow.verdict for flow in self.flows)

    @property
    def behind(self) -> tuple[str, ...]:
        """The flows with a part that is behind."""
        return tuple(
            flow.name
            for flow in self.flows
            if any(finding.code == "part-behind" for check in flow.checks for finding in check.findings)
        )

    def total(self, count: str) -> int:
        """Return the sum of a count of records over all checks of all flows."""
        return int(sum(check.counts.get(count, 0) for flow in self.flows for check in flow.checks))

    def document(self) -> dict[str, Json]:
        return {
            "name": self.name,
            "shape": self.flows[0].shape,
            "verdict": self.verdict.value,
            "flows": [flow.name for flow in self.flows],
            "sourceRecords": self.total("sourceRecords"),
            "targetRecords": self.total("targetRecords"),
            "behind": list(self.behind),
        }


def replication_outcomes(flows: Iterable[FlowOutcome]) -> tuple[ReplicationOutcome, ...]:
    """Return the replications that have more than one flow."""
    members = grouped((flow.replication, flow) for flow in flows)
    return tuple(ReplicationOutcome(name, tuple(flows)) for name, flows in members.items() if len(flows) > 1)


@dataclass(frozen=True)
class Report:
    """Everything that one run found. `not_validated`: the stack's other flows, which the job was not asked to check."""

    stack: str
    generated_at: str
    duration_seconds: float
    flows: tuple[FlowOutcome, ...]
    error: Finding | None = None
    not_validated: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        if self.error is not None or not self.flows:
            return Verdict.ERROR
        return worst(flow.verdict for flow in self.flows)

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.verdict]

    def document(self) -> dict[str, Json]:
        """Return the report as JSON, as spark/report/schema.json describes it."""
        return {
            "schemaVersion": SCHEMA_VERSION,
            "stack": self.stack,
            "generatedAt": self.generated_at,
            "durationSeconds": round(self.duration_seconds, 1),
            "verdict": self.verdict.value,
            "exitCode": self.exit_code,
            "error": _finding_document(self.error) if self.error else None,
            "flows": [flow.document() for flow in self.flows],
            "notValidated": list(self.not_validated),
            "replications": [replication.document() for replication in replication_outcomes(self.flows)],
        }


EXIT_CODES = {Verdict.PASS: 0, Verdict.PARTIAL: 0, Verdict.FAIL: 1, Verdict.ERROR: 2}


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the worst verdict: fail, error, partial, pass. A problem remains one even if another check could not
    run.
    """
    given = set(verdicts)
    return next(
        (verdict for verdict in (Verdict.FAIL, Verdict.ERROR, Verdict.PARTIAL) if verdict in given), Verdict.PASS
    )


def fail(code: str, message: str, count: int = 1) -> Finding:
    return Finding(code, FindingSeverity.FAIL, message, count)


def error(code: str, message: str, count: int = 1) -> Finding:
    return Finding(code, FindingSeverity.ERROR, message, count)


def note(code: str, message: str, count: int = 1) -> Finding:
    return Finding(code, FindingSeverity.NOTE, message, count)


def _positions_document(kept: PublishedPositions | None) -> dict[str, Json] | None:
    """Return the ROWS positions with the most records to read again, and the number of the others."""
    if kept is None:
        return None
    names = ("group", "topic", "partition", "committed", "offset", "readAgain")
    rows: list[Json] = [dict(zip(names, (*key, *position), strict=True)) for key, position in kept.worst()[:ROWS]]
    return {"rows": rows, "rowsLeftOut": max(0, len(kept.positions) - ROWS), "notKept": kept.left_out}


def _finding_document(finding: Finding) -> dict[str, Json]:
    return {**vars(finding), "severity": finding.severity.value}


def not_judged(findings: Iterable[Finding], codes: Collection[str]) -> dict[str, int]:
    """Return the counts of the findings with one of these codes, summed by code."""
    counts = grouped((finding.code, finding.count) for finding in findings if finding.code in codes)
    return {code: sum(every) for code, every in counts.items()}


#: Code of a finding -> what is assumed if it is accepted.
ACCEPTABLE: Mapping[str, str] = {
    "acl-of-hosts": "the workers' hosts are among those that the ACLs allow",
    "acls-not-visible": "the flow's users may do what the flow needs",
    "behind-oldest-sync": "these groups start on the target without an offset",
    "committed-past-end": "these groups are not in use",
    "compacted": "each side holds the newest record of every key",
    "connectors-not-visible": "the flow's connectors run",
    "duplicated-exactly-once": "the duplicates are from before exactly-once delivery was enabled",
    "filtered-on-target": "these records were replicated before the filters were set",
    "empty-range": "the flow works although its topics hold no records",
    "groups-not-visible": "the groups' offsets are translated, or they have been deleted",
    "losses-not-visible": "no record was removed before it was replicated",
    "no-offset-sync": "these groups start on the target without an offset",
    "nothing-proven": "offsets are translated correctly although no record shows it",
    "possible-markers": "the missing offsets were transaction markers, or records that were aborted, compacted or "
    "dropped by transforms",
    "principal-unknown": "the flow's users may do what the flow needs",
    "principal-without-acls": "the flow's users may do what the flow needs",
    "records-not-compared": "the flow's transforms change and drop only what they are meant to",
    "share-group": "these groups may begin on the target where `share.auto.offset.reset` says",
    "source-expired": "the offsets whose records have expired on the source are right",
    "source-record-not-found": "the offsets whose records were not found are right",
    "streams-group": "these groups are moved by `replicate failover`, or are not needed on the target",
    "target-empty": "the offsets in emptied partitions are right",
    "topic-acls-differ": "consumers of the target do not need these ACLs",
    "topic-config-differs": "these topics are meant to differ on the target",
    "topic-settings-not-visible": "remote topics have the settings that the flow copies",
    "topic-left-out": "consumers do not need these topics on the target",
    "target-expired": "these groups have nothing left to read before the target's first record",
}


def accepting(outcome: CheckOutcome, reasons: Mapping[str, str]) -> CheckOutcome:
    """Return the outcome with the findings that the topology accepts; `reasons` holds the topology's reasons by
    code.
    """
    return replace(outcome, findings=tuple(_accepted(finding, reasons) for finding in outcome.findings))


def _accepted(finding: Finding, reasons: Mapping[str, str]) -> Finding:
    reason = reasons.get(finding.code)
    if reason is None or finding.code not in ACCEPTABLE or finding.severity is not FindingSeverity.ERROR:
        return finding
    return replace(finding, severity=FindingSeverity.ACCEPTED, accepted=reason)
