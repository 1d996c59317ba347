"""The namespaces that stacks create, with the labels that admission and service meshes read there."""

from typing import Any

import pytest

from kafka_replication.components.checks import check_topology
from kafka_replication.components.flows.resolved import resolve_flows
from kafka_replication.components.render.namespaces import namespace_objects
from kafka_replication.components.topology.parsing import parse_topology
from tests.builders import a_flow, a_resolved_flow, a_topology

LABELS = {"pod-security.kubernetes.io/enforce": "restricted", "istio-injection": "disabled"}
OURS = {"app.kubernetes.io/managed-by": "kafka-replication"}
PAIR = {"kind": "prefixlessPair", "between": ["useast", "uswest"], "topics": ["ledger"]}


def test_a_created_namespace_has_the_labels_and_annotations_of_the_topology() -> None:
    chosen = {"labels": {**LABELS, "app.kubernetes.io/managed-by": "me"}, "annotations": {"owner": "data"}}
    (namespace,) = namespace_objects(a_resolved_flow(namespace=chosen))
    assert namespace.manifest["metadata"] == {
        "name": "mirror-orders",
        "labels": {**LABELS, **OURS, "app.kubernetes.io/part-of": "orders"},
        "annotations": {"owner": "data"},
    }


def test_both_namespaces_of_a_pair_have_them() -> None:
    pair = PAIR | {"namespaceLabels": LABELS, "namespaceAnnotations": {"owner": "data"}}
    flows = resolve_flows(parse_topology(a_topology(pair)), None, {})
    found = [namespace.manifest["metadata"] for flow in flows for namespace in namespace_objects(flow)]
    assert [LABELS.items() <= one["labels"].items() for one in found] == [True, True]
    assert [one["annotations"] for one in found] == [{"owner": "data"}, {"owner": "data"}]


@pytest.mark.parametrize(
    ("replication", "where", "code"),
    [
        pytest.param(
            a_flow(namespace={"create": False, "labels": LABELS}),
            "replications.orders.namespace.labels",
            "name-without-effect",
            id="labels of a namespace that exists",
        ),
        pytest.param(
            PAIR | {"createNamespaces": False, "namespaceAnnotations": {"owner": "data"}},
            "replications.orders.namespaceAnnotations",
            "name-without-effect",
            id="annotations of namespaces that exist",
        ),
        pytest.param(
            a_flow(namespace={"labels": {"app.kubernetes.io/managed-by": "me"}}),
            "replications.orders.namespace.labels.app.kubernetes.io/managed-by",
            "owned-label",
            id="a label of the project",
        ),
    ],
)
def test_what_has_no_effect_is_reported_at_its_key(replication: Any, where: str, code: str) -> None:
    problems = list(check_topology(parse_topology(a_topology(replication))))
    assert {(problem.where, problem.code) for problem in problems} == {(where, code)}
