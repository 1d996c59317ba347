"""`replicate status` of the deployed flows: what it shows while everything runs, and while something is down."""

import json
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from confluent_kafka.admin import AdminClient

from kafka_replication.components.contract.report import Report, Verdict
from kafka_replication.infra.deploy.engine import deployment
from kafka_replication.infra.local.endpoints import APP
from kafka_replication.infra.local.traffic import end_offsets
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from kafka_replication.infra.operate.status.document import FlowStatus
from kafka_replication.infra.operate.status.look import look
from kafka_replication.infra.operate.status.text import flow_lines
from kafka_replication.infra.stack.session import OpenStack
from kafka_replication.spark.report.publish import publish
from tests.local.flows import ARRIVAL_SECONDS, READY_SECONDS, Deployed, outcome_text, suspended
from tests.repository import ROOT

#: Every question has a deadline: the command ends within this time, however many parts are down.
WITHIN_SECONDS = 180
_HOIST = "org.apache.kafka.connect.transforms.HoistField$Value"
_FAILING = {"transforms": "hoist", "transforms.hoist.type": _HOIST, "transforms.hoist.field": "wrapped"}


def replicate_status(deployed: Deployed, *options: str) -> "subprocess.CompletedProcess[str]":
    """The command as a user calls it, in a pipe."""
    code = "from kafka_replication.infra.commands.app import main; main()"
    command = ["-c", code, "status", "local", "--stacks", str(deployed.settings.stacks), *options]
    return subprocess.run(
        [sys.executable, *command], cwd=ROOT, capture_output=True, text=True, timeout=WITHIN_SECONDS, check=False
    )


def orders(deployed: Deployed) -> FlowStatus:
    (stack,) = look([OpenStack(deployed.settings)]).stacks
    return next(flow for flow in stack.flows if flow.name == "orders")


def seen(deployed: Deployed, expected: Callable[[FlowStatus], bool]) -> FlowStatus:
    """The first status of `orders` that is as expected."""

    def probe() -> FlowStatus:
        status = orders(deployed)
        if not expected(status):
            raise NotYetError("\n".join(f"{fact.title} {fact.text}" for fact in flow_lines("local", status)))
        return status

    return wait_for("a status as expected", probe, ARRIVAL_SECONDS)


def replicated(deployed: Deployed) -> list[str]:
    """The topics of `orders` on the source, including those that other tests have added."""
    admin = AdminClient(deployed.endpoints.regions["useast"].client_config(APP))
    named = admin.list_topics(timeout=WITHIN_SECONDS).topics
    return [topic for topic in named if topic == "orders" or topic.startswith("payments-")]


def test_a_healthy_and_proven_flow_could_fail_over(deployed: Deployed) -> None:
    outcome = deployed.validate()
    assert outcome.verdict is Verdict.PASS, outcome_text(outcome)
    publish(Report("local", datetime.now(UTC).isoformat(), 0, (outcome,)), deployed.endpoints.kubeconfig)
    status = seen(deployed, lambda each: each.could_fail_over)
    assert status.lag is not None
    assert status.read_again is not None
    assert status.lag.partitions == len(end_offsets(deployed.endpoints.regions["useast"], replicated(deployed)))
    assert {group.name for group in status.read_again.most} >= {"checkout-web"}
    answer = replicate_status(deployed)
    assert "local orders failover   could fail over now: yes" in answer.stdout, answer.stdout + answer.stderr
    # Nothing was published for the second flow.
    assert "local ledger failover   could fail over now: no, because no validation was ever published" in answer.stdout
    assert answer.returncode == 1


def test_a_failed_task_is_shown_with_the_first_line_of_its_trace(deployed: Deployed) -> None:
    mended = dict.fromkeys(_FAILING)
    with deployed.edited("orders-heartbeat", {"config": _FAILING}, {"config": mended}):
        status = seen(deployed, lambda each: any(connector.failures for connector in each.connectors or ()))
    assert "orders-heartbeat task 0 failed" in [each.text for each in status.reasons]
    (failure,) = [text for connector in status.connectors or () for text in connector.failures]
    assert failure.startswith("orders-heartbeat task 0: org.apache.kafka.connect.errors.")
    deployment.wait_ready(deployed.settings, READY_SECONDS)


@pytest.mark.parametrize(
    ("part", "why", "unasked"),
    [
        pytest.param(
            "kafka-useast",
            "Kafka cluster useast does not answer",
            ["lag", "losses", "readAgain", "logins"],
            id="source",
        ),
        pytest.param(
            "kafka-uswest",
            "Kafka cluster uswest does not answer",
            ["heartbeatSeconds", "lag", "losses", "readAgain", "logins"],
            id="target",
        ),
        pytest.param(
            "kube-apiserver",
            "its credentials are in Kubernetes, which does not answer",
            ["connectors", "heartbeatSeconds", "lag", "losses", "readAgain", "verdict", "logins"],
            id="Kubernetes",
        ),
    ],
)
def test_a_part_that_is_down_is_reported_and_the_rest_is_shown(
    deployed: Deployed, part: str, why: str, unasked: list[str]
) -> None:
    with suspended(part):
        answer = replicate_status(deployed, "--json")
    assert answer.returncode in {1, 2}, answer.stderr
    flows = {each["name"]: each for each in json.loads(answer.stdout)["stacks"][0]["flows"]}
    assert flows["orders"]["couldFailOver"] is False
    assert flows["orders"]["unasked"] == unasked, answer.stdout
    assert any(why in reason["text"] for reason in flows["orders"]["reasons"])
    passwords = [user.password for region in deployed.endpoints.regions.values() for user in region.users.values()]
    assert [each for each in passwords if each in answer.stdout + answer.stderr] == []
    seen(deployed, lambda each: not each.unasked)
