"""What runs is compared with what a stack declares: what does not count as drift, and each kind of drift."""

import copy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kafka_replication.components.changes.effect import Impact
from kafka_replication.components.contract.temporary_states import ANNOTATION, TemporaryState, annotation_value
from kafka_replication.components.render.planned_objects import Manifest
from kafka_replication.infra.review.comparison import compare
from kafka_replication.infra.review.live_comparison import Running, running, with_known_contents
from kafka_replication.infra.review.snapshots import Snapshot, current_snapshot
from tests.infra.review.changes import written
from tests.infra.review.served import Edit, an_entry, by_hand, in_cluster

SOURCE = "KafkaConnector mirror-orders/orders-source"
QUOTA: dict[str, Any] = {"replications": {"orders": {"quota": {"hard": {"pods": 4, "requests.storage": "2048Mi"}}}}}


@pytest.fixture
def declared(tmp_path: Path) -> Snapshot:
    return current_snapshot("test", written(tmp_path / "stacks", {}))


def found(declared: Snapshot, edit: Edit) -> Running:
    return running("test", declared, in_cluster(declared, edit))


def codes(result: Running) -> list[tuple[str, str]]:
    return [(each.code, each.where) for each in result.drift]


def test_defaults_status_and_managed_fields_are_not_drift(declared: Snapshot) -> None:
    clean = running("test", declared, in_cluster(declared))
    compared = compare("test", "what runs", clean.snapshot, declared)
    assert (clean.drift, compared.objects, compared.effects) == ((), (), ())


def test_a_quantity_that_the_api_server_normalized_is_not_drift(tmp_path: Path) -> None:
    declared = current_snapshot("test", written(tmp_path / "stacks", QUOTA))

    def normalize(objects: dict[str, Manifest]) -> None:
        assert objects["quota"]["spec"]["hard"]["requests.storage"] == "2048Mi"
        objects["quota"]["spec"]["hard"]["requests.storage"] = "2Gi"

    result = found(declared, normalize)
    assert (result.drift, compare("test", "", result.snapshot, declared).objects) == ((), ())


def test_a_property_added_by_hand_is_reported_with_who_when_and_a_patch_to_remove_it(declared: Snapshot) -> None:
    result = found(declared, lambda each: by_hand(each["source-connector"], "spec", "config", "a/b", value="1"))
    (drift,) = result.drift
    assert (drift.code, drift.where, drift.by, drift.since) == (
        "field-added",
        SOURCE,
        "kubectl-edit",
        "2026-01-02T03:04:05Z",
    )
    assert '"path":"/spec/config/a~1b"' in drift.remedy
    assert "Otherwise it stays until a deployment changes this resource: Pulumi then takes over" in drift.remedy


def test_a_declared_field_edited_by_hand_is_drift_and_the_next_deployment_changes_it(declared: Snapshot) -> None:
    result = found(declared, lambda each: by_hand(each["connect"], "spec", "replicas", value=1))
    (drift,) = result.drift
    assert (drift.code, drift.what) == ("field-edited", "spec.replicas is 1, and the stack declares 3")
    (change,) = compare("test", "", result.snapshot, declared).objects
    assert [(field.path, field.before, field.after) for field in change.fields] == [("spec.replicas", 1, 3)]


def announced(until: datetime) -> Edit:
    """The source connector paused by ann."""
    at = datetime(2026, 1, 31, 2, 10, tzinfo=UTC)
    annotation = annotation_value(
        {"orders-source": TemporaryState("orders", "paused", "ann", at, until, before="running")}
    )

    def edit(objects: dict[str, Manifest]) -> None:
        body = objects["source-connector"]
        by_hand(body, "spec", "state", value="paused")
        body["metadata"]["annotations"] = {ANNOTATION: annotation}
        body["status"]["connectorStatus"]["connector"]["state"] = "PAUSED"

    return edit


@pytest.mark.parametrize(
    ("year", "severity", "passed"),
    [(2999, Impact.RESTART, ""), (2026, Impact.DATA, ", which has passed")],
    ids=["not expired", "expired"],
)
def test_an_announced_pause_is_reported_with_who_until_when_and_how_to_end_it(
    declared: Snapshot, year: int, severity: Impact, passed: str
) -> None:
    (drift,) = found(declared, announced(datetime(year, 1, 31, 3, 10, tzinfo=UTC))).drift
    assert (drift.code, drift.severity, drift.by) == ("temporary-state", severity, "ann")
    assert drift.what == (
        "connector orders-source is paused by ann at 02:10Z on 2026-01-31 "
        f"until 03:10Z on {year}-01-31{passed}, and the stack declares running"
    )
    assert drift.remedy == "`replicate resume test orders --connector 'orders-source'`."


def test_a_state_other_than_the_announced_one_is_reported_as_an_edit(declared: Snapshot) -> None:
    def edit(objects: dict[str, Manifest]) -> None:
        announced(datetime(2999, 1, 31, tzinfo=UTC))(objects)
        objects["source-connector"]["spec"]["state"] = "stopped"
        objects["source-connector"]["status"]["connectorStatus"]["connector"]["state"] = "STOPPED"

    assert [each.code for each in found(declared, edit).drift] == ["field-edited"]


def test_a_field_whose_declaration_changed_since_the_deployment_is_a_change_not_drift(declared: Snapshot) -> None:
    def earlier(objects: dict[str, Manifest]) -> None:
        objects["source-connector"]["spec"]["tasksMax"] = 7

    result = found(declared, earlier)
    assert result.drift == ()
    assert [each.name for each in compare("test", "", result.snapshot, declared).objects] == ["orders-source"]


def test_a_connector_paused_through_the_rest_api_is_drift_of_severity_data(declared: Snapshot) -> None:
    def paused(objects: dict[str, Manifest]) -> None:
        objects["source-connector"]["status"]["connectorStatus"]["connector"]["state"] = "PAUSED"

    result = found(declared, paused)
    assert codes(result) == [("connector-state", SOURCE)]
    assert result.drift[0].severity is Impact.DATA
    assert "is PAUSED, and its spec says running" in result.drift[0].what


def test_a_failed_task_is_reported_with_its_reason_and_a_restart_command(declared: Snapshot) -> None:
    def failed(objects: dict[str, Manifest]) -> None:
        tasks = objects["source-connector"]["status"]["connectorStatus"]["tasks"]
        tasks.append({"id": 1, "state": "FAILED", "trace": "TopicAuthorizationException: no\n\tat …"})

    (drift,) = found(declared, failed).drift
    assert drift.what == "connector orders-source task 1 failed: TopicAuthorizationException: no"
    assert "`replicate restart test orders --connector 'orders-source' --task 1`" in drift.remedy


@pytest.mark.parametrize("change", ["paused", "no report of tasks"])
def test_missing_tasks_are_not_reported_if_the_connector_is_paused_or_reports_no_tasks(
    declared: Snapshot, change: str
) -> None:
    def idle(objects: dict[str, Manifest]) -> None:
        status = objects["source-connector"]["status"]["connectorStatus"]
        if change == "paused":
            objects["source-connector"]["spec"]["state"] = "paused"
            status["tasks"] = []
        else:
            del status["tasks"]

    assert "connector-without-task" not in [code for code, _ in codes(found(declared, idle))]


def test_a_running_source_connector_without_a_task_is_reported(declared: Snapshot) -> None:
    """With a wrong password the connector is RUNNING and Ready, and has no task that could fail."""

    def idle(objects: dict[str, Manifest]) -> None:
        for connector in ("source-connector", "checkpoint-connector"):
            objects[connector]["status"]["connectorStatus"]["tasks"] = []

    result = found(declared, idle)
    assert codes(result) == [("connector-without-task", SOURCE)]
    assert "or a login is refused" in result.drift[0].what


@pytest.mark.parametrize(
    ("manager", "wanted"), [("kubectl-edit", ["secret-written"]), ("pulumi-kubernetes-a1b2", [])], ids=str
)
def test_a_secret_key_written_by_hand_is_named_without_its_value(
    tmp_path: Path, manager: str, wanted: list[str]
) -> None:
    password = {"config": "eastPassword", "secret": None, "key": None}
    given = {"clusters": {"useast": {"authentication": {"password": password}}}, "config": {"eastPassword": "x"}}
    declared = current_snapshot("test", written(tmp_path / "stacks", given))
    (secret,) = [key for name in declared.names for key, body in declared.objects(name).items() if "values" in body]

    def rewritten(objects: dict[str, Manifest]) -> None:
        objects[secret]["metadata"]["managedFields"].append(an_entry(manager, {"f:data": {"f:password": {}}}))

    drift = found(declared, rewritten).drift
    assert [each.code for each in drift] == wanted
    assert all(each.by == manager and each.what.startswith("data.password was written by hand") for each in drift)


def test_a_resource_that_the_operator_has_not_reconciled_yet_is_not_ready(declared: Snapshot) -> None:
    def behind(objects: dict[str, Manifest]) -> None:
        objects["connect"]["metadata"]["generation"] = 2

    assert codes(found(declared, behind)) == [("not-ready", "KafkaConnect mirror-orders/orders")]


def test_a_paused_reconciliation_is_reported_with_who_paused_it(declared: Snapshot) -> None:
    path = ("metadata", "annotations", "strimzi.io/pause-reconciliation")
    (drift,) = found(declared, lambda each: by_hand(each["connect"], *path, value="true")).drift
    assert (drift.code, drift.by) == ("reconciliation-paused", "kubectl-edit")


def test_a_deleted_config_map_has_no_effect_on_connectors_that_have_read_it(declared: Snapshot) -> None:
    def delete(objects: dict[str, Manifest]) -> None:
        del objects["replication-config"]

    live = with_known_contents(found(declared, delete).snapshot, declared)
    assert compare("test", "", live, declared).effects == ()


def test_an_object_created_by_hand_with_the_projects_labels_is_undeclared(declared: Snapshot) -> None:
    def forge(objects: dict[str, Manifest]) -> None:
        forged = copy.deepcopy(objects["source-connector"])
        forged["metadata"] |= {"name": "orders-source-more", "managedFields": [an_entry("kubectl-create", {})]}
        objects["forged"] = forged

    result = found(declared, forge)
    assert [(each.code, each.by) for each in result.drift] == [("object-undeclared", "kubectl-create")]
    assert [each.change for each in compare("test", "", result.snapshot, declared).objects] == ["removed"]


def test_a_config_map_of_an_earlier_deployment_is_replaced_and_is_not_drift(tmp_path: Path) -> None:
    before = current_snapshot("test", written(tmp_path / "before", {}))
    after = current_snapshot("test", written(tmp_path / "after", {"replications": {"orders": {"topics": ["orders"]}}}))
    result = running("test", after, in_cluster(before))
    compared = compare("test", "", result.snapshot, after)
    assert result.drift == ()
    assert [each.key for each in compared.objects if each.change == "replaced"] == ["replication-config"]
    assert {effect.code for effect in compared.effects} >= {"topics-stop", "connector-restarts"}


def test_an_object_with_the_label_of_another_stacks_replication_is_not_drift(declared: Snapshot) -> None:
    def stranger(objects: dict[str, Manifest]) -> None:
        other = copy.deepcopy(objects["source-connector"])
        other["metadata"] |= {"name": "more", "managedFields": []}
        other["metadata"]["labels"]["app.kubernetes.io/part-of"] = "returns"
        objects["other"] = other

    assert found(declared, stranger).drift == ()


def test_a_stack_that_was_never_deployed_has_no_drift(declared: Snapshot) -> None:
    assert running("test", declared, []).drift == ()


def test_two_deployments_of_one_replication_are_not_reported_as_drift(tmp_path: Path) -> None:
    """Active/active in a stack without a region: both deployments have the replication's label."""
    between = {"kind": "mirrorMaker2", "between": ["useast", "uswest"], "topics": ["orders"], "groups": ["web"]}
    declared = current_snapshot("test", written(tmp_path / "stacks", {"replications": {"orders": between}}))
    live = [each for name in declared.names for each in in_cluster(Snapshot(others={name: declared.objects(name)}))]
    clean = running("test", declared, live)
    compared = compare("test", "what runs", clean.snapshot, declared)
    assert len(declared.names) == 2
    assert (clean.drift, compared.objects, compared.effects) == ((), (), ())
