"""Flows that no stack deploys: a stack deploys only the flows whose target is in its region."""

from collections.abc import Collection, Iterator, Sequence

from components.contract.problems import Problem, Severity
from components.flows.expansion import expand
from components.topology.model import Topology


def check_deployed(
    topology: Topology, name: str, regions: Collection[str | None], unread: Sequence[str] = ()
) -> Iterator[Problem]:
    """Check that some stack deploys each flow. `name` is the topology's name, `regions` has the regions of all its
    stacks; a stack without a region (None) deploys every flow. `unread` names the stack files that cannot be read.
    """
    if None in regions:
        return
    listed = ", ".join(sorted(f"`{region}`" for region in regions if region is not None))
    files = f"`{'`, `'.join(unread)}` cannot be read, so a stack of this region may be there. " if unread else ""
    found: dict[tuple[str, str, str], str] = {}
    for flow in expand(topology):
        target = topology.clusters.get(flow.settings.target)
        if target is not None and target.region not in regions:
            found[flow.replication, flow.settings.source, flow.settings.target] = target.region
    for (replication, source, alias), region in found.items():
        yield Problem(
            f"replications.{replication}",
            "deployed-by-no-stack",
            f"no stack {'that can be read ' if unread else ''}deploys the flow from `{source}` to `{alias}`",
            f"{files}A stack deploys the flows whose target is in its region. `{alias}` is in `{region}`, but the "
            f"stacks of this topology have {'only ' if len(regions) == 1 else ''}{listed}.",
            f"add a stack file with `replication:topology: {name}` and `replication:region: {region}`.",
            Severity.WARNING,
        )
