"""What Pulumi runs as the policy pack `kafka-replication`. Only this module imports `pulumi_policy`."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from pulumi_policy import EnforcementLevel, PolicyPack, ReportViolation, StackValidationArgs, StackValidationPolicy
from pulumi_policy.proxy import UnknownValueError

from kafka_replication.components.contract.problems import Severity
from kafka_replication.infra.review.policy.violations import violations

_POLICIES = {
    Severity.ERROR: (
        EnforcementLevel.MANDATORY,
        "Replication with MirrorMaker 2 that does not work as written, or cannot be judged.",
    ),
    Severity.WARNING: (EnforcementLevel.ADVISORY, "Replication with MirrorMaker 2 that somebody should look at."),
}


def _plain(value: Any) -> Any:
    """Return what one of the pack's own mappings and lists holds. Reading an unknown value raises UnknownValueError."""
    return dict(value) if isinstance(value, Mapping) else list(value)


def _number(text: str) -> int | float:
    number = float(text)
    return int(number) if number.is_integer() else number


def _by_cluster(arguments: StackValidationArgs) -> Iterable[list[tuple[str, Mapping[str, Any] | str]]]:
    """Return each resource with its properties, or with why they are unknown; those of one provider together."""
    clusters = defaultdict(list)
    for resource in arguments.resources:
        try:
            # The engine sends every number as a float.
            body = json.loads(json.dumps(resource.props, default=_plain), parse_float=_number)
        except UnknownValueError as error:
            body = error.message
        clusters[resource.provider and resource.provider.urn].append((resource.urn, body))
    return clusters.values()


def _validate(severity: Severity, arguments: StackValidationArgs, report: ReportViolation) -> None:
    for resources in _by_cluster(arguments):
        for violation in violations(resources):
            if violation.severity is severity:
                report(violation.text, violation.urn)


if __name__ == "__main__":
    PolicyPack(
        "kafka-replication",
        [
            StackValidationPolicy(f"replication-{severity.value}s", described, partial(_validate, severity), level)
            for severity, (level, described) in _POLICIES.items()
        ],
    )
