"""Heartbeats: fresh, in the past, with gaps, and how long they took."""

import time

import pytest

from infra.local.endpoints import Endpoints
from infra.local.traffic import create_topics
from spark.checks import heartbeats
from spark.checks.heartbeats import Heartbeat, Observation, gaps_ms, judge, percentile, stale_seconds, window_records
from spark.report import CheckOutcome, Verdict
from tests.spark import forging
from tests.spark.documents import a_flow
from tests.spark.outcomes import Check, named
from tests.spark.scenes import Scene, produce

PARAMETERS = a_flow().heartbeats
NOW = 1_000_000_000


def beats(*ages_ms: int) -> list[Heartbeat]:
    return [Heartbeat(NOW - age, 0, offset) for offset, age in enumerate(ages_ms)]


def codes(outcome: CheckOutcome) -> list[str]:
    return [finding.code for finding in outcome.findings]


def test_fresh_heartbeats_pass_and_are_counted_once_however_often_they_are_replicated() -> None:
    outcome = judge(PARAMETERS, [*beats(2000, 1000), Heartbeat(NOW - 1000, 0, 9)], Observation(), NOW)
    assert (outcome.verdict, outcome.counts["heartbeats"], outcome.counts["copies"]) == (Verdict.PASS, 2, 1)


def test_old_heartbeats_fail_by_the_emit_interval() -> None:
    assert codes(judge(PARAMETERS, beats(12_000, 11_000), Observation(), NOW)) == ["heartbeat-stale"]
    assert judge(PARAMETERS, beats(9_000), Observation(), NOW).verdict is Verdict.PASS
    assert stale_seconds(0.1) == 10
    assert stale_seconds(60) == 600


def test_old_heartbeats_that_arrive_are_not_called_those_of_a_connector_that_does_not_run() -> None:
    """A clock that is behind, or a flow that is, makes each of them old when it comes."""
    looks = Observation([(NOW - 2_000, {0: 1}), (NOW - 1_000, {0: 2})])
    (finding,) = judge(PARAMETERS, beats(41_000, 40_000), looks, NOW).findings
    assert finding.code == "heartbeat-stale"
    assert "clocks" in finding.message
    assert "does not run" not in finding.message


def test_no_heartbeat_of_this_flow_fails_though_others_pass_through() -> None:
    outcome = judge(PARAMETERS, [], Observation(), NOW, others=50)
    assert codes(outcome) == ["no-heartbeat"]
    assert outcome.counts["ofOtherFlows"] == 50


def test_a_gap_in_the_past_is_stated_with_its_times() -> None:
    outcome = judge(PARAMETERS, beats(20_000, 8_000, 1_000), Observation(), NOW)
    assert (outcome.verdict, codes(outcome)) == (Verdict.PASS, ["heartbeat-gap"])
    assert outcome.samples == (
        {"gapStartMs": NOW - 20_000, "gapEndMs": NOW - 8_000},
        {"gapStartMs": NOW - 8_000, "gapEndMs": NOW - 1_000},
    )
    assert gaps_ms([0, 5000, 10_001], 1) == [(5000, 10_001)]


def test_clocks_that_differ_cannot_judge_freshness() -> None:
    assert judge(PARAMETERS, beats(-6_000), Observation(), NOW).verdict is Verdict.ERROR
    assert judge(PARAMETERS, beats(-1_000), Observation(), NOW).verdict is Verdict.PASS


def test_records_that_are_no_heartbeats_are_an_error() -> None:
    assert codes(judge(PARAMETERS, beats(100), Observation(), NOW, undecodable=2)) == ["heartbeat-undecodable"]


def test_a_latency_is_measured_only_for_what_was_seen_to_arrive() -> None:
    """The record's timestamp is the source's: the age of an old record says nothing about how long it took."""
    observation = Observation([(NOW, {0: 1}), (NOW + 100, {0: 1}), (NOW + 300, {0: 3})])
    seen = [Heartbeat(NOW - 9_000, 0, 0), Heartbeat(NOW + 40, 0, 1), Heartbeat(NOW + 250, 0, 2)]
    assert observation.latencies_ms(seen) == [50, 260]
    assert (observation.arrived, observation.resolution_ms) == (2, 200)


@pytest.mark.parametrize(("share", "value"), [(0.5, 2), (0.99, 4), (1.0, 4)])
def test_percentiles_are_values_that_occurred(share: float, value: int) -> None:
    assert percentile([1, 2, 3, 4], share) == value


def test_ten_minutes_of_heartbeats_are_read_within_bounds() -> None:
    assert [window_records(seconds) for seconds in (1, 60, 0.01)] == [600, 100, 5000]


def test_heartbeats_that_are_produced_to_the_target_say_that_they_prove_the_workers_only() -> None:
    of_workers = PARAMETERS.model_copy(update={"produced_to": "target"})
    outcome = judge(of_workers, beats(1_000), Observation(), NOW)
    assert (outcome.verdict, codes(outcome)) == (Verdict.PASS, ["heartbeats-of-workers"])
    assert "source connector" not in str(judge(of_workers, beats(11_000), Observation(), NOW).findings[-1])


def test_heartbeats_of_other_flows_do_not_hide_this_flows_however_many(
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
