"""Finds the flow that a command's argument names."""

from collections.abc import Iterable

from components.contract.problems import CannotRunError
from components.flows.resolved import ResolvedFlow
from components.properties.definitions import nearest


def flow_named(name: str, flows: Iterable[ResolvedFlow], stack: str) -> ResolvedFlow:
    """The flow with that name in a stack. Otherwise raises CannotRunError, which names the most similar one."""
    known = {flow.name: flow for flow in flows}
    if name not in known:
        similar = nearest(name, known)
        raise CannotRunError(
            "unknown-flow",
            f"no flow `{name}`",
            f"stack `{stack}`",
            f"Its flows are: {', '.join(f'`{each}`' for each in known) or 'none'}.",
            f"name `{similar}`." if similar else "name one of these.",
        )
    return known[name]
