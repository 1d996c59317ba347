"""The job on two real clusters that hold what MirrorMaker would have written, intact and with every fault."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer

from kafka_replication.components.contract.report import CheckOutcome, FindingSeverity, Verdict
from kafka_replication.infra.local.endpoints import Endpoints
from kafka_replication.infra.local.traffic import create_topics
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from tests.spark.outcomes import Check, CheckWhile, codes_of, failures, named
from tests.spark.scenes import CALL_SECONDS, RECORDS, Scene, produce
from tests.topics import remove_records


def test_a_flow_that_lost_nothing_passes_with_its_counts(check: Check, endpoints: Endpoints) -> None:
    scene = Scene(endpoints, "whole").replicate()
    scene.translate("whole-a", 45, 41)
    scene.translate("whole-a", 30, 30, partition=1)
    scene.translate("whole-b", RECORDS, 51)
    # Retention has removed the record at the group's translated offset, but not the one that the group reads next.
    scene.replicate("whole.expired", partitions=1)
    scene.translate("whole-c", 45, 41, topic="whole.expired")
    remove_records(scene.source, "whole.expired", 0, 43)
    outcome = check(scene.parameters())
    assert outcome.verdict is Verdict.PASS, outcome.document()
    assert outcome.not_run == {
        "access": "the parameters list no ACLs",
        "connectors-run": "the parameters list no connectors",
        "heartbeats-arrive": "the flow has no heartbeats",
    }
    counts = named(outcome, "offsets-translate").counts
    assert (counts["groups"], counts["committedOffsets"], counts["proven"]) == (3, 4, 4)
    assert (counts["readAgain"], counts["readAgainMax"]) == (4 + 0 + 9 + 4, 9)
    assert (counts["rangesRead"], counts["byCounting"]) == (6 + 5, 0)
    counts = named(outcome, "parity").counts
    assert (counts["sourceRecords"], counts["targetRecords"], counts["agreeingPartitions"]) == (137, 180, 2)
    assert named(outcome, "nothing-lost-to-retention").counts["withOffsetSyncs"] == 3


def test_a_flow_with_the_identity_policy_passes_with_offset_syncs_on_the_target(
    check: Check, endpoints: Endpoints
) -> None:
    scene = Scene(endpoints, "same-name", policy="identity").replicate()
    create_topics(scene.target, {scene.syncs_topic: 1})
    scene.sync("same-name", 0, (0, 0), (50, 50), region=scene.target)
    scene.translate("same-name-a", RECORDS, 51)
    on_target = {"cluster": "target", "topic": scene.syncs_topic, "lagMax": 10}
    outcome = check(scene.parameters(offsetSyncs=on_target))
    assert outcome.verdict is Verdict.PASS, outcome.document()
    assert named(outcome, "nothing-lost-to-retention").counts["withOffsetSyncs"] == 1


@pytest.fixture
def member(endpoints: Endpoints) -> Iterator[None]:
    """A consumer that is a member of group `faulty-busy` on the target."""
    region = endpoints.regions["uswest"]
    consumer = Consumer({**region.client_config("app"), "group.id": "faulty-busy", "enable.auto.commit": False})
    create_topics(region, {"useast.faulty": 2})
    consumer.subscribe(["useast.faulty"])

    def joined() -> None:
        consumer.poll(0.2)
        if not consumer.assignment():
            raise NotYetError("no assignment")

    wait_for("group faulty-busy to have a member", joined, CALL_SECONDS)
    yield
    consumer.close()


@pytest.mark.usefixtures("member")
def test_each_fault_of_offset_translation_has_its_own_finding(check: Check, endpoints: Endpoints) -> None:
    """One group per fault: each must be reported despite the others, with the name of its group."""
    scene = Scene(endpoints, "faulty").replicate()
    scene.translate("faulty-good", 45, 41)
    scene.commit("faulty-missing", 45)
    scene.translate("faulty-past-end", 45, RECORDS + 5)
    scene.translate("faulty-skips", 20, 41)
    scene.translate("faulty-stuck", 55, 3)
    scene.translate("faulty-foreign", 45, 41)
    scene.commit_on_target("faulty-foreign", 58)
    scene.commit("faulty-unsynced", 45)
    scene.checkpoint("faulty-unsynced", 45, 41)
    # Nobody can commit for a group that has a member, so its offset on the target is not judged.
    scene.commit("faulty-busy", 45)
    scene.checkpoint("faulty-busy", 45, 41)
    forge_a_record(scene, "faulty.forged")
    scene.translate("faulty-forged", 10, 10, topic="faulty.forged")
    outcome = named(check(scene.parameters()), "offsets-translate")
    found = failures(outcome)
    assert {code: message.split()[1] for code, message in found.items()} == {
        "checkpoint-missing": "faulty-missing",
        "checkpoint-past-end": "faulty-past-end",
        "offset-skips-records": "faulty-skips",
        "checkpoint-behind": "faulty-stuck",
        "group-past-translation": "faulty-foreign",
        "group-not-synced": "faulty-unsynced",
        "translated-record-differs": "faulty-forged",
    }
    assert "the group would skip 21 records" in found["offset-skips-records"]
    assert "13 records would be skipped" in found["group-past-translation"]
    assert outcome.samples[0]["group"] in {"faulty-past-end", "faulty-skips", "faulty-forged"}
    others = {
        each.code: each.message.split()[1] for each in outcome.findings if each.severity is not FindingSeverity.FAIL
    }
    assert others == {"group-active": "faulty-busy"}
    assert outcome.counts["activeOnTarget"] == 1


def test_an_offset_that_only_the_target_has_fails_if_records_are_before_it(check: Check, endpoints: Endpoints) -> None:
    """`failover` moves groups from their source offsets, so nothing corrects such an offset."""
    scene = Scene(endpoints, "alone").replicate()
    for group in ("alone-skips", "alone-begins", "alone-expired", "alone-past"):
        scene.translate(group, 45, 41)
    scene.commit_on_target("alone-skips", 30, partition=1)
    scene.commit_on_target("alone-begins", 0, partition=1)
    # The source had this offset until it was deleted, and the group has read what is before it.
    scene.checkpoint("alone-expired", 45, 41, partition=1)
    scene.commit_on_target("alone-expired", 41, partition=1)
    scene.checkpoint("alone-past", 20, 11, partition=1)
    scene.commit_on_target("alone-past", 30, partition=1)
    # A group that consumes one topic on the source, and another one on the target.
    scene.replicate("alone.other", partitions=1)
    scene.commit_on_target("alone-begins", 30, topic="alone.other")
    # The target no longer has what is before the group.
    scene.replicate("alone.short")
    scene.translate("alone-begins", 45, 41, topic="alone.short")
    scene.commit_on_target("alone-begins", 30, partition=1, topic="alone.short")
    remove_records(scene.target, "useast.alone.short", 1, 30)
    outcome = named(check(scene.parameters()), "offsets-translate")
    found = [each.message.split(". It has")[0] for each in outcome.findings if each.code == "group-past-translation"]
    assert sorted(found) == [
        "group alone-past has no offset on useast in alone-1 (it once committed 20), but continues on uswest at 30: "
        "skips up to 10 records",
        "group alone-skips has no offset on useast in alone-1, but continues on uswest at 30: skips up to 30 records",
    ]
    assert {each.severity for each in outcome.findings} == {FindingSeverity.FAIL}
    assert [row["group"] for row in outcome.rows if row["wrong"]] == ["alone-past", "alone-skips"]


def forge_a_record(scene: Scene, topic: str) -> None:
    """The target's record at offset 10 is one that the source never had."""
    scene.replicate(topic, records=0, partitions=1)
    scene.write(scene.source, topic, 0, range(20))
    scene.write(scene.target, scene.remote(topic), 0, [*range(10), 999, *range(11, 20)])
    scene.sync(topic, 0, (0, 0), (10, 10))


def test_the_job_waits_for_a_checkpoint_that_is_on_its_way(check_while: CheckWhile, endpoints: Endpoints) -> None:
    scene = Scene(endpoints, "early").replicate()
    scene.commit("early-a", 45)

    def arrive() -> None:
        scene.checkpoint("early-a", 45, 41)
        scene.commit_on_target("early-a", 41)

    slow = {**scene.parameters().checkpoints.model_dump(by_alias=True), "intervalSeconds": 10}
    flow = scene.parameters(checkpoints=slow)
    outcome = named(check_while(flow, "may still arrive", arrive), "offsets-translate")
    assert (outcome.verdict, outcome.counts["proven"]) == (Verdict.PASS, 1)


def test_each_difference_between_two_sides_has_its_own_finding(check: Check, endpoints: Endpoints) -> None:
    """One topic per fault."""
    scene = Scene(endpoints, "sides")
    remote = scene.remote
    scene.replicate("sides.equal", records=30, partitions=1)
    scene.translate("sides-a", 25, 21, topic="sides.equal")
    for topic in ("sides.extra", "sides.twice", "sides.old"):
        scene.replicate(topic, records=30, partitions=1)
    scene.write(scene.target, remote("sides.extra"), 0, [777])
    scene.write(scene.target, remote("sides.twice"), 0, [4, 5])
    remove_records(scene.source, "sides.old", 0, 12)
    for topic, held in (("sides.hole", [*range(10), *range(13, 30)]), ("sides.tail", range(20)), ("sides.changed", ())):
        scene.replicate(topic, records=0, partitions=1)
        scene.write(scene.source, topic, 0, range(30))
        scene.write(scene.target, remote(topic), 0, held)
    produce(scene.target, remote("sides.changed"), 0, [(b"k", b"AAA=", 1_000 + scene.began_ms, [])])
    create_topics(scene.source, {"sides.absent": 1, "sides.wide": 3})
    create_topics(scene.target, {remote("sides.wide"): 2})
    scene.write(scene.source, "sides.absent", 0, [0])
    scene.write(scene.source, "sides.wide", 2, [0])
    scene.replicate("sides.turned", records=0, partitions=1)
    scene.write(scene.source, "sides.turned", 0, range(30))
    scene.write(scene.target, remote("sides.turned"), 0, [*range(10), *range(20, 30), *range(10, 20)])
    scene.replicate("sides.again", records=0, partitions=1)
    scene.write(scene.source, "sides.again", 0, range(30))
    scene.write(scene.target, remote("sides.again"), 0, [*range(20), 4, *range(20, 30)])
    scene.replicate("sides.remade", records=0, partitions=1)
    scene.write(scene.source, "sides.remade", 0, range(30))
    scene.sync("sides.remade", 0, (0, 0), (20, 20))
    outcome = named(check(scene.parameters()), "parity")
    assert {(each.code, each.message.split(":")[0]) for each in outcome.findings} == {
        ("topic-not-replicated", "cluster uswest (127.0.0.1"),
        ("partitions-not-replicated", "sides.wide has 3 partitions on the source and 2 on the target"),
        ("missing-records", "sides.hole"),
        ("not-replicated-yet", "sides.tail"),
        ("remote-topic-recreated", "sides.remade"),
        ("duplicated-records", "sides.twice"),
        ("copied-out-of-turn", "sides.twice"),
        ("duplicated-records", "sides.again"),
        ("copied-out-of-turn", "sides.again"),
        ("extra-records", "sides.extra"),
        ("records-reordered", "sides.turned"),
        ("records-differ", "sides.changed"),
        ("missing-records", "sides.changed"),
        ("expired-on-source", "sides.old"),
    }
    counts = outcome.counts
    assert (counts["missing"], counts["lagging"], counts["duplicated"]) == (3 + 30 + 30, 10, 3)
    assert "sides.absent" in failures(outcome)["topic-not-replicated"]
    copied = [each.message for each in outcome.findings if each.code == "copied-out-of-turn"]
    for topic, offset in (("sides.again", 20), ("sides.twice", 31)):
        assert any(f"{topic}: 1 block of older records appears again on uswest" in each for each in copied), copied
        assert any(each.endswith(f"(partition 0 offset {offset})") for each in copied), copied
    missing = {(each.message.split(":")[0], each.count) for each in outcome.findings if each.code == "missing-records"}
    assert missing == {("sides.hole", 3), ("sides.changed", 29)}
    shown = {"topic", "partition", "kind", "offset", "timestampMs", "digest"}
    assert all(set(sample) == shown for sample in outcome.samples)


@pytest.mark.parametrize("continues", [True, False])
def test_a_restarted_task_gets_the_time_to_send_what_follows_again(
    check: Check, check_while: CheckWhile, endpoints: Endpoints, continues: bool
) -> None:
    """While it sends, its records look like an old block that somebody copied to the end of the remote topic."""
    scene = Scene(endpoints, f"restarted-{continues}".lower()).replicate(partitions=1)
    scene.write(scene.target, scene.remote(scene.name), 0, range(40, 45))
    scene.sync(scene.name, 0, (40, RECORDS))
    rest = range(45, RECORDS + 5)

    def send_the_rest() -> None:
        scene.write(scene.source, scene.name, 0, range(RECORDS, RECORDS + 5))
        scene.write(scene.target, scene.remote(scene.name), 0, rest)

    flow = scene.parameters()
    found = named(check_while(flow, "partition to catch up", send_the_rest) if continues else check(flow), "parity")
    if continues:
        assert (found.verdict, codes_of(found, scene.name)) == (Verdict.PASS, {"duplicated-records": 20})
    else:
        assert codes_of(found, scene.name) == {"duplicated-records": 5, "copied-out-of-turn": 1}


def test_records_without_a_timestamp_are_compared_but_for_the_time_that_connect_sets(
    check: Check, endpoints: Endpoints
) -> None:
    scene = Scene(endpoints, "untimed")
    for topic, held in (("untimed.whole", range(20)), ("untimed.hole", [*range(10), *range(11, 20)])):
        create_topics(scene.source, {topic: 1, scene.syncs_topic: 1})
        create_topics(scene.target, {scene.remote(topic): 1, scene.checkpoints_topic: 1})
        produce(scene.source, topic, 0, [(None, b"%d" % number, -1, []) for number in range(20)])
        produce(scene.target, scene.remote(topic), 0, [(None, b"%d" % number, scene.began_ms, []) for number in held])
        scene.sync(topic, 0, (0, 0))
    # The source has removed the record at the second group's translated offset, but not the one that it reads next.
    scene.replicate("untimed.expired", records=0, partitions=1)
    produce(scene.source, "untimed.expired", 0, [(None, b"%d" % number, -1, []) for number in range(20)])
    produce(
        scene.target,
        scene.remote("untimed.expired"),
        0,
        [(None, b"%d" % number, scene.began_ms, []) for number in range(20)],
    )
    scene.sync("untimed.expired", 0, (0, 0), (10, 10))
    remove_records(scene.source, "untimed.expired", 0, 12)
    scene.translate("untimed-a", 15, 11, topic="untimed.whole")
    scene.translate("untimed-b", 15, 11, topic="untimed.expired")
    outcome = check(scene.parameters())
    offsets = named(outcome, "offsets-translate")
    assert [(each.code, each.count) for each in offsets.findings] == [("timestamps-not-compared", 2)]
    assert (offsets.counts["proven"], offsets.counts["readAgain"]) == (2, 8)
    parity = named(outcome, "parity")
    assert {(each.code, each.count) for each in parity.findings if "untimed.expired:" not in each.message} == {
        ("timestamps-not-compared", 3),
        ("missing-records", 1),
    }
    assert "untimed.hole: 1 record of useast is missing on uswest (partition 0 offset 10)" in failures(parity).values()


def test_a_remote_topic_whose_name_collides_is_reported_with_the_damage(check: Check, endpoints: Endpoints) -> None:
    scene = Scene(endpoints, "clash").replicate(partitions=1)
    create_topics(scene.source, {"clash.a": 1})
    create_topics(scene.target, {"useast_clash.a": 1})
    found = failures(named(check(scene.parameters()), "parity"))
    assert found.keys() == {"remote-name-collides"}
    assert "clash.a (its remote topic useast.clash.a collides with useast_clash.a)" in found["remote-name-collides"]
    assert "the other partitions of the task stand still" in found["remote-name-collides"]


LOST = ("lost.stands", "lost.went-on", "lost.dropped", "lost.unsynced")


@pytest.fixture(scope="module")
def lost(check: Check, endpoints: Endpoints) -> CheckOutcome:
    """Topics that lost records to retention before they were replicated. Replication went on in all but the first.

    MirrorMaker has dropped the sync right after the loss in the third, and written none since in the fourth.
    """
    scene = Scene(endpoints, "lost")
    for topic in LOST:
        scene.replicate(topic, records=0, partitions=1)
        scene.write(scene.source, topic, 0, range(60))
        scene.write(scene.target, scene.remote(topic), 0, range(20))
        scene.sync(topic, 0, (0, 0), (10, 10))
        remove_records(scene.source, topic, 0, 45)
    for topic in LOST[1:]:
        scene.write(scene.target, scene.remote(topic), 0, range(45, 60))
    scene.sync("lost.went-on", 0, (45, 20))
    scene.sync("lost.dropped", 0, (57, 32))
    return named(check(scene.parameters()), "nothing-lost-to-retention")


@pytest.mark.parametrize("topic", LOST)
def test_records_that_retention_removed_before_they_were_replicated_are_counted(lost: CheckOutcome, topic: str) -> None:
    """They are no longer on either side: only the offset syncs show them."""
    assert lost.counts["lost"] == 100
    (loss,) = [each for each in lost.findings if topic in each.message]
    assert (loss.code, loss.severity, loss.count) == ("lost-to-retention", FindingSeverity.FAIL, 25)
    assert "25 of the source offsets 11 to 44 never reached the target" in loss.message


def test_records_that_retention_removes_while_the_job_runs_are_found(
    check_while: CheckWhile, endpoints: Endpoints
) -> None:
    """As many records arrive as were lost, after the job has read the offset syncs."""
    scene = Scene(endpoints, "overtaken").replicate(records=30, partitions=1)

    def overtake() -> None:
        scene.write(scene.source, "overtaken", 0, range(30, 50))
        remove_records(scene.source, "overtaken", 0, 40)
        scene.write(scene.target, scene.remote("overtaken"), 0, range(40, 50))
        scene.sync("overtaken", 0, (40, 30))

    lost = named(check_while(scene.parameters(), "translating consumer offsets", overtake), "nothing-lost-to-retention")
    assert (lost.verdict, lost.counts["lost"]) == (Verdict.FAIL, 10)
    assert "10 of the source offsets 21 to 39 never reached the target" in lost.findings[0].message


def test_a_flow_without_records_is_an_error_and_not_a_pass(check: Check, endpoints: Endpoints) -> None:
    outcome = check(Scene(endpoints, "empty").replicate(records=0).parameters())
    assert outcome.verdict is Verdict.ERROR
    parity = named(outcome, "parity")
    assert (parity.verdict, [each.code for each in parity.findings]) == (Verdict.ERROR, ["empty-range"])
