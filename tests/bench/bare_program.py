"""The program that the engine's bench compares ours with: it registers the same plain objects and nothing else.

It imports none of our code: its cost is that of Pulumi, the Kubernetes package and the objects.
"""

import json
from pathlib import Path
from typing import Any

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.core.v1 import ConfigMap, Namespace, Secret
from pulumi_kubernetes.rbac.v1 import Role, RoleBinding


def register(objects: Path) -> None:
    """Register the objects of a file: a list of name, manifest, after (names) and secretValues (configuration keys)."""
    config = pulumi.Config()
    registered: dict[str, pulumi.Resource] = {}
    for each in json.loads(objects.read_text()):
        options = pulumi.ResourceOptions(depends_on=[registered[name] for name in each["after"]])
        secrets = {key: config.require_secret(value) for key, value in each["secretValues"].items()}
        registered[each["name"]] = _resource(each["name"], each["manifest"], secrets, options)


def _resource(name: str, body: dict[str, Any], secrets: Any, options: pulumi.ResourceOptions) -> pulumi.Resource:
    metadata = body["metadata"]
    match body["kind"]:
        case "Namespace":
            return Namespace(name, metadata=metadata, opts=options)
        case "ConfigMap":
            return ConfigMap(name, metadata=metadata, immutable=body["immutable"], data=body["data"], opts=options)
        case "Secret":
            return Secret(name, metadata=metadata, type=body["type"], string_data=secrets, opts=options)
        case "Role":
            return Role(name, metadata=metadata, rules=body["rules"], opts=options)
        case "RoleBinding":
            return RoleBinding(
                name, metadata=metadata, role_ref=body["roleRef"], subjects=body["subjects"], opts=options
            )
        case kind:
            return CustomResource(
                name, api_version=body["apiVersion"], kind=kind, metadata=metadata, spec=body["spec"], opts=options
            )
