"""`replicate failover` of the deployed flows, with consumers that count: no record is skipped or read again."""

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Event, Thread

import pytest

from kafka_replication.infra.local.endpoints import Region
from kafka_replication.infra.local.parts import operator as operator_part
from kafka_replication.infra.local.traffic import create_topics, end_offsets, produce
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from tests.local.example.test_interventions import replicate
from tests.local.flows import ARRIVAL_SECONDS, Deployed, kill
from tests.local.moving import fail_over, failover_command, forget, read_on, skipped_and_again, stand_at
from tests.local.observed import committed, contents, expect_records
from tests.repository import ROOT

TOPIC, REMOTE = "payments-failover", "useast.payments-failover"
RECORDS = 6_000
#: The share of its partitions that each group has consumed.
SHARES = {"checkout-fo-none": 0.0, "checkout-fo-half": 0.5, "checkout-fo-most": 0.93, "checkout-fo-all": 1.0}


def ends_of(region: Region, topic: str) -> dict[int, int]:
    return {partition: end for (_, partition), end in end_offsets(region, [topic]).items()}


def expect_all(source: Region, target: Region, topic: str, remote: str) -> None:
    """Raise NotYetError until every record of the source is on the target."""
    ours, theirs = contents(source, topic), contents(target, remote)
    if missing := sum(len(set(each) - set(theirs.get(number, ()))) for number, each in ours.items()):
        raise NotYetError(f"{missing} records of {topic} have not crossed")


@pytest.fixture(scope="module")
def moving(deployed: Deployed) -> Iterator[Mapping[str, Mapping[int, int]]]:
    """Groups at different offsets of a topic that was replicated while a worker was killed."""
    source, target = deployed.endpoints.regions["useast"], deployed.endpoints.regions["uswest"]
    create_topics(source, {TOPIC: 3})
    produce(source, TOPIC, RECORDS // 2, seed=7)
    wait_for("records to cross", lambda: expect_records(target, REMOTE, RECORDS // 2), ARRIVAL_SECONDS)
    kill(worker for worker in operator_part.workers() if worker.name.split("/")[1].startswith("orders-"))
    produce(source, TOPIC, RECORDS // 2, seed=7, first=RECORDS // 2)
    wait_for("all records to cross", lambda: expect_all(source, target, TOPIC, REMOTE), ARRIVAL_SECONDS, 2)
    ends = ends_of(source, TOPIC)
    print(f"{RECORDS} records on the source, {sum(ends_of(target, REMOTE).values())} on the target")
    groups = {name: {each: int(end * share) for each, end in ends.items()} for name, share in SHARES.items()}
    for name, offsets in groups.items():
        stand_at(source, name, TOPIC, offsets)
    yield groups
    forget(source, groups)
    forget(target, [name for name in groups if committed(target, name, REMOTE)])


@contextmanager
def resumed(deployed: Deployed) -> Iterator[None]:
    try:
        yield
    finally:
        assert replicate(deployed, "resume", "orders").returncode == 0


def options(groups: Mapping[str, object]) -> list[str]:
    return [part for name in groups for part in ("--group", name)]


def test_a_dry_run_shows_every_precondition_and_commits_nothing(
    deployed: Deployed, moving: Mapping[str, Mapping[int, int]]
) -> None:
    answer = fail_over(deployed, "orders", *options(moving), "--dry-run", "--watch-seconds", "1")
    assert answer.returncode == 0, answer.stderr
    for name in ("connectors", "topics", "producers", "drained", "positions", "groups"):
        assert f"✓ {name}" in answer.stdout
    assert "checkout-fo-half: payments-failover-0 at " in answer.stdout
    assert "nothing was changed" in answer.stdout
    assert deployed.connector("orders-checkpoint")["spec"]["state"] == "running"
    passwords = [user.password for region in deployed.endpoints.regions.values() for user in region.users.values()]
    assert [each for each in passwords if each in answer.stdout + answer.stderr] == []


def test_a_producer_that_still_writes_is_reported_and_nothing_is_changed(
    deployed: Deployed, moving: Mapping[str, Mapping[int, int]]
) -> None:
    source, finished = deployed.endpoints.regions["useast"], Event()

    def write() -> None:
        while not finished.wait(0.5):
            produce(source, "payments-bypass", 6, seed=3)

    create_topics(source, {"payments-bypass": 1})
    target = deployed.endpoints.regions["uswest"]
    produce(source, "payments-bypass", 6, seed=2)
    wait_for("the topic", lambda: expect_records(target, "useast.payments-bypass", 6), ARRIVAL_SECONDS)
    writer = Thread(target=write)
    writer.start()
    try:
        answer = fail_over(deployed, "orders", *options(moving), "--watch-seconds", "3")
    finally:
        finished.set()
        writer.join()
    assert (answer.returncode, "a producer still writes: payments-bypass-0 grew" in answer.stdout) == (1, True)
    assert "precondition-unmet" in answer.stderr
    assert deployed.connector("orders-checkpoint")["spec"]["state"] == "running"
    wait_for(
        "all records to cross",
        lambda: expect_all(source, target, "payments-bypass", "useast.payments-bypass"),
        ARRIVAL_SECONDS,
        1,
    )


def test_a_planned_failover_killed_at_any_step_and_run_again_skips_nothing(
    deployed: Deployed, moving: Mapping[str, Mapping[int, int]]
) -> None:
    source, target = deployed.endpoints.regions["useast"], deployed.endpoints.regions["uswest"]
    call = (*options(moving), "--watch-seconds", "1")
    with resumed(deployed):
        for step in ("is STOPPED", "point of no return"):
            killed_at(deployed, step, *call)
        answer = fail_over(deployed, "orders", *call)
        assert answer.returncode == 0, answer.stderr
        assert deployed.connector("orders-checkpoint")["spec"]["state"] == "stopped"
        assert "12 positions committed on uswest and read back" in answer.stdout
        assert f"checkout-fo-half subscribes to {TOPIC}, {REMOTE}" in answer.stdout
        for name, offsets in moving.items():
            read = read_on(target, name, REMOTE, ends_of(target, REMOTE))
            found = skipped_and_again(source, offsets, TOPIC, read)
            print(f"{name}: skipped {found[0]}, read again {found[1]}, {sum(read.values()) - len(read)} read twice")
            assert found == (0, 0)


def killed_at(deployed: Deployed, step: str, *call: str) -> None:
    """Kill the command with SIGKILL as soon as it prints `step`; fails if the command never prints it."""
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        failover_command(deployed, "orders", *call), cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if step in line:
                process.kill()
                return
    raise AssertionError(f"the command ended with {process.returncode} before `{step}`")


def test_a_planned_failover_of_an_identity_flow_skips_nothing(deployed: Deployed) -> None:
    source, target = deployed.endpoints.regions["useast"], deployed.endpoints.regions["uswest"]
    wait_for("all records to cross", lambda: expect_all(source, target, "ledger", "ledger"), ARRIVAL_SECONDS, 1)
    ends = ends_of(source, "ledger")
    offsets = {partition: end // 3 for partition, end in ends.items()}
    stand_at(source, "ledger-fo", "ledger", offsets)
    try:
        answer = fail_over(deployed, "ledger", "--group", "ledger-fo", "--watch-seconds", "1")
        assert answer.returncode == 0, answer.stderr
        read = read_on(target, "ledger-fo", "ledger", ends_of(target, "ledger"))
        assert skipped_and_again(source, offsets, "ledger", read) == (0, 0)
    finally:
        assert replicate(deployed, "resume", "ledger").returncode == 0
        forget(source, ["ledger-fo"])
        forget(target, ["ledger-fo"])


def test_an_unknown_group_is_refused_with_the_nearest_name(deployed: Deployed) -> None:
    answer = fail_over(deployed, "orders", "--group", "checkout-wob", "--dry-run")
    assert (answer.returncode, "name `checkout-web`" in answer.stderr) == (2, True)
