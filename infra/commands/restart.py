"""The command `replicate restart`."""

from typing import Annotated

import typer
from rich.markup import escape

from infra.commands.console import err, out
from infra.commands.intervention import Connectors, DryRun, Flow, WaitSeconds
from infra.commands.options import InProject, Stack
from infra.stack.session import OpenStack
from infra.stack.settings import read_settings


def restart(
    project: InProject,
    stack: Stack,
    flow: Flow,
    connector: Connectors = None,
    task: Annotated[
        int | None, typer.Option(min=0, help="Only this task; needs one `--connector`, unless the flow has only one.")
    ] = None,
    dry_run: DryRun = False,
    wait_seconds: WaitSeconds = 180,
) -> None:
    """Restart what failed in a flow, or the named connectors with all their tasks, one after the other. An annotation
    asks the operator to do it. The command waits until the operator reports that they run.

    Example: `replicate restart prod-us-west-2 orders --connector orders-source --task 0`
    """
    # They load a client of Kubernetes, which takes longer than TAB may.
    from infra.operate.connectors.changes import planned_restarts
    from infra.operate.connectors.operator import chosen_places, cluster_of, read_live
    from infra.operate.connectors.operator import restart as carry_out

    with OpenStack(read_settings(stack, project.stacks)) as opened:
        places = chosen_places(opened.declared_flow(flow), connector or ())
        if task is not None and len(places) > 1:
            raise typer.BadParameter("name the `--connector` that has this task.", param_hint="--task")
        with cluster_of(opened) as api:
            restarts = planned_restarts(places, read_live(api, places), named=bool(connector), task=task)
            for planned in restarts:
                out.print(escape(f"restart {planned.title}"), soft_wrap=True)
            if dry_run:
                out.print("nothing was changed")
                return
            with err.status("waiting for the operator") as status:
                restarted = carry_out(api, restarts, wait_seconds, status.update)
    for connector_ in restarted:
        out.print(f"[green]✓[/] {escape(connector_.text)}", soft_wrap=True)
