"""What a keeper writes, and what a failover makes of it when the source is lost."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest

from kafka_replication.components.clients.errors import NoAnswerError
from kafka_replication.components.contract.kept_positions import (
    KeptPositions,
    PositionKey,
    kept_positions,
    position_record,
    positions_topic,
)
from kafka_replication.components.kafka.positions import CommittedOffset, OffsetRange, TopicPartition
from kafka_replication.components.kafka.record_identity import KafkaRecord
from kafka_replication.infra.operate.keep.keeper import FlowKeeper, LookResult
from kafka_replication.infra.operate.move.facts import Mode
from kafka_replication.infra.operate.status.kafka_facts import kept_ms
from tests.components.clients.brokers import Cluster, Reader
from tests.infra.operate.move.night import Night, a_night, fail_over
from tests.infra.operate.move.test_failover import GROUPS, ORDERS, SELECTED, of_topology


class WithIds(Reader):
    """Its topics have ids, of which librdkafka's brokers know none."""

    def topic_ids(self, topics: Iterable[str]) -> dict[str, str]:
        return {topic: f"id of {topic}" for topic in topics}


@pytest.fixture(autouse=True)
def _ids(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Reader, "topic_ids", WithIds.topic_ids)


@pytest.fixture(params=["default", "identity"])
def night(request: pytest.FixtureRequest) -> Night:
    """Ten records of the source, six of them replicated, and two groups there."""
    flow = of_topology({"kind": "flow", "source": "useast", "target": "uswest", "policy": request.param, **SELECTED})
    source, target = Cluster(), Cluster()
    source.hold("orders", numbered(range(10)))
    target.hold("orders" if request.param == "identity" else "useast.orders", numbered(range(6)))
    return a_night(flow, source, target, {group: {ORDERS: offset} for group, offset in GROUPS.items()})


def numbered(numbers: Iterable[int]) -> list[tuple[int, str]]:
    return [(number, "") for number in numbers]


def remote(night: Night) -> TopicPartition:
    return night.parameters.replication_policy.remote_partition(ORDERS)


class NotWrittenError(Exception):
    """Kafka does not take the records."""


def look(night: Night, keeper: FlowKeeper | None = None, *, fails: bool = False) -> LookResult:
    """Look once; without a keeper, with one that has just started."""
    flow, readers, topic = night.parameters, night.readers(), positions_topic(night.flow.name)

    def write(records: Iterable[tuple[bytes, bytes | None]]) -> None:
        if fails:
            raise NotWrittenError
        for key, value in records:
            night.target.producer.produce(topic, value, key, 0)
        assert night.target.producer.flush(10) == 0

    if keeper is None:
        keeper = FlowKeeper(flow)
        keeper.begin(flow, kept_positions(flow.name, readers["target"].records(topic)))
    return keeper.look(readers["source"], readers["target"], write)


def written(night: Night, keeper: FlowKeeper | None = None) -> int:
    """Look once, and return how many positions are written."""
    topic = positions_topic(night.flow.name)
    before = len(night.readers()["target"].records(topic))
    look(night, keeper)
    return len(night.readers()["target"].records(topic)) - before - 1


def publish(night: Night, key: bytes, value: bytes | None) -> KeptPositions:
    """Write a record as somebody else would, and return what the topic then holds."""
    topic = positions_topic(night.flow.name)
    night.target.producer.produce(topic, value, key, 0)
    assert night.target.producer.flush(10) == 0
    return kept_positions(night.flow.name, night.readers()["target"].records(topic))


def offsets(kept: LookResult) -> dict[str, int]:
    return {
        group: position.offset for group, by_partition in kept.positions.items() for position in by_partition.values()
    }


def test_a_group_continues_where_the_target_ended_before_its_next_record_was_written(night: Night) -> None:
    kept = look(night)
    assert offsets(kept) == {"checkout-web": 6, "checkout-app": 0}
    said = "keeps 2 positions of 2 groups; checkout-app in orders-0 is before every end that was seen, "
    assert kept.text == f"{said}so MirrorMaker's checkpoint counts there"


def test_a_status_knows_when_a_keeper_last_looked(night: Night) -> None:
    seen: list[int | None] = []
    for _ in range(3):
        seen.append(kept_ms(night.parameters, night.readers()["target"]))
        look(night)
    never, first, second = seen
    assert never is None
    assert first is not None
    assert second is not None
    assert first < second


def test_a_keeper_that_was_ended_while_it_wrote_is_still_known_to_have_looked(night: Night) -> None:
    """The newest records of the topic are then those of a transaction without a look."""
    look(night)
    before = kept_ms(night.parameters, night.readers()["target"])
    for number in range(3):
        publish(night, f"unfinished {number}".encode(), b"")
    assert before is not None
    assert kept_ms(night.parameters, night.readers()["target"]) == before


def test_only_what_has_changed_is_written(night: Night) -> None:
    keeper = FlowKeeper(night.parameters)
    assert [written(night, keeper) for _ in range(2)] == [2, 0]
    night.source.commit("checkout-web", {ORDERS: 9})
    assert written(night, keeper) == 1


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """One group is asked at a time, once it is known that it has a position."""
    monkeypatch.setattr("kafka_replication.infra.operate.keep.keeper._AT_ONCE", 1)


def parts_of_a_look(night: Night, keeper: FlowKeeper) -> list[KeptPositions]:
    """Look once, and return what each transaction holds."""
    source, target = night.readers()["source"], night.readers()["target"]
    topic = TopicPartition(positions_topic(night.flow.name), 0)
    written: list[KeptPositions] = []

    def write(records: Iterable[tuple[bytes, bytes | None]]) -> None:
        published = (KafkaRecord(topic, at, 0, *record, ()) for at, record in enumerate(records))
        written.append(kept_positions(night.flow.name, published))

    keeper.look(source, target, write)
    return written


@pytest.mark.usefixtures("parts")
def test_positions_without_a_readable_look_are_all_asked_for_before_a_look_is_written(night: Night) -> None:
    """The look of the first groups would else say that the others had been asked as well."""
    (known,) = parts_of_a_look(night, FlowKeeper(night.parameters))
    keeper = FlowKeeper(night.parameters)
    keeper.begin(night.parameters, replace(known, look=None))
    night.source.commit("checkout-app", {ORDERS: 9})
    night.source.commit("checkout-web", {ORDERS: 9})
    (only,) = parts_of_a_look(night, keeper)
    assert {key.group for key in only.positions} == {"checkout-app", "checkout-web"}


@pytest.mark.usefixtures("parts")
def test_a_look_at_very_many_positions_is_as_old_as_the_group_that_was_asked_first(night: Night) -> None:
    keeper = FlowKeeper(night.parameters)
    (first,) = parts_of_a_look(night, keeper)
    night.source.commit("checkout-app", {ORDERS: 9})
    night.source.commit("checkout-web", {ORDERS: 9})
    one, other = parts_of_a_look(night, keeper)
    assert [len({key.group for key in part.positions}) for part in (first, one, other)] == [2, 1, 1]
    assert one.positions.keys().isdisjoint(other.positions)
    assert one.look == first.look
    (third, _) = parts_of_a_look(night, keeper)
    assert first.look
    assert other.look
    assert third.look
    assert first.look.at_ms < other.look.at_ms < third.look.at_ms


@pytest.mark.usefixtures("parts")
def test_a_look_asks_for_the_ends_before_each_part(night: Night) -> None:
    """A group could otherwise continue at an end that is older than needed, or at one that came after its offset."""
    keeper = FlowKeeper(night.parameters)
    parts_of_a_look(night, keeper)
    night.source.hold("orders", numbered(range(10, 12)))
    night.source.commit("checkout-app", {ORDERS: 12})
    night.source.commit("checkout-web", {ORDERS: 12})
    source, target = night.readers()["source"], night.readers()["target"]
    ends: list[int | None] = []

    def write(records: Iterable[tuple[bytes, bytes | None]]) -> None:
        ends.extend(json.loads(value or b"{}").get("offset") for key, value in records)
        night.target.hold(remote(night).topic, numbered(range(6, 10)))

    keeper.look(source, target, write)
    assert [end for end in ends if end is not None] == [6, 10]


def test_groups_with_positions_in_most_partitions_are_asked_for_these(
    night: Night, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper, commits, asked = FlowKeeper(night.parameters), Reader.commits, []

    def noting(
        self: Reader, groups: Iterable[str], among: Sequence[TopicPartition] = ()
    ) -> dict[str, dict[TopicPartition, CommittedOffset]]:
        asked.append(list(among))
        return commits(self, groups, among)

    monkeypatch.setattr(Reader, "commits", noting)
    every = [ORDERS._replace(partition=number) for number in range(night.readers()["source"].topics()[ORDERS.topic])]
    look(night, keeper)
    night.source.commit("checkout-web", dict.fromkeys(every, 0))
    night.source.commit("checkout-app", {ORDERS: 4, every[1]: 0})
    kept = [look(night, keeper), look(night, keeper)]
    assert asked == [[], [], every]
    assert kept[0].positions == kept[1].positions


@pytest.mark.usefixtures("parts")
def test_positions_that_are_void_are_all_replaced_at_once(night: Night, monkeypatch: pytest.MonkeyPatch) -> None:
    keeper = FlowKeeper(night.parameters)
    parts_of_a_look(night, keeper)
    monkeypatch.setattr(Reader, "topic_ids", lambda _, topics: dict.fromkeys(topics, "another id"))
    one, other = parts_of_a_look(night, keeper)
    assert [sorted({key.group for key in part.positions}) for part in (one, other)] == [sorted(GROUPS), []]


@pytest.mark.parametrize("runs", [True, False], ids=["the keeper runs on", "a keeper starts afterwards"])
def test_what_producers_write_on_the_target_after_a_failover_moves_no_group(night: Night, *, runs: bool) -> None:
    """Under the policy identity they write to the topic that the flow fills."""
    keeper = FlowKeeper(night.parameters)
    night.source.commit("checkout-app", {ORDERS: 10})
    look(night, keeper)
    night.target.hold("orders", numbered(range(100, 120)))
    assert offsets(look(night, keeper if runs else None)) == {"checkout-web": 6, "checkout-app": 6}


def test_a_keeper_that_starts_again_continues_from_what_is_published(night: Night) -> None:
    look(night)
    night.source.hold("orders", numbered(range(10, 30)))
    night.target.hold(remote(night).topic, numbered(range(6, 30)))
    assert offsets(look(night)) == {"checkout-web": 6, "checkout-app": 0}


def test_the_position_of_a_group_that_is_gone_is_removed(night: Night) -> None:
    keeper = FlowKeeper(night.parameters)
    look(night, keeper)
    night.members.pop("checkout-app")
    look(night, keeper)
    kept = kept_positions(night.flow.name, night.readers()["target"].records(positions_topic(night.flow.name)))
    assert ({key.group for key in kept.positions}, kept.unreadable) == ({"checkout-web"}, 0)


def test_the_group_of_the_starts_is_no_application_of_a_flow_that_selects_no_groups() -> None:
    flow = of_topology({"kind": "flow", "source": "useast", "target": "uswest", "topics": ["orders"], "onLoss": "stop"})
    source, target = Cluster(), Cluster()
    source.hold("orders", numbered(range(10)))
    target.hold("useast.orders", numbered(range(6)))
    night = a_night(flow, source, target, {"app": {ORDERS: 8}, "__mm2-starts.orders": {ORDERS: 0}})
    assert offsets(look(night)) == {"app": 0}
    assert night.parameters.applications(night.members) == ["app"]


def test_a_failover_after_the_loss_of_the_source_uses_what_was_kept(
    night: Night, capsys: pytest.CaptureFixture[str]
) -> None:
    """MirrorMaker has written no checkpoint; one group consumed all, an earlier offset of it is on the target."""
    night.source.commit("checkout-web", {ORDERS: 10}, "clock 17")
    night.target.commit("checkout-web", {remote(night): 3})
    look(night)
    night.target.hold(remote(night).topic, numbered(range(6, 10)))
    night.dead.add("useast")
    fail_over(night, Mode.DISASTER)
    assert night.positions(remote(night)) == {"checkout-web": 6, "checkout-app": 0}
    commits = Reader("uswest", night.target.config).commits(GROUPS)
    assert commits["checkout-web"][remote(night)] == CommittedOffset(6, "clock 17")
    said = " ".join(capsys.readouterr().out.split())
    assert "✓ exact 2 of 2 positions to commit come from the keeper, which last looked " in said
    assert "read again checkout-web: at most 4 records; its offsets are known as of " in said


def test_a_failover_goes_on_by_the_checkpoints_if_what_was_kept_cannot_be_read(
    night: Night, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its login may describe the topic, and not read it."""
    topic, records = positions_topic(night.flow.name), Reader.records

    def refused(self: Reader, name: str, **given: int | None) -> list[KafkaRecord]:
        if name == topic:
            raise NoAnswerError("Kafka cluster uswest: the user may not read a topic", refused=True)
        return records(self, name, **given)

    look(night)
    monkeypatch.setattr(Reader, "records", refused)
    night.dead.add("useast")
    fail_over(night, Mode.DISASTER, dry_run=True)
    said = " ".join(capsys.readouterr().out.split())
    assert (
        "! exact none: what the keeper wrote cannot be used: Kafka cluster uswest: the user may not read a topic"
        in said
    )


def test_a_group_that_is_further_on_the_target_stays_there(night: Night) -> None:
    look(night)
    night.target.commit("checkout-web", {remote(night): 6})
    night.target.hold(remote(night).topic, numbered(range(6, 10)))
    night.target.commit("checkout-web", {remote(night): 8})
    night.dead.add("useast")
    fail_over(night, Mode.DISASTER)
    assert night.positions(remote(night))["checkout-web"] == 8


def test_a_deleted_topic_makes_its_positions_void(night: Night, monkeypatch: pytest.MonkeyPatch) -> None:
    keeper = FlowKeeper(night.parameters)
    look(night, keeper)
    monkeypatch.setattr(Reader, "topic_ids", lambda _, topics: dict.fromkeys(topics, "another id"))
    kept = look(night, keeper)
    assert ORDERS in kept.void
    assert (
        "orders-0, orders-1, orders-2 and 1 more lost the end of its log, or was created again, on the target"
        in kept.text
    )


def test_a_topic_created_again_with_fewer_partitions_keeps_nothing_of_the_others(
    night: Night, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MirrorMaker adds the others later, and they may have passed the old end before a keeper looks again."""
    last = ORDERS._replace(partition=3)
    keeper, topic, topics = FlowKeeper(night.parameters), remote(night).topic, Reader.topics
    monkeypatch.setattr(Reader, "ends", lambda _, asked, **_given: dict.fromkeys(asked, 5))
    night.source.commit("checkout-web", {last: 7})
    look(night, keeper)

    def fewer(self: Reader) -> dict[str, int]:
        return {name: 1 if name == topic and self.alias == "uswest" else many for name, many in topics(self).items()}

    with monkeypatch.context() as again:
        again.setattr(Reader, "topic_ids", lambda _, names: dict.fromkeys(names, "another id"))
        again.setattr(Reader, "topics", fewer)
        assert last not in look(night, keeper).positions["checkout-web"]
        again.setattr(Reader, "topics", topics)
        again.setattr(Reader, "ends", lambda _, asked, **_given: dict.fromkeys(asked, 9))
        assert look(night, keeper).positions["checkout-web"][last].offset == 0


@pytest.mark.parametrize("runs", [True, False], ids=["the keeper runs on", "a keeper starts afterwards"])
def test_a_log_that_lost_its_end_makes_the_lower_positions_void_too(
    night: Night, monkeypatch: pytest.MonkeyPatch, *, runs: bool
) -> None:
    """The group at the lower position would skip what the target's log holds now in place of what it lost."""
    keeper = FlowKeeper(night.parameters)
    night.source.commit("checkout-app", {ORDERS: 10})
    look(night, keeper)
    night.source.hold("orders", numbered(range(10, 12)))
    night.target.hold(remote(night).topic, numbered(range(6, 9)))
    night.source.commit("checkout-web", {ORDERS: 12})
    assert offsets(look(night, keeper)) == {"checkout-web": 9, "checkout-app": 6}
    published = kept_positions(night.flow.name, night.readers()["target"].records(positions_topic(night.flow.name)))
    topic = remote(night).topic
    assert not published.of({"orders": f"id of {topic}"}, {ORDERS: OffsetRange(0, 7)}).positions
    ends, cut = Reader.ends, ("uswest", remote(night))

    def shorter(self: Reader, asked: Iterable[TopicPartition], *, committed: bool = False) -> dict[TopicPartition, int]:
        return {
            each: 7 if (self.alias, each) == cut else at for each, at in ends(self, asked, committed=committed).items()
        }

    monkeypatch.setattr(Reader, "ends", shorter)
    if runs:
        # What was found is not forgotten if it could not be written.
        with pytest.raises(NotWrittenError):
            look(night, keeper, fails=True)
        keeper.begin(night.parameters, published)
    kept = look(night, keeper if runs else None)
    assert (offsets(kept), kept.void) == ({"checkout-web": 7, "checkout-app": 0}, (ORDERS,))


GARBAGE = [
    b"",
    b"\xff",
    b"[" * 100_000,
    b'{"flow":"other","group":"checkout-web","topic":"orders","partition":0}',
    b'{"flow": "FLOW","group":"checkout-web","topic":"orders","partition":0}',
    b'{"flow":"FLOW","group":7,"topic":"orders","partition":0}',
    b'{"flow":"FLOW","group":"checkout-web","topic":"orders","partition":"0"}',
    b'{"flow":"FLOW","group":"checkout-web","topic":"orders","partition":true}',
    b'{"flow":"FLOW","group":"checkout-web"}',
]


@pytest.mark.parametrize("key", GARBAGE, ids=range(len(GARBAGE)))
def test_what_others_write_to_the_topic_is_no_position(night: Night, key: bytes) -> None:
    before = {
        PositionKey(group, partition): position
        for group, by_partition in look(night).positions.items()
        for partition, position in by_partition.items()
    }
    value = position_record("", *next(iter(before.items())))[1]
    published = publish(night, key.replace(b"FLOW", night.flow.name.encode()), value)
    assert (published.positions, published.unreadable) == (before, 1)


def test_a_position_of_another_release_ends_the_older_one(night: Night) -> None:
    gone, stays = (PositionKey(group, ORDERS) for group in look(night).positions)
    published = publish(night, position_record(night.flow.name, gone, None)[0], b'{"version":2}')
    assert (set(published.positions), published.unreadable) == ({stays}, 1)
    assert written(night) == 1
