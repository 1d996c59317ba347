"""Carries out adoption: former owners yield, Pulumi learns of the objects, and a deployment changes what differs. Each
step leaves a state from which the next run continues: an object whose owners yielded still exists as before, and one
that Pulumi knows is left alone.
"""

from collections.abc import Mapping

from infra.deploy.adoption.plan import Plan
from infra.deploy.engine import deployment
from infra.deploy.engine.adoption import import_objects
from infra.deploy.engine.command import Say
from infra.deploy.engine.deployment import Change
from infra.kubernetes.access import api_client, asking_kubernetes
from infra.kubernetes.api import ApiError, KubernetesApi, Reference
from infra.kubernetes.managed_fields import yielding
from infra.stack.environment import stack_environment
from infra.stack.settings import StackSettings

_ATTEMPTS = 5
_INVALID = 422
_WHY = "Adoption makes the tools that wrote an object yield to Pulumi."
_PERMISSION = "let the account of the stack's Kubernetes context patch what `replicate render` writes."


def take_over(settings: StackSettings, plan: Plan, say: Say, change: Change | None = None) -> Mapping[str, int]:
    """Do what the plan says; returns the number of objects by what the deployment did to them.

    `change` is applied to each object before it is deployed.
    """
    deployment.prepare(settings, say)
    with api_client(settings, stack_environment(settings).kubernetes_access()) as api:
        with asking_kubernetes(f"stack {settings.stack}", _WHY, _PERMISSION):
            for each in plan.taken:
                make_yield(api, each)
        import_objects(settings, api, plan.taken, say, change)
    return deployment.up(settings, say, change=change, moving=change is not None)


def make_yield(api: KubernetesApi, target: Reference) -> None:
    """Make every other owner of an object's fields yield to Pulumi, except those that stay. Changes no field. Reads the
    object again if somebody else changes it meanwhile.
    """
    for attempt in range(_ATTEMPTS):
        live = api.get(target)
        if live is None or (entries := yielding(live)) == live["metadata"].get("managedFields", []):
            return
        version = live["metadata"]["resourceVersion"]
        try:
            api.patch(
                target,
                [
                    {"op": "test", "path": "/metadata/resourceVersion", "value": version},
                    {"op": "replace", "path": "/metadata/managedFields", "value": entries},
                ],
            )
        except ApiError as error:
            if attempt == _ATTEMPTS - 1 or not (error.conflict or error.status == _INVALID):
                raise
        else:
            return
