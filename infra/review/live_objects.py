"""Converts a live object to the form of the declared one: the same fields, written in the same way. Pure.

The API server adds fields and rewrites quantities, and the operator adds a status.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from kafka_replication.components.flows.operators import STRIMZI_GROUP
from kafka_replication.components.kafka.connectors import ROLE_OF_CLASS
from kafka_replication.components.render.planned_objects import PART_OF, Manifest
from kafka_replication.components.render.validation_jobs import VALIDATION_KINDS
from kafka_replication.components.topology.workers import quantity_value
from kafka_replication.infra.review.object_changes import named_entries
from kafka_replication.infra.review.snapshots import Objects

#: Kubernetes writes quantities in its own way, also in a pod's template. The Spark operator's webhook does so, too.
_QUANTITIES = frozenset({"ResourceQuota", "LimitRange", "Deployment", *VALIDATION_KINDS})
#: The suffix of a ConfigMap's name that is derived from its content.
_DIGEST = re.compile(r"-[0-9a-f]{10}$")
#: Marks a configuration value that is only known during a deployment.
_PLACEHOLDER = "(configuration key "


def seen(declared: Manifest, live: Manifest) -> Manifest:
    """Return the fields of a live object that the stack declares; for a Secret that we create, only its keys."""
    known = {key: value for key, value in declared.items() if key != "values"}
    # A list in a Strimzi resource is written as a whole: a deployment removes what somebody added to it.
    whole_lists = declared["apiVersion"].startswith(f"{STRIMZI_GROUP}/")
    body: Manifest = _restricted(as_declared(live, known), known, whole_lists=whole_lists)
    if "values" in declared:
        keys = live.get("data") or {}
        body["values"] = {
            key: declared["values"].get(key, "(set in the cluster)") for key in declared["values"] if key in keys
        }
    return body


def as_declared(live: Manifest, declared: Manifest) -> Manifest:
    """Return a live object; equal quantities, and values known only during a deployment, are as declared."""
    quantities = declared["kind"] in _QUANTITIES

    def is_equal(live: Any, declared: Any) -> bool:
        if isinstance(live, str) and isinstance(declared, str) and _PLACEHOLDER in declared:
            return True
        return quantities and _quantity(live) is not None and bool(_quantity(live) == _quantity(declared))

    body: Manifest = as_written(live, declared, is_equal)
    return body


def as_written(live: Any, declared: Any, is_equal: Callable[[Any, Any], bool]) -> Any:
    """Return what is live, with the declared value in place of each that is equal."""
    if isinstance(live, Mapping) and isinstance(declared, Mapping):
        return {key: as_written(value, declared.get(key), is_equal) for key, value in live.items()}
    if isinstance(live, list) and isinstance(declared, list):
        return [as_written(*pair, is_equal) for pair in _paired(live, declared)]
    return declared if is_equal(live, declared) else live


def _paired(live: list[Any], declared: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield each entry of a live list with the declared one of the same name, or else at the same position."""
    names, wanted = named_entries(live), named_entries(declared)
    if names is not None and wanted is not None:
        yield from ((entry, wanted.get(name)) for name, entry in names.items())
    else:
        yield from zip(live, declared if len(live) == len(declared) else [None] * len(live), strict=True)


def _quantity(value: Any) -> Any:
    try:
        return quantity_value(value)
    except ValueError:
        return None


def _restricted(live: Any, declared: Any, *, whole_lists: bool) -> Any:
    if isinstance(live, Mapping) and isinstance(declared, Mapping):
        return {key: _restricted(live[key], declared[key], whole_lists=whole_lists) for key in declared if key in live}
    if isinstance(live, list) and isinstance(declared, list) and len(live) == len(declared) and not whole_lists:
        return [_restricted(*pair, whole_lists=False) for pair in zip(live, declared, strict=True)]
    return live


def whole(live: Manifest) -> Manifest:
    """Return a live object without the fields that the API server and the operator write."""
    metadata = {key: live["metadata"][key] for key in ("name", "namespace", "labels") if key in live["metadata"]}
    return {**{key: value for key, value in live.items() if key != "status"}, "metadata": metadata}


def former(left: Iterable[Manifest], objects: Objects, there: Objects) -> Iterator[tuple[str, Manifest]]:
    """Yield objects that the stack no longer declares, by role and part if they can be recognized."""
    stems = {_stem(body): key for key, body in objects.items() if body["kind"] == "ConfigMap" and key not in there}
    for live in left:
        metadata = live["metadata"]
        if live["kind"] == "ConfigMap" and (key := stems.pop(_stem(live), None)) is not None:
            yield key, live
        elif live["kind"] == "KafkaConnector":
            role = ROLE_OF_CLASS.get(str(live["spec"].get("class")).rpartition(".")[2], "")
            part = metadata["name"].removeprefix(f"{metadata['labels'][PART_OF]}-{role}").removeprefix("-")
            key = f"{role}-connector-{part}" if part else f"{role}-connector"
            yield key if key not in objects else f"kafkaconnector {metadata['name']}", live
        else:
            yield f"{live['kind'].lower()} {metadata['name']}", live


def _stem(body: Manifest) -> tuple[str, str]:
    return body["metadata"].get("namespace", ""), _DIGEST.sub("", body["metadata"]["name"])
