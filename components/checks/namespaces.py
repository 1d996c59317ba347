"""Namespaces: each is created by one deployment of a region."""

from collections.abc import Iterator, Sequence

from components.expansion import NamedFlow
from components.model import Topology
from components.naming import namespace_name
from components.problems import Problem


def check_namespaces(topology: Topology, flows: Sequence[NamedFlow]) -> Iterator[Problem]:
    """Problems of namespaces that several deployments would create."""
    created: dict[tuple[str, str], NamedFlow] = {}
    for named in flows:
        target = topology.clusters.get(named.flow.target)
        if target is None or not named.flow.namespace.create:
            continue
        name = namespace_name(named.owner, named.flow)
        first = created.setdefault((target.region, name), named)
        if first.owner != named.owner:
            yield Problem(
                named.where("namespace.create"),
                "namespace-created-twice",
                f"the namespace `{name}` is created here and by {first.where()}",
                "A stack registers it twice, which Pulumi and kustomize refuse; and whichever was removed first would "
                "take the other's objects with it.",
                "set `create: false` beside the `name` of all but one, or create it by other means.",
            )
