"""Preview, up, destroy and outputs of one stack, each from its settings; checks come before the engine is started."""

import sys
from collections.abc import Callable, Mapping
from typing import Any

from components.problems import raise_errors
from components.specs.acls import flow_acls, merged_acls
from components.specs.kafka_users import kafka_user_objects
from infra.engine import open_stack
from infra.engine_failures import NoSuchStackError
from infra.kubernetes_access import api_client
from infra.local.acls import apply_acls
from infra.local.endpoints import load_endpoints
from infra.pending_creates import adopt_pending_creates
from infra.promotion.gate import unproven
from infra.readiness import wait_until_ready
from infra.settings import StackSettings
from infra.stack_checks import resolved_flows

#: Lets the Kubernetes provider take back fields that somebody else owns by now, at which it would stop otherwise.
#: Source: pulumi-kubernetes 4.29, `enablePatchForce`.
_OVERWRITE = "PULUMI_K8S_ENABLE_PATCH_FORCE"

Changes = Mapping[str, int]
Say = Callable[[str], object]


def preview(settings: StackSettings, say: Say, *, diff: bool = False) -> Changes:
    """Say what `up` would change; return the number of objects by kind of change."""
    resolved_flows(settings)
    with open_stack(settings) as stack:
        result = stack.preview(on_output=say, on_error=say, diff=diff, color=_color(), suppress_outputs=True)
    return {str(kind): count for kind, count in result.change_summary.items()}


def up(settings: StackSettings, say: Say, *, refresh: bool = False) -> Changes:
    """Deploy the stack and return the number of objects by kind of change.

    `refresh` first reads what runs into Pulumi's state, so that what somebody edited or deleted is deployed again.
    On the local stack the flows' Kafka users first get the ACLs that they need; elsewhere their owners do that.
    """
    flows = resolved_flows(settings)
    raise_errors(unproven(settings))
    if settings.local:
        acls = merged_acls(acl for flow in flows for acl in flow_acls(flow))
        for region in load_endpoints().regions.values():
            apply_acls(region, acls)
    with open_stack(settings) as stack:
        if refresh:
            stack.workspace.env_vars = {**stack.workspace.env_vars, _OVERWRITE: "true"}
        adopt_pending_creates(stack, api_client(settings), say)
        result = stack.up(on_output=say, on_error=say, color=_color(), suppress_outputs=True, refresh=refresh)
    return {str(kind): count for kind, count in (result.summary.resource_changes or {}).items()}


def destroy(settings: StackSettings, say: Say) -> Changes:
    """Delete every object of the stack; there is nothing to delete of one that Pulumi does not know."""
    try:
        with open_stack(settings, create=False) as stack:
            result = stack.destroy(on_output=say, on_error=say, color=_color(), suppress_outputs=True)
    except NoSuchStackError as error:
        say(f"{error.what} where Pulumi is logged in to")
        return {}
    return {str(kind): count for kind, count in (result.summary.resource_changes or {}).items()}


def outputs(settings: StackSettings) -> dict[str, Any]:
    """Outputs of a deployed stack. Raises CannotRunError when it was not deployed."""
    found = outputs_if_deployed(settings)
    if "validation" not in found:
        raise NoSuchStackError(settings.stack)
    return found


def outputs_if_deployed(settings: StackSettings) -> dict[str, Any]:
    """Outputs of a stack; none when it was not deployed. Leaves Pulumi's state as it is."""
    try:
        with open_stack(settings, create=False) as stack:
            return {key: output.value for key, output in stack.outputs().items()}
    except NoSuchStackError:
        return {}


def wait_ready(settings: StackSettings, deadline_seconds: float) -> None:
    """Wait until the operator calls everything Ready; see `readiness`.

    The local stack has no User Operator, and waits for no KafkaUser.
    """
    users = () if settings.local else kafka_user_objects(settings.topology, settings.region)
    wait_until_ready(api_client(settings), resolved_flows(settings), deadline_seconds, users)


def _color() -> str:
    return "always" if sys.stdout.isatty() else "never"
