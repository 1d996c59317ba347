"""Offset files: what is read, what is refused at which line, and what a file changes. Needs no cluster."""

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_replication.components.contract.problems import CannotRunError, RefusedError
from kafka_replication.components.kafka.connectors import offsets_document
from kafka_replication.components.kafka.mirror_records import OffsetSync
from kafka_replication.components.kafka.offset_syncs import SyncHistory
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.components.render.job_parameters import flow_parameters
from kafka_replication.infra.kubernetes.api import Object
from kafka_replication.infra.operate.flow_access import FlowAccess
from kafka_replication.infra.operate.offsets.change import CONNECTOR, PURPOSE, arm, disarm, interrupted, refuse
from kafka_replication.infra.operate.offsets.file import Entry, OffsetsFile, csv_text, entries, json_text
from kafka_replication.infra.operate.offsets.plan import Known, mistakes, moves, of_those, resets
from kafka_replication.infra.operate.offsets.reader import OffsetsReader
from tests.builders import a_resolved_flow
from tests.infra.operate.connectors.test_changes import PLACES, SOURCE, a_connector, a_request, announce, applied

ZERO, ONE, STOCK = TopicPartition("orders", 0), TopicPartition("orders", 1), TopicPartition("stock", 0)


def known(**given: Any) -> Known:
    """A flow with two topics. Connect has replicated orders-0 up to 41, and no other partition."""
    ordinary: dict[str, Any] = {
        "source": "useast",
        "start_from": "earliest",
        "topics": {"orders": 2, "stock": 1, "other": 1},
        "logs": {ZERO: OffsetRange(10, 100), ONE: OffsetRange(0, 50), STOCK: OffsetRange(0, 0)},
        "connectors": {"orders": "orders-source", "stock": "orders-source"},
        "stored": {("orders-source", ZERO): 41, ("other-source", ONE): 7},
        "syncs": {ZERO: SyncHistory((OffsetSync(10, 0), OffsetSync(40, 30)))},
    }
    return Known(**ordinary | given)


def read(text: str, name: str = "offsets.yaml") -> list[Entry]:
    found, problems = entries(OffsetsFile(name, text))
    assert not problems
    return found


def moved(text: str, name: str = "offsets.yaml", **given: Any) -> list[tuple[str, int, int, int | None]]:
    """What the file changes: the partition, its offset before and after, and the offset that Connect will store."""
    found, problems = moves(read(text, name), known(**given), lambda _, time_ms: time_ms // 1000)
    assert not problems
    return [(str(each.partition), each.now, each.then, each.stored) for each in found]


def test_an_offset_names_the_next_record_and_connect_stores_the_one_before_it() -> None:
    assert moved("- {topic: orders, partition: 0, offset: 20}") == [("orders-0", 42, 20, 19)]


def test_offset_zero_is_set_by_deleting_the_stored_offset() -> None:
    stored = {("orders-source", ONE): 7}
    assert moved("- {topic: orders, partition: 1, offset: 0}", stored=stored) == [("orders-1", 8, 0, None)]


def test_a_whole_topic_goes_to_its_beginning_its_end_or_a_time() -> None:
    assert moved("- {topic: orders, offset: earliest}") == [("orders-0", 42, 10, 9)]
    assert moved("- {topic: orders, offset: latest}") == [("orders-0", 42, 100, 99), ("orders-1", 0, 50, 49)]
    at = "- {topic: orders, time: 1970-01-01T00:00:45Z}"
    assert moved(at) == [("orders-0", 42, 45, 44), ("orders-1", 0, 45, 44)]


def test_a_csv_file_means_the_same_as_a_yaml_file() -> None:
    text = "topic,partition,offset,time\norders,0,20,\n\norders,1,,1970-01-01T00:00:45Z\n"
    assert moved(text, "offsets.csv") == [("orders-0", 42, 20, 19), ("orders-1", 0, 45, 44)]


def test_setting_the_offsets_that_list_printed_changes_nothing() -> None:
    positions = known().positions()
    assert positions == {ZERO: 42, ONE: "earliest", STOCK: "earliest"}
    assert moved(json_text("useast", positions)) == moved(csv_text("useast", positions), "o.csv") == []
    at_the_end = known(start_from="latest").positions()
    assert moved(json_text("useast", at_the_end), start_from="latest") == []


def test_a_partition_that_the_plan_did_not_change_is_not_rewound_later() -> None:
    both = read("[{topic: orders, partition: 0, offset: 42}, {topic: orders, partition: 1, offset: 20}]")
    agreed, _ = moves(both, known(stored={("orders-source", ZERO): 41, ("orders-source", ONE): 30}), lambda _, __: 0)
    later, _ = moves(both, known(stored={("orders-source", ZERO): 90, ("orders-source", ONE): 40}), lambda _, __: 0)
    assert [each.partition for each in later] == [ZERO, ONE]
    assert [(each.partition, each.now, each.then) for each in of_those(later, agreed)] == [(ONE, 41, 20)]


def test_a_plan_says_what_is_replicated_again_or_left_out() -> None:
    text = "- {topic: orders, partition: 0, offset: 20}\n- {topic: orders, partition: 1, offset: 5}"
    found, _ = moves(read(text), known(), lambda *_: 0)
    assert [each.text for each in found] == [
        "orders-0: now 42, then 20: replicates up to 22 records again; its offset syncs, the newest at 40, no longer "
        "count",
        "orders-1: now 0, then 5: skips up to 5 records",
    ]


@pytest.mark.parametrize(
    ("stored", "start_from", "now"), [(900, "earliest", 10), (3, "earliest", 10), (3, "latest", 100)]
)
def test_an_offset_that_the_log_no_longer_has_is_replaced(stored: int, start_from: str, now: int) -> None:
    """The topic was created again or retention passed it: the connector starts as it would without an offset."""
    given: dict[str, Any] = {"stored": {("orders-source", ZERO): stored}, "start_from": start_from}
    assert known(**given).positions()[ZERO] == start_from
    (move,), _ = moves(read("- {topic: orders, partition: 0, offset: 10}"), known(**given), lambda *_: 0)
    assert (move.now, move.then, move.stored) == (now, 10, 9)
    if now == 10:
        assert move.text == "orders-0: continues at 10 as before; this offset will now be stored"


def test_a_reset_sets_every_partition_to_its_beginning() -> None:
    assert [(each.partition, each.then, each.stored) for each in resets(known())] == [
        (ZERO, 10, None), (ONE, 0, None), (STOCK, 0, None)
    ]  # fmt: skip


def test_a_flow_that_stops_at_a_gap_is_not_reset_as_it_would_begin_where_its_first_start_was() -> None:
    flow = a_resolved_flow()
    reader = OffsetsReader(cast(FlowAccess, SimpleNamespace(flow=flow, parameters=flow_parameters(flow))))
    with pytest.raises(RefusedError, match="reset-starts-earlier"):
        reader.resets(known(stop=True))


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("{topic: orders, partitio: 0, offset: 12}", "unknown-key", "write `partition`."),
        ("{partition: 0, offset: 12}", "no-topic", "`topic` is missing"),
        ("{topic: orders, partition: 0}", "no-position", "neither `offset` nor `time` is set"),
        ("{topic: orders, offset: latest, time: 2026-01-31T00:00:00Z}", "no-position", "are both set"),
        ("{topic: orders, partition: 0, offset: -1}", "invalid-offset", "offset `-1` is not one"),
        ("{topic: orders, partition: 0, offset: null}", "invalid-offset", "offset `null`"),
        ("{topic: orders, partition: zero, offset: 12}", "invalid-partition", "partition `zero`"),
        ("{topic: orders, offset: 12}", "no-partition", "offset 12 is for a whole topic"),
        ("{topic: orders, time: 2026-01-31T00:00:00}", "invalid-time", "without a time zone"),
        ("{source: uswest, topic: orders, offset: latest}", "unknown-source", "write `useast`"),
        ("{topic: order, offset: latest}", "unknown-topic", "write `orders`."),
        ("{topic: other, offset: latest}", "topic-not-replicated", "the flow does not replicate topic `other`"),
        ("{topic: orders, partition: 2, offset: 12}", "unknown-partition", "the partitions 0 to 1"),
        ("{topic: orders, partition: 0, offset: 101}", "offset-out-of-range", "after the end of orders-0"),
        ("{topic: orders, partition: 0, offset: 9}", "offset-out-of-range", "before the first record of orders-0"),
    ],
)
def test_a_mistake_is_named_with_its_line(line: str, code: str, said: str) -> None:
    file = OffsetsFile("offsets.yaml", f"# moved back\n- {line}\n")
    found, problems = entries(file)
    (problem,) = [*problems, *mistakes(found, known())]
    assert (problem.code, problem.place and problem.place.line) == (code, 2)
    assert said in problem.text


@pytest.mark.parametrize(
    "second",
    ["{topic: orders, partition: 0, offset: 12}", "{topic: orders, offset: latest}"],
    ids=["same partition", "whole topic"],
)
def test_a_partition_in_two_lines_is_refused_in_either_order(second: str) -> None:
    first = "{topic: orders, partition: 0, offset: 11}"
    for lines in ((first, second), (second, first)):
        (problem,) = entries(OffsetsFile("o.yaml", "".join(f"- {line}\n" for line in lines)))[1]
        assert (problem.code, problem.place and problem.place.line) == ("duplicate-offset", 2)
        assert "in line 1" in problem.text


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("o.yaml", "", "it is not a list of entries"),
        ("o.yaml", "topic: orders", "it is not a list of entries"),
        ("o.yaml", "- {topic: [orders]}", "line 1: a value is a list or a mapping"),
        ("o.yaml", "- {topic: orders", "line 1: expected"),
        ("o.yaml", "[]", "it has no entry"),
        ("o.csv", "orders,0,12", "its first line does not name the columns"),
    ],
)
def test_a_malformed_file_is_refused(name: str, text: str, said: str) -> None:
    with pytest.raises(CannotRunError, match=said):
        entries(OffsetsFile(name, text))


def test_offset_zero_is_refused_if_connectors_start_at_the_latest_record() -> None:
    stored = {("orders-source", ONE): 7}
    wanted = read("- {topic: orders, partition: 1, offset: 0}")
    _, (problem,) = moves(wanted, known(stored=stored, start_from="latest"), lambda *_: 0)
    assert problem.code == "offset-not-storable"


def test_connect_gets_an_offset_for_each_source_partition_and_null_for_the_beginning() -> None:
    assert offsets_document("useast", {ONE: None, ZERO: 19})["offsets"] == [
        {"partition": {"cluster": "useast", "topic": "orders", "partition": 0}, "offset": {"offset": 19}},
        {"partition": {"cluster": "useast", "topic": "orders", "partition": 1}, "offset": None},
    ]


ALL = replace(
    SOURCE,
    name="useast->uswest.MirrorSourceConnector",
    resource=replace(SOURCE.resource, kind="KafkaMirrorMaker2"),
)
DISARM = "kubectl annotate kafkaconnector orders-source -n mirror-orders strimzi.io/connector-offsets-"
STOP = "`replicate stop prod orders --connector 'orders-source'`"


def a_mirror_maker() -> Object:
    """A KafkaMirrorMaker2 as the API server has it."""
    mirror = {"source": {"alias": "useast"}, "sourceConnector": {"state": "running"}}
    metadata = {"name": SOURCE.name, "resourceVersion": "7", "annotations": {"kept": "yes"}}
    return {"kind": "KafkaMirrorMaker2", "metadata": metadata, "spec": {"mirrors": [mirror]}}


@pytest.mark.parametrize("verb", ["alter", "reset"])
def test_a_request_to_change_offsets_can_be_withdrawn_from_the_operator(verb: str) -> None:
    for place, body in ((SOURCE, a_connector(SOURCE)), (ALL, a_mirror_maker())):
        armed = applied_all(arm(place, body, verb), body)
        assert armed["metadata"]["annotations"]["strimzi.io/connector-offsets"] == verb
        assert (armed["metadata"]["annotations"].get(CONNECTOR) == place.name) is (place is ALL)
        assert ("alterOffsets" in json.dumps(armed["spec"])) is (verb == "alter")
        assert applied_all(disarm(place, armed), armed) == body
        assert disarm(place, body) == []


def applied_all(patch: list[Object], body: Object) -> Object:
    """The object after a JSON patch, including removals, which `applied` ignores."""
    removed = [each for each in patch if each["op"] == "remove"]
    result = applied(type("Change", (), {"patch": [each for each in patch if each not in removed]})(), body)
    for each in removed:
        *path, last = each["path"].split("/")[1:]
        place = result
        for step in path:
            place = place[int(step)] if isinstance(place, list) else place[step]
        del place[last]
    return result


def armed_by_somebody(body: Object) -> None:
    body["metadata"]["annotations"]["strimzi.io/connector-offsets"] = "reset"


def left_over(body: Object) -> None:
    body["metadata"]["annotations"][CONNECTOR] = "orders-source"


LEFT_OVER = (
    f"the annotation `{CONNECTOR}` of an earlier request is still on orders-source, at KafkaConnector mirror-orders/"
    "orders-source. It would name the connector of the next request. Remedy: if nobody needs it, remove it: `kubectl "
    f"annotate kafkaconnector orders-source -n mirror-orders {CONNECTOR}-`."
)


@pytest.mark.parametrize(
    ("edit", "code", "said"),
    [
        (armed_by_somebody, "offsets-armed", DISARM),
        (left_over, "offsets-armed", LEFT_OVER),
        (lambda body: announce(body, "bob"), "connector-paused", STOP),
        (lambda body: announce(body, f"bob{PURPOSE}", "stopped"), "state-of-another", "ask bob, or add `--take-over`"),
    ],
    ids=["armed", "half withdrawn", "paused", "another's"],
)  # fmt: skip
def test_offsets_are_not_set_while_somebody_else_controls_the_connector(edit: Any, code: str, said: str) -> None:
    with pytest.raises(RefusedError) as caught:
        refuse(a_request("stopped"), PLACES[:1], {SOURCE.resource: a_connector(SOURCE, edit)})
    assert caught.value.code == code
    assert said in str(caught.value)


def test_a_user_can_continue_their_own_interrupted_call() -> None:
    def left(body: Object) -> None:
        announce(body, f"ann{PURPOSE}", "stopped")
        armed_by_somebody(body)

    body = a_connector(SOURCE, left)
    assert interrupted(SOURCE, body)
    refuse(a_request("stopped", by=f"ann{PURPOSE}"), [SOURCE], {SOURCE.resource: body})


def test_a_connector_that_stopped_at_a_gap_continues_at_the_first_record_only_if_that_is_stored() -> None:
    """Without an offset in Connect it would begin at the offset of its group, which the source has deleted, too."""
    logs = {ZERO: OffsetRange(50, 100), ONE: OffsetRange(20, 50), STOCK: OffsetRange(0, 0)}
    entry = read("- {topic: orders, offset: earliest}")
    stopped = known(stop=True, logs=logs)
    assert stopped.positions()[ZERO] == 42
    changes, problems = moves(entry, stopped, lambda *_: 0)
    assert not problems
    assert [(change.now, change.then, change.stored) for change in changes] == [(42, 50, 49), (20, 20, 19)]
