"""What each flow's newest published validation reports: that it did not pass, and topics created by hand. Pure.

Only the validation job sees Kafka: it has the clusters' credentials, and its ACLs already let it describe the topics.
"""

from collections.abc import Iterable, Iterator, Mapping

from components.changes.effect import Severity
from components.contract.problems import CannotRunError
from components.contract.published_verdict import PublishedVerdict, config_map_name, entries, read_verdict
from components.contract.report import Verdict
from components.render.planned_objects import Manifest
from infra.review.drift import Drift


def by_flow(flows: Mapping[str, str], config_maps: Iterable[Manifest]) -> dict[str, Manifest]:
    """Published ConfigMaps by flow; `flows` maps each flow's name to its namespace."""
    found = {(each["metadata"]["namespace"], each["metadata"]["name"]): each for each in config_maps}
    named = {flow: found.get((namespace, config_map_name(flow))) for flow, namespace in flows.items()}
    return {flow: body for flow, body in named.items() if body is not None}


def validated(digests: Mapping[str, str], published: Mapping[str, Manifest]) -> dict[str, str]:
    """When each flow was last validated with its declared digest, which was then deployed. Other flows are missing."""
    data = {flow: body.get("data") or {} for flow, body in published.items()}
    return {flow: str(each["time"]) for flow, each in data.items() if each.get("digest") == digests[flow]}


_CODES = frozenset({"foreign-topic", "foreign-partitions"})
_REMEDY = (
    "find out who uses the topic; if nobody does, delete it on the target and validate again with "
    "`replicate validate {stack} --publish`."
)


def topic_drift(stack: str, published: Mapping[str, Manifest]) -> Iterator[Drift]:
    """The drift that each flow's published validation reports. Raises CannotRunError for one that cannot be read."""
    for flow, body in published.items():
        where = f"ConfigMap {body['metadata']['namespace']}/{body['metadata']['name']}"
        try:
            verdict = read_verdict(entries(body))
        except (KeyError, TypeError, ValueError) as error:
            raise CannotRunError(
                "verdict-unreadable",
                f"the published validation cannot be read: {error!r}",
                f"stack {stack}, {where}",
                "It was edited by hand, or written by another version of this project.",
                "delete it and validate the stack again.",
            ) from error
        if verdict.verdict is not Verdict.PASS:
            yield _not_passed(stack, flow, where, verdict)
        for finding in (each for check in verdict.checks for each in check.findings if each.code in _CODES):
            seen = finding.message.partition(" Remedy: ")[0].rstrip(".")
            what = f"{seen} (seen by the validation of {verdict.time})"
            yield Drift(Severity.NONE, finding.code, flow, where, what, "", "", _REMEDY.format(stack=stack))


def _not_passed(stack: str, flow: str, where: str, verdict: PublishedVerdict) -> Drift:
    """A flow that runs as declared but whose records, offsets or heartbeats were not in order when last validated, or
    could not be checked.
    """
    failed = verdict.verdict is Verdict.FAIL
    severity = verdict.verdict.value
    codes = [
        f"{check.name} ({', '.join(dict.fromkeys(each.code for each in check.findings if each.severity == severity))})"
        for check in verdict.checks
        if check.verdict is verdict.verdict
    ]
    said = "failed" if failed else "could not check everything" if codes else "could not run"
    what = f"the newest published validation {said}{': ' if codes else ''}{'; '.join(codes)}"
    remedy = f"`replicate validate {stack} --flow {flow} --publish` says what to do, and replaces this verdict."
    code = "validation-failed" if failed else "validation-unproven"
    return Drift(
        Severity.DATA if failed else Severity.NONE, code, flow, where, what, "the validation job", verdict.time, remedy
    )
