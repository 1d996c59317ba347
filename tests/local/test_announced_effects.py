"""The changes of the review's cases, made one after the other: what was announced happens.

Each test changes the flow that the previous test left. `Scenario.change` compares restarts and workers with what was
announced; the tests compare offsets and every record.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from kafka_replication.infra.deploy.engine import deployment
from kafka_replication.infra.local.endpoints import Endpoints
from kafka_replication.infra.local.traffic import end_offsets
from tests.local.flows import write_edited
from tests.local.observed import committed, contents
from tests.local.scenario import STACK, Scenario
from tests.repository import STACKS

GROUP, JOINING = "dispatch-north", "customs"


def _parcels(topology: dict[str, Any]) -> None:
    example = yaml.safe_load((STACKS / "topologies" / "local.yaml").read_text())["replications"]["orders"]
    topology["replications"] = {
        "parcels": {
            **example,
            "topics": ["parcels", "labels-.*"],
            "groups": ["dispatch-.*"],
            "offsetSyncs": {"lagMax": 0},
        }
    }


@pytest.fixture(scope="module")
def scenario(endpoints: Endpoints, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scenario]:
    """A flow with the default policy whose records have arrived, and whose group is translated."""
    folder = write_edited(tmp_path_factory.mktemp("announced"), STACK, _parcels)
    topology = yaml.safe_load((folder / "topologies" / f"{STACK}.yaml").read_text())
    running = Scenario(folder, endpoints, topology)
    running.produce("parcels", "labels-blue", count=40)
    try:
        running.deploy()
        _expect_mirrored(running)
        # Earlier offsets may lie between two syncs; the end is always synced.
        ends = running.commit_all(GROUP, "parcels")
        running.expect_committed(GROUP, running.remote("parcels"), ends)
        yield running
    finally:
        deployment.destroy(running.deployed.settings, lambda _: None)


def _expect_mirrored(scenario: Scenario) -> None:
    """Produce more records; expect every remote topic to have each record once and in order."""
    scenario.produce()
    for topic in scenario.produced:
        scenario.expect_records(scenario.remote(topic), contents(scenario.source, topic))


def _source(scenario: Scenario) -> dict[str, Any]:
    """The source connector as the topology describes it."""
    found: dict[str, Any] = scenario.replication.setdefault("connectors", {}).setdefault("source", {})
    return found


def test_a_connector_property_restarts_that_connector_and_an_operator_setting_restarts_none(
    scenario: Scenario,
) -> None:
    def edit() -> None:
        _source(scenario)["config"] = {"producer.override.linger.ms": 20}
        scenario.replication["connectors"]["checkpoint"] = {"autoRestart": {"maxRestarts": 7}}

    with scenario.change("source-property operators-restarts", edit):
        _expect_mirrored(scenario)


def test_rotated_credentials_restart_the_connectors_that_read_them(scenario: Scenario) -> None:
    def edit() -> None:
        scenario.topology["clusters"]["useast"]["credentialsRevision"] = 1

    with scenario.change("credentials-rotated", edit):
        _expect_mirrored(scenario)


def test_a_worker_property_rolls_the_workers_and_no_record_is_copied_again(scenario: Scenario) -> None:
    def edit() -> None:
        scenario.replication["connect"]["config"] = {"offset.flush.interval.ms": 10000}

    with scenario.change("worker-property", edit):
        _expect_mirrored(scenario)


def test_more_tasks_and_a_new_group_restart_only_the_connectors_that_they_change(scenario: Scenario) -> None:
    ends = scenario.commit_all(JOINING, "parcels")

    def edit() -> None:
        _source(scenario)["tasksMax"] = 6
        scenario.replication["groups"] = ["dispatch-.*", JOINING]

    assert committed(scenario.target, JOINING, scenario.remote("parcels")) == {}
    with scenario.change("more-tasks group-joins", edit):
        scenario.expect_committed(JOINING, scenario.remote("parcels"), ends)
        _expect_mirrored(scenario)


def test_an_added_topic_is_filled_and_the_offsets_of_a_removed_group_no_longer_change(scenario: Scenario) -> None:
    scenario.produce("manifests", count=30)

    def edit() -> None:
        scenario.replication["topics"] = ["parcels", "labels-.*", "manifests"]
        scenario.replication["groups"] = ["dispatch-.*"]

    left = committed(scenario.target, JOINING, scenario.remote("parcels"))
    with scenario.change("topic-joins group-leaves", edit):
        _expect_mirrored(scenario)
        scenario.commit_all(JOINING, "parcels")
        ends = scenario.commit_all(GROUP, "parcels")
        scenario.expect_committed(GROUP, scenario.remote("parcels"), ends)
        assert committed(scenario.target, JOINING, scenario.remote("parcels")) == left != ends


def test_a_paused_source_connector_replicates_nothing_until_it_resumes(scenario: Scenario) -> None:
    def pause() -> None:
        _source(scenario)["state"] = "paused"

    def resume() -> None:
        _source(scenario)["state"] = "running"

    before = contents(scenario.target, scenario.remote("parcels"))
    with scenario.change("source-paused", pause):
        scenario.expect_state("parcels-source", "PAUSED")
        ends = scenario.commit_all(GROUP, "manifests")
        scenario.produce()
        # Groups are synced as before, which takes longer than a record would to arrive.
        scenario.expect_committed(GROUP, scenario.remote("manifests"), ends)
        assert contents(scenario.target, scenario.remote("parcels")) == before
    with scenario.change("source-resumes", resume):
        _expect_mirrored(scenario)


def test_the_remote_topic_of_a_removed_topic_stays_and_gets_no_more_records(scenario: Scenario) -> None:
    def edit() -> None:
        scenario.replication["topics"] = ["parcels", "manifests"]

    left = contents(scenario.target, scenario.remote("labels-blue"))
    with scenario.change("topic-leaves", edit):
        scenario.produce("labels-blue")
        del scenario.produced["labels-blue"]
        _expect_mirrored(scenario)
        assert contents(scenario.target, scenario.remote("labels-blue")) == left


def test_offsets_do_not_advance_until_a_group_passes_the_first_sync_of_the_new_topic(scenario: Scenario) -> None:
    def edit() -> None:
        scenario.replication["offsetSyncs"]["location"] = "target"

    at_the_end = scenario.commit_all(GROUP, "parcels")
    scenario.expect_committed(GROUP, scenario.remote("parcels"), at_the_end)
    with scenario.change("location-of-offset-syncs", edit):
        _expect_mirrored(scenario)
        assert sum(end_offsets(scenario.target, ["mm2-offset-syncs.useast.internal"]).values())
        assert committed(scenario.target, GROUP, scenario.remote("parcels")) == at_the_end
        passed = scenario.commit_all(GROUP, "parcels")
        scenario.expect_committed(GROUP, scenario.remote("parcels"), passed)


def test_a_flow_in_a_new_namespace_continues_where_the_old_one_stopped(scenario: Scenario) -> None:
    def edit() -> None:
        scenario.replication["namespace"] = {"name": "replication"}

    with scenario.change("namespace", edit):
        _expect_mirrored(scenario)


def test_a_new_source_alias_fills_new_remote_topics_and_orphans_the_old_offsets(scenario: Scenario) -> None:
    def edit() -> None:
        scenario.topology["clusters"]["us1"] = scenario.topology["clusters"].pop("useast")
        scenario.replication["source"] = "us1"

    remote = scenario.remote("parcels")
    old, orphaned = contents(scenario.target, remote), committed(scenario.target, GROUP, remote)
    with scenario.change("source-alias-with-syncs-on-the-target", edit):
        _expect_mirrored(scenario)
        ends = scenario.commit_all(GROUP, "parcels")
        scenario.expect_committed(GROUP, scenario.remote("parcels"), ends)
        assert contents(scenario.target, remote) == old
        assert committed(scenario.target, GROUP, remote) == orphaned != ends


def test_after_a_change_to_the_identity_policy_the_new_topics_hold_only_new_records(scenario: Scenario) -> None:
    def edit() -> None:
        scenario.replication["policy"] = "identity"

    old = {topic: scenario.remote(topic) for topic in scenario.produced}
    there = {topic: contents(scenario.target, remote) for topic, remote in old.items()}
    with scenario.change("policy-to-identity", edit):
        scenario.produce()
        for topic, before in there.items():
            every = contents(scenario.source, topic)
            scenario.expect_records(topic, {place: ids[len(before[place]) :] for place, ids in every.items()})
            assert contents(scenario.target, old[topic]) == before


def test_a_renamed_flow_replicates_everything_again(scenario: Scenario) -> None:
    def edit() -> None:
        renamed = {key: value for key, value in scenario.replication.items() if key != "namespace"}
        scenario.topology["replications"] = {"depots": renamed}
        scenario.name = "depots"

    _expect_twice(scenario, "replication-renamed", edit)


def test_a_flow_that_becomes_a_mirror_maker_2_replicates_everything_again(scenario: Scenario) -> None:
    def edit() -> None:
        scenario.replication["kind"] = "mirrorMaker2"

    _expect_twice(scenario, "flow-becomes-mirror-maker2", edit)


def _expect_twice(scenario: Scenario, case: str, edit: Callable[[], object]) -> None:
    """After the change each remote topic has its earlier records, and then every record of the source."""
    there = {topic: contents(scenario.target, scenario.remote(topic)) for topic in scenario.produced}
    with scenario.change(case, edit):
        scenario.produce()
        for topic, before in there.items():
            every = contents(scenario.source, topic)
            twice = {place: before[place] + ids for place, ids in every.items()}
            scenario.expect_records(scenario.remote(topic), twice)
