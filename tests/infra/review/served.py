"""Objects of a snapshot as an API server and an operator hold them after a deployment, and edits by hand."""

import copy
from collections.abc import Callable, Mapping
from typing import Any

from kafka_replication.components.render.planned_objects import Manifest
from kafka_replication.infra.review.snapshots import Snapshot

PULUMI = "pulumi-kubernetes-1a2b3c4d"
Edit = Callable[[dict[str, Manifest]], None]


def in_cluster(snapshot: Snapshot, edit: Edit | None = None) -> list[Manifest]:
    """The objects of a snapshot as an API server and an operator hold them after Pulumi deployed them."""
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
    metadata["managedFields"] = [an_entry(PULUMI, fields, operation="Apply")]
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


def an_entry(manager: str, fields: Mapping[str, Any], operation: str = "Update") -> Manifest:
    return {"manager": manager, "operation": operation, "time": "2026-01-02T03:04:05Z", "fieldsV1": dict(fields)}


def by_hand(body: Manifest, *path: str, value: Any) -> None:
    """Write a field as `kubectl edit` does: the editor takes ownership of the field from whoever deployed it."""
    place, fields = body, dict[str, Any]()
    deployed: Any = body["metadata"]["managedFields"][0]["fieldsV1"]
    for step in path[:-1]:
        place, deployed = place.setdefault(step, {}), deployed.get(f"f:{step}", {})
    place[path[-1]] = value
    deployed.pop(f"f:{path[-1]}", None)
    for step in reversed(path):
        fields = {f"f:{step}": fields}
    body["metadata"]["managedFields"].append(an_entry("kubectl-edit", fields))
