"""`status`, `failover` and the proof read the same records of MirrorMaker and must conclude the same from them.

Each side reads one scene through its own client. The scene holds what their rules once disagreed about: partitions that
are read in another order, a group that was reset, offsets under an old alias, a remote topic that was created again.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_replication.components.clients.reader import KafkaReader
from kafka_replication.components.kafka.mirror_records import Checkpoint, Checkpoints
from kafka_replication.components.kafka.offset_syncs import is_left_untranslated
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.components.render.job_parameters import flow_parameters
from kafka_replication.infra.operate.status import kafka_facts
from kafka_replication.spark.checks import connector_progress
from kafka_replication.spark.checks.offsets import readings
from kafka_replication.spark.checks.offsets.checkpoints import Patience, position_findings
from kafka_replication.spark.checks.offsets.position_proof import (
    Around,
    Candidates,
    Position,
    RecordDigest,
    TranslatedRecord,
    prove,
)
from kafka_replication.spark.read.flows import OpenFlow
from tests.builders import a_resolved_flow
from tests.spark import forging
from tests.spark.forging import Written

FLOW = a_resolved_flow(groups=["checkout-.*"])
PARAMETERS = flow_parameters(FLOW)
ORDERS, REMOTE = TopicPartition("orders", 0), TopicPartition("useast.orders", 0)
GROUP, COMMITTED, ON_TARGET = "checkout-web", 140, 110
SOURCE_LOG, TARGET_LOG = OffsetRange(0, 200), OffsetRange(0, 190)


@dataclass
class Brokers:
    """Both clusters at once; `backwards` returns the partitions of a topic in descending order."""

    backwards: bool
    topics: dict[str, dict[int, list[Written]]] = field(default_factory=dict)

    def write(self, topic: str, partition: int, key: bytes, value: bytes | None) -> None:
        log = self.topics.setdefault(topic, {}).setdefault(partition, [])
        log.append(Written(key, value, len(log), 1000 + len(log), TopicPartition(topic, partition)))

    def read(self, topic: str) -> list[Written]:
        partitions = sorted(self.topics.get(topic, {}).items(), reverse=self.backwards)
        return [record for _, log in partitions for record in log]


class Reader(KafkaReader):
    """The client of status and failover."""

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers

    def records(self, topic: str, *, newest: int | None = None) -> list[Any]:  # noqa: ARG002
        return self._brokers.read(topic)

    def topics(self) -> Any:
        return ["orders", "useast.orders"]

    def partitions(self, topics: Iterable[str]) -> list[TopicPartition]:
        return [TopicPartition(topic, 0) for topic in topics]

    def logs(
        self,
        partitions: Iterable[TopicPartition],
        *,
        committed: bool = False,  # noqa: ARG002
    ) -> dict[TopicPartition, OffsetRange]:
        return {each: TARGET_LOG if each == REMOTE else SOURCE_LOG for each in partitions}

    def groups(self) -> list[str]:
        return [GROUP]

    def other_groups(self) -> list[str]:
        return []

    def committed(self, groups: Iterable[str]) -> dict[str, dict[TopicPartition, int]]:
        return {group: {ORDERS: COMMITTED, REMOTE: ON_TARGET} for group in groups}


class ReaderOfStreams(Reader):
    """A cluster with a streams group, for which MirrorMaker has committed nothing on the target."""

    def other_groups(self) -> list[str]:
        return ["checkout-app"]

    def committed(self, groups: Iterable[str]) -> dict[str, dict[TopicPartition, int]]:
        offsets = super().committed(groups)
        return {group: {ORDERS: COMMITTED} if group == "checkout-app" else offsets[group] for group in offsets}


class JobCluster:
    """The client of the proof."""

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers

    def describe(self, topics: Sequence[str]) -> Mapping[str, Any]:
        return {name: SimpleNamespace(id="I", partitions=len(self._brokers.topics[name])) for name in topics}

    def topics(self) -> Mapping[str, int]:
        return {name: len(partitions) for name, partitions in self._brokers.topics.items()}

    def logs(self, partitions: Iterable[TopicPartition], *, committed: bool) -> Mapping[TopicPartition, OffsetRange]:
        assert committed
        logs = self._brokers.topics
        return {partition: OffsetRange(0, len(logs[partition.topic][partition.partition])) for partition in partitions}

    def ends(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        return dict.fromkeys(partitions, SOURCE_LOG.end)

    def read(self, _what: str, ranges: Iterable[tuple[TopicPartition, OffsetRange]]) -> list[Written]:
        (topic,) = {partition.topic for partition, _ in ranges}
        return self._brokers.read(topic)


@pytest.fixture(params=[False, True], ids=["partitions ascending", "partitions descending"])
def brokers(request: pytest.FixtureRequest) -> Brokers:
    found = Brokers(request.param)
    key = forging.checkpoint_key(GROUP, "useast.orders", 0)
    for upstream, downstream in ((400, 390), (120, 110)):
        found.write(PARAMETERS.checkpoints.topic, 0, key, forging.checkpoint_value(upstream, downstream))
    found.write(PARAMETERS.checkpoints.topic, 0, b"?", b"?")
    # The topic was extended later, so that the group's key is now in another partition.
    found.write(PARAMETERS.checkpoints.topic, 1, key, forging.checkpoint_value(60, 50))
    found.write(PARAMETERS.checkpoints.topic, 1, forging.checkpoint_key("b", "useast.orders", 0), b"")
    # The remote topic was created again after offset 105, and its records are ten offsets behind the source's.
    for upstream, downstream in ((0, 0), (100, 100), (105, 105), (10, 0), (60, 50), (160, 150), (170, 165)):
        found.write(
            PARAMETERS.offset_syncs.topic,
            0,
            forging.offset_sync_key("orders", 0),
            forging.offset_sync_value(upstream, downstream),
        )
    offsets = str(PARAMETERS.connector_offsets_topic)
    for at, connector, alias, offset in (
        (0, "orders-source", "useast", 180),
        (0, "orders-source", "useast", 150),
        (1, "orders-source", "useast", 140),
        (1, "orders-source", "east", 199),
        (1, "other-source", "useast", 198),
    ):
        stored_key = json.dumps([connector, {"cluster": alias, "partition": 0, "topic": "orders"}]).encode()
        found.write(offsets, at, stored_key, json.dumps({"offset": offset}).encode())
    return found


def job(brokers: Brokers) -> OpenFlow:
    cluster = JobCluster(brokers)
    names = {"orders": 1}
    flow = SimpleNamespace(
        parameters=PARAMETERS, source=cluster, target=cluster, sync_cluster=cluster, partitions=names
    )
    return cast(OpenFlow, flow)


def test_both_sides_read_the_same_checkpoints_syncs_and_stored_offsets(brokers: Brokers) -> None:
    status = kafka_facts.read_target(FLOW, PARAMETERS, Reader(brokers))
    checkpoints = readings.read_checkpoints(job(brokers)).found
    assert status.checkpoints == checkpoints
    assert status.checkpoints.get(GROUP, REMOTE) == Checkpoint(120, 110, 1001)
    syncs = readings.read_syncs(job(brokers)).found
    assert kafka_facts.read_syncs(PARAMETERS, Reader(brokers)) == syncs
    assert status.offsets == connector_progress.read_progress(job(brokers), syncs).stored == {ORDERS: 150}


def test_what_status_says_a_group_reads_again_is_what_its_record_proves(brokers: Brokers) -> None:
    """The group is between two syncs of the same difference, so the offsets alone already show it exactly."""
    reader = Reader(brokers)
    on_source = kafka_facts.read_source(PARAMETERS, reader)
    on_target = kafka_facts.read_target(FLOW, PARAMETERS, reader)
    syncs = kafka_facts.read_syncs(PARAMETERS, reader)
    (facts,) = kafka_facts.KafkaLook(PARAMETERS, on_source, on_target, syncs).groups()

    guess = readings.read_syncs(job(brokers)).found[ORDERS].guess(ON_TARGET)
    assert guess is not None
    candidates = Candidates(SOURCE_LOG, [RecordDigest(guess.offset, 0, "the group's next record")])
    landing = TranslatedRecord(RecordDigest(ON_TARGET, 0, "the group's next record"), after=False)
    position = Position(GROUP, ORDERS, COMMITTED, Checkpoint(COMMITTED, ON_TARGET), ON_TARGET)
    proof = prove(position, Around(TARGET_LOG, SOURCE_LOG, [], candidates, landing, guess), landing)
    assert (proof.proven, proof.read_again) == (True, 20)
    assert facts.again == {ORDERS: proof.read_again}


@pytest.mark.parametrize(
    ("log", "checkpoint", "missing"),
    [
        pytest.param(OffsetRange(0, 0), None, False, id="never used"),
        pytest.param(OffsetRange(7, 7), None, False, id="everything has expired"),
        pytest.param(OffsetRange(0, 1), None, True, id="a record"),
        pytest.param(OffsetRange(0, 0), Checkpoint(7, 7), True, id="translated, but not copied"),
    ],
)
def test_status_misses_a_position_where_the_proof_does(
    log: OffsetRange, checkpoint: Checkpoint | None, missing: bool
) -> None:
    """MirrorMaker translates nothing in an empty partition, where a group cannot skip anything."""
    committed = log.end
    on_source = kafka_facts.OnSource({ORDERS: log}, {GROUP: {ORDERS: committed}})
    found = Checkpoints({(GROUP, REMOTE): (0, checkpoint)} if checkpoint else {})
    on_target = kafka_facts.OnTarget(frozenset({"useast.orders"}), {}, found, {}, {REMOTE: 0})
    (facts,) = kafka_facts.KafkaLook(PARAMETERS, on_source, on_target, {}).groups()
    assert bool(facts.without_position) is missing
    position = Position(GROUP, ORDERS, committed, checkpoint, untranslated=is_left_untranslated(checkpoint, log))
    patience = Patience.of(PARAMETERS, 0)
    findings = position_findings([position], {(GROUP, ORDERS): committed}, {}, {}, PARAMETERS, patience)
    assert bool(findings) is missing


def test_status_misses_the_position_of_a_streams_group(brokers: Brokers) -> None:
    """The proof calls it a group that MirrorMaker does not translate, and `status` did not look at it."""
    reader = ReaderOfStreams(brokers)
    on_source = kafka_facts.read_source(PARAMETERS, reader)
    on_target = kafka_facts.read_target(FLOW, PARAMETERS, reader)
    app, *_ = kafka_facts.KafkaLook(PARAMETERS, on_source, on_target, {}).groups()
    assert (app.name, app.without_position) == ("checkout-app", (ORDERS,))
