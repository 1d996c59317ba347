"""The command `replicate stop`."""

from infra.commands.intervention import (
    Connectors,
    DryRun,
    Flow,
    For,
    Intervention,
    Keep,
    TakeOver,
    WaitSeconds,
    intervene,
    keep_state,
)
from infra.commands.options import InProject, Stack
from infra.settings import read_settings


def stop(
    project: InProject,
    stack: Stack,
    flow: Flow,
    connector: Connectors = None,
    lasts: For = "",
    dry_run: DryRun = False,
    keep: Keep = False,
    take_over: TakeOver = False,
    wait_seconds: WaitSeconds = 180,
) -> None:
    """Stop connectors of a flow for a while: their tasks end, and offsets can be changed. Nothing resumes by itself.

    Who stopped them and until when is kept beside them; `status` and `diff --against cluster` show it. Records stay on
    the source only as long as its retention lets them.

    Example: `replicate stop prod-us-west-2 orders --connector orders-source --for 1h`
    """
    settings = read_settings(stack, project.stacks)
    if keep:
        keep_state(settings, flow, "stopped", connector or ())
    else:
        intervene(Intervention(settings, flow, "stopped", connector or (), lasts, take_over, dry_run, wait_seconds))
