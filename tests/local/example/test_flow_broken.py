"""Each fault on a running flow makes the validation fail and is reported by name; then it is repaired."""

import pytest
from confluent_kafka import Producer

from kafka_replication.components.contract.report import FlowOutcome, Verdict
from kafka_replication.infra.local.endpoints import APP
from kafka_replication.infra.local.traffic import create_topics, end_offsets, make_example_traffic, produce
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from tests.commits import commit
from tests.local.flows import ARRIVAL_SECONDS, Deployed, check_named, outcome_text
from tests.local.observed import expect_records
from tests.topics import delete_topics, remove_records


@pytest.fixture(autouse=True)
def _more_traffic(deployed: Deployed) -> None:
    """Produce records and commit offsets that are newer than everything that was checked before."""
    make_example_traffic(deployed.endpoints.regions["useast"], 60, seed=1)


@pytest.fixture(scope="module")
def injured(deployed: Deployed) -> FlowOutcome:
    """The validation of three faults at once, which are then repaired.

    They are a stopped heartbeat connector, a group beyond its translated offset, and a record that somebody produced to
    a remote topic.
    """
    target = deployed.endpoints.regions["uswest"]
    make_example_traffic(deployed.endpoints.regions["useast"], 60, seed=1)
    with deployed.edited("orders-heartbeat", {"state": "stopped"}, {"state": "running"}):
        end = end_offsets(target, ["useast.orders"])["useast.orders", 0]
        commit(target, "checkout-web", {("useast.orders", 0): end})
        producer = Producer(target.client_config(APP))
        producer.produce("useast.payments-refunds", b"not replicated", b"stray", 0)
        assert producer.flush(30) == 0
        try:
            wait_for("heartbeats to grow old", lambda: _expect_old_heartbeats(deployed), ARRIVAL_SECONDS)
            # What is missing cannot arrive, however long the job waits.
            outcome = deployed.validate(catch_up_seconds=1)
        finally:
            _empty(deployed, "payments-refunds", "useast.payments-refunds")
            # MirrorMaker moves groups forward only: from offset 0, the group follows the checkpoints again.
            commit(target, "checkout-web", {("useast.orders", 0): 0})
    return outcome


def _expect_old_heartbeats(deployed: Deployed) -> None:
    heartbeats = deployed.heartbeats()
    if heartbeats.verdict is not Verdict.FAIL:
        raise NotYetError(str(heartbeats.findings))


def test_a_stopped_heartbeat_connector_is_reported(injured: FlowOutcome) -> None:
    assert check_named(injured, "heartbeats-arrive").verdict is Verdict.FAIL, outcome_text(injured)
    assert "useast.heartbeats" in outcome_text(injured)


def test_a_group_beyond_its_translated_offset_is_reported(injured: FlowOutcome) -> None:
    """A consumer that fails over would skip the records in between."""
    check = check_named(injured, "offsets-translate")
    assert check.verdict is Verdict.FAIL, outcome_text(injured)
    assert any("checkout-web" in finding.message for finding in check.findings), outcome_text(injured)


def test_a_record_produced_to_a_remote_topic_is_reported(injured: FlowOutcome) -> None:
    parity = check_named(injured, "parity")
    assert parity.verdict is Verdict.FAIL, outcome_text(injured)
    assert parity.counts["extra"] == 1
    assert "payments-refunds: 1 record on uswest does not exist on useast" in outcome_text(injured)


def test_a_repaired_flow_passes_and_a_foreign_topic_named_like_a_remote_topic_is_reported(
    injured: FlowOutcome, deployed: Deployed
) -> None:
    assert injured.verdict is Verdict.FAIL
    create_topics(deployed.endpoints.regions["uswest"], {"useast.payments-made-by-hand": 1})
    try:
        mended = deployed.validate()
    finally:
        delete_topics(deployed.endpoints.regions["uswest"], ["useast.payments-made-by-hand"])
    assert mended.verdict is Verdict.PASS, outcome_text(mended)
    named = "useast.payments-made-by-hand on uswest is named like the remote topic of payments-made-by-hand in orders"
    assert f"foreign-topic: {named}" in outcome_text(mended)


def test_a_checkpoint_connector_with_another_topic_list_is_reported(deployed: Deployed) -> None:
    topics = deployed.connector("orders-checkpoint")["spec"]["config"]["topics"]
    broken, mended = ({"config": {"topics": value}} for value in ("something-else", topics))
    with deployed.edited("orders-checkpoint", broken, mended):
        make_example_traffic(deployed.endpoints.regions["useast"], 60, seed=1)
        # The checkpoints that are missing cannot arrive.
        outcome = deployed.validate(catch_up_seconds=10)
    check = check_named(outcome, "offsets-translate")
    assert check.verdict is Verdict.FAIL, outcome_text(outcome)
    assert "checkpoint" in outcome_text(outcome)
    assert "checkout-" in outcome_text(outcome)


def test_records_lost_to_retention_before_they_were_replicated_are_reported(deployed: Deployed) -> None:
    source, target = (deployed.endpoints.regions[alias] for alias in ("useast", "uswest"))
    create_topics(source, {"payments-lost": 1})
    produce(source, "payments-lost", 200, seed=1)
    wait_for("payments-lost to arrive", lambda: expect_records(target, "useast.payments-lost", 200), ARRIVAL_SECONDS)
    with deployed.edited("orders-source", {"state": "stopped"}, {"state": "running"}):
        produce(source, "payments-lost", 300, seed=1, first=200)
        remove_records(source, "payments-lost", 0, 350)
        produce(source, "payments-lost", 100, seed=1, first=500)
    wait_for("the rest to arrive", lambda: expect_records(target, "useast.payments-lost", 450), ARRIVAL_SECONDS)
    # What was lost cannot arrive.
    resumed = deployed.validate(catch_up_seconds=10)
    delete_topics(source, ["payments-lost"])
    delete_topics(target, ["useast.payments-lost"])
    lost = check_named(resumed, "nothing-lost-to-retention")
    assert lost.verdict is Verdict.FAIL, outcome_text(resumed)
    assert "payments-lost" in outcome_text(resumed)
    assert lost.counts["lost"] == 150


def _empty(deployed: Deployed, source_topic: str, remote_topic: str) -> None:
    """Remove a stray record by emptying both topics up to their ends."""
    for alias, topic in (("useast", source_topic), ("uswest", remote_topic)):
        region = deployed.endpoints.regions[alias]
        for (_, partition), end in end_offsets(region, [topic]).items():
            remove_records(region, topic, partition, end)
