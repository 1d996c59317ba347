"""Which topics and groups a flow replicates and what they are called on the target, by MirrorMaker's rules. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from spark.parameters import FlowParameters
from spark.positions import TopicPartition

_PATTERN_CHARACTERS = frozenset(r".*+?[](){}|^$" + "\\")


@dataclass(frozen=True)
class Selection:
    """The topics and groups of a flow. Source: MirrorSourceConnector.shouldReplicateTopic, DefaultTopicFilter."""

    flow: FlowParameters

    def topic(self, name: str) -> bool:
        """Whether records of the source's topic `name` are replicated; heartbeats are a check of their own."""
        return (
            _matches(self.flow.topics, name)
            and not _matches(self.flow.topics_exclude, name)
            and not self._internal(name)
            and not self._heartbeats(name)
            and not self._cycles(name)
        )

    def topics(self, names: Iterable[str]) -> list[str]:
        return sorted(name for name in names if self.topic(name))

    def group(self, name: str) -> bool:
        return _matches(self.flow.groups, name) and not _matches(self.flow.groups_exclude, name)

    def groups(self, names: Iterable[str]) -> list[str]:
        return sorted(name for name in names if self.group(name))

    def excluded_groups(self, names: Iterable[str]) -> list[str]:
        """Groups that a pattern selects and an exclusion removes."""
        return sorted(name for name in names if _matches(self.flow.groups, name) and not self.group(name))

    def literal_topics(self) -> list[str]:
        """Entries of the topic list that are a name, not a pattern (a dot alone is part of a name)."""
        return [each for each in self.flow.topics if not (_PATTERN_CHARACTERS - {"."}) & set(each)]

    @property
    def prefix(self) -> str:
        """What topics that end in `prefixed` carry on the target before the source's name."""
        return f"{self.flow.source.alias}{self.flow.separator}"

    @property
    def prefixed(self) -> str:
        """How the names end that carry the prefix; identity policy, too, gives it to whatever looks like heartbeats.

        Source: DefaultReplicationPolicy.formatRemoteTopic, IdentityReplicationPolicy.looksLikeHeartbeat.
        """
        return "" if self.flow.policy == "default" else "heartbeats"

    def remote(self, name: str) -> str:
        """Name on the target of the source's topic `name`."""
        return self.prefix + name if name.endswith(self.prefixed) else name

    def original(self, name: str) -> str:
        """Name on the source of the target's topic `name`, if that is a remote topic."""
        return name.removeprefix(self.prefix) if name.endswith(self.prefixed) else name

    def remote_partition(self, partition: TopicPartition) -> TopicPartition:
        return TopicPartition(self.remote(partition.topic), partition.partition)

    def _internal(self, name: str) -> bool:
        # Source: ReplicationPolicy.isInternalTopic, DefaultReplicationPolicy.isMM2InternalTopic
        own = f"{self.flow.separator}internal"
        return name.startswith(("__", ".")) or name.endswith(("-internal", ".internal", own))

    def _heartbeats(self, name: str) -> bool:
        return name.rsplit(self.flow.separator, 1)[-1] == "heartbeats"

    def _cycles(self, name: str) -> bool:
        # Source: MirrorSourceConnector.isCycle; a name without prefix shows none.
        return name.endswith(self.prefixed) and self.flow.target.alias in name.split(self.flow.separator)[:-1]


def upstream_hops(names: Iterable[str], separator: str) -> dict[str, int]:
    """Hops from every upstream cluster, by alias, as the heartbeat topics on the target show it.

    Source: MirrorClient.replicationHops, MirrorClient.upstreamClusters.
    """
    hops: dict[str, int] = {}
    for name in names:
        *clusters, last = name.split(separator)
        if last == "heartbeats":
            for count, alias in enumerate(clusters, start=1):
                hops[alias] = min(count, hops.get(alias, count))
    return hops


def _matches(patterns: Iterable[str], name: str) -> bool:
    return any(re.fullmatch(pattern, name) for pattern in patterns)
