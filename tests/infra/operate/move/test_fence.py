"""A failover with a fence: ACLs deny writes to the source, and a producer that still writes is detected."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from kafka_replication.components.clients.writer import Access
from kafka_replication.components.contract.problems import CannotRunError, RefusedError
from kafka_replication.components.flows.resolved import resolve_flows
from kafka_replication.components.kafka.acls import AclEntry
from kafka_replication.components.topology.parsing import parse_topology
from kafka_replication.infra.operate.move.fence import lift_only, owner_of
from kafka_replication.infra.stack.session import OpenStack
from tests.builders import a_resolved_flow, a_topology
from tests.commands import replicate
from tests.infra.operate.move.night import KilledError, Night, a_call, fail_over_fenced
from tests.infra.operate.move.test_failover import REMOTE, SELECTED, a_night_of

MOVED = {"checkout-app": 4, "checkout-web": 13}
DENIAL = AclEntry("User:*", "TOPIC", "LITERAL", "orders", "WRITE", "DENY")


@pytest.fixture
def night() -> Night:
    return a_night_of(a_resolved_flow(**SELECTED))


def write_once(night: Night) -> Callable[[], None]:
    """A producer that bypasses the fence and writes a single record."""
    left = [99]
    return lambda: night.source.hold("orders", [(left.pop(), "")]) if left else None


def test_writes_to_the_source_stay_denied_after_the_failover(night: Night, capsys: pytest.CaptureFixture[str]) -> None:
    fail_over_fenced(night)
    assert (night.positions(REMOTE), night.acls.denied) == (MOVED, ["orders"])
    said = capsys.readouterr().out
    assert "✓ writes to orders on useast are denied" in said
    assert (
        "Writes to orders on useast stay denied until `replicate failback` has succeeded; "
        "`replicate failover night orders --lift-fence` allows them now"
    ) in said
    # A second run changes nothing.
    fail_over_fenced(night)
    assert (night.positions(REMOTE), night.acls.denied) == (MOVED, ["orders"])


def test_a_dry_run_denies_nothing(night: Night, capsys: pytest.CaptureFixture[str]) -> None:
    before = list(night.acls.entries)
    fail_over_fenced(night, dry_run=True)
    assert (night.positions(REMOTE), night.acls.entries) == ({}, before)
    assert "✓ fence         everyone (`User:*`) will be denied to write to orders on useast" in capsys.readouterr().out


def test_the_document_names_what_is_denied(night: Night, capsys: pytest.CaptureFixture[str]) -> None:
    fail_over_fenced(night, as_json=True)
    document = json.loads(capsys.readouterr().out)
    assert (document["committed"], document["fenced"]) == (True, ["orders"])


def test_a_producer_that_bypasses_the_fence_undoes_the_failover(
    night: Night, capsys: pytest.CaptureFixture[str]
) -> None:
    before = list(night.acls.entries)
    # The third reader of the target is made after the fence is in place.
    night.on_target[:] = [lambda: None, lambda: None, lambda: night.source.hold("orders", [(98, ""), (99, "")])]
    with pytest.raises(
        RefusedError, match=r"somebody still writes to useast: orders grew by 2 records since \d\d:\d\d:\d\dZ"
    ):
        fail_over_fenced(night)
    assert (night.positions(REMOTE), night.acls.entries) == ({}, before)
    assert night.operator.state(night.checkpoint) == "RUNNING"
    assert "the fence was removed: writes to orders on useast are allowed again" in capsys.readouterr().out


def test_a_producer_that_bypasses_the_fence_is_detected_until_the_last_step(night: Night) -> None:
    night.operator.before_patch = write_once(night)
    with pytest.raises(
        RefusedError, match="fence-bypassed: somebody still writes to useast: orders grew by 1 record since"
    ):
        fail_over_fenced(night)
    assert (night.positions(REMOTE), night.acls.denied) == ({}, [])
    assert night.operator.state(night.checkpoint) == "RUNNING"


def test_a_fenced_failover_waits_for_records_accepted_before_the_denial(night: Night) -> None:
    """The broker accepted the write before the denial, so its record still has to reach the target."""

    def arrive() -> None:
        night.acls.after_change = lambda: None
        night.source.hold("orders", [(12, "")])

    night.acls.after_change = arrive
    night.on_target[:] = [lambda: None, lambda: None, lambda: None, lambda: night.target.hold(REMOTE.topic, [(12, "")])]
    fail_over_fenced(night)
    assert night.positions(REMOTE) == MOVED


def test_the_fence_is_removed_if_records_do_not_arrive_in_time(night: Night) -> None:
    night.source.hold("orders", [(12, "")])
    with pytest.raises(RefusedError, match="drained: 1 record not on the target yet"):
        fail_over_fenced(night, wait_seconds=0)
    assert (night.positions(REMOTE), night.acls.denied) == ({}, [])


def test_a_lag_above_the_maximum_is_refused_before_writes_are_denied(night: Night) -> None:
    night.source.hold("orders", [(12, ""), (13, "")])
    night.acls.after_change = pytest.fail
    with pytest.raises(RefusedError, match="drained: 2 records not on the target yet"):
        fail_over_fenced(night, max_lag=1)


def test_if_the_source_dies_the_fence_stays_and_the_error_says_how_to_lift_it(night: Night) -> None:
    night.operator.before_patch = lambda: night.dead.add("useast")
    night.acls.after_change = lambda: None
    lifts = night.acls.access

    def silent() -> Access:
        if "useast" in night.dead:
            what, why = (
                "ACLs of topics were not changed: Local: Timed out",
                "The connectors' user needs Alter on the cluster.",
            )
            raise CannotRunError("acls-refused", what, "useast", why, "correct it, and run the command again.")
        return lifts()

    night.acls.access = silent  # type: ignore[method-assign]
    with pytest.raises(
        CannotRunError, match=r"fence-left: .*run `replicate failover night orders --lift-fence`"
    ) as left:
        fail_over_fenced(night)
    assert ".." not in str(left.value)
    assert night.acls.denied == ["orders"]


def test_a_run_that_was_killed_is_finished_by_the_next(night: Night, capsys: pytest.CaptureFixture[str]) -> None:
    night.killed_before[:] = ["checkout-web"]
    with pytest.raises(KilledError):
        fail_over_fenced(night)
    assert (night.positions(REMOTE), night.acls.denied) == ({"checkout-app": 4}, ["orders"])
    night.killed_before.clear()
    fail_over_fenced(night, dry_run=True)
    said = "an earlier run denied everyone (`User:*`) to write to orders on useast; `--lift-fence` allows it again"
    assert f"✓ fence         {said}" in capsys.readouterr().out
    fail_over_fenced(night)
    assert (night.positions(REMOTE), night.acls.denied) == (MOVED, ["orders"])


@pytest.mark.parametrize("left", [1, 2], ids=["only the mark", "mark and denial"])
def test_a_refused_run_also_removes_what_a_killed_run_left_of_the_fence(night: Night, left: int) -> None:
    before = list(night.acls.entries)
    mark = DENIAL._replace(principal=f"Fence:{owner_of(night)}")
    night.acls.entries += [mark, DENIAL][:left]
    night.on_target[:] = [lambda: None, lambda: None, write_once(night)]
    with pytest.raises(RefusedError, match="fence-bypassed"):
        fail_over_fenced(night)
    assert night.acls.entries == before


def test_a_denial_of_somebody_else_stays(night: Night) -> None:
    night.acls.entries.append(DENIAL)
    before = list(night.acls.entries)
    night.on_target[:] = [lambda: None, lambda: None, write_once(night)]
    with pytest.raises(RefusedError, match="fence-bypassed"):
        fail_over_fenced(night)
    assert night.acls.entries == before


def test_the_fence_of_another_flow_stays(night: Night) -> None:
    mark = DENIAL._replace(principal="Fence:night/orders-to-eu")
    night.acls.entries += [mark, DENIAL]
    fail_over_fenced(night)
    lift_only(a_call(), night)
    assert night.acls.entries[-2:] == [mark, DENIAL]


def test_lift_fence_removes_the_fence_and_keeps_the_committed_positions(
    night: Night, capsys: pytest.CaptureFixture[str]
) -> None:
    before = list(night.acls.entries)
    fail_over_fenced(night)
    capsys.readouterr()
    lift_only(a_call(dry_run=True), night)
    assert night.acls.denied == ["orders"]
    lift_only(a_call(), night)
    lift_only(a_call(), night)
    assert capsys.readouterr().out.splitlines() == [
        "writes to orders on useast are denied by the fence",
        "nothing was changed",
        "✓ writes to orders on useast are allowed again",
        "flow orders has no fence on useast",
    ]
    assert (night.acls.entries, night.positions(REMOTE)) == (before, MOVED)


@pytest.mark.parametrize(
    ("given", "entries", "said"),
    [
        pytest.param(
            {"has_authorizer": False, "may_change": False},
            None,
            "useast has no authorizer, so it cannot deny anything: stop the producers yourself, and leave `--fence` "
            "out",
            id="no authorizer",
        ),
        pytest.param(
            {"may_change": False},
            None,
            "the connectors' user may not change ACLs on useast: allow it with `kafka-acls.sh … --add "
            "--allow-principal User:mirror --operation Alter --cluster`",
            id="the user may not change ACLs",
        ),
        pytest.param(
            {},
            [],
            "no ACL allows anything on orders of useast, and a first ACL could also stop the consumers",
            id="the topic has no ACL",
        ),
    ],
)
def test_a_fence_is_refused_on_a_cluster_that_cannot_deny_writes(
    night: Night, given: dict[str, Any], entries: list[AclEntry] | None, said: str
) -> None:
    night.acls.found = Access(**given)
    if entries is not None:
        night.acls.entries[:] = entries
    with pytest.raises(RefusedError) as error:
        fail_over_fenced(night)
    assert said in error.value.what
    assert night.positions(REMOTE) == {}


def test_lift_fence_is_an_error_if_the_user_may_not_change_acls(night: Night) -> None:
    night.acls.found = Access(may_change=False)
    with pytest.raises(CannotRunError, match="fence-unknown"):
        lift_only(a_call(), night)


ONE_WAY = {"kind": "flow", "source": "useast", "target": "uswest", **SELECTED}
BACK = {"kind": "flow", "source": "uswest", "target": "useast", "policy": "identity", **SELECTED}
PAIR = {"kind": "prefixlessPair", "between": ["useast", "uswest"], "topics": ["orders"]}


@pytest.mark.parametrize(
    ("replications", "said"),
    [
        pytest.param({"orders": PAIR}, "fence-unsuited: the flow is half of a pair", id="pair"),
        pytest.param(
            {"orders": {**ONE_WAY, "syncTopicAcls": True}},
            r"fence-copied: `orders` copies the ACLs of topics to uswest \(`syncTopicAcls`\)",
            id="ACLs are copied",
        ),
        pytest.param(
            {"orders": ONE_WAY, "back": BACK},
            "fence-unsuited: `back` writes to orders on useast",
            id="another flow writes to the topic",
        ),
    ],
)
def test_a_fence_that_would_also_affect_replication_is_refused(replications: dict[str, Any], said: str) -> None:
    topology = parse_topology(a_topology(replications=replications))
    flow = next(each for each in resolve_flows(topology, None, {}) if each.settings.source == "useast")
    night = a_night_of(flow)
    night.acls.after_change = pytest.fail
    with pytest.raises(RefusedError, match=said):
        fail_over_fenced(replace(night, stack=OpenStack(replace(night.stack.settings, topology=topology))))


@pytest.mark.parametrize(
    "given", [("--fence", "--mode", "disaster"), ("--fence", "--mode", "continuous"), ("--fence", "--lift-fence")]
)
def test_a_fence_is_only_for_a_planned_failover(given: tuple[str, ...]) -> None:
    answer = replicate("failover", "prod-us-west-2", "orders", *given)
    assert (answer.returncode, "Invalid value for --" in answer.stderr) == (2, True)
