"""What stops a move before its flows start: missing offsets, tasks that still run, a mirror that runs again."""

import copy
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_replication.components.clients.errors import NoAnswerError
from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.kafka.positions import TopicPartition
from kafka_replication.components.kafka.record_identity import KafkaRecord
from kafka_replication.components.render.job_parameters import flow_parameters
from kafka_replication.infra.deploy.adoption.carry_out import MoveRun
from kafka_replication.infra.deploy.adoption.moves import MirrorMove
from kafka_replication.infra.kubernetes.api import KubernetesApi
from kafka_replication.infra.operate.flow_access import FlowAccess
from kafka_replication.infra.operate.offsets.reader import OffsetsReader
from kafka_replication.infra.stack.settings import StackSettings
from tests.infra.deploy.adoption.test_moves import SOURCE, plan_of, stopped

HERE = TopicPartition("any", 0)


def a_moving(folder: Path, *agreed: str) -> tuple[MoveRun, MirrorMove]:
    plan = plan_of(folder)
    now = datetime(2026, 1, 2, tzinfo=UTC)
    settings = cast(StackSettings, None)
    return MoveRun(settings, plan, "ann", now, 0, frozenset(agreed), lambda _: None), plan.moves.mirrors[0]


def readers(move: MirrorMove, records: dict[str, list[tuple[Any, Any]]] | NoAnswerError) -> dict[str, OffsetsReader]:
    """The target, with the records of its topics; keys and values are written as JSON unless they are bytes."""

    def read(topic: str) -> list[KafkaRecord]:
        if isinstance(records, NoAnswerError):
            raise records
        return [
            KafkaRecord(HERE, at, 0, _data(key), _data(value), ()) for at, (key, value) in enumerate(records[topic])
        ]

    parameters = flow_parameters(move.flows[0])
    target = SimpleNamespace(records=read)
    opened = SimpleNamespace(flow=move.flows[0], parameters=parameters, reader=lambda _: target)
    return {"orders": OffsetsReader(cast(FlowAccess, opened))}


def ahead(move: MirrorMove, mirrored: int, stored: int) -> dict[str, OffsetsReader]:
    """A mirror that has copied the offset `mirrored`, and a flow for which Connect has stored the offset `stored`."""
    (reader,) = readers(move, {move.topic("offset"): [offset(0, mirrored)]}).values()
    place = move.waiting[0]
    known = {(place.name, TopicPartition("orders", 0)): stored}
    fake = SimpleNamespace(parameters=reader.parameters, records=reader.records, places=(place,), stored=lambda: known)
    return {"orders": cast(OffsetsReader, fake)}


def _data(value: Any) -> bytes | None:
    return value if value is None or isinstance(value, bytes) else json.dumps(value).encode()


def offset(partition: int, stored: int | None, connector: str = SOURCE, cluster: str = "useast") -> tuple[Any, Any]:
    key = [connector, {"cluster": cluster, "partition": partition, "topic": "orders"}]
    return key, None if stored is None else {"offset": stored}


def test_only_the_last_offsets_of_the_mirror_are_carried(tmp_path: Path) -> None:
    moving, move = a_moving(tmp_path)
    kept = [
        offset(0, 41),
        offset(1, 7),
        offset(0, 50),
        offset(1, None),
        offset(2, 9, "other"),
        offset(3, 9, cluster="x"),
    ]
    assert moving._mirrored(move, readers(move, {move.topic("offset"): kept})) == {TopicPartition("orders", 0): 50}


def test_a_mirror_without_offsets_needs_an_agreement(tmp_path: Path) -> None:
    """Its flow would copy everything: perhaps the topology names another cluster."""
    moving, move = a_moving(tmp_path)
    empty = readers(move, {move.topic("offset"): [offset(0, 41, "other")]})
    with pytest.raises(CannotRunError, match=r"no-offsets: .*add `--agree re-read:orders`"):
        moving._mirrored(move, empty)
    (tmp_path / "agreed").mkdir()
    agreed, move = a_moving(tmp_path / "agreed", "re-read:orders")
    assert agreed._mirrored(move, empty) == {}


def test_a_mirror_that_has_just_started_is_given_time_to_store_offsets(tmp_path: Path) -> None:
    moving, move = a_moving(tmp_path)
    api = cast(KubernetesApi, SimpleNamespace(get=lambda _: copy.deepcopy(move.live)))
    topic, asked = move.topic("offset"), []
    first = readers(move, {topic: []})["orders"]
    later = readers(move, {topic: [offset(0, 41)]})["orders"]

    def of(alias: Any) -> Any:
        asked.append(alias)
        return (first if len(asked) == 1 else later).opened.reader(alias)

    opened = SimpleNamespace(flow=first.flow, parameters=first.parameters, reader=of)
    fake = OffsetsReader(cast(FlowAccess, opened))
    replace(moving, seconds=60.0)._wait_stored(api, move, {"orders": fake})
    assert len(asked) == 2
    stopped(move.live)
    moving._wait_stored(api, move, {"orders": fake})
    assert len(asked) == 2, "one that has stopped stores nothing more"


def test_tasks_that_do_not_end_stop_the_move_unless_agreed(tmp_path: Path) -> None:
    moving, move = a_moving(tmp_path)
    going = readers(move, {move.topic("status"): [(f"status-task-{SOURCE}-0".encode(), {"state": "RUNNING"})]})
    with pytest.raises(CannotRunError, match=f"tasks-not-ended: .*tasks 0 of {SOURCE} have not ended"):
        moving._wait_ended(move, going)
    ended = readers(move, {move.topic("status"): [(f"status-task-{SOURCE}-0".encode(), {"state": "UNASSIGNED"})]})
    moving._wait_ended(move, ended)
    (tmp_path / "agreed").mkdir()
    agreed, move = a_moving(tmp_path / "agreed", "re-read:orders")
    agreed._wait_ended(move, going)


def test_tasks_of_a_flow_are_looked_up_in_the_status_topic_of_its_workers(tmp_path: Path) -> None:
    """`replicate offsets` waits for these tasks, too."""
    _, move = a_moving(tmp_path)
    key = b"status-task-orders-source-0"
    reader = readers(move, {"mirror-orders-status-internal": [(key, {"state": "RUNNING"})]})["orders"]
    assert (reader.unended("orders-source"), reader.unended("other")) == ([0], [])
    assert (reader.present("orders-source"), reader.present("other")) == (frozenset({0}), frozenset())
    silent = readers(move, NoAnswerError("no broker answers"))["orders"]
    with pytest.raises(CannotRunError, match="kafka-not-asked: no broker answers"):
        silent.unended("orders-source")


def test_a_target_cluster_that_does_not_answer_stops_the_move(tmp_path: Path) -> None:
    moving, move = a_moving(tmp_path)
    with pytest.raises(CannotRunError, match="kafka-not-asked: no broker answers"):
        moving._mirrored(move, readers(move, NoAnswerError("no broker answers")))


def test_a_mirror_that_runs_again_stops_the_move(tmp_path: Path) -> None:
    moving, move = a_moving(tmp_path)
    api = cast(KubernetesApi, SimpleNamespace(get=lambda _: copy.deepcopy(move.live)))
    with pytest.raises(CannotRunError, match=r"mirror-runs-again: .*MirrorSourceConnector"):
        moving._require_stopped(api, move)
    stopped(move.live)
    moving._require_stopped(api, move)


def test_a_flow_ahead_of_its_mirror_goes_back_only_with_an_agreement(tmp_path: Path) -> None:
    """The flow ran for a day after its move and was then destroyed, so the mirror's offsets are a day older."""
    moving, move = a_moving(tmp_path)
    moving._require_no_step_back(move, ahead(move, 41, 41))
    moving._require_no_step_back(move, ahead(move, 42, 41))
    with pytest.raises(CannotRunError, match=r"flow-is-ahead: .*orders-0: now 43, then 42.*--agree re-read:orders"):
        moving._require_no_step_back(move, ahead(move, 41, 42))
    (tmp_path / "agreed").mkdir()
    agreed, move = a_moving(tmp_path / "agreed", "re-read:orders")
    agreed._require_no_step_back(move, ahead(move, 41, 42))
