"""A KafkaMirrorMaker2 for real, in either API version: all that it replicates arrives, and a second up does nothing."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_replication.components.contract.report import FlowOutcome, Verdict
from kafka_replication.infra.deploy.engine import deployment
from kafka_replication.infra.local.endpoints import Endpoints
from kafka_replication.infra.local.traffic import STOCK, make_example_traffic
from kafka_replication.infra.machine.waiting import wait_for
from kafka_replication.infra.review.live_comparison import compare_with_cluster
from kafka_replication.infra.stack.session import OpenStack
from kafka_replication.infra.stack.settings import read_settings
from tests.local.example.test_interventions import replicate
from tests.local.flows import ARRIVAL_SECONDS, Deployed, check_named, outcome_text, write_edited

pytestmark = pytest.mark.usefixtures("spark")

CONNECTORS = {"useast->uswest.MirrorSourceConnector", "useast->uswest.MirrorCheckpointConnector"}


@pytest.fixture(scope="module", params=["1.2", "0.45"])
def mirror(
    request: pytest.FixtureRequest,
    endpoints: Endpoints,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Deployed]:
    """The stack `local-mirrormaker2` for one version of Strimzi, with its traffic."""

    def edit(topology: dict[str, Any]) -> None:
        topology["strimzi"] = request.param

    folder = write_edited(tmp_path_factory.mktemp("mirror"), "local-mirrormaker2", edit)
    stack = Deployed(read_settings("local-mirrormaker2", folder), endpoints)
    make_example_traffic(endpoints.regions["useast"], 300, 1, STOCK)
    with stack.running():
        make_example_traffic(endpoints.regions["useast"], 300, 1, STOCK)
        yield stack


@pytest.fixture(scope="module")
def outcome(mirror: Deployed) -> FlowOutcome:
    """One validation; each of several tests checks a part of it."""
    return mirror.validate("stock")


def test_records_groups_and_heartbeats_arrive(outcome: FlowOutcome) -> None:
    assert outcome.verdict is Verdict.PASS, outcome_text(outcome)
    parity = check_named(outcome, "parity").counts
    # Workers that stop before they store their offsets send again what they sent since the last stored offsets.
    assert parity["targetRecords"] - parity["duplicated"] == parity["sourceRecords"] >= 1200


def test_heartbeats_produced_to_the_target_are_reported_to_prove_only_the_workers(
    mirror: Deployed, outcome: FlowOutcome
) -> None:
    codes = [finding.code for finding in check_named(outcome, "heartbeats-arrive").findings]
    produced_to_the_target = mirror.flow("stock").heartbeats_on == "target"
    assert ("heartbeats-of-workers" in codes) is produced_to_the_target


def test_the_stack_outputs_name_the_connectors_as_the_operator_does(mirror: Deployed) -> None:
    connector_names = set(deployment.outputs(mirror.settings)["replications"]["stock"]["connectors"])
    assert connector_names >= CONNECTORS
    assert len(connector_names) == 3


def test_a_second_up_changes_nothing(mirror: Deployed) -> None:
    changes = deployment.up(mirror.settings, lambda _: None)
    assert set(changes) == {"same"}, changes


def test_a_connector_of_a_mirror_maker_2_is_paused_resumed_and_restarted_by_its_name(mirror: Deployed) -> None:
    source = "useast->uswest.MirrorSourceConnector"
    for verb, options, seen in (
        ("pause", ("--for", "1h"), "PAUSED"),
        ("resume", (), "RUNNING"),
        ("restart", ("--task", "0"), "RUNNING"),
    ):
        answer = replicate(mirror, verb, "stock", "--connector", source, *options)
        assert (answer.returncode, f"{source} is {seen}" in answer.stdout) == (0, True), answer.stderr
        drift = compare_with_cluster(OpenStack(mirror.settings)).drift
        assert [each.code for each in drift] == (["temporary-state"] if verb == "pause" else [])


@pytest.mark.parametrize("mirror", ["0.45"], indirect=True)
def test_offsets_can_be_set_and_leave_no_drift_and_nothing_to_deploy(mirror: Deployed, tmp_path: Path) -> None:
    """The connectors are items of a list that is written as a whole; the next deployment must own that list again.

    This test replicates a record twice, so it runs after all tests that count records.
    """
    listed = json.loads(replicate(mirror, "offsets", "stock", "list", "--json").stdout)
    first = next(each for each in listed if isinstance(each["offset"], int))
    first["offset"] -= 1
    file = tmp_path / "offsets.json"
    file.write_text(json.dumps(listed))
    answer = replicate(mirror, "offsets", "stock", "set", str(file), "--yes")
    assert (answer.returncode, "replicates up to 1 record again" in answer.stdout) == (0, True)
    assert "useast->uswest.MirrorSourceConnector is RUNNING" in answer.stdout
    wait_for("no drift", mirror.expect_no_drift, ARRIVAL_SECONDS)
    changes = deployment.up(mirror.settings, lambda _: None)
    assert set(changes) == {"same"}, changes
