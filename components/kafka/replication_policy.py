"""How MirrorMaker names topics on the target, and which topics it never replicates.

The rules are written as patterns, so that the checks can compare them with other patterns and the job can apply them
to the names that a cluster holds.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from kafka_replication.components.kafka.positions import TopicPartition
from kafka_replication.components.kafka.topic_names import internal_topics

#: One of a flow's two clusters.
Side = Literal["source", "target"]
SIDES: tuple[Side, Side] = ("source", "target")

HEARTBEATS_TOPIC = "heartbeats"
OFFSET_SYNCS_TOPIC = "mm2-offset-syncs"


class Policy(StrEnum):
    """How a topic is named on the target."""

    DEFAULT = "default"
    IDENTITY = "identity"


POLICY_CLASSES = {
    Policy.DEFAULT: "org.apache.kafka.connect.mirror.DefaultReplicationPolicy",
    Policy.IDENTITY: "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
}
#: Every class that is known -> how it names topics. Strimzi's images had a policy of their own until Kafka 3.9; the
#: third is in AWS's samples. Source: strimzi/mirror-maker-2-extensions, aws-samples/mirrormaker2-msk-migration.
KNOWN_POLICIES = {
    **{name: policy for policy, name in POLICY_CLASSES.items()},
    "io.strimzi.kafka.connect.mirror.IdentityReplicationPolicy": Policy.IDENTITY,
    "com.amazonaws.kafka.samples.CustomMM2ReplicationPolicy": Policy.IDENTITY,
}


@dataclass(frozen=True)
class ReplicationPolicy:
    """The replication policy of one flow, whose source and target are given by their aliases.

    Source: DefaultReplicationPolicy, IdentityReplicationPolicy.
    """

    kind: Policy
    separator: str
    source: str
    target: str

    @property
    def prefix(self) -> str:
        """Return the text before a topic's own name in its prefixed name on the target."""
        return f"{self.source}{self.separator}"

    @property
    def prefixed_ending(self) -> str:
        """Return how a topic's name must end to be prefixed.

        The identity policy prefixes only names that look like a heartbeat topic's.
        Source: IdentityReplicationPolicy.looksLikeHeartbeat.
        """
        return "" if self.kind is Policy.DEFAULT else HEARTBEATS_TOPIC

    def prefix_of(self, topic: str) -> str:
        """Return the prefix that a topic, or the topics of a pattern, get on the target; empty if none."""
        return self.prefix if topic.endswith(self.prefixed_ending) else ""

    def remote(self, topic: str) -> str:
        """Name on the target of the source's topic. Source: ReplicationPolicy.formatRemoteTopic."""
        return self.prefix_of(topic) + topic

    def remote_partition(self, partition: TopicPartition) -> TopicPartition:
        return TopicPartition(self.remote(partition.topic), partition.partition)

    def original(self, topic: str) -> str:
        """Name on the source of the target's topic; the same name if it is not a remote topic of this flow."""
        return topic.removeprefix(self.prefix_of(topic))

    def offset_syncs_topic(self, *, on_source: bool) -> str:
        """Return the topic of offset syncs, which is named after the cluster that does not hold it.

        Source: ReplicationPolicy.offsetSyncsTopic, MirrorConnectorConfig.offsetSyncsTopic.
        """
        other = self.target if on_source else self.source
        return self.separator.join((OFFSET_SYNCS_TOPIC, other, "internal"))

    @property
    def checkpoints_topic(self) -> str:
        """Topic of checkpoints, on the target. Source: ReplicationPolicy.checkpointsTopic."""
        return self.separator.join((self.source, "checkpoints", "internal"))

    @property
    def never_selected(self) -> tuple[str, ...]:
        """Patterns of the topics that this flow does not replicate even if its topics select them.

        Internal topics are never replicated, and topics that came from the
        target never go back. Heartbeats are replicated whether they are selected or not.
        Source: MirrorSourceConnector.shouldReplicateTopic and isCycle.
        """
        heartbeats = f"{_aliases(self.separator)}{HEARTBEATS_TOPIC}"
        return (*internal_topics(self.separator), heartbeats, self.came_from_target)

    @property
    def came_from_target(self) -> str:
        """Return a pattern of the topics that count as a cycle: one of the aliases before their names is the target's.

        Source: MirrorSourceConnector.isCycle.
        """
        # Java's split drops empty parts at the end, so `uswest.` has no prefix and is no cycle.
        ending = f".*{HEARTBEATS_TOPIC}" if self.kind is Policy.IDENTITY else _more_than(self.separator)
        return f"{_aliases(self.separator)}{re.escape(self.target + self.separator)}{ending}"


def is_readable(alias: str, separator: str) -> bool:
    """Return whether MirrorMaker reads an alias back from a topic: it takes all before the first separator."""
    return f"{alias}{separator}".index(separator) == len(alias)


#: Characters of a separator that may overlap itself.
_LONGEST_EXACT = 12


def _aliases(separator: str) -> str:
    """Return a pattern of any number of aliases, each followed by the separator, as before a remote topic's name.

    It matters where the first separator ends only if two can overlap. The pattern for that grows exponentially with the
    separator, so a long one counts wherever it ends.
    """
    overlaps = any(separator.startswith(separator[cut:]) for cut in range(1, len(separator)))
    exact = overlaps and len(separator) <= _LONGEST_EXACT
    return f"({_up_to(separator)})*" if exact else f"(.*{re.escape(separator)})?"


def _up_to(separator: str) -> str:
    """Return a pattern of texts that end at their first separator: `--` ends `a--` there, but not `a---`. A step leads
    from each prefix of the separator to the next longer one. A character that does not fit leads back to the longest
    prefix with which the text then ends, and from there the steps lead on again.
    """
    steps: list[str] = []
    for length, fitting in enumerate(separator):
        leads = {char: _matched(separator, separator[:length] + char) for char in sorted({*separator} - {fitting})}
        back = {to: "".join(re.escape(char) for char in leads if leads[char] == to) for to in leads.values() if to}
        way = f"[^{re.escape(fitting)}{''.join(back.values())}]"
        for passed in range(length):
            way = (f"({way}|[{back[passed]}])" if passed in back else way) + steps[passed]
        way = f"{way}|[{back[length]}]" if length in back else way
        steps.append(f"({way})*{re.escape(fitting)}")
    return "".join(steps)


def _matched(separator: str, text: str) -> int:
    """Return how many first characters of the separator the text ends with."""
    return next(count for count in range(len(text), -1, -1) if text.endswith(separator[:count]))


def _more_than(separator: str) -> str:
    """Return a pattern of what is neither empty nor only separators."""
    cut = []
    for length, fitting in enumerate(separator):
        begun = re.escape(separator[:length])
        cut += [begun] if length else []
        cut.append(f"{begun}[^{re.escape(fitting)}].*")
    return f"({re.escape(separator)})*({'|'.join(cut)})"


def is_heartbeat_topic(topic: str, separator: str) -> bool:
    """Return whether a topic holds the heartbeats of some cluster. Source: ReplicationPolicy.isHeartbeatsTopic."""
    return topic.split(separator)[-1] == HEARTBEATS_TOPIC


def clusters_passed(topic: str, separator: str) -> list[str]:
    """Return the aliases of the clusters that a prefixed topic came through, the last one first."""
    return topic.split(separator)[:-1]


def upstream_hops(topics: Iterable[str], separator: str) -> dict[str, int]:
    """Return the smallest number of hops to every upstream cluster, by alias, according to the target's heartbeat
    topics.

    Source: MirrorClient.replicationHops, MirrorClient.upstreamClusters.
    """
    hops: dict[str, int] = {}
    for topic in topics:
        if is_heartbeat_topic(topic, separator):
            for count, alias in enumerate(clusters_passed(topic, separator), start=1):
                hops[alias] = min(count, hops.get(alias, count))
    return hops
