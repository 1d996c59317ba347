"""How much of a stack was changed by hand, counted by flow. Only reads."""

from collections import Counter
from collections.abc import Iterable, Mapping

from components.changes.effect import Severity
from components.flows.resolved import ResolvedFlow
from infra.review.comparison import Drift
from infra.review.live_comparison import compare_with_cluster
from infra.stack.session import OpenStack

#: Drift that other series report: states of connectors, and what the validation found.
_REPORTED = frozenset(
    {
        "connector-failed",
        "connector-state",
        "connector-without-task",
        "foreign-partitions",
        "foreign-topic",
        "not-ready",
        "validation-failed",
        "validation-unproven",
    }
)


def changed_by_hand(stack: OpenStack) -> Mapping[str, int]:
    """Count, for each flow, the objects and fields that somebody changed, added or deleted.

    Raises CannotRunError if the stack's cluster does not answer, or refuses.
    """
    return by_flow(compare_with_cluster(stack).drift, stack.declared_flows)


def by_flow(drift: Iterable[Drift], flows: Iterable[ResolvedFlow]) -> Mapping[str, int]:
    """Count the findings of each flow; those of shared workers count for every flow that they run. Pure. An announced
    state counts once it has expired. Objects that belong to no flow, such as the dashboard, do not count.
    """
    found = Counter(each.flow for each in drift if _counts(each))
    return {flow.name: sum(found[part] for part in {flow.name, flow.workers, flow.expanded.owner}) for flow in flows}


def _counts(each: Drift) -> bool:
    if each.code == "temporary-state":
        return each.severity is Severity.DATA
    return each.code not in _REPORTED
