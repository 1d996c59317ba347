"""The objects that the operator creates for Connect workers, as far as they matter on one machine. Pure.

Their owner is the KafkaConnect or KafkaMirrorMaker2, so the garbage collector deletes them with it.
"""

import base64
from collections.abc import Mapping

from infra.kubernetes.api import Object
from infra.local.operator.resources import API_VERSION, ConnectResource
from infra.local.operator.worker_properties import (
    as_properties_file,
    secrets_used,
    trust_secret_name,
    worker_properties,
)

CONFIG_KEY = "kafka-connect.properties"


def owned_objects(connect: ConnectResource, trusted_certificates: Mapping[str, str]) -> list[Object]:
    """ServiceAccount, Role and RoleBinding of the workers, their configuration and the certificates that they trust.

    `trusted_certificates` are PEM, by key of the operator's Secret.
    """
    name = connect.component_name
    if connect.has_values_in_files:
        # The container makes its own configuration from mounted Secrets, which the service account cannot read.
        return [owned_object(connect, "v1", "ServiceAccount", name)]
    configuration = as_properties_file(worker_properties(connect))
    items = [
        owned_object(connect, "v1", "ServiceAccount", name),
        owned_object(connect, "v1", "ConfigMap", f"{name}-config", data={CONFIG_KEY: configuration}),
    ]
    if trusted_certificates:
        data = {key: base64.b64encode(pem.encode()).decode() for key, pem in trusted_certificates.items()}
        items.append(owned_object(connect, "v1", "Secret", trust_secret_name(connect.name), data=data))
    return items + _access(connect, name)


def _access(connect: ConnectResource, name: str) -> list[Object]:
    secrets = secrets_used(connect)
    # A rule without names would allow every Secret of the namespace.
    rules = [{"apiGroups": [""], "resources": ["secrets"], "resourceNames": secrets, "verbs": ["get"]}]
    group = "rbac.authorization.k8s.io"
    return [
        owned_object(connect, f"{group}/v1", "Role", name, rules=rules if secrets else []),
        owned_object(
            connect,
            f"{group}/v1",
            "RoleBinding",
            name,
            roleRef={"apiGroup": group, "kind": "Role", "name": name},
            subjects=[{"kind": "ServiceAccount", "name": name, "namespace": connect.namespace}],
        ),
    ]


def owned_object(connect: ConnectResource, api_version: str, kind: str, name: str, **body: object) -> Object:
    """An object with Strimzi's labels that is deleted with the resource that it is created for."""
    component = connect.component
    owner = {
        "apiVersion": API_VERSION,
        "kind": component.kind,
        "name": connect.name,
        "uid": connect.uid,
        "controller": False,
        "blockOwnerDeletion": False,
    }
    labels = {
        "app.kubernetes.io/instance": connect.name,
        "app.kubernetes.io/managed-by": "strimzi-cluster-operator",
        "app.kubernetes.io/name": component.type,
        "app.kubernetes.io/part-of": f"strimzi-{connect.name}",
        "strimzi.io/cluster": connect.name,
        "strimzi.io/component-type": component.type,
        "strimzi.io/kind": component.kind,
        "strimzi.io/name": connect.component_name,
    }
    metadata = {"name": name, "namespace": connect.namespace, "labels": labels, "ownerReferences": [owner]}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **body}
