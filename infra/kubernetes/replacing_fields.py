"""The fields whose change makes Pulumi's Kubernetes provider delete an object and create it again. Pure.

Source: pulumi-kubernetes provider/pkg/provider/diff.go.
"""

from collections.abc import Mapping
from typing import Any

_Path = tuple[str, ...]

_BY_KIND: Mapping[tuple[str, str], tuple[_Path, ...]] = {
    ("", "ConfigMap"): (("data",), ("binaryData",), ("immutable",)),
    ("", "Secret"): (("type",),),
    ("batch", "Job"): (("spec", "completions"), ("spec", "parallelism"), ("spec", "selector"), ("spec", "template")),
    ("rbac.authorization.k8s.io", "RoleBinding"): (("roleRef",),),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): (("roleRef",),),
}
"""By group and kind. A ConfigMap is replaced if its data changed, immutable or not. A Secret is updated in place, as
with the provider's option enableSecretMutable.
"""


def replacing_fields(item: Mapping[str, Any]) -> tuple[_Path, ...]:
    """The paths of such fields of an object, besides its identity."""
    return _BY_KIND.get((group_of(item.get("apiVersion", "")), item.get("kind", "")), ())


def group_of(api_version: str) -> str:
    """The API group of an apiVersion; empty for the core group."""
    return api_version.rpartition("/")[0]
