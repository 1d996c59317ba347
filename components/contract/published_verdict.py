"""A flow's newest verdict, as the job publishes it in a ConfigMap beside the flow and the program reads it.

May be imported by anything; imports nothing of ours but the report.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from components.contract.report import SCHEMA_VERSION, CheckOutcome, FlowOutcome, TopicIds, Verdict

#: The ConfigMaps' labels, and the selector that finds them.
LABELS = {"app.kubernetes.io/managed-by": "replication-validation"}
SELECTOR = "app.kubernetes.io/managed-by=replication-validation"
_CHECKS = TypeAdapter(tuple[CheckOutcome, ...])
_IDS = TypeAdapter(dict[str, dict[str, str]])


@dataclass(frozen=True)
class PublishedVerdict:
    """The verdict of one run for one flow. `digest` is that of the deployed model.

    `passing_since` is the time from which on every verdict of this model was a pass; None unless this one is. Times are
    in ISO 8601.
    """

    verdict: Verdict
    digest: str
    time: str
    checks: tuple[CheckOutcome, ...]
    passing_since: str | None = None

    @property
    def accepted(self) -> frozenset[str]:
        """The codes of the findings without whose acceptance the verdict would not be a pass."""
        return frozenset(code for check in self.checks for code in check.accepted)


def config_map_name(flow: str) -> str:
    return f"{flow}-validation"


def verdict_data(flow: FlowOutcome, passing_since: str | None) -> dict[str, str]:
    """The ConfigMap's data for an outcome."""
    since = {"passingSince": passing_since} if passing_since is not None else {}
    report = json.dumps({"schemaVersion": SCHEMA_VERSION, **flow.document()}, indent=2, sort_keys=True)
    return {
        "verdict": flow.verdict.value,
        "digest": flow.digest,
        "time": flow.checked_at,
        **since,
        "report.json": report,
    }


def read_verdict(data: Mapping[str, str]) -> PublishedVerdict:
    """The verdict that a ConfigMap's data holds. Raises KeyError, TypeError or ValueError for data of another form."""
    return PublishedVerdict(
        Verdict(data["verdict"]),
        data["digest"],
        data["time"],
        _CHECKS.validate_python([_with_our_names(each) for each in json.loads(data["report.json"])["checks"]]),
        data.get("passingSince"),
    )


def read_topic_ids(data: Mapping[str, str]) -> TopicIds:
    """The topics' ids that were published with a verdict; empty if there are none, as in that of an earlier release."""
    try:
        return _IDS.validate_python(json.loads(data["report.json"])["topicIds"])
    except (KeyError, TypeError, ValueError):
        return {}


def _with_our_names(check: dict[str, Any]) -> dict[str, Any]:
    coverage = check.get("coverage")
    if coverage is None:
        return check
    return {
        **check,
        "coverage": {"unit": coverage["unit"], "judged": coverage["judged"], "not_judged": coverage["notJudged"]},
    }
