"""A change to a stack: its deployments before and after, and the topics and connectors that continue."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from kafka_replication.components.changes.deployment_state import DeployedConnector, DeploymentState
from kafka_replication.components.changes.effect import Effect
from kafka_replication.components.contract.grouping import grouped
from kafka_replication.components.kafka.overlap import Disjoint, SharedName, overlap_of_patterns
from kafka_replication.components.kafka.patterns import has_topic_characters_and_operators_only, matches
from kafka_replication.components.kafka.topic_names import ALWAYS_INTERNAL, is_name

_ANYTHING = ".*"
#: How many names to try before coverage counts as undecided.
_EXAMPLES = 50


def is_covered(name: str, by: Sequence[str], excluded: Sequence[str] = ()) -> bool:
    """Return whether `by` selects a name, or everything that a pattern matches and `excluded` does not. If coverage
    cannot be decided, the result is False: one effect too many is better than one too few.
    """
    if name in by:
        return True
    if is_name(name):
        return any(matches(pattern, name) for pattern in by)
    if not by or not has_topic_characters_and_operators_only(name):
        return False
    covered: list[str] = []
    for _ in range(_EXAMPLES):
        try:
            left = overlap_of_patterns(name, _ANYTHING, (*ALWAYS_INTERNAL, *excluded, *covered))
        except re.error:
            return False
        if not isinstance(left, SharedName):
            return isinstance(left, Disjoint)
        selecting = [pattern for pattern in by if matches(pattern, left.example)]
        if not selecting:
            return False
        covered += selecting
    return False


#: A source and a target cluster, each by its alias or by one server of its address.
_Ends = tuple[str, str]
_ByEnds = Mapping[_Ends, list[DeployedConnector]]


@dataclass(frozen=True)
class ContinuedTopics:
    """Topics that one source connector reads before the change and the same or another connector reads after it."""

    before: DeployedConnector
    after: DeployedConnector
    topics: tuple[str, ...]


@dataclass(frozen=True)
class TopicMatching:
    """Topics that continue, start and stop, with the source connectors that read them."""

    continued: tuple[ContinuedTopics, ...]
    started: tuple[tuple[DeployedConnector, list[str]], ...]
    stopped: tuple[tuple[DeployedConnector, list[str]], ...]


def match_topics(before: Iterable[DeploymentState], after: Iterable[DeploymentState]) -> TopicMatching:
    """Match the topics of all source connectors of a stack.

    A topic continues if a connector between the same two clusters still selects it. Clusters are the same if they share
    an alias or a server of their address. A name continues if a pattern selects it, and a pattern continues if others
    together select everything that it does.
    """
    old, new = _source_connectors(before), _source_connectors(after)
    started: dict[int, tuple[DeployedConnector, list[str]]] = {}
    stopped: dict[int, tuple[DeployedConnector, list[str]]] = {}
    continued: dict[tuple[int, int], ContinuedTopics] = {}

    def add_continued(earlier: DeployedConnector, later: DeployedConnector, topic: str) -> None:
        known = continued[key].topics if (key := (id(earlier), id(later))) in continued else ()
        if not is_covered(topic, known):
            continued[key] = ContinuedTopics(earlier, later, (*known, topic))

    for later, topic, predecessor in _counterparts(new, old):
        if predecessor is not None:
            add_continued(predecessor, later, topic)
        else:
            started.setdefault(id(later), (later, []))[1].append(topic)
    for earlier, topic, successor in _counterparts(old, new):
        if successor is not None:
            add_continued(earlier, successor, topic)
        else:
            stopped.setdefault(id(earlier), (earlier, []))[1].append(topic)
    return TopicMatching(tuple(continued.values()), tuple(started.values()), tuple(stopped.values()))


def _source_connectors(deployments: Iterable[DeploymentState]) -> list[DeployedConnector]:
    return [connector for connector in _connectors(deployments) if connector.role == "source"]


def _counterparts(
    connectors: Iterable[DeployedConnector], others: Iterable[DeployedConnector]
) -> Iterator[tuple[DeployedConnector, str, DeployedConnector | None]]:
    """Yield each connector's topics with the other side's connector that selects them; None if there is none."""
    by_ends = grouped((ends, other) for other in others for ends in _ends(other))
    for connector in connectors:
        for topic in connector.topics:
            if is_name(topic) and is_excluded(topic, connector):
                continue
            counterpart = _selecting(topic, connector, by_ends)
            if counterpart is not None or not _is_divided(topic, connector, by_ends):
                yield connector, topic, counterpart


def same_cluster(address: str, other: str) -> bool:
    """Return whether two bootstrap addresses have a server in common."""
    return not _servers(address).isdisjoint(_servers(other))


def _servers(address: str) -> frozenset[str]:
    return frozenset(server.strip() for server in address.split(","))


def _ends(connector: DeployedConnector) -> list[_Ends]:
    sources, targets = (
        (f"alias {alias}", *sorted(_servers(address)))
        for alias, address in (
            (connector.source_alias, connector.source_address),
            (connector.target_alias, connector.workers.target_address),
        )
    )
    return [(source, target) for source in sources for target in targets]


def _candidates(like: DeployedConnector, others: _ByEnds) -> list[DeployedConnector]:
    return list({id(connector): connector for ends in _ends(like) for connector in others.get(ends, ())}.values())


def _selecting(topic: str, like: DeployedConnector, others: _ByEnds) -> DeployedConnector | None:
    """Return the other connector that selects a topic, preferring one that names it, then one of the same flow."""
    candidates = _candidates(like, others)
    naming = [candidate for candidate in candidates if topic in candidate.topics]
    same_flow = [candidate for candidate in candidates if candidate.flow == like.flow]
    for preferred in (naming, same_flow, candidates):
        if preferred is candidates and not is_name(topic) and not _is_divided(topic, like, others):
            return None
        if selecting := [connector for connector in preferred if _selects(connector, topic, like)]:
            return min(selecting, key=lambda connector: _distance(connector, like))
    return None


def _is_divided(topic: str, like: DeployedConnector, others: _ByEnds) -> bool:
    """Return whether the connectors of the other side together select everything that a pattern does."""
    together = [topic for connector in _candidates(like, others) for topic in connector.topics]
    return not is_name(topic) and is_covered(topic, together, like.names("topics.exclude"))


def _distance(connector: DeployedConnector, like: DeployedConnector) -> tuple[bool, bool, bool]:
    return (
        connector.flow != like.flow,
        connector.part != like.part,
        connector.source_alias != like.source_alias or connector.target_alias != like.target_alias,
    )


def _selects(connector: DeployedConnector, topic: str, like: DeployedConnector) -> bool:
    if is_name(topic):
        return is_covered(topic, connector.topics) and not is_excluded(topic, connector)
    return is_covered(topic, connector.topics, like.names("topics.exclude"))


def is_excluded(topic: str, connector: DeployedConnector) -> bool:
    """Return whether a connector excludes a topic, which overrides its selection. Source: DefaultTopicFilter."""
    return any(matches(name, topic) for name in connector.names("topics.exclude"))


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
        """Connectors that do the same work before and after. A renamed flow is known by the topics that continue."""
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
        """Yield this role's pairs of flows that exist before and after, not those of new or removed flows."""
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


def effects_on_sources(
    change: StackChange, effects: Callable[[DeployedConnector, DeployedConnector], Iterable[Effect]]
) -> Iterator[Effect]:
    """Yield what `effects` finds for the source connectors that exist before and after."""
    pairs = [(before, after) for before, after in change.connector_pairs_of("source") if before and after]
    parts = grouped((effect, after.part) for before, after in pairs for effect in effects(before, after))
    connectors = Counter(after.flow for _, after in pairs)
    for effect, having in parts.items():
        if len(having) == connectors[effect.flow]:
            yield effect
        else:
            yield from (replace(effect, where=f"connectors.sources.{part}.{effect.where}") for part in having)
