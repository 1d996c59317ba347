"""Reads the consumer groups of one Kafka cluster: their names, members and committed offsets."""

import threading
import time
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any

from confluent_kafka import ConsumerGroupState as State
from confluent_kafka import ConsumerGroupTopicPartitions as GroupPartitions
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka import TopicPartition as Place

from kafka_replication.components.clients.admin import AGAIN_SECONDS, ClusterAdmin
from kafka_replication.components.clients.errors import PASSING, ClusterError
from kafka_replication.components.kafka.positions import CommittedOffset, TopicPartition

#: Groups whose coordinators are asked for at once, and requests for their offsets that await an answer at once: the
#: client decodes thousands of partitions slowly, and meanwhile the time of the others runs. Partitions that one request
#: names: with 2,000, half of the time is spent looking for each of them in a list.
_GROUPS_AT_ONCE, _IN_FLIGHT, _NAMED_AT_ONCE = 200, 20, 250
#: States of a group without members. MirrorMaker writes a group's offsets only in these states.
_IDLE = frozenset({State.EMPTY, State.DEAD, State.UNKNOWN})
#: What the older request for groups calls a group of any newer type.
_DEAD = "Dead"


class GroupAdmin(ClusterAdmin):
    """Reads the cluster's groups."""

    def groups(self) -> list[str]:
        """Return every consumer group that the user may describe."""
        return sorted(group.group_id for group in self._listed_groups())

    def other_groups(self) -> list[str]:
        """Return every group that is no consumer group and has no members of the classic protocol either: a streams
        group (KIP-1071) or a share group (KIP-932).

        librdkafka leaves such groups out of its list of consumer groups, and describes them as dead.
        """
        # Deprecated, but `list_consumer_groups` knows no types but consumer and classic (confluent-kafka 2.16).
        every = self._once_loaded("groups", lambda: self._admin.list_groups(timeout=self._seconds))
        dead = {str(group.id) for group in every if group.state == _DEAD}
        return sorted(dead - set(self.groups())) if dead else []

    def groups_with_members(self) -> frozenset[str]:
        return frozenset(group.group_id for group in self._listed_groups() if group.state not in _IDLE)

    def _listed_groups(self) -> Any:
        self.topics()

        def ask() -> Any:
            listed = self._admin.list_consumer_groups(request_timeout=self._seconds).result(self._seconds + 1)
            if listed.errors:
                raise KafkaException(listed.errors[0])
            self._errors.reached = True
            return listed.valid

        return self._once_loaded("consumer groups", ask)

    def committed(self, groups: Iterable[str]) -> dict[str, dict[TopicPartition, int]]:
        """Return the committed offsets by group; empty for a group that does not exist."""
        return {
            group: {partition: commit.offset for partition, commit in commits.items()}
            for group, commits in self.commits(groups).items()
        }

    def commits(
        self, groups: Iterable[str], among: Sequence[TopicPartition] = ()
    ) -> dict[str, dict[TopicPartition, CommittedOffset]]:
        """Return the committed offsets by group, with their metadata; empty for a group that does not exist. `among`
        leaves out other partitions; it is faster for groups that have committed in most of these.
        """
        self.topics()
        named = [Place(*partition) for partition in among]
        parts: list[list[Place] | None] = [
            named[first : first + _NAMED_AT_ONCE] for first in range(0, len(named), _NAMED_AT_ONCE)
        ]
        parts = parts or [None]

        def ask(left: "Collection[tuple[str, int]]") -> "Iterator[tuple[tuple[str, int], Future[Any]]]":
            # Only then does the client know the coordinators of now: librdkafka ends the process if it asks another
            # broker for committed offsets (its issue 5040).
            self._described("committed offsets", list(dict.fromkeys(group for group, _ in left)))
            asked: deque[tuple[tuple[str, int], Future[Any]]] = deque()
            for group, part in left:
                request = [GroupPartitions(group, parts[part])]
                (future,) = self._admin.list_consumer_group_offsets(request, request_timeout=self._seconds).values()
                asked.append(((group, part), future))
                if len(asked) == _IN_FLIGHT:
                    yield asked.popleft()
            yield from asked

        wanted = list(groups)
        commits: dict[str, dict[TopicPartition, CommittedOffset]] = {group: {} for group in wanted}
        for first in range(0, len(wanted), _GROUPS_AT_ONCE):
            some = [(group, part) for group in wanted[first : first + _GROUPS_AT_ONCE] for part in range(len(parts))]
            for (group, _), offsets in self._repeated(
                some,
                ask,
                lambda key: f"committed offsets of {key[0]}",
                lambda key, answer: self._commits(key[0], answer),
            ).items():
                commits[group] |= offsets
        return commits

    def _commits(self, group: str, answer: Any) -> dict[TopicPartition, CommittedOffset]:
        offsets = {}
        for place in answer.topic_partitions:
            if place.error is not None:
                raise self._errors.error(f"committed offsets of {group} could not be asked", place.error)
            if place.offset >= 0:
                offsets[TopicPartition(place.topic, place.partition)] = CommittedOffset(
                    place.offset, place.metadata or ""
                )
        return offsets

    def members(self, groups: Iterable[str]) -> dict[str, int]:
        """Return the number of members by group; 0 for a group that does not exist."""
        return {
            group: len(description.members) if description else 0
            for group, description in self._described("members", list(groups)).items()
        }

    def _described(self, what: str, groups: Collection[str]) -> dict[str, Any]:
        """Return the description of each group by its coordinator; None or a dead group if it does not exist.

        A client remembers a coordinator for as long as somebody asks for the group. Only a new one looks for it again.
        """
        described: dict[str, Any] = {}
        left, until = list(groups), time.monotonic() + self._seconds
        while left:
            again = []
            asked = self._admin.describe_consumer_groups(left, request_timeout=self._seconds)
            for group, future in asked.items():
                try:
                    described[group] = self._result(f"{what} of {group}", future)
                except ClusterError as error:
                    if error.kafka_code == KafkaError.GROUP_ID_NOT_FOUND:
                        described[group] = None
                    elif error.kafka_code in PASSING and time.monotonic() < until:
                        again.append(group)
                    else:
                        raise
            if left := again:
                threading.Event().wait(AGAIN_SECONDS)
                self._admin = self._new_admin()
        return described
