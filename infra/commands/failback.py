"""The command `replicate failback`."""

from pathlib import Path
from typing import Annotated

import typer

from infra.commands.console import err, out
from infra.commands.options import DryRun, Flow, Groups, InProject, Json, Stack, WaitSeconds, who
from infra.stack.session import OpenStack
from infra.stack.settings import read_settings


def failback(
    project: InProject,
    stack: Stack,
    flow: Flow,
    groups: Groups = None,
    export: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the records that it finds were never replicated to this new file, as JSON lines.",
        ),
    ] = None,
    dry_run: DryRun = False,
    as_json: Json = False,
    wait_seconds: WaitSeconds = 180,
) -> None:
    """Move consumer groups back to the source: each continues at exactly the record that it had reached on the target.

    It translates positions in the flow's remote topics, such as `useast.orders`, back to `orders` on the source, by
    comparing the records of both. It lists the records that it finds were never replicated, and the partitions where it
    cannot know; `--export` writes these records to a file before anything is changed, even with `--dry-run`. It does
    not stop or start consumers or producers, and leaves alone a group that runs on either side. If a precondition is
    not met, it changes nothing. It does not ask for confirmation. If it is interrupted, run it again.

    With the policy `identity`, name the flow that leads back, deployed with a stopped source connector: the command
    sets the offsets at which that flow begins, so that nothing is copied twice. `replicate failover` of that flow then
    moves the groups.

    The exit code is 0 if every precondition is met, even if groups are left alone; 1 if one is unmet or something
    changed during the run; 2 if something could not be asked or done.

    Example: `replicate failback prod-us-west-2 orders --dry-run`
    """
    # They load clients of Kubernetes and Kafka, which takes longer than TAB may.
    from infra.operate.move.flow_back import fail_back
    from infra.operate.move.groups import open_flow
    from infra.operate.move.run import MoveCall

    call = MoveCall(out, err, who(), groups or (), dry_run, as_json, wait_seconds, export=export)
    with OpenStack(read_settings(stack, project.stacks)) as opened, open_flow(opened, flow) as chosen:
        fail_back(call, chosen)
