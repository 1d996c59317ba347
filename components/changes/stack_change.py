"""A change to a stack as a whole: its deployments before and after, and what continues between them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from components.changes.deployment_state import DeployedConnector, DeploymentState
from components.changes.topic_matching import TopicMatching, match_topics

ConnectorPair = tuple[DeployedConnector | None, DeployedConnector | None]


@dataclass(frozen=True)
class StackChange:
    """The deployments of a stack before and after a change; those that do not change may be left out."""

    before: tuple[DeploymentState, ...]
    after: tuple[DeploymentState, ...]

    @cached_property
    def matching(self) -> TopicMatching:
        return match_topics(self.before, self.after)

    @cached_property
    def added_flows(self) -> frozenset[str]:
        """Names of the flows that replicate only topics that were not replicated before."""
        continuing = {pair.after.flow for pair in self.matching.continued}
        return frozenset(_flows(self.after) - _flows(self.before) - continuing)

    @cached_property
    def removed_flows(self) -> frozenset[str]:
        """Names of the flows whose topics are all no longer replicated."""
        continuing = {pair.before.flow for pair in self.matching.continued}
        return frozenset(_flows(self.before) - _flows(self.after) - continuing)

    @cached_property
    def connector_pairs(self) -> tuple[ConnectorPair, ...]:
        """Connectors that do the same work for the same flow before and after; None if only one side has it.

        A renamed flow is recognised by the topics that continue in it.
        """
        flows_after = _flows(self.after)
        renamed: dict[str, str] = {}
        for pair in self.matching.continued:
            if pair.before.flow not in flows_after:
                renamed.setdefault(pair.before.flow, pair.after.flow)
        old: dict[tuple[str, str, str], DeployedConnector] = {}
        for connector in _connectors(self.before):
            old.setdefault((renamed.get(connector.flow, connector.flow), connector.role, connector.part), connector)
        new = {(connector.flow, connector.role, connector.part): connector for connector in _connectors(self.after)}
        return tuple((old.get(key), new.get(key)) for key in {**new, **old})

    @cached_property
    def _flows_without_predecessor(self) -> frozenset[str]:
        known = {after.flow for before, after in self.connector_pairs if before is not None and after is not None}
        return frozenset(_flows(self.after) - known)

    def connector_pairs_of(self, role: str) -> Iterator[ConnectorPair]:
        """Yield the pairs of connectors with this role whose flow exists on both sides.

        A new flow that takes over some topics of another is left out, because its connectors start nothing new.
        """
        for before, after in self.connector_pairs:
            is_new = before is None and after is not None and after.flow in self._flows_without_predecessor
            is_removed = after is None and before is not None and before.flow in self.removed_flows
            connector = after or before
            if connector is not None and connector.role == role and not (is_new or is_removed):
                yield before, after

    def translated_groups(self, flow: str, deployments: Iterable[DeploymentState]) -> tuple[str, ...]:
        """Return the names and patterns of the consumer groups whose offsets a flow translates."""
        for connector in _connectors(deployments):
            if (connector.flow, connector.role) == (flow, "checkpoint") and connector.emits:
                return connector.names("groups")
        return ()


def _connectors(deployments: Iterable[DeploymentState]) -> Iterator[DeployedConnector]:
    return (connector for deployment in deployments for connector in deployment.connectors)


def _flows(deployments: Iterable[DeploymentState]) -> set[str]:
    return {connector.flow for connector in _connectors(deployments)}
