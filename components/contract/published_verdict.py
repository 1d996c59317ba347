"""A flow's newest verdict, which the job publishes in a ConfigMap beside the flow and the program reads, and the
verdicts before it, whose number and size are limited.

May be imported by anything; imports nothing of ours but the report and what it needs.
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, Any, TypeAlias

from pydantic import ConfigDict, Field, StrictFloat, StrictInt, StrictStr, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel

from kafka_replication.components.contract.evidence import (
    EVIDENCE,
    POSITIONS,
    Time,
    compressed,
    packed_evidence,
    packed_positions,
    uncompressed,
)
from kafka_replication.components.contract.grouping import grouped
from kafka_replication.components.contract.parameters import DocumentPart, JsonObject
from kafka_replication.components.contract.report import (
    SCHEMA_VERSION,
    CheckOutcome,
    Depth,
    Finding,
    FlowOutcome,
    TopicIds,
    Verdict,
    note,
    worst,
)
from kafka_replication.components.contract.wording import numbered

#: The entry of the ConfigMap, in its binaryData.
HISTORY = "history.json.gz"
HISTORY_VERSION = 1
#: At most this many verdicts are kept, in at most this many bytes.
KEPT, MOST_BYTES = 200, 48 * 1024
#: This many codes of a verdict, and this many sentences about losses, are kept.
MOST_CODES, _MOST_LOST = 10, 5


_Number: TypeAlias = StrictInt | Annotated[StrictFloat, Field(allow_inf_nan=False)]


class PastCheck(DocumentPart):
    """A check's verdict and its counts."""

    verdict: Verdict
    counts: dict[StrictStr, _Number] = Field(default_factory=dict)


class PastVerdict(DocumentPart):
    """One verdict. `time` is in ISO 8601; `digest` is that of the deployed model.

    A failover at that time would have lost `loses` seconds; groups would have read `reads_again` records again and
    skipped `skips` records. They are None if they were not proven. `codes` are the codes of the findings that decided
    the verdict.
    """

    time: Time
    depth: Depth
    digest: StrictStr
    verdict: Verdict
    loses: _Number | None = None
    reads_again: _Number | None = None
    skips: _Number | None = None
    codes: tuple[StrictStr, ...] = ()
    checks: dict[StrictStr, PastCheck] = Field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """Return the time in seconds since 1970."""
        return datetime.fromisoformat(self.time).timestamp()

    def count(self, check: str, name: str) -> float | None:
        """Return what a check counted; None if it did not count that."""
        outcome = self.checks.get(check)
        return outcome.counts.get(name) if outcome is not None else None


@dataclass(frozen=True)
class History:
    """The verdicts that are kept, oldest first. `dropped` is how many older ones were dropped to make room.

    `lost` has sentences about verdicts lost to earlier damage; `damage` says what cannot be read now.
    """

    verdicts: tuple[PastVerdict, ...] = ()
    dropped: int = 0
    lost: tuple[str, ...] = field(default=())
    damage: str = ""

    @property
    def losses(self) -> tuple[str, ...]:
        """Return sentences about verdicts that are missing because of damage, not because of their age."""
        return (*self.lost, *([self.damage] if self.damage else []))

    def followed_by(self, verdict: PastVerdict) -> "History":
        """Return the history with a newer verdict; damage is noted with the time of that verdict."""
        every = (*self.verdicts, verdict)
        noted = [f"noticed at {verdict.time}: {self.damage}"] if self.damage else []
        lost = (*self.lost, *noted)[-_MOST_LOST:]
        return History(every[-KEPT:], self.dropped + max(0, len(every) - KEPT), lost)


def packed_history(history: History) -> bytes:
    """Return the history in the form that `read_history` reads, not yet in base64. If it is too long, the oldest
    verdicts are dropped.
    """
    packed = _packed_history(history)
    while len(packed) > MOST_BYTES and len(history.verdicts) > 1:
        # Judging by size, this share would fit; a tenth less is kept, because verdicts compress differently.
        share = 0.9 * MOST_BYTES / len(packed)
        keep = max(1, min(len(history.verdicts) - 1, int(len(history.verdicts) * share)))
        dropped = history.dropped + len(history.verdicts) - keep
        history = History(history.verdicts[-keep:], dropped, history.lost)
        packed = _packed_history(history)
    return packed


def history_entry(history: History) -> str:
    """Return the history as the entry of a ConfigMap."""
    return base64.b64encode(packed_history(history)).decode()


def _packed_history(history: History) -> bytes:
    document = {
        "version": HISTORY_VERSION,
        "dropped": history.dropped,
        "lost": list(history.lost),
        "verdicts": [verdict.document() for verdict in history.verdicts],
    }
    return compressed(document)


def read_history(data: Mapping[str, str]) -> History:
    """Return the history among the entries of a ConfigMap. `damage` names what cannot be read; the rest is returned."""
    if HISTORY not in data:
        return History()
    try:
        document = uncompressed(data[HISTORY])
    except ValueError:
        return History(damage="all earlier verdicts are lost: the history cannot be unpacked")
    if isinstance(document, dict) and document.get("version") != HISTORY_VERSION:
        return History(damage="all earlier verdicts are lost: another release of the job wrote the history")
    if not isinstance(document, dict) or not isinstance(document.get("verdicts"), list):
        return History(damage="all earlier verdicts are lost: the content of the history is invalid")
    return _read(document)


def _read(document: Mapping[str, Any]) -> History:
    verdicts, unreadable = [], 0
    for verdict in document["verdicts"]:
        try:
            verdicts.append(PastVerdict.model_validate(verdict))
        except ValidationError:
            unreadable += 1
    damage = ""
    if unreadable:
        damage = f"{numbered(unreadable, 'earlier verdict[|s] [is|are]')} lost, because the history was damaged"
    dropped, lost = document.get("dropped"), document.get("lost")
    return History(
        tuple(verdicts[-KEPT:]),
        dropped if isinstance(dropped, int) and dropped >= 0 else 0,
        tuple(sentence for sentence in lost if isinstance(sentence, str)) if isinstance(lost, list) else (),
        damage,
    )


#: The ConfigMaps' labels, and the selector that finds them.
LABELS = {"app.kubernetes.io/managed-by": "replication-validation"}
SELECTOR = "app.kubernetes.io/managed-by=replication-validation"
BEGAN = "began"
REPORT, PACKED = "report.json", "report.json.gz"
#: The entries that are bytes.
BINARY = frozenset({PACKED, EVIDENCE, HISTORY, POSITIONS})
LEFT_OUT = "findings-left-out"
#: The verdicts that are published: never that of a quick validation.
PUBLISHED = (Verdict.PASS, Verdict.FAIL, Verdict.ERROR)
#: An older verdict says nothing about today's records and groups.
PROOF_HOURS = 24
#: Kubernetes takes 1 MiB in a ConfigMap. A report of more than _PLAIN_BYTES is compressed, into at most _PACKED_BYTES.
_ALL_BYTES = 1_040_000
_PLAIN_BYTES, _PACKED_BYTES = 256 * 1024, 1_000_000 - MOST_BYTES
#: If a report is still too long, it keeps this many findings with the same code, and this many characters of each.
_KEPT, _CHARACTERS = (100, 20, 5, 1), 1_000
_CHECKS = TypeAdapter(tuple[CheckOutcome, ...], config=ConfigDict(alias_generator=to_camel))
_IDS = TypeAdapter(dict[str, dict[str, str]])


@dataclass(frozen=True)
class PublishedVerdict:
    """The verdict of one run for one flow. `digest` is that of the deployed model.

    `began` is when the run began; the verdict does not cover later changes. Earlier releases did not publish this time;
    for their runs it is the time of the end. `passing_since` is when the first run of the current series of passes of
    this model began; None unless this verdict is a pass. Times are in ISO 8601.
    """

    verdict: Verdict
    digest: str
    time: str
    checks: tuple[CheckOutcome, ...]
    passing_since: str | None = None
    began: str = ""

    @property
    def accepted(self) -> frozenset[str]:
        """Return the codes of the findings that had to be accepted for a pass."""
        return frozenset(code for check in self.checks for code in check.accepted)


def config_map_name(flow: str) -> str:
    return f"{flow}-validation"


def entries(config_map: Mapping[str, Any]) -> dict[str, str]:
    """Return the entries of a ConfigMap as `verdict_data` returned them: text, and those of BINARY in base64."""
    return {**(config_map.get("data") or {}), **(config_map.get("binaryData") or {})}


def verdict_data(
    flow: FlowOutcome, passing_since: str | None, history: History | None = None, positions_before: str | None = None
) -> dict[str, str]:
    """Return the ConfigMap's entries for an outcome of any size. The entries for its binaryData are in base64.

    A long report is compressed, and the data then has a line for each check. If it is still too long, some findings are
    left out, but at least one of each code stays, and a note gives the number of the others. Evidence and positions are
    left out if there is no room. `positions_before` is the entry of an earlier outcome; it stays valid until there are
    newer positions.
    """
    data = _report_data(flow, passing_since)
    if history is not None:
        data[HISTORY] = history_entry(history)
    if flow.evidence is not None:
        packed = packed_evidence(flow.evidence)
        if sum(_size(*item) for item in data.items()) + len(packed) <= _ALL_BYTES:
            data[EVIDENCE] = base64.b64encode(packed).decode()
    room = _ALL_BYTES - sum(_size(*item) for item in data.items())
    if flow.positions is not None:
        positions = packed_positions(flow.positions, room)
        if positions is not None:
            data[POSITIONS] = base64.b64encode(positions).decode()
    elif positions_before is not None and _size(POSITIONS, positions_before) <= room:
        data[POSITIONS] = positions_before
    return data


def _size(key: str, value: str) -> int:
    return len(base64.b64decode(value)) if key in BINARY else len(value.encode())


def _report_data(flow: FlowOutcome, passing_since: str | None) -> dict[str, str]:
    since = {"passingSince": passing_since} if passing_since is not None else {}
    since |= {BEGAN: flow.began_at} if flow.began_at else {}
    named = {"verdict": flow.verdict, "depth": flow.depth, "digest": flow.digest, "time": flow.checked_at}
    head = {key: str(value) for key, value in (named | since).items()}
    report = json.dumps(_document(flow), indent=2, sort_keys=True)
    if len(report.encode()) <= _PLAIN_BYTES:
        return {**head, REPORT: report}
    checks = "".join(f"{check.name}: {check.verdict.value}, {check.summary}\n" for check in flow.checks)
    return {**head, "checks": checks, PACKED: base64.b64encode(_packed_verdict(flow)).decode()}


def _document(flow: FlowOutcome) -> JsonObject:
    return {"schemaVersion": SCHEMA_VERSION, **flow.document()}


def _packed_verdict(flow: FlowOutcome) -> bytes:
    """Return the report, compressed, with as many findings as there is room for."""
    shown, packed = flow, compressed(_document(flow))
    for kept in _KEPT:
        if len(packed) > _PACKED_BYTES:
            shown = replace(flow, checks=tuple(_shortened(check, kept) for check in flow.checks))
            packed = compressed(_document(shown))
    return packed if len(packed) <= _PACKED_BYTES else compressed(_document(replace(shown, topic_ids={})))


def _shortened(check: CheckOutcome, kept: int) -> CheckOutcome:
    """Return the check with this many findings of each code and severity; a note says how many others there were."""
    alike = grouped(((finding.code, finding.severity, finding.accepted), finding) for finding in check.findings)
    findings = [_cut(finding) for every in alike.values() for finding in every[:kept]]
    lacking = {code: len(every) - kept for (code, *_), every in alike.items() if len(every) > kept}
    if lacking:
        named = ", ".join(f"{count} {code}" for code, count in lacking.items())
        count = sum(lacking.values())
        findings.append(
            note(
                LEFT_OUT,
                f"{numbered(count, 'finding[|s]')} did not fit into the published verdict: {named}. The report that "
                "the validation wrote lists all of them",
                count,
            )
        )
    return replace(check, findings=tuple(findings))


def _cut(finding: Finding) -> Finding:
    more = len(finding.message) - _CHARACTERS
    return (
        replace(finding, message=f"{finding.message[:_CHARACTERS]} … ({more} more characters)") if more > 0 else finding
    )


def read_verdict(data: Mapping[str, str]) -> PublishedVerdict:
    """Return the verdict that a ConfigMap's entries hold. Raises KeyError, TypeError or ValueError for other entries,
    and for a pass that the report's checks contradict.
    """
    verdict = Verdict(data["verdict"])
    if verdict not in PUBLISHED:
        raise ValueError(f"the verdict is {verdict}, which is never published")
    checks = _CHECKS.validate_python(_report(data)["checks"])
    worst_check = worst(check.verdict for check in checks)
    if verdict is Verdict.PASS and worst_check is not Verdict.PASS:
        raise ValueError(f"the verdict is pass, but the checks of the report say {worst_check}")
    began = data.get(BEGAN, data["time"])
    return PublishedVerdict(verdict, data["digest"], data["time"], checks, data.get("passingSince"), began)


def read_topic_ids(data: Mapping[str, str]) -> TopicIds:
    """Return the topics' ids that were published with a verdict; empty if there are none or they are unreadable."""
    try:
        return _IDS.validate_python(_report(data)["topicIds"])
    except (KeyError, TypeError, ValueError):
        return {}


def _report(data: Mapping[str, str]) -> Any:
    return uncompressed(data[PACKED]) if PACKED in data else json.loads(data[REPORT])
