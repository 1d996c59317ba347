"""How to reach what a stack needs: its Kubernetes cluster, and the place where Pulumi's engine works. Plain values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class KubernetesAccess:
    """Kubeconfig file and context of a stack's cluster; None means what kubectl would use."""

    kubeconfig: str | None = None
    context: str | None = None


def provider_variables(*, overwrite: bool) -> dict[str, str]:
    """Options of the Kubernetes provider, as environment variables.

    A Secret whose value changes is updated in place; by default it would be deleted and created again, and missing in
    between. Source: pulumi-kubernetes, `enableSecretMutable`, `enablePatchForce`.
    """
    forced = {"PULUMI_K8S_ENABLE_PATCH_FORCE": "true"} if overwrite else {}
    return {"PULUMI_K8S_ENABLE_SECRET_MUTABLE": "true", **forced}


@dataclass(frozen=True)
class Workspace:
    """Where Pulumi's engine works on a stack: `folder` holds the Pulumi.yaml of `project`.

    `variables` are set for the engine. `configuration` is set on the stack before anything runs: each key of the
    project with its value and whether that is a secret.
    """

    folder: Path
    project: str
    variables: Mapping[str, str] = field(default_factory=dict)
    configuration: Mapping[str, tuple[str, bool]] = field(default_factory=dict, repr=False)
