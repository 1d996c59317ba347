"""Topics made by hand where remote topics belong, as the newest published validation of each flow tells. Pure.

Only the validation job sees Kafka: it has the clusters' credentials, and what it may describe is granted already.
"""

import json
from collections.abc import Iterator, Mapping

from components.effects.effect import Severity
from components.specs.planned import Manifest
from infra.errors import CannotRunError
from infra.review.drift import Drift

_CODES = frozenset({"foreign-topic", "foreign-partitions"})
_REMEDY = (
    "see who uses the topic; delete it on the target if nobody does, and validate again with "
    "`replicate validate {stack} --publish`."
)


def topic_drift(stack: str, published: Mapping[str, Manifest]) -> Iterator[Drift]:
    """Drift by what is published of each flow. Raises CannotRunError."""
    for flow, body in published.items():
        where = f"ConfigMap {body['metadata']['namespace']}/{body['metadata']['name']}"
        try:
            report, time = json.loads(body["data"]["report.json"]), str(body["data"]["time"])
            findings = [each for check in report["checks"] for each in check["findings"] if each["code"] in _CODES]
            found = [(str(each["code"]), str(each["message"])) for each in findings]
        except (KeyError, TypeError, ValueError) as error:
            raise CannotRunError(
                f"what is published cannot be read: {error!r}",
                f"stack {stack}, {where}",
                "It was edited by hand, or written by another version of this project.",
                "delete it and validate the stack again.",
            ) from error
        for code, message in found:
            what = f"{message} (seen by the validation of {time})"
            yield Drift(Severity.NONE, code, flow, where, what, "", "", _REMEDY.format(stack=stack))
