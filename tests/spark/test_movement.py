"""How far the source connectors have read, according to the offsets that they store."""

from types import SimpleNamespace
from typing import cast

import pytest

from kafka_replication.components.contract.report import CheckName, CheckOutcome, FindingSeverity
from kafka_replication.components.kafka.mirror_records import OffsetSync, replicated_offsets
from kafka_replication.components.kafka.offset_syncs import SyncHistory
from kafka_replication.components.kafka.positions import TopicPartition
from kafka_replication.components.kafka.record_identity import KafkaRecord
from kafka_replication.infra.local.endpoints import Endpoints
from kafka_replication.infra.local.traffic import create_topics
from kafka_replication.spark.checks.connector_progress import ConnectorProgress, read_progress, with_progress
from kafka_replication.spark.read.flows import OpenFlow
from tests.spark.documents import a_flow
from tests.spark.outcomes import Check, named
from tests.spark.scenes import Headers, Scene, produce

ORDERS, BILLS = TopicPartition("orders", 0), TopicPartition("bills", 1)
RUNS = CheckOutcome(CheckName.CONNECTORS, "1 of 1 connector runs", {"connectors": 1})


def stored(connector: str, topic: str, partition: int, offset: int | None) -> tuple[bytes, bytes | None]:
    """Key and value, as Connect writes them."""
    key = f'["{connector}",{{"cluster":"useast","partition":{partition},"topic":"{topic}"}}]'
    return key.encode(), None if offset is None else f'{{"offset":{offset}}}'.encode()


def test_the_newest_stored_offset_of_each_partition_counts() -> None:
    rows = [
        stored("orders-source", "orders", 0, 40),
        stored("orders-source", "orders", 0, 9),
        stored("orders-source", "bills", 1, 7),
        stored("orders-source", "gone", 0, 7),
        stored("orders-source", "gone", 0, None),
        stored("another-source", "orders", 0, 99),
        (b"not JSON", b"\x00"),
    ]
    written = [KafkaRecord(TopicPartition("offsets", 3), at, 0, *row, ()) for at, row in enumerate(rows)]
    # A worker with another number of partitions stored it elsewhere.
    written.append(KafkaRecord(TopicPartition("offsets", 1), 0, 0, *stored("orders-source", "bills", 1, 6), ()))
    assert replicated_offsets(written, ["orders-source"], "useast") == {ORDERS: 9, BILLS: 7}


@pytest.mark.parametrize(
    ("movement", "summary", "counts"),
    [
        pytest.param(
            ConnectorProgress({ORDERS: 89, BILLS: 9}, {ORDERS: 100, BILLS: 10}, 5_000),
            "stored offsets of 2 partitions, at most 10 behind the source; newest offset sync 3 s old",
            {"storedOffsets": 2, "offsetsBehind": 10, "newestSyncSeconds": 3},
            id="behind",
        ),
        pytest.param(ConnectorProgress({}, {}, None), "no offsets stored yet", {"storedOffsets": 0}, id="just started"),
        pytest.param(
            ConnectorProgress(None, {}, None), "stored offsets not read", {"storedOffsets": 0}, id="not readable"
        ),
    ],
)
def test_the_summary_shows_stored_offsets_beside_the_connectors_status(
    movement: ConnectorProgress, summary: str, counts: dict[str, int]
) -> None:
    outcome = with_progress(RUNS, movement, 8)
    assert outcome.summary == f"1 of 1 connector runs; {summary}"
    assert outcome.counts == {"connectors": 1, **counts}
    assert outcome.findings == ()


def test_the_newest_offset_sync_is_one_of_the_flows_topics() -> None:
    """Another flow wrote one 4 s ago to the same topic, and all connectors of this one were stopped."""
    parameters = a_flow(connectorOffsetsTopic=None)
    source = SimpleNamespace(ends=lambda partitions: dict.fromkeys(partitions, 0))
    flow = cast(OpenFlow, SimpleNamespace(parameters=parameters, partitions={"orders": 1}, source=source))
    syncs = {ORDERS: SyncHistory((OffsetSync(0, 0, 5_000),)), BILLS: SyncHistory((OffsetSync(0, 0, 9_000),))}
    assert read_progress(flow, syncs).newest_sync_ms == 5_000
    assert read_progress(flow, {BILLS: syncs[BILLS]}).newest_sync_ms is None


def test_a_stored_offset_past_the_end_of_the_source_is_noted() -> None:
    (finding,) = with_progress(
        RUNS, ConnectorProgress({ORDERS: 100, BILLS: 9}, {ORDERS: 100, BILLS: 10}, None), 8
    ).findings
    assert (finding.code, finding.severity) == ("stored-past-end", FindingSeverity.NOTE)
    assert finding.message.startswith(
        "orders-0 (stored 100, end 100): the stored offset is past the end of the source log"
    )


def test_the_job_reads_the_offsets_that_the_connectors_have_stored(check: Check, endpoints: Endpoints) -> None:
    scene = Scene(endpoints, "moves").replicate(partitions=1)
    create_topics(scene.target, {"moves-offsets": 1})
    produce(
        scene.target, "moves-offsets", 0, [(*stored("moves-source", "moves", 0, 54), scene.began_ms, Headers())]
    )  # fmt: skip
    connector = {
        **{"role": "source", "connector": "moves-source", "apiVersion": "kafka.strimzi.io/v1"},
        **{"kind": "KafkaConnector", "objectName": "moves-source"},
    }
    known = scene.parameters(connectors=[connector], connectorOffsetsTopic="moves-offsets")
    counts = named(check(known), "connectors-run").counts
    assert (counts["storedOffsets"], counts["offsetsBehind"]) == (1, 5)
    absent = named(check(scene.parameters(connectors=[connector], connectorOffsetsTopic="absent")), "connectors-run")
    assert "stored offsets not read" in absent.summary
