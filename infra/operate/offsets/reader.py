"""Reads what a file of offsets is checked against, and what Connect has stored. Only reads."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from kafka_replication.components.clients.errors import NoAnswerError
from kafka_replication.components.contract.problems import CannotRunError, RefusedError, ReplicationError
from kafka_replication.components.flows.naming import storage_topic_name
from kafka_replication.components.kafka.connectors import present_tasks, unended_tasks
from kafka_replication.components.kafka.mirror_records import stored_offsets
from kafka_replication.components.kafka.positions import TopicPartition
from kafka_replication.components.kafka.record_identity import KafkaRecord
from kafka_replication.infra.operate.connectors.changes import connector_places
from kafka_replication.infra.operate.flow_access import FlowAccess
from kafka_replication.infra.operate.offsets.file import OffsetsFile, entries
from kafka_replication.infra.operate.offsets.plan import Known, OffsetChange, Stored, mistakes, moves, resets
from kafka_replication.infra.operate.status.kafka_facts import read_syncs


class OffsetsReader:
    """The offsets of one flow's source connectors, which are its `places`."""

    def __init__(self, opened: FlowAccess) -> None:
        self.opened, self.flow, self.parameters = opened, opened.flow, opened.parameters
        self.source = self.parameters.source.alias
        self.places = tuple(place for place in connector_places(self.flow) if place.role == "source")

    def known(self, connectors: Sequence[str]) -> Known:
        """Return what the clusters now hold for these connectors. Raises CannotRunError."""
        parameters, source = self.parameters, self.opened.reader(self.parameters.source)
        side = parameters.source if parameters.offset_syncs.cluster == "source" else parameters.target
        with _answering():
            topics = source.topics()
            chosen = {topic: name for topic, name in self._connectors(topics).items() if name in connectors}
            # Read before the ends of the logs: what is stored meanwhile would be after them.
            stored = self.stored()
            logs = source.logs(source.partitions(chosen), committed=parameters.exactly_once)
            syncs = read_syncs(parameters, self.opened.reader(side))
        stop = parameters.starts_group is not None
        return Known(self.source, parameters.start_from, topics, logs, chosen, stored, syncs, stop)

    def moves(self, file: OffsetsFile, known: Known) -> list[OffsetChange]:
        """Return what a file changes. Raises ReplicationError with everything wrong in it, and CannotRunError."""
        source = self.opened.reader(self.parameters.source)

        def at_time(partition: TopicPartition, time_ms: int) -> int:
            offset = source.offset_at(partition, time_ms)
            return known.logs[partition].end if offset is None else offset

        wanted, unreadable = entries(file)
        with _answering():
            changes, not_storable = moves(wanted, known, at_time)
        if problems := [*unreadable, *mistakes(wanted, known), *not_storable]:
            raise ReplicationError(problems)
        return changes

    def resets(self, known: Known) -> list[OffsetChange]:
        """Return the changes that set every partition to its beginning. Raises RefusedError if a reset would not."""
        if known.stop:
            what = "a reset would not make the flow begin at the first record"
            why = "With `onLoss: stop` a partition without a stored offset begins where it began first, or stops there."
            remedy = "use `set` with a file that says `offset: earliest`."
            raise RefusedError("reset-starts-earlier", what, f"flow `{self.flow.name}`", why, remedy)
        if known.start_from != "earliest":
            what = "a reset would not make the flow begin at the first record"
            why = "With `startFrom: latest` a connector without stored offsets starts at the end."
            remedy = "use `set` with a file, or deploy `startFrom: earliest` first."
            raise RefusedError("reset-starts-at-end", what, f"flow `{self.flow.name}`", why, remedy)
        return resets(known)

    def stored(self) -> Stored:
        """Return the offsets that Connect has stored, by connector and partition. Raises CannotRunError."""
        topic = storage_topic_name(self.flow.workers, self.flow.settings, "offsets")
        return stored_offsets(self.records(topic), self.source)

    def unended(self, connector: str) -> list[int]:
        """Return the tasks of a connector that may still store offsets. Raises CannotRunError."""
        return unended_tasks(self._reports(), connector)

    def present(self, connector: str) -> frozenset[int]:
        """Return the tasks that a running connector has. Raises CannotRunError."""
        return present_tasks(self._reports(), connector)

    def _reports(self) -> list[tuple[bytes | None, bytes | None]]:
        """Return keys and values of the workers' status topic. Raises CannotRunError."""
        topic = storage_topic_name(self.flow.workers, self.flow.settings, "status")
        return [(record.key, record.value) for record in self.records(topic)]

    def records(self, topic: str) -> list[KafkaRecord]:
        """Return the records of one of the workers' topics on the target. Raises CannotRunError."""
        with _answering():
            return self.opened.reader(self.parameters.target).records(topic)

    def _connectors(self, topics: Iterable[str]) -> dict[str, str]:
        parts = [(self.parameters.part_selection(part), part.connector) for part in self.parameters.parts]
        chosen = parts or [(self.parameters.topic_selection, self.places[0].name)]
        return {topic: name for topic in sorted(topics) for selection, name in chosen if topic in selection}


@contextmanager
def _answering() -> Iterator[None]:
    """Raise CannotRunError if a cluster does not answer in the body."""
    try:
        yield
    except NoAnswerError as error:
        why = "Offsets are checked against the source, and Connect stores them on the target."
        remedy = "correct this, and run the command again."
        raise CannotRunError("kafka-not-asked", str(error), "a Kafka cluster of the flow", why, remedy) from None
