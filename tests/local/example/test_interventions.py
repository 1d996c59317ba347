"""`replicate pause`, `resume` and `restart` on the running flow: what they change, and how that is reported."""

from kafka_replication.infra.kubernetes.secret_readers import READ_SECRETS
from kafka_replication.infra.machine.waiting import wait_for
from kafka_replication.infra.operate.status.look import look
from kafka_replication.infra.review.live_comparison import compare_with_cluster
from kafka_replication.infra.stack.session import OpenStack
from tests import commands
from tests.commands import Answer
from tests.local.flows import ARRIVAL_SECONDS, Deployed
from tests.local.observed import Watch

HEARTBEAT = "orders-heartbeat"


def replicate(deployed: Deployed, verb: str, *options: str) -> Answer:
    words = [verb, deployed.settings.stack, *options, "--stacks", str(deployed.settings.stacks)]
    answer = commands.replicate(*words)
    print(f"$ replicate {' '.join(words)}\n{answer.stdout}{answer.stderr}")
    return answer


def test_a_pause_is_reported_as_a_temporary_state_until_it_is_resumed(deployed: Deployed) -> None:
    named = ("orders", "--connector", HEARTBEAT)
    tried = replicate(deployed, "pause", *named, "--dry-run")
    assert (tried.returncode, "nothing was changed" in tried.stdout) == (0, True)
    assert deployed.connector(HEARTBEAT)["spec"]["state"] == "running"
    paused = replicate(deployed, "pause", *named, "--for", "1h")
    try:
        assert paused.returncode == 0
        assert f"✓ {HEARTBEAT} is PAUSED" in paused.stdout
        assert "Nothing resumes by itself" in paused.stdout
        (drift,) = compare_with_cluster(OpenStack(deployed.settings)).drift
        assert (drift.code, drift.remedy) == (
            "temporary-state",
            f"`replicate resume local orders --connector '{HEARTBEAT}'`.",
        )
        status = next(flow for flow in look([OpenStack(deployed.settings)]).stacks[0].flows if flow.name == "orders")
        (shown,) = [each.temporary for each in status.connectors or () if each.name == HEARTBEAT]
        assert shown.startswith("paused by ")
        again = replicate(deployed, "pause", *named)
        assert (again.returncode, "already-in-state" in again.stderr) == (1, True)
    finally:
        resumed = replicate(deployed, "resume", "orders")
    assert (resumed.returncode, f"✓ {HEARTBEAT} is RUNNING" in resumed.stdout) == (0, True)
    left = compare_with_cluster(OpenStack(deployed.settings))
    assert (left.drift, left.objects) == ((), ())


def test_a_named_connector_restarts_with_its_tasks_and_no_other_connector_does(deployed: Deployed) -> None:
    nothing = replicate(deployed, "restart", "orders")
    assert (nothing.returncode, "nothing-failed" in nothing.stderr) == (1, True)
    watch = Watch("orders")
    restarted = replicate(deployed, "restart", "orders", "--connector", HEARTBEAT)
    assert (restarted.returncode, f"✓ {HEARTBEAT} is RUNNING" in restarted.stdout) == (0, True)
    wait_for("the connector to be made anew", lambda: watch.expect_made(frozenset({HEARTBEAT})), ARRIVAL_SECONDS)
    assert watch.happened().connectors == {HEARTBEAT}
    annotations = deployed.connector(HEARTBEAT)["metadata"].get("annotations") or {}
    assert "strimzi.io/restart" not in annotations
    assert READ_SECRETS in annotations


def test_an_unknown_flow_or_connector_is_refused_with_the_nearest_name(deployed: Deployed) -> None:
    for options, said in (
        (("order",), "name `orders`."),
        (("orders", "--connector", "orders-heartbeats"), f"name `{HEARTBEAT}`."),
    ):
        answer = replicate(deployed, "pause", *options)
        assert (answer.returncode, said in answer.stderr) == (2, True)
