"""The command `replicate resume`."""

from infra.commands.intervention import Connectors, DryRun, Flow, Intervention, TakeOver, WaitSeconds, intervene
from infra.commands.options import InProject, Stack
from infra.stack.session import OpenStack
from infra.stack.settings import read_settings


def resume(
    project: InProject,
    stack: Stack,
    flow: Flow,
    connector: Connectors = None,
    dry_run: DryRun = False,
    take_over: TakeOver = False,
    wait_seconds: WaitSeconds = 180,
) -> None:
    """End an announced pause or stop: connectors return to their earlier state.

    Example: `replicate resume prod-us-west-2 orders`
    """
    with OpenStack(read_settings(stack, project.stacks)) as opened:
        intervene(Intervention(opened, flow, "running", connector or (), "", take_over, dry_run, wait_seconds))
