"""What runs against what a stack declares: what is no drift, and each kind of drift by name."""

import copy
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from components.effects.effect import Severity
from components.specs.planned import Manifest
from infra.errors import CannotRunError
from infra.review.cluster import Running, running, with_known_contents
from infra.review.comparison import compare
from infra.review.snapshots import Snapshot, current_snapshot
from infra.review.topic_drift import topic_drift
from tests.review.changes import written

PULUMI = "pulumi-kubernetes-1a2b3c4d"
SOURCE = "KafkaConnector mirror-orders/orders-source"
QUOTA: dict[str, Any] = {"replications": {"orders": {"quota": {"hard": {"pods": 4, "requests.storage": "2048Mi"}}}}}
Edit = Callable[[dict[str, Manifest]], None]


@pytest.fixture
def declared(tmp_path: Path) -> Snapshot:
    return current_snapshot("test", written(tmp_path / "stacks", {}))


def in_cluster(snapshot: Snapshot, edit: Edit | None = None) -> list[Manifest]:
    """The objects of a snapshot as an API server and an operator have them after Pulumi deployed them."""
    objects: dict[str, Manifest] = {}
    for name in snapshot.names:
        for key, body in snapshot.objects(name).items():
            objects[key] = _served(copy.deepcopy(dict(body)))
    if edit is not None:
        edit(objects)
    return list(objects.values())


def _served(body: Manifest) -> Manifest:
    fields = {f"f:{key}": _owned(value) for key, value in body.items() if key not in ("apiVersion", "kind", "metadata")}
    metadata = body["metadata"]
    metadata |= {"uid": "1", "generation": 1, "resourceVersion": "7", "creationTimestamp": "2026-01-01T00:00:00Z"}
    metadata["managedFields"] = [_entry(PULUMI, fields, operation="Apply")]
    if "values" in body:
        body["data"] = dict.fromkeys(body.pop("values"), "(not shown)")
    if body["kind"].startswith("Kafka"):
        body["spec"]["defaulted"] = True
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:01:00Z"}
        body["status"] = {"observedGeneration": 1, "conditions": [ready]}
    if body["kind"] == "KafkaConnector":
        tasks = [{"id": 0, "state": "RUNNING"}]
        body["status"]["connectorStatus"] = {"connector": {"state": "RUNNING"}, "tasks": tasks}
    if body["kind"] == "Namespace":
        metadata["labels"]["kubernetes.io/metadata.name"] = metadata["name"]
    return body


def _owned(value: Any) -> dict[str, Any]:
    return {f"f:{key}": _owned(each) for key, each in value.items()} if isinstance(value, Mapping) and value else {}


def _entry(manager: str, fields: Mapping[str, Any], operation: str = "Update") -> Manifest:
    return {"manager": manager, "operation": operation, "time": "2026-01-02T03:04:05Z", "fieldsV1": dict(fields)}


def by_hand(body: Manifest, *path: str, value: Any) -> None:
    """Write a field as `kubectl edit` does: who edits takes the field from whoever deployed it."""
    place, fields = body, dict[str, Any]()
    deployed: Any = body["metadata"]["managedFields"][0]["fieldsV1"]
    for step in path[:-1]:
        place, deployed = place.setdefault(step, {}), deployed.get(f"f:{step}", {})
    place[path[-1]] = value
    deployed.pop(f"f:{path[-1]}", None)
    for step in reversed(path):
        fields = {f"f:{step}": fields}
    body["metadata"]["managedFields"].append(_entry("kubectl-edit", fields))


def found(declared: Snapshot, edit: Edit) -> Running:
    return running("test", declared, in_cluster(declared, edit))


def codes(result: Running) -> list[tuple[str, str]]:
    return [(each.code, each.where) for each in result.drift]


def test_defaults_status_and_managed_fields_are_no_drift(declared: Snapshot) -> None:
    clean = running("test", declared, in_cluster(declared))
    compared = compare("test", "what runs", clean.snapshot, declared)
    assert (clean.drift, compared.objects, compared.effects) == ((), (), ())


def test_a_quantity_in_the_form_of_the_api_server_is_no_drift(tmp_path: Path) -> None:
    declared = current_snapshot("test", written(tmp_path / "stacks", QUOTA))

    def normalize(objects: dict[str, Manifest]) -> None:
        assert objects["quota"]["spec"]["hard"]["requests.storage"] == "2048Mi"
        objects["quota"]["spec"]["hard"]["requests.storage"] = "2Gi"

    result = found(declared, normalize)
    assert (result.drift, compare("test", "", result.snapshot, declared).objects) == ((), ())


def test_a_property_added_by_hand_names_who_when_and_the_patch_that_removes_it(declared: Snapshot) -> None:
    result = found(declared, lambda each: by_hand(each["source-connector"], "spec", "config", "a/b", value="1"))
    (drift,) = result.drift
    assert (drift.code, drift.where, drift.by, drift.since) == (
        "field-added",
        SOURCE,
        "kubectl-edit",
        "2026-01-02T03:04:05Z",
    )
    assert '"path":"/spec/config/a~1b"' in drift.remedy


def test_a_declared_field_edited_by_hand_is_drift_and_a_change_of_the_next_deployment(declared: Snapshot) -> None:
    result = found(declared, lambda each: by_hand(each["connect"], "spec", "replicas", value=1))
    (drift,) = result.drift
    assert (drift.code, drift.what) == ("field-edited", "spec.replicas is 1, and the stack declares 3")
    (change,) = compare("test", "", result.snapshot, declared).objects
    assert [(each.path, each.before, each.after) for each in change.fields] == [("spec.replicas", 1, 3)]


def test_a_field_that_is_declared_otherwise_since_the_deployment_is_a_change_and_no_drift(declared: Snapshot) -> None:
    def earlier(objects: dict[str, Manifest]) -> None:
        objects["source-connector"]["spec"]["tasksMax"] = 7

    result = found(declared, earlier)
    assert result.drift == ()
    assert [each.name for each in compare("test", "", result.snapshot, declared).objects] == ["orders-source"]


def test_a_connector_paused_over_the_rest_interface_is_drift_that_holds_records_back(declared: Snapshot) -> None:
    def paused(objects: dict[str, Manifest]) -> None:
        objects["source-connector"]["status"]["connectorStatus"]["connector"]["state"] = "PAUSED"

    result = found(declared, paused)
    assert codes(result) == [("connector-state", SOURCE)]
    assert result.drift[0].severity is Severity.DATA
    assert "is PAUSED, and its spec says running" in result.drift[0].what


def test_a_failed_task_is_told_with_its_reason(declared: Snapshot) -> None:
    def failed(objects: dict[str, Manifest]) -> None:
        tasks = objects["source-connector"]["status"]["connectorStatus"]["tasks"]
        tasks.append({"id": 1, "state": "FAILED", "trace": "TopicAuthorizationException: no\n\tat …"})

    (drift,) = found(declared, failed).drift
    assert drift.what == "connector orders-source task 1 failed: TopicAuthorizationException: no"


def test_what_the_operator_has_not_taken_up_is_not_ready(declared: Snapshot) -> None:
    def behind(objects: dict[str, Manifest]) -> None:
        objects["connect"]["metadata"]["generation"] = 2

    assert codes(found(declared, behind)) == [("not-ready", "KafkaConnect mirror-orders/orders")]


def test_a_paused_reconciliation_names_who_paused_it(declared: Snapshot) -> None:
    path = ("metadata", "annotations", "strimzi.io/pause-reconciliation")
    (drift,) = found(declared, lambda each: by_hand(each["connect"], *path, value="true")).drift
    assert (drift.code, drift.by) == ("reconciliation-paused", "kubectl-edit")


@pytest.mark.parametrize("key", ["source-connector", "replication-config", "connect", "namespace"])
def test_a_deleted_object_is_missing_and_would_be_created(declared: Snapshot, key: str) -> None:
    def delete(objects: dict[str, Manifest]) -> None:
        del objects[key]

    result = found(declared, delete)
    assert [each.code for each in result.drift] == ["object-missing"]
    (change,) = compare("test", "", result.snapshot, declared).objects
    assert (change.change, change.key) == ("added", key)


def test_a_deleted_config_map_does_nothing_to_connectors_that_have_read_it(declared: Snapshot) -> None:
    def delete(objects: dict[str, Manifest]) -> None:
        del objects["replication-config"]

    live = with_known_contents(found(declared, delete).snapshot, declared)
    assert compare("test", "", live, declared).effects == ()


def test_an_object_made_by_hand_under_our_labels_is_undeclared(declared: Snapshot) -> None:
    def forge(objects: dict[str, Manifest]) -> None:
        forged = copy.deepcopy(objects["source-connector"])
        forged["metadata"] |= {"name": "orders-source-more", "managedFields": [_entry("kubectl-create", {})]}
        objects["forged"] = forged

    result = found(declared, forge)
    assert [(each.code, each.by) for each in result.drift] == [("object-undeclared", "kubectl-create")]
    assert [each.change for each in compare("test", "", result.snapshot, declared).objects] == ["removed"]


def test_a_config_map_of_an_earlier_deployment_is_replaced_and_no_drift(tmp_path: Path) -> None:
    before = current_snapshot("test", written(tmp_path / "before", {}))
    after = current_snapshot("test", written(tmp_path / "after", {"replications": {"orders": {"topics": ["orders"]}}}))
    result = running("test", after, in_cluster(before))
    compared = compare("test", "", result.snapshot, after)
    assert result.drift == ()
    assert [each.key for each in compared.objects if each.change == "replaced"] == ["replication-config"]
    assert {each.code for each in compared.effects} >= {"topics-stop", "connector-restarts"}


def test_a_label_of_another_stack_is_not_ours(declared: Snapshot) -> None:
    def stranger(objects: dict[str, Manifest]) -> None:
        other = copy.deepcopy(objects["source-connector"])
        other["metadata"] |= {"name": "more", "managedFields": []}
        other["metadata"]["labels"]["app.kubernetes.io/part-of"] = "returns"
        objects["other"] = other

    assert found(declared, stranger).drift == ()


def test_a_stack_that_was_never_deployed_has_no_drift(declared: Snapshot) -> None:
    assert running("test", declared, []).drift == ()


def published(report: str) -> Manifest:
    metadata = {"name": "orders-validation", "namespace": "mirror-orders"}
    return {"metadata": metadata, "data": {"time": "2026-01-02T00:00:00+00:00", "report.json": report}}


def test_a_topic_made_by_hand_is_told_as_the_validation_saw_it() -> None:
    findings = [{"code": code, "message": f"{code} of useast.x"} for code in ("foreign-topic", "group-active")]
    report = json.dumps({"checks": [{"findings": findings}]})
    flows = {"orders": "mirror-orders", "never-validated": "mirror-never"}
    (drift,) = topic_drift("test", flows, [published(report)])
    assert (drift.code, drift.flow) == ("foreign-topic", "orders")
    assert drift.what == "foreign-topic of useast.x (seen by the validation of 2026-01-02T00:00:00+00:00)"
    assert "replicate validate test --publish" in drift.remedy


def test_a_validation_that_cannot_be_read_is_no_absence_of_drift() -> None:
    with pytest.raises(CannotRunError, match="cannot be read"):
        list(topic_drift("test", {"orders": "mirror-orders"}, [published("{}")]))
