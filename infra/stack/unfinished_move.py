"""Whether a stack is in the middle of a move from a KafkaMirrorMaker2, according to its own cluster."""

from components.contract.problems import RefusedError
from components.flows.resolved import resolve_flows
from infra.kubernetes.access import api_client
from infra.kubernetes.preconditions import require_no_unfinished_move
from infra.stack.environment import stack_environment
from infra.stack.settings import StackSettings


def unfinished_move(settings: StackSettings) -> RefusedError | None:
    """Why the stack must not be deployed now; None if no flow of it waits.

    Raises CannotRunError if the cluster cannot be asked.
    """
    flows = resolve_flows(settings.topology, settings.region, settings.values)
    with api_client(settings, stack_environment(settings).kubernetes_access()) as api:
        try:
            require_no_unfinished_move(api, settings.stack, flows)
        except RefusedError as refused:
            return refused
    return None
