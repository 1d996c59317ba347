"""The command `replicate drill`."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from kafka_replication.components.contract.problems import RefusedError
from kafka_replication.components.contract.wording import number
from kafka_replication.infra.commands.console import err, out, say
from kafka_replication.infra.commands.options import CatchUpSeconds, Flow, InProject, Stack
from kafka_replication.infra.stack.session import OpenStack
from kafka_replication.infra.stack.settings import StackSettings, read_settings
from kafka_replication.infra.stack.yaml_files import shown

if TYPE_CHECKING:
    from kafka_replication.infra.operate.rehearse.drill import Drill


def drill(
    project: InProject,
    stack: Stack,
    flow: Flow,
    records: Annotated[
        int, typer.Option(min=1, help="Number of the newest records in each partition that the group leaves unread.")
    ] = 1000,
    catch_up_seconds: CatchUpSeconds = 30,
) -> None:
    """Rehearse a failover on live data, with a group of its own. Real groups and connectors do not change.

    It commits offsets for the group `replication-drill-FLOW` on the source, computes and commits its positions on the
    target as `failover` does, reads from there, and counts what is skipped and what is read again. Then it removes the
    group on both sides. If it is interrupted, run it again: it begins by removing the group. Do not run two drills of a
    flow at once.

    It writes what it measured to `drills/STACK.FLOW.json` beside the stack files, where `runbook` reads it.

    The connectors' users need `Read` and `Delete` on that group on both clusters, and `Read` on the topics.

    The exit code is 0 if no record was skipped and the announced number was read again, 1 if not, 2 if something could
    not be asked.

    Example: `replicate drill prod-us-west-2 orders`
    """
    from kafka_replication.infra.operate.flow_access import open_flow
    from kafka_replication.infra.operate.rehearse.drill import Drill

    with OpenStack(read_settings(stack, project.stacks)) as opened, open_flow(opened, flow) as chosen:
        rehearse(Drill(chosen, records, catch_up_seconds), opened.settings)


def rehearse(drill: "Drill", settings: StackSettings) -> None:
    """Run the drill, and print and keep what it measured. Raises RefusedError if records were skipped."""
    from kafka_replication.infra.operate.move.run import print_preconditions
    from kafka_replication.infra.operate.rehearse.drill import write_record

    flow = drill.flow
    if drill.group in flow.group_selection:
        out.print(f"[yellow]![/] the flow also selects the group {escape(drill.group)}, and may sync its offsets")
    with err.status("asking what the connectors' users may do"):
        asked = drill.rights()
    print_preconditions(asked, out, width=10)
    with err.status("rehearsing") as status:
        record = drill.run(status.update)
    for step in record.steps:
        out.print(f"[green]✓[/] {step.name:<10} {step.seconds:.1f} s")
    mark = "[green]✓[/]" if record.passed else "[red]✗[/]"
    bound = "at least " if record.announced_at_least else ""
    read = f"{number(record.expected, 'record')} in {number(record.partitions, 'partition')}"
    result = f"{record.skipped} skipped, {record.read_again} read again ({bound}{record.announced} announced)"
    out.print(f"{mark} {read} to read: {result}", soft_wrap=True)
    say(f"written to {shown(write_record(settings, record))}")
    if not record.passed:
        why = f"On {flow.target.alias}, a group has to read every record that it has not consumed."
        remedy = (
            f"check with `replicate status {settings.stack}` whether the flow keeps up, and raise "
            f"`--catch-up-seconds` if it does not; otherwise `replicate validate {settings.stack}` names what is "
            "missing."
        )
        raise RefusedError("drill-failed", f"of {read}: {result}", f"flow {flow.name}", why, remedy)
