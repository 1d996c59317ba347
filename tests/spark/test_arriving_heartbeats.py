"""Heartbeats while the job watches: they arrive from the start, arrive late, stop, or never arrive."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Event, Thread
from typing import Any

import pytest

from kafka_replication.components.contract.report import Verdict
from kafka_replication.infra.local.endpoints import Endpoints
from kafka_replication.infra.local.traffic import create_topics
from kafka_replication.spark.checks import heartbeats
from tests.spark import forging
from tests.spark.outcomes import Check, CheckWhile, failures, named
from tests.spark.scenes import Scene, produce

HEARTBEATS = "heartbeats-arrive"
EVERY_SECONDS = 0.2


def parameters_of(topic: str) -> dict[str, object]:
    return {"enabled": True, "intervalSeconds": EVERY_SECONDS, "sourceTopic": "heartbeats", "targetTopic": topic}


@contextmanager
def beating(scene: Scene, topic: str) -> Iterator[None]:
    """A heartbeat topic on the target to which heartbeats are added while the body runs."""
    create_topics(scene.target, {topic: 1})
    stop = Event()

    def beat() -> None:
        while not stop.wait(EVERY_SECONDS):
            now = int(time.time() * 1000)
            key, value = forging.heartbeat_key("useast", "uswest"), forging.heartbeat_value(now)
            produce(scene.target, topic, 0, [(key, value, now, [])])

    writer = Thread(target=beat)
    writer.start()
    try:
        yield
    finally:
        stop.set()
        writer.join()


def test_heartbeats_that_arrive_pass_with_a_measured_latency_and_then_go_stale(
    check: Check, endpoints: Endpoints
) -> None:
    scene = Scene(endpoints, "beating").replicate()
    topic = "useast.beating.heartbeats"
    scene.translate("beating-a", 45, 41)
    with beating(scene, topic):
        outcome = named(check(scene.parameters(heartbeats=parameters_of(topic))), HEARTBEATS)
    assert outcome.verdict is Verdict.PASS, outcome
    assert outcome.counts["observed"] >= 5
    assert 0 <= outcome.counts["latencyP50Ms"] <= outcome.counts["latencyMaxMs"]
    stale = named(check(scene.parameters(heartbeats=parameters_of(topic))), HEARTBEATS)
    assert list(failures(stale)) == ["heartbeat-stale"]


def test_heartbeats_that_begin_within_the_catch_up_time_pass(check_while: CheckWhile, endpoints: Endpoints) -> None:
    """Workers that were just deployed or killed send no heartbeat at first, and the topic does not exist yet."""
    scene = Scene(endpoints, "late").replicate()
    topic = "useast.late.heartbeats"
    flow = scene.parameters(heartbeats=parameters_of(topic))
    with ExitStack() as until_the_end:
        outcome = check_while(flow, "watching heartbeats", lambda: until_the_end.enter_context(beating(scene, topic)))
    assert named(outcome, HEARTBEATS).verdict is Verdict.PASS, outcome


def test_old_heartbeats_that_are_copied_first_are_not_the_verdict(
    check_while: CheckWhile, endpoints: Endpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A source that had a flow before still holds its heartbeats. Fresh ones arrive after the first look here."""
    scene = Scene(endpoints, "resumed").replicate()
    topic = "useast.resumed.heartbeats"
    create_topics(scene.target, {topic: 1})
    flow, looks, watching = scene.parameters(heartbeats=parameters_of(topic)), 0, Event()
    decode, clock = heartbeats.heartbeats_seen, heartbeats.now_ms
    hour_ago = int(time.time() * 1000) - 3_600_000
    key, value = forging.heartbeat_key("useast", "uswest"), forging.heartbeat_value(hour_ago)
    with ExitStack() as until_the_end:

        def seen(*given: Any) -> heartbeats.HeartbeatsSeen:
            nonlocal looks
            looks += 1
            if looks == 1:
                until_the_end.enter_context(beating(scene, topic))
            return decode(*given)

        def now_ms() -> int:
            watching.set()
            return clock()

        def copy_old() -> None:
            assert watching.wait(60)
            produce(scene.target, topic, 0, [(key, value, hour_ago, [])] * 10)

        monkeypatch.setattr(heartbeats, "now_ms", now_ms)
        monkeypatch.setattr(heartbeats, "heartbeats_seen", seen)
        outcome = check_while(flow, "watching heartbeats", copy_old)
    assert named(outcome, HEARTBEATS).verdict is Verdict.PASS, outcome
    assert looks > 1


def test_a_heartbeat_topic_that_never_appears_is_reported(check: Check, endpoints: Endpoints) -> None:
    scene = Scene(endpoints, "mute").replicate()
    outcome = named(check(scene.parameters(heartbeats=parameters_of("useast.no.heartbeats"))), HEARTBEATS)
    assert list(failures(outcome)) == ["heartbeat-topic-missing"]
