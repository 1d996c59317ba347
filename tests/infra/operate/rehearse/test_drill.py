"""A drill between two brokers in this process: it counts record by record and leaves nothing behind."""

from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from kafka_replication.components.clients.writer import GroupWriter, MissingReads
from kafka_replication.components.contract.problems import CannotRunError, RefusedError
from kafka_replication.components.flows.resolved import ResolvedFlow
from kafka_replication.components.kafka.positions import TopicPartition
from kafka_replication.infra.commands.drill import rehearse
from kafka_replication.infra.operate.rehearse.drill import Drill, drill_group, read_record
from kafka_replication.infra.stack.settings import StackSettings, read_settings
from tests.builders import a_resolved_flow, a_topology
from tests.components.clients.brokers import Cluster
from tests.infra.operate.move.night import KilledError, Night, Writer, a_night
from tests.infra.operate.move.test_failover import ONE_WAY, PARTS, SELECTED, of_topology
from tests.infra.stacks import write_stack

ORDERS, REMOTE = TopicPartition("orders", 0), TopicPartition("useast.orders", 0)
GROUP = "replication-drill-orders"


class NotingWriter(Writer):
    """Notes its commits and deletions; these brokers cannot delete a group."""

    def __init__(self, alias: str, cluster: Cluster, done: list[str]) -> None:
        super().__init__(alias, cluster.config)
        self._name, self._done = alias, done

    def commit(self, group: str, offsets: Any) -> None:
        super().commit(group, offsets)
        self._done.append(f"{self._name}: {group} committed")

    def delete(self, group: str) -> None:
        self._done.append(f"{self._name}: {group} deleted")


DELETED = [f"useast: {GROUP} deleted", f"uswest: {GROUP} deleted"]
COMMITTED = [f"useast: {GROUP} committed", f"uswest: {GROUP} committed"]


def a_night_of(flow: ResolvedFlow, remote: str = REMOTE.topic) -> Night:
    """Twelve replicated records; the group of the drill has read seven, and two of these were sent again."""
    source, target = Cluster(), Cluster()
    source.hold("orders", [(value, "") for value in range(12)])
    target.hold(remote, [(value, "") for value in [*range(12), 3, 4]])
    return a_night(flow, source, target, {"checkout-app": {ORDERS: 4}})


def a_drill(night: Night, done: list[str], *, killed: bool = False, records: int = 5) -> Drill:
    source, target = NotingWriter("useast", night.source, done), NotingWriter("uswest", night.target, done)
    target.killed_before = drill_group(night.flow.name) if killed else ""
    drill = Drill(night, records, 0)
    drill.on_source, drill.on_target = source, target
    return drill


@pytest.fixture
def settings(tmp_path: Path) -> StackSettings:
    return read_settings("test", write_stack(tmp_path, a_topology()))


@pytest.mark.parametrize(
    ("replication", "remote"),
    [
        pytest.param({"kind": "flow", **ONE_WAY}, REMOTE.topic, id="default policy"),
        pytest.param({"kind": "flow", "policy": "identity", **ONE_WAY}, "orders", id="identity policy"),
        pytest.param({"kind": "mirrorMaker2", **ONE_WAY}, REMOTE.topic, id="mirrorMaker2"),
        pytest.param({"kind": "flow", **PARTS}, REMOTE.topic, id="several source connectors"),
    ],
)
def test_a_drill_skips_nothing_and_reads_again_as_many_records_as_announced(
    replication: dict[str, object], remote: str, settings: StackSettings, capsys: pytest.CaptureFixture[str]
) -> None:
    done: list[str] = []
    night = a_night_of(of_topology(replication), remote)
    rehearse(a_drill(night, done), settings)
    said = capsys.readouterr().out
    assert said.splitlines()[:2] == [
        f"✓ rights     the connectors' user may commit for 1 group on {alias}" for alias in ("useast", "uswest")
    ]
    assert "✓ 5 records in 1 partition to read: 0 skipped, 2 read again (2 announced)" in said
    assert done == [*DELETED, *COMMITTED, *DELETED]
    record = read_record(settings, "orders")
    assert record is not None
    assert (record.passed, record.expected, record.skipped, record.announced, record.read_again) == (True, 5, 0, 2, 2)
    assert [step.name for step in record.steps] == ["group", "positions", "commit", "read"]


def test_a_drill_of_a_pair_reads_again_at_least_as_many_records_as_announced(
    settings: StackSettings, capsys: pytest.CaptureFixture[str]
) -> None:
    """The source holds 0 1 2 and then 3 4 from the target; the target holds 3 4 and then 0 1 2."""
    source, target = Cluster(), Cluster()
    there, here = "replicated-from-uswest", "replicated-from-useast"
    source.hold("orders", [(0, ""), (1, ""), (2, ""), (3, there), (4, there)])
    target.hold("orders", [(3, ""), (4, ""), (0, here), (1, here), (2, here)])
    flow = of_topology({"kind": "prefixlessPair", "between": ["useast", "uswest"], "topics": ["orders"]})
    rehearse(a_drill(a_night(flow, source, target, {}), [], records=1), settings)
    said = capsys.readouterr().out
    assert "✓ 1 record in 1 partition to read: 0 skipped, 3 read again (at least 3 announced)" in said


def test_real_groups_and_connectors_are_not_touched(settings: StackSettings) -> None:
    night, patched = a_night_of(a_resolved_flow(**SELECTED)), []
    night.operator.before_patch = lambda: patched.append("patched")
    done: list[str] = []
    rehearse(a_drill(night, done), settings)
    assert patched == []
    assert [action for action in done if GROUP not in action] == []
    assert night.positions(REMOTE) == {}


def test_a_record_that_does_not_arrive_fails_the_drill_and_counts_as_skipped(settings: StackSettings) -> None:
    night = a_night_of(a_resolved_flow(**SELECTED))
    night.source.hold("orders", [(12, "")])
    done: list[str] = []
    said = r"drill-failed: of 6 records in 1 partition: 1 skipped, 2 read again \(2 announced\)"
    with pytest.raises(RefusedError, match=said):
        rehearse(a_drill(night, done, records=6), settings)
    record = read_record(settings, "orders")
    assert record is not None
    assert (record.passed, record.skipped) == (False, 1)
    assert done[-2:] == DELETED


def test_a_drill_that_is_interrupted_removes_its_group_and_the_next_begins_anew(settings: StackSettings) -> None:
    night, done = a_night_of(a_resolved_flow(**SELECTED)), list[str]()
    with pytest.raises(KilledError):
        rehearse(a_drill(night, done, killed=True), settings)
    assert done == [*DELETED, COMMITTED[0], *DELETED]
    assert read_record(settings, "orders") is None
    rehearse(a_drill(night, done), settings)
    assert done[5:] == [*DELETED, *COMMITTED, *DELETED]


def test_a_drill_is_refused_before_it_begins_if_a_right_is_missing(settings: StackSettings) -> None:
    night, done = a_night_of(a_resolved_flow(**SELECTED)), list[str]()
    night.missing[:] = [MissingReads(groups=(GROUP,), topics=("orders",))]
    refusal = f"precondition-unmet: preconditions are not met: the connectors' user may not commit for {GROUP} on"
    with pytest.raises(RefusedError, match=refusal):
        rehearse(a_drill(night, done), settings)
    assert done == []


def test_a_right_that_a_cluster_does_not_report_does_not_stop_a_drill(
    settings: StackSettings, capsys: pytest.CaptureFixture[str]
) -> None:
    night = a_night_of(a_resolved_flow(**SELECTED))
    night.missing[:] = [MissingReads(unknown=(f"group {GROUP}",))]
    rehearse(a_drill(night, []), settings)
    assert f"! rights     useast does not say whether the connectors' user may commit for group {GROUP}" in (
        capsys.readouterr().out
    )


def test_a_drill_is_refused_if_the_topics_have_no_records(settings: StackSettings) -> None:
    night = a_night(a_resolved_flow(**SELECTED), Cluster(), Cluster(), {})
    with pytest.raises(RefusedError, match="drill-without-records"):
        rehearse(a_drill(night, []), settings)


def test_a_drill_is_refused_if_a_partition_is_missing_on_the_target(settings: StackSettings) -> None:
    night, done = a_night_of(a_resolved_flow(topics=("orders", "stock"))), list[str]()
    night.source.hold("stock", [(1, "")])
    with pytest.raises(RefusedError, match=r"drill-without-partition: uswest does not have useast\.stock-0, at flow"):
        rehearse(a_drill(night, done), settings)
    assert done == [*DELETED, *DELETED]
    assert read_record(settings, "orders") is None


def test_a_drill_is_refused_if_a_position_is_not_proven(settings: StackSettings) -> None:
    night, done = a_night_of(a_resolved_flow(**SELECTED)), list[str]()
    night.target.hold(REMOTE.topic, [(500, "")])
    with pytest.raises(RefusedError, match="drill-without-position: its position in orders-0 is not proven"):
        rehearse(a_drill(night, done), settings)
    assert done == [*DELETED, COMMITTED[0], *DELETED]


def test_a_drill_of_a_transformed_flow_is_refused_before_anything_is_changed(
    settings: StackSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    night, done = a_night_of(a_resolved_flow(**SELECTED)), list[str]()
    transformed = night.parameters.model_copy(update={"transformed": True})
    monkeypatch.setattr(Night, "parameters", transformed)
    with pytest.raises(RefusedError, match="records-not-comparable"):
        rehearse(a_drill(night, done), settings)
    assert done == []


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (KafkaError.GROUP_ID_NOT_FOUND, None),
        (KafkaError.NON_EMPTY_GROUP, "Kafka does not delete a running group"),
        (
            KafkaError.GROUP_AUTHORIZATION_FAILED,
            "--operation Read --operation Delete --group 'replication-drill-orders'",
        ),
        (KafkaError._TIMED_OUT, "run the command again"),
    ],
)
def test_a_group_that_cannot_be_deleted_is_an_error_with_a_remedy(
    code: int, said: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The brokers in this process do not support this request."""
    answered: Future[None] = Future()
    answered.set_exception(KafkaException(KafkaError(code)))
    writer = GroupWriter("uswest", {"bootstrap.servers": "localhost:1", "log_level": 0})
    admin = type("Admin", (), {"delete_consumer_groups": lambda *_, **__: {GROUP: answered}})()
    monkeypatch.setattr(writer, "_admin", admin)
    if said is None:
        writer.delete(GROUP)
    else:
        with pytest.raises(CannotRunError, match="delete-refused") as raised:
            writer.delete(GROUP)
        assert said in str(raised.value)
