"""Placeholders in properties: the workers may read the Secrets and ConfigMaps that they name."""

from collections.abc import Iterator

from components.contract.problems import Problem
from components.flows.expansion import ExpandedFlow
from components.flows.naming import namespace_name
from components.render.secrets import Reference, user_references

_WHY = "The workers' Role lets them read objects only in their own namespace."


def check_references(flow: ExpandedFlow) -> Iterator[Problem]:
    """Everything that a flow's own properties refer to is in the namespace of its workers."""
    here = namespace_name(flow.workers, flow.settings)
    for key, reference in user_references(flow.settings, here):
        yield from check_reference(flow.where(key), reference, here)


def check_reference(where: str, reference: Reference, here: str) -> Iterator[Problem]:
    """One object that a placeholder names is in the namespace of the workers."""
    if reference.namespace == here:
        return
    name = reference.name
    what = f"`{name}` is in the namespace `{reference.namespace}`, but the workers are in `{here}`"
    remedy = "copy the {} to each replication's namespace, and write `${{{}:{}:KEY}}`."
    if reference.kind == "Secret":
        yield Problem(where, "secret-elsewhere", f"the Secret {what}", _WHY, remedy.format("Secret", "secret", name))
    else:
        yield Problem(
            where, "config-map-elsewhere", f"the ConfigMap {what}", _WHY, remedy.format("ConfigMap", "cfmap", name)
        )
