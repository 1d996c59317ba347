"""A split over three Connect clusters, for real: a stopped part leaves the others running, and quotas hold."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client

from kafka_replication.components import checks
from kafka_replication.components.contract.problems import CannotRunError, ReplicationError
from kafka_replication.components.contract.report import Verdict
from kafka_replication.infra.deploy.engine import deployment
from kafka_replication.infra.local.endpoints import Endpoints
from kafka_replication.infra.local.parts import operator as operator_part
from kafka_replication.infra.local.traffic import SALES, make_example_traffic
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from kafka_replication.infra.stack.settings import StackSettings, read_settings
from tests.local.flows import ARRIVAL_SECONDS, READY_SECONDS, Deployed, check_named, outcome_text, write_edited

pytestmark = pytest.mark.usefixtures("spark", "stopped_programs")

PARTS = ("traffic-sales", "traffic-clicks", "traffic-logs")


@pytest.fixture(scope="module")
def split(endpoints: Endpoints, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    """The stack `local-split` with its traffic."""
    stack = Deployed(
        read_settings("local-split", write_edited(tmp_path_factory.mktemp("split"), "local-split", lambda _: None)),
        endpoints,
    )
    make_example_traffic(endpoints.regions["useast"], 300, 1, SALES)
    with stack.running():
        yield stack


def test_only_the_stopped_part_is_reported_with_its_lag(split: Deployed) -> None:
    make_example_traffic(split.endpoints.regions["useast"], 300, 1, SALES)
    healthy = split.validate("traffic-logs")
    assert healthy.verdict is Verdict.PASS, outcome_text(healthy)
    _scale(split, "traffic-logs", 0)
    try:
        wait_for("the workers of logs to end", lambda: _expect_workers("traffic-logs", 0), ARRIVAL_SECONDS)
        make_example_traffic(split.endpoints.regions["useast"], 300, 1, SALES)
        # Nothing can arrive from the stopped part, however long the job waits.
        patience = {part: 1 if part == "traffic-logs" else 45 for part in PARTS}
        outcomes = {part: split.validate(part, catch_up_seconds=patience[part]) for part in PARTS}
    finally:
        _scale(split, "traffic-logs", 1)
        deployment.wait_ready(split.settings, READY_SECONDS)
    verdicts = [outcome.verdict for outcome in outcomes.values()]
    assert verdicts == [Verdict.PASS, Verdict.PASS, Verdict.FAIL], "\n".join(map(outcome_text, outcomes.values()))
    assert check_named(outcomes["traffic-logs"], "parity").counts["lagging"] == 300
    assert "logs-app: 300" in outcome_text(outcomes["traffic-logs"])
    assert "logs-app: 300" not in outcome_text(outcomes["traffic-sales"]) + outcome_text(outcomes["traffic-clicks"])


def _scale(split: Deployed, name: str, replicas: int) -> None:
    client.CustomObjectsApi(split.api).patch_namespaced_custom_object(
        "kafka.strimzi.io", "v1", f"mirror-{name}", "kafkaconnects", name, {"spec": {"replicas": replicas}}
    )


def _expect_workers(name: str, wanted: int) -> None:
    found = [worker for worker in operator_part.workers() if name in worker.name]
    if len(found) != wanted:
        raise NotYetError(f"{len(found)} workers of {name}")


def test_a_part_that_outgrows_its_quota_is_refused_by_preview_and_by_kubernetes(
    split: Deployed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def grow(topology: dict[str, Any]) -> None:
        topology["replications"]["traffic"]["parts"]["sales"]["connect"]["replicas"] = 3

    grown = read_settings("local-split", write_edited(tmp_path, "local-split", grow))
    with pytest.raises(ReplicationError, match="quota-exceeded: 3 workers need 3 of `pods`, but the quota is 2"):
        deployment.preview(grown, lambda _: None)
    monkeypatch.setattr(checks, "check_connect_clusters", lambda *_: ())
    try:
        deployment.up(grown, lambda _: None)
        wait_for("Kubernetes to refuse a worker", lambda: _expect_refused(grown), ARRIVAL_SECONDS)
    finally:
        deployment.up(split.settings, lambda _: None)


def _expect_refused(grown: StackSettings) -> None:
    try:
        deployment.wait_ready(grown, 0)
    except CannotRunError as seen:
        if "exceeded quota" in str(seen):
            return
        raise NotYetError(str(seen)) from seen
    raise NotYetError("everything is ready")
