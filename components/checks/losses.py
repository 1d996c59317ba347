"""Properties that Kafka accepts but that lose records, or never replicate them, while every connector runs."""

from collections.abc import Iterator, Mapping

from components.contract.problems import Problem, Severity
from components.flows.expansion import ExpandedFlow
from components.topology.clusters import PropertyValue


def check_losses(flow: ExpandedFlow) -> Iterator[Problem]:
    """No source connector skips failing records, or stops looking for new topics."""
    connectors = flow.settings.connectors
    yield from _check(flow, "connectors.source.config", connectors.source.config)
    for part, source in connectors.sources.items():
        yield from _check(flow, f"connectors.sources.{part}.config", source.config)


def _check(flow: ExpandedFlow, place: str, config: Mapping[str, PropertyValue]) -> Iterator[Problem]:
    def is_set(key: str, *values: str) -> bool:
        return str(config.get(key, "")).lower() in values

    if is_set("errors.tolerance", "all"):
        yield Problem(
            flow.where(f"{place}.errors.tolerance"),
            "failures-skipped",
            "`errors.tolerance` is `all`",
            "The connector then skips each record that a transform or the target refuses. The record is missing on the "
            "target, and no task fails (KIP-779).",
            "remove it; the task then fails at such a record.",
            Severity.WARNING,
        )
    if is_set("refresh.topics.enabled", "false"):
        yield Problem(
            flow.where(f"{place}.refresh.topics.enabled"),
            "new-topics-left-out",
            "`refresh.topics.enabled` is `false`",
            "The connector looks for topics and partitions only when it starts. Those created later are not "
            "replicated.",
            "remove it; `intervals.refreshTopicsSeconds` says how often to look.",
            Severity.WARNING,
        )
