"""Definitions of other operators' kinds that take any object, so that an API server knows the kinds."""

from typing import Any


def definition(api_version: str, kind: str) -> dict[str, Any]:
    """The definition of a kind, with a status of its own."""
    group, _, version = api_version.partition("/")
    plural = f"{kind.lower()}s"
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    served = {"name": version, "served": True, "storage": True, "schema": schema, "subresources": {"status": {}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        # Kubernetes reserves this group and wants to know who has approved a definition in it.
        "metadata": {
            "name": f"{plural}.{group}",
            "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"},
        },
        "spec": {
            "group": group,
            "names": {"kind": kind, "plural": plural},
            "scope": "Namespaced",
            "versions": [served],
        },
    }
