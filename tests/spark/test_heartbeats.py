"""Heartbeats: fresh, old, with gaps, and how long they took."""

import time

import pytest

from kafka_replication.components.contract.report import CheckOutcome, Verdict
from kafka_replication.infra.local.endpoints import Endpoints
from kafka_replication.infra.local.traffic import create_topics
from kafka_replication.spark.checks import heartbeats
from kafka_replication.spark.checks.heartbeats import (
    HeartbeatArrival,
    Observation,
    gaps_ms,
    heartbeats_seen,
    judge,
    percentile,
    window_records,
    with_shared,
)
from tests.spark import forging
from tests.spark.documents import a_cluster, a_flow
from tests.spark.outcomes import Check, named
from tests.spark.scenes import Scene, produce

PARAMETERS = a_flow().heartbeats
NOW = 1_000_000_000


def beats(*ages_ms: int) -> list[HeartbeatArrival]:
    return [HeartbeatArrival(NOW - age, 0, offset) for offset, age in enumerate(ages_ms)]


def codes(outcome: CheckOutcome) -> list[str]:
    return [finding.code for finding in outcome.findings]


def test_fresh_heartbeats_pass_and_are_counted_once_however_often_they_are_replicated() -> None:
    outcome = judge(PARAMETERS, [*beats(2000, 1000), HeartbeatArrival(NOW - 1000, 0, 9)], Observation(), NOW)
    assert (outcome.verdict, outcome.counts["heartbeats"], outcome.counts["copies"]) == (Verdict.PASS, 2, 1)


def test_heartbeats_fail_if_they_are_old_compared_to_the_emit_interval() -> None:
    outcome = judge(PARAMETERS, beats(12_000, 11_000), Observation(), NOW)
    assert codes(outcome) == ["heartbeat-stale"]
    assert outcome.findings[0].message.endswith("does not run, or runs and cannot log in to a cluster")
    assert judge(PARAMETERS, beats(9_000), Observation(), NOW).verdict is Verdict.PASS
    intervals = (PARAMETERS.model_copy(update={"interval_seconds": seconds}) for seconds in (0.1, 60))
    assert [each.stale_seconds for each in intervals] == [10, 600]


def test_old_heartbeats_that_arrive_are_not_blamed_on_a_stopped_connector() -> None:
    """If a clock or the flow is behind, each heartbeat is old when it arrives."""
    looks = Observation([(NOW - 2_000, {0: 1}), (NOW - 1_000, {0: 2})])
    (finding,) = judge(PARAMETERS, beats(41_000, 40_000), looks, NOW).findings
    assert finding.code == "heartbeat-stale"
    assert "clocks" in finding.message
    assert "does not run" not in finding.message


def test_a_flow_without_heartbeats_fails_even_if_other_flows_have_some() -> None:
    outcome = judge(PARAMETERS, [], Observation(), NOW, others=50)
    assert codes(outcome) == ["no-heartbeat"]
    assert outcome.counts["ofOtherFlows"] == 50


def test_heartbeats_shared_with_another_flow_are_reported() -> None:
    flow, same, back = a_flow(), a_flow(name="ledger"), a_flow(name="back", source=a_cluster("uswest"))
    outcome = judge(PARAMETERS, beats(1_000), Observation(), NOW)
    found = with_shared(outcome, flow, [flow, same, back])
    (shared,) = found.findings
    assert found.summary == f"{outcome.summary}; of every flow from useast to uswest"
    assert shared.code == "heartbeats-shared"
    assert shared.message.startswith("ledger has the same source and target, and so the same heartbeats. They show")
    disabled = {**flow.heartbeats.model_dump(by_alias=True), "enabled": False}
    assert with_shared(outcome, flow, [flow, back, a_flow(name="silent", heartbeats=disabled)]) == outcome


def test_a_past_gap_between_heartbeats_passes_and_is_noted_with_its_times() -> None:
    outcome = judge(PARAMETERS, beats(20_000, 8_000, 1_000), Observation(), NOW)
    assert (outcome.verdict, codes(outcome)) == (Verdict.PASS, ["heartbeat-gap"])
    assert outcome.samples == (
        {"gapStartMs": NOW - 20_000, "gapEndMs": NOW - 8_000},
        {"gapStartMs": NOW - 8_000, "gapEndMs": NOW - 1_000},
    )
    assert gaps_ms([0, 5000, 10_001], 1) == [(5000, 10_001)]


def test_freshness_cannot_be_judged_if_clocks_differ() -> None:
    assert judge(PARAMETERS, beats(-6_000), Observation(), NOW).verdict is Verdict.ERROR
    fresh = judge(PARAMETERS, beats(-1_000), Observation(), NOW)
    assert fresh.verdict is Verdict.PASS
    assert fresh.summary == "1 heartbeat, the newest 0.0 s old (±0 ms)"


def test_records_that_are_not_heartbeats_are_an_error() -> None:
    (finding,) = judge(PARAMETERS, beats(100), Observation(), NOW, undecodable=2).findings
    assert finding.code == "heartbeat-undecodable"
    assert f"2 records of {PARAMETERS.target_topic} are no heartbeats" in finding.message


def test_latency_is_measured_only_for_heartbeats_that_were_seen_arriving() -> None:
    """The record's timestamp is the source's: the age of an old record says nothing about how long it took."""
    observation = Observation([(NOW, {0: 1}), (NOW + 100, {0: 1}), (NOW + 300, {0: 3})])
    seen = [HeartbeatArrival(NOW - 9_000, 0, 0), HeartbeatArrival(NOW + 40, 0, 1), HeartbeatArrival(NOW + 250, 0, 2)]
    assert observation.latencies_ms(seen) == [(NOW + 40, 260), (NOW + 250, 50)]
    assert (observation.arrived, observation.resolution_ms) == (2, 200)


@pytest.mark.parametrize(("share", "value"), [(0.5, 2), (0.99, 4), (1.0, 4)])
def test_percentiles_are_values_that_occurred(share: float, value: int) -> None:
    assert percentile([1, 2, 3, 4], share) == value


def test_ten_minutes_of_heartbeats_are_read_but_at_least_100_and_at_most_5000() -> None:
    assert [window_records(seconds) for seconds in (1, 60, 0.01)] == [600, 100, 5000]


def test_heartbeats_produced_to_the_target_pass_with_a_note_about_the_workers() -> None:
    of_workers = PARAMETERS.model_copy(update={"produced_to": "target"})
    outcome = judge(of_workers, beats(1_000), Observation(), NOW)
    assert (outcome.verdict, codes(outcome)) == (Verdict.PASS, ["heartbeats-of-workers"])
    assert "source connector" not in str(judge(of_workers, beats(11_000), Observation(), NOW).findings[-1])


def test_many_heartbeats_of_other_flows_do_not_hide_those_of_this_flow(
    check: Check, endpoints: Endpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One topic carries the heartbeats of every flow from a source, each at its own interval."""
    monkeypatch.setattr(heartbeats, "OBSERVED_SECONDS_AT_MOST", 0)
    scene = Scene(endpoints, "crowded").replicate(partitions=1)
    topic, interval_seconds, now = "useast.crowded.heartbeats", 60, int(time.time() * 1000)
    create_topics(scene.target, {topic: 1})
    value = forging.heartbeat_value(now)
    ours, others = forging.heartbeat_key("useast", "uswest"), forging.heartbeat_key("useast", "eucentral")
    produce(scene.target, topic, 0, [(ours, value, now, []), *[(others, value, now, [])] * 300])
    assert window_records(interval_seconds) < 300
    flow = scene.parameters(
        heartbeats={
            "enabled": True, "intervalSeconds": interval_seconds, "sourceTopic": "heartbeats", "targetTopic": topic,
        }
    )  # fmt: skip
    outcome = named(check(flow), "heartbeats-arrive")
    assert (outcome.counts["heartbeats"], outcome.counts["ofOtherFlows"]) == (1, 300), outcome
    assert outcome.verdict is Verdict.PASS


def test_only_this_flows_heartbeats_are_returned_and_the_others_counted() -> None:
    ours, eu = forging.heartbeat_key("useast", "uswest"), forging.heartbeat_key("useast", "eu")
    records = forging.written(
        (ours, forging.heartbeat_value(20)),
        (ours, forging.heartbeat_value(10)),
        (eu, forging.heartbeat_value(5)),
        (None, None),
    )
    seen = heartbeats_seen(records, "useast", "uswest")
    assert seen.ours == [HeartbeatArrival(10, 0, 1), HeartbeatArrival(20, 0, 0)]
    assert (seen.others, seen.undecodable) == (1, 1)
