"""A failover from the first look to the last commit, for every shape of a flow."""

import base64
from typing import Any

import pytest

from kafka_replication.components.clients.errors import NoAnswerError
from kafka_replication.components.contract.evidence import POSITIONS, PublishedPositions, SpannedTopic, packed_positions
from kafka_replication.components.contract.problems import CannotRunError, RefusedError
from kafka_replication.components.contract.published_verdict import config_map_name
from kafka_replication.components.flows.resolved import ResolvedFlow, flow_digest, resolve_flows
from kafka_replication.components.kafka.positions import CommittedOffset, TopicPartition
from kafka_replication.components.kafka.proven_positions import Span
from kafka_replication.components.topology.parsing import parse_topology
from kafka_replication.infra.kubernetes.api import Reference
from kafka_replication.infra.operate.move import disaster, failover
from kafka_replication.infra.operate.move.facts import Mode
from tests.builders import a_resolved_flow, a_topology
from tests.commands import replicate
from tests.components.clients.brokers import Cluster, Reader
from tests.infra.operate.move.night import KilledError, Night, a_night, fail_over

ORDERS, REMOTE = TopicPartition("orders", 0), TopicPartition("useast.orders", 0)
GROUPS = {"checkout-app": 4, "checkout-web": 10}
SELECTED: dict[str, Any] = {"topics": ["orders"], "groups": ["checkout-.*"]}


def a_night_of(flow: ResolvedFlow, remote: str = REMOTE.topic) -> Night:
    """Twelve replicated records, three of them sent twice, and two groups on the source."""
    source, target = Cluster(), Cluster()
    source.hold("orders", [(each, "") for each in range(12)])
    target.hold(remote, [(each, "") for each in [*range(8), *range(5, 12)]])
    return a_night(flow, source, target, {group: {ORDERS: offset} for group, offset in GROUPS.items()})


def of_topology(replication: dict[str, object]) -> ResolvedFlow:
    """The flow from useast to uswest."""
    flows = resolve_flows(parse_topology(a_topology(replication)), None, {})
    return next(flow for flow in flows if flow.settings.source == "useast")


@pytest.fixture
def night() -> Night:
    return a_night_of(a_resolved_flow(**SELECTED))


def test_every_group_continues_at_the_record_that_it_had_reached(
    night: Night, capsys: pytest.CaptureFixture[str]
) -> None:
    fail_over(night)
    assert night.positions(REMOTE) == {"checkout-app": 4, "checkout-web": 13}
    assert night.operator.state(night.checkpoint) == "STOPPED"
    assert night.operator.state("orders-source") == "RUNNING"
    said = capsys.readouterr().out
    assert "✓ 2 positions committed on uswest and read back" in said
    assert "When the groups are back on useast, start it: `replicate resume night orders`" in said


def test_an_application_keeps_what_it_has_stored_beside_its_offsets(night: Night) -> None:
    """Kafka Streams stores its clock there, and a failover replaced it with a text of its own."""
    night.source.commit("checkout-web", {ORDERS: 10}, "clock 17")
    night.target.commit("checkout-web", {REMOTE: 9}, "clock 3")
    fail_over(night)
    commits = Reader("uswest", night.target.config).commits(GROUPS)
    assert commits["checkout-web"][REMOTE] == CommittedOffset(13, "clock 17")
    assert commits["checkout-app"][REMOTE] == CommittedOffset(4)


def test_a_dry_run_changes_nothing(night: Night, capsys: pytest.CaptureFixture[str]) -> None:
    fail_over(night, dry_run=True)
    assert (night.positions(REMOTE), night.operator.state(night.checkpoint)) == ({}, "RUNNING")
    assert "checkout-web: orders-0 at 10 -> useast.orders-0 at 13, nothing read again" in capsys.readouterr().out


def test_the_failover_is_undone_if_a_producer_writes_after_the_look(night: Night) -> None:
    night.operator.before_patch = lambda: night.source.hold("orders", [(99, "")])
    with pytest.raises(RefusedError, match="a producer wrote to orders-0: it ends at 13, and ended at 12"):
        fail_over(night)
    assert (night.positions(REMOTE), night.operator.state(night.checkpoint)) == ({}, "RUNNING")


def test_the_failover_is_undone_if_a_group_starts_after_the_look(night: Night) -> None:
    night.operator.before_patch = lambda: night.members.update({"checkout-web": 1})
    with pytest.raises(RefusedError, match="group checkout-web runs"):
        fail_over(night)
    assert (night.positions(REMOTE), night.operator.state(night.checkpoint)) == ({}, "RUNNING")


def test_the_checkpoint_connector_runs_again_if_the_source_dies_after_the_look(night: Night) -> None:
    night.operator.before_patch = lambda: night.dead.add("useast")
    with pytest.raises(NoAnswerError, match="useast does not answer"):
        fail_over(night)
    assert (night.positions(REMOTE), night.operator.state(night.checkpoint)) == ({}, "RUNNING")


def test_a_group_that_was_moved_on_the_target_after_the_look_is_not_moved_back(night: Night) -> None:
    night.operator.before_patch = lambda: night.target.commit("checkout-web", {REMOTE: 14})
    with pytest.raises(RefusedError, match="group checkout-web is at 14 in useast"):
        fail_over(night)
    assert night.positions(REMOTE) == {"checkout-web": 14}


def test_the_failover_waits_for_a_checkpoint_connector_that_has_not_stopped_yet(night: Night) -> None:
    """An earlier run was killed and the operator is down: the running connector would move groups back."""
    for body in night.operator.objects.values():
        if body["metadata"]["name"] == night.checkpoint:
            body["spec"]["state"] = "stopped"
    with pytest.raises(CannotRunError, match="orders-checkpoint is RUNNING"):
        fail_over(night, wait_seconds=0)
    assert night.positions(REMOTE) == {}


def test_a_run_that_was_killed_is_finished_by_the_next(night: Night) -> None:
    def kill() -> None:
        night.operator.before_patch = lambda: None
        raise KilledError

    night.operator.before_patch = kill
    for before in ("", "checkout-app", "checkout-web"):
        night.killed_before[:] = [before]
        with pytest.raises(KilledError):
            fail_over(night)
    assert night.positions(REMOTE) == {"checkout-app": 4}
    night.killed_before.clear()
    fail_over(night)
    assert night.positions(REMOTE) == {"checkout-app": 4, "checkout-web": 13}


def test_unreplicated_records_block_a_planned_failover_but_not_a_continuous_one(
    night: Night, capsys: pytest.CaptureFixture[str]
) -> None:
    night.source.hold("orders", [(12, "")])
    with pytest.raises(RefusedError, match="drained: 1 record not on the target yet: 1 of orders-0"):
        fail_over(night)
    fail_over(night, Mode.CONTINUOUS)
    assert night.positions(REMOTE) == {"checkout-app": 4, "checkout-web": 13}
    assert night.operator.state(night.checkpoint) == "STOPPED"
    said = " ".join(capsys.readouterr().out.split())
    assert "If groups remain on useast, start the checkpoint connector for them once the consumers run" in said


def test_a_planned_failover_waits_for_records_within_the_maximum_lag(
    night: Night, capsys: pytest.CaptureFixture[str]
) -> None:
    night.source.hold("orders", [(12, "")])
    fail_over(night, max_lag=1, dry_run=True)
    assert "! drained       1 record not on the target yet: 1 of orders-0, which the command waits for" in (
        capsys.readouterr().out
    )
    # At the second look, the target has the record.
    night.on_target[:] = [lambda: None, lambda: night.target.hold(REMOTE.topic, [(12, "")])]
    fail_over(night, max_lag=1)
    assert night.positions(REMOTE) == {"checkout-app": 4, "checkout-web": 13}


def test_a_lag_above_the_maximum_is_refused_before_anything_is_changed(night: Night) -> None:
    night.source.hold("orders", [(12, ""), (13, "")])
    with pytest.raises(RefusedError, match="drained: 2 records not on the target yet: 2 of orders-0"):
        fail_over(night, max_lag=1, wait_seconds=600)
    assert (night.positions(REMOTE), night.operator.state(night.checkpoint)) == ({}, "RUNNING")


def test_a_failover_is_refused_if_records_do_not_arrive_in_time(night: Night) -> None:
    night.source.hold("orders", [(12, "")])
    with pytest.raises(RefusedError, match="drained: 1 record not on the target yet: 1 of orders-0"):
        fail_over(night, max_lag=5, wait_seconds=0)
    assert night.positions(REMOTE) == {}


def test_a_group_that_has_worked_on_the_target_is_left_alone(night: Night, capsys: pytest.CaptureFixture[str]) -> None:
    night.target.commit("checkout-web", {REMOTE: 14})
    fail_over(night)
    assert night.positions(REMOTE) == {"checkout-app": 4, "checkout-web": 14}
    assert (
        "group checkout-web is left alone: it is at 14 in useast.orders-0, past its new position 13"
        in capsys.readouterr().out
    )


def test_a_disaster_failover_reports_re_reads_and_next_steps_from_the_target_alone(
    night: Night, capsys: pytest.CaptureFixture[str]
) -> None:
    night.target.commit("checkout-web", {REMOTE: 9})
    night.target.hold("useast.heartbeats", [])
    night.dead.add("useast")
    fail_over(night, Mode.DISASTER)
    said = " ".join(capsys.readouterr().out.split())
    assert "✓ source Kafka cluster useast does not answer: Connection refused" in said
    assert "read again checkout-web: at most 6 records" in said
    assert "0 positions committed on uswest" in said
    assert "stop the flow, so that no connector moves a group: `replicate stop night orders`" in said
    assert "checkout-web subscribes to orders, useast.orders" in said
    assert night.positions(REMOTE) == {"checkout-web": 9}


def test_a_disaster_failover_ignores_published_positions_if_topic_ids_are_unknown(
    night: Night, capsys: pytest.CaptureFixture[str]
) -> None:
    """These brokers report no topic ids. Without them, published positions may belong to a deleted topic."""
    spans = {0: Span(0, 12, 0, 12, dense=True)}
    kept = PublishedPositions(
        flow_digest(night.flow), "2026-01-31T02:00:00+00:00", {"orders": SpannedTopic("S", "T", spans)}
    )
    packed = packed_positions(kept, 10_000)
    assert packed is not None
    reference = Reference("v1", "ConfigMap", night.flow.namespace, config_map_name(night.flow.name))
    night.operator.objects[reference] = {"binaryData": {POSITIONS: base64.b64encode(packed).decode()}}
    night.target.hold("useast.heartbeats", [])
    night.dead.add("useast")
    fail_over(night, Mode.DISASTER, dry_run=True)
    said = " ".join(capsys.readouterr().out.split())
    assert "! exact none: the published positions cannot be used: Kafka cluster uswest" in said


@pytest.mark.parametrize("mode", ["planned", "disaster"])
def test_a_planned_failover_suggests_disaster_mode_if_the_source_does_not_answer(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(*_: object) -> None:
        raise NoAnswerError("Kafka cluster useast does not answer: Connection refused")

    monkeypatch.setattr(failover.Failover, "look", silent)
    monkeypatch.setattr(disaster, "look_at_target", silent)
    answer = replicate("failover", "prod-us-west-2", "orders", "--mode", mode)
    hint = "If the source is lost: `replicate failover prod-us-west-2 orders --mode disaster --dry-run`."
    assert answer.returncode == 2
    assert "✗ not-answered: Kafka cluster useast does not answer" in answer.stderr
    assert (hint in answer.stderr) is (mode == "planned")


def test_a_disaster_failover_is_refused_while_the_source_answers(night: Night) -> None:
    with pytest.raises(RefusedError, match="useast answers, so exact positions can be computed"):
        fail_over(night, Mode.DISASTER)


def test_a_disaster_failover_is_refused_if_the_source_only_refuses_the_login(night: Night) -> None:
    login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "v"}
    night.source.config = {**night.source.config, **login, "sasl.password": "not-the-one"}
    with pytest.raises(RefusedError, match=r"useast refuses the login: .* The source is not lost"):
        fail_over(night, Mode.DISASTER)


ONE_WAY = {"source": "useast", "target": "uswest", **SELECTED}
PARTS = {**ONE_WAY, "topics": [], "connectors": {"sources": {"all": {"topics": ["orders"]}}}}


@pytest.mark.parametrize(
    ("replication", "remote"),
    [
        pytest.param({"kind": "flow", "policy": "identity", **ONE_WAY}, "orders", id="identity policy"),
        pytest.param({"kind": "mirrorMaker2", **ONE_WAY}, REMOTE.topic, id="mirrorMaker2"),
        pytest.param({"kind": "flow", **PARTS}, REMOTE.topic, id="several source connectors"),
    ],
)
def test_every_shape_fails_over(replication: dict[str, object], remote: str) -> None:
    night = a_night_of(of_topology(replication), remote)
    fail_over(night)
    assert night.positions(TopicPartition(remote, 0)) == {"checkout-app": 4, "checkout-web": 13}
    assert night.operator.state(night.checkpoint) == "STOPPED"


def test_a_pair_announces_what_is_read_again(capsys: pytest.CaptureFixture[str]) -> None:
    """The source holds 0 1 2 and then 3 4 from the target; the target holds 3 4 and then 0 1 2."""
    source, target = Cluster(), Cluster()
    there, here = "replicated-from-uswest", "replicated-from-useast"
    source.hold("orders", [(0, ""), (1, ""), (2, ""), (3, there), (4, there)])
    target.hold("orders", [(3, ""), (4, ""), (0, here), (1, here), (2, here)])
    flow = of_topology({"kind": "prefixlessPair", "between": ["useast", "uswest"], "topics": ["orders"]})
    night = a_night(flow, source, target, {"app": {ORDERS: 4}, "web": {ORDERS: 5}})
    fail_over(night)
    assert night.positions(ORDERS) == {"app": 1, "web": 5}
    assert "app: orders-0 at 4 -> orders-0 at 1, at least 3 records read again" in capsys.readouterr().out


def test_a_returning_group_of_a_pair_does_not_read_again_what_it_consumed_before(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Records as above. Group app had read 3 4 0 on the target before it left, and 0 1 2 3 on the source since."""
    source, target = Cluster(), Cluster()
    there, here = "replicated-from-uswest", "replicated-from-useast"
    source.hold("orders", [(0, ""), (1, ""), (2, ""), (3, there), (4, there)])
    target.hold("orders", [(3, ""), (4, ""), (0, here), (1, here), (2, here)])
    flow = of_topology({"kind": "prefixlessPair", "between": ["useast", "uswest"], "topics": ["orders"]})
    night = a_night(flow, source, target, {"app": {ORDERS: 4}, "web": {ORDERS: 2}})
    target.commit("app", {ORDERS: 3})
    target.commit("web", {ORDERS: 0})
    fail_over(night)
    assert night.positions(ORDERS) == {"app": 5, "web": 0}
    said = capsys.readouterr().out
    assert (
        "! returning     app: records consumed on uswest are not read again; to start from the offsets on useast "
        "alone, delete the group on uswest"
    ) in said
    fail_over(night)
    assert night.positions(ORDERS) == {"app": 5, "web": 0}
