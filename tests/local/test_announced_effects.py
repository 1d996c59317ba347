"""Changes of the review's cases, carried out one after the other: what was announced is what happens.

Each test changes the flow that the one before it left. `Scenario.change` holds restarts and workers to what was
announced; the tests hold records and offsets to it, record by record.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from infra.engine import deployment
from infra.local.endpoints import Endpoints
from infra.local.traffic import end_offsets
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
    """Every topic has each record once, in its order, with one more of each partition at the end."""
    scenario.produce()
    for topic in scenario.produced:
        scenario.expect_records(scenario.remote(topic), contents(scenario.source, topic))


def _source(scenario: Scenario) -> dict[str, Any]:
    """The source connector as the topology describes it."""
    found: dict[str, Any] = scenario.replication.setdefault("connectors", {}).setdefault("source", {})
    return found


def test_a_property_of_one_connector_restarts_that_one_and_what_only_the_operator_reads_none(
    scenario: Scenario,
) -> None:
    def edit() -> None:
        _source(scenario)["config"] = {"producer.override.linger.ms": 20}
        scenario.replication["connectors"]["checkpoint"] = {"autoRestart": {"maxRestarts": 7}}

    with scenario.change("source-property operators-restarts", edit):
        _expect_mirrored(scenario)


def test_rotated_credentials_restart_whoever_reads_them(scenario: Scenario) -> None:
    def edit() -> None:
        scenario.topology["clusters"]["useast"]["credentialsRevision"] = 1

    with scenario.change("credentials-rotated", edit):
        _expect_mirrored(scenario)


def test_a_worker_property_rolls_workers_and_copies_nothing(scenario: Scenario) -> None:
    def edit() -> None:
        scenario.replication["connect"]["config"] = {"offset.flush.interval.ms": 10000}

    with scenario.change("worker-property", edit):
        _expect_mirrored(scenario)


def test_more_tasks_and_groups_that_join_restart_the_connector_of_each(scenario: Scenario) -> None:
    ends = scenario.commit_all(JOINING, "parcels")

    def edit() -> None:
        _source(scenario)["tasksMax"] = 6
        scenario.replication["groups"] = ["dispatch-.*", JOINING]

    assert committed(scenario.target, JOINING, scenario.remote("parcels")) == {}
    with scenario.change("more-tasks group-joins", edit):
        scenario.expect_committed(JOINING, scenario.remote("parcels"), ends)
        _expect_mirrored(scenario)


def test_a_topic_that_joins_is_filled_and_offsets_of_a_group_that_leaves_stay_as_they_are(scenario: Scenario) -> None:
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


def test_nothing_moves_in_a_pause_and_all_of_it_afterwards(scenario: Scenario) -> None:
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


def test_the_remote_topic_of_a_topic_that_leaves_stays_and_no_longer_moves(scenario: Scenario) -> None:
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


def test_another_namespace_goes_on_where_the_old_one_stood(scenario: Scenario) -> None:
    def edit() -> None:
        scenario.replication["namespace"] = {"name": "replication"}

    with scenario.change("namespace", edit):
        _expect_mirrored(scenario)


def test_another_alias_of_the_source_fills_other_topics_and_orphans_groups(scenario: Scenario) -> None:
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


def test_under_the_identity_policy_the_new_topics_hold_what_comes_from_now_on(scenario: Scenario) -> None:
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


def test_under_another_name_everything_is_replicated_again(scenario: Scenario) -> None:
    def edit() -> None:
        renamed = {key: value for key, value in scenario.replication.items() if key != "namespace"}
        scenario.topology["replications"] = {"depots": renamed}
        scenario.name = "depots"

    _expect_twice(scenario, "replication-renamed", edit)


def test_as_a_mirror_maker_2_everything_is_replicated_again(scenario: Scenario) -> None:
    def edit() -> None:
        scenario.replication["kind"] = "mirrorMaker2"

    _expect_twice(scenario, "flow-becomes-mirror-maker2", edit)


def _expect_twice(scenario: Scenario, case: str, edit: Callable[[], object]) -> None:
    """After the change each topic has what was there, and then every record of the source."""
    there = {topic: contents(scenario.target, scenario.remote(topic)) for topic in scenario.produced}
    with scenario.change(case, edit):
        scenario.produce()
        for topic, before in there.items():
            every = contents(scenario.source, topic)
            twice = {place: before[place] + ids for place, ids in every.items()}
            scenario.expect_records(scenario.remote(topic), twice)
