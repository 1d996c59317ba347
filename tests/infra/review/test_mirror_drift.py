"""A KafkaMirrorMaker2 that was edited by hand: drift names list entries by alias, in both API versions."""

import copy
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kafka_replication.components.contract.temporary_states import ANNOTATION, TemporaryState, annotation_value
from kafka_replication.components.render.planned_objects import Manifest
from kafka_replication.infra.review.comparison import Drift, compare
from kafka_replication.infra.review.live_comparison import Running, running
from kafka_replication.infra.review.snapshots import Snapshot, current_snapshot
from tests.builders import a_cluster
from tests.infra.review.changes import written
from tests.infra.review.served import by_hand, in_cluster

MIRROR = "mirror-maker2"
SOURCE = "useast->uswest.MirrorSourceConnector"
RESTART = f"replicate restart test orders-from-useast --connector '{SOURCE}'"
#: Only a deployment knows the address of eu.
CLUSTERS = {
    "useast": a_cluster(bootstrapServers="kafka.useast:9093"),
    "uswest": a_cluster("us-west-2", bootstrapServers="kafka.uswest:9093"),
    "eu": a_cluster("eu-west-1", bootstrapServers={"config": "euBootstrap"}),
}
SOURCES = {"useast": {"topics": ["orders"], "groups": ["web"]}, "eu": {"topics": ["ledger"], "groups": ["audit"]}}
Lists = dict[str, Any]


@pytest.fixture(params=["1.2", "0.45"])
def declared(request: pytest.FixtureRequest, tmp_path: Path) -> Snapshot:
    mirror = {"kind": "mirrorMaker2", "target": "uswest", "sources": SOURCES}
    given = {"strimzi": request.param, "clusters": CLUSTERS, "replications": {"orders": mirror}}
    return current_snapshot("test", written(tmp_path / "stacks", given))


def found(declared: Snapshot, edit: Callable[[Lists], object], field: str = "mirrors") -> Running:
    """What is found after somebody applied the edit to a field of the spec by hand."""

    def edited(objects: dict[str, Manifest]) -> None:
        body = objects[MIRROR]
        value = copy.deepcopy(body["spec"][field])
        edit(value if isinstance(value, dict) else {_alias(each): each for each in value})
        by_hand(body, "spec", field, value=value)

    return running("test", declared, in_cluster(declared, edited))


def _alias(entry: Manifest) -> str:
    return str(entry.get("sourceCluster") or entry.get("alias") or entry["source"]["alias"])


def only_drift(declared: Snapshot, edit: Callable[[Lists], object], field: str = "mirrors") -> Drift:
    (drift,) = found(declared, edit, field).drift
    return drift


def test_there_is_no_drift_right_after_a_deployment(declared: Snapshot) -> None:
    clean = running("test", declared, in_cluster(declared))
    assert (clean.drift, compare("test", "", clean.snapshot, declared).objects) == ((), ())


def test_an_edited_mirror_is_named_by_its_alias_with_a_deployment_as_the_remedy(declared: Snapshot) -> None:
    drift = only_drift(declared, lambda mirrors: mirrors["useast"].update(topicsPattern="orders|made-by-hand"))
    assert (drift.code, drift.by, drift.since) == ("field-edited", "kubectl-edit", "2026-01-02T03:04:05Z")
    assert drift.what == "spec.mirrors[useast].topicsPattern is orders|made-by-hand, and the stack declares orders"
    assert drift.remedy.startswith("`replicate up test --refresh`")


def test_an_edited_connector_property_is_named_by_its_path(declared: Snapshot) -> None:
    drift = only_drift(declared, lambda all_: all_["eu"]["sourceConnector"]["config"].update({"offset.lag.max": 7}))
    assert drift.what == "spec.mirrors[eu].sourceConnector.config.offset.lag.max is 7, and the stack declares 100"


def test_a_property_added_by_hand_to_a_mirror_is_removed_by_the_next_deployment(declared: Snapshot) -> None:
    """A deployment writes a list as a whole, so a property added inside it does not survive, unlike an added field."""
    result = found(declared, lambda all_: all_["eu"]["sourceConnector"]["config"].update(more=1))
    path = "spec.mirrors[eu].sourceConnector.config.more"
    assert [each.what for each in result.drift] == [f"{path} is 1, and the stack does not declare it"]
    (change,) = compare("test", "", result.snapshot, declared).objects
    assert [(field.path, field.before, field.after) for field in change.fields] == [(path, 1, None)]


def test_a_mirror_removed_by_hand_is_named_by_its_alias(declared: Snapshot) -> None:
    def remove(objects: dict[str, Manifest]) -> None:
        kept = [mirror for mirror in objects[MIRROR]["spec"]["mirrors"] if _alias(mirror) != "eu"]
        by_hand(objects[MIRROR], "spec", "mirrors", value=kept)

    (drift,) = running("test", declared, in_cluster(declared, remove)).drift
    assert drift.what.startswith("spec.mirrors[eu] was removed, and the stack declares {")
    assert len(drift.what) < 250


def test_an_edited_address_is_reported_unless_only_the_deployment_knows_it(declared: Snapshot) -> None:
    def address(entries: Lists) -> None:
        entry = entries["useast"]
        entry.get("source", entry)["bootstrapServers"] = "elsewhere:9093"
        other = entries["eu"]
        other.get("source", other)["bootstrapServers"] = "kafka.eu:9093"

    old = "clusters" in mirror_spec(declared)
    drift = only_drift(declared, address, "clusters" if old else "mirrors")
    path = "spec.clusters[useast]" if old else "spec.mirrors[useast].source"
    assert drift.what == f"{path}.bootstrapServers is elsewhere:9093, and the stack declares kafka.useast:9093"


def test_an_edited_target_address_is_named_at_the_path_of_its_api_version(declared: Snapshot) -> None:
    if "clusters" in mirror_spec(declared):
        drift = only_drift(declared, lambda all_: all_["uswest"].update(bootstrapServers="x:1"), "clusters")
        path = "spec.clusters[uswest]"
    else:
        drift = only_drift(declared, lambda target: target.update(bootstrapServers="x:1"), "target")
        path = "spec.target"
    assert drift.what == f"{path}.bootstrapServers is x:1, and the stack declares kafka.uswest:9093"


def mirror_spec(declared: Snapshot) -> Manifest:
    (name,) = declared.names
    spec: Manifest = declared.objects(name)[MIRROR]["spec"]
    return spec


@pytest.mark.parametrize(
    ("state", "what", "remedy"),
    [
        pytest.param(
            {"connector": {"state": "PAUSED"}}, "is PAUSED, and its spec says running", "the operator", id="paused"
        ),
        pytest.param({"connector": {"state": "FAILED"}}, "failed: no trace", f"{RESTART}`", id="failed"),
        pytest.param(
            {"connector": {"state": "RUNNING"}, "tasks": [{"id": 3, "state": "FAILED", "trace": "Broken: no\n\tat x"}]},
            "task 3 failed: Broken: no",
            f"{RESTART} --task 3`",
            id="a-failed-task",
        ),
    ],
)
def test_a_connector_that_does_not_run_is_reported_although_the_resource_is_ready(
    declared: Snapshot, state: dict[str, Any], what: str, remedy: str
) -> None:
    def set_state(objects: dict[str, Manifest]) -> None:
        objects[MIRROR]["status"]["connectors"] = [{"name": SOURCE, **state}]

    (drift,) = running("test", declared, in_cluster(declared, set_state)).drift
    assert drift.what.startswith(f"connector {SOURCE} ")
    assert what in drift.what
    assert remedy in drift.remedy


def test_a_temporary_state_of_a_mirror_has_a_remedy_for_its_connector(declared: Snapshot) -> None:
    at = datetime(2026, 1, 31, 2, 10, tzinfo=UTC)
    annotation = annotation_value({SOURCE: TemporaryState("orders-from-useast", "paused", "ann", at, before="running")})

    def edit(objects: dict[str, Manifest]) -> None:
        mirrors = copy.deepcopy(objects[MIRROR]["spec"]["mirrors"])
        next(mirror for mirror in mirrors if _alias(mirror) == "useast")["sourceConnector"]["state"] = "paused"
        by_hand(objects[MIRROR], "spec", "mirrors", value=mirrors)
        objects[MIRROR]["metadata"]["annotations"] = {ANNOTATION: annotation}

    (drift,) = running("test", declared, in_cluster(declared, edit)).drift
    assert drift.code == "temporary-state"
    assert drift.remedy == f"`replicate resume test orders-from-useast --connector '{SOURCE}'`."
