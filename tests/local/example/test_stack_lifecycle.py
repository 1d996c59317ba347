"""A stack over time: a changed property takes effect, a killed process is started again."""

from collections.abc import Callable
from typing import Any

import yaml
from rich.console import Console

from kafka_replication.components.contract.report import Verdict
from kafka_replication.infra.deploy.engine import deployment
from kafka_replication.infra.local import stack
from kafka_replication.infra.local.parts import operator as operator_part
from kafka_replication.infra.local.state import load_state
from kafka_replication.infra.local.traffic import make_example_traffic
from kafka_replication.infra.machine.waiting import wait_for
from kafka_replication.infra.stack.settings import read_settings
from tests.local.flows import ARRIVAL_SECONDS, READY_SECONDS, Deployed, kill, outcome_text
from tests.local.observed import Watch, expect_records


def _changed(deployed: Deployed, change: Callable[[dict[str, Any]], None]) -> Deployed:
    """The stack with its topology file edited; deployed and ready."""
    file = deployed.settings.stacks / "topologies" / "local.yaml"
    topology = yaml.safe_load(file.read_text())
    change(topology["replications"]["orders"])
    file.write_text(yaml.safe_dump(topology, sort_keys=False))
    return Deployed(read_settings("local", deployed.settings.stacks), deployed.endpoints)


def test_a_changed_topic_list_reaches_the_running_connectors(deployed: Deployed) -> None:
    """The ConfigMap is replaced under a new name, so that connectors that read it start again."""
    target = deployed.endpoints.regions["uswest"]
    wider = _changed(deployed, lambda flow: flow.update(topics=["orders", "payments-.*", "audit"]))
    try:
        changes = deployment.up(wider.settings, lambda _: None)
        assert changes["replace"] == 1
        assert changes["update"] == 4, "the Role and three connectors"
        deployment.wait_ready(wider.settings, READY_SECONDS)
        wait_for("audit on the target", lambda: expect_records(target, "useast.audit", 1), ARRIVAL_SECONDS)
    finally:
        _changed(deployed, lambda flow: flow.update(topics=["orders", "payments-.*"])).up()


def test_killed_parts_are_started_again_and_the_flow_recovers(deployed: Deployed) -> None:
    """The resources stay Ready until the operator notices, so Ready alone does not say that the connectors are back."""
    watch = Watch("orders")
    connectors = frozenset({"orders-source", "orders-checkpoint", "orders-heartbeat"})
    try:
        parts = load_state().parts
        kill([parts["kube-apiserver"], *operator_part.workers(), parts["kafka-uswest"], parts["operator"]])
    finally:
        stack.up(Console(quiet=True))
    wait_for("the connectors to be made again", lambda: watch.expect_made(connectors), READY_SECONDS)
    make_example_traffic(deployed.endpoints.regions["useast"], 30, seed=1)
    deployment.wait_ready(deployed.settings, READY_SECONDS)
    outcome = deployed.validate(catch_up_seconds=90)
    assert outcome.verdict is Verdict.PASS, outcome_text(outcome)
