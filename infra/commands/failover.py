"""The commands `replicate failover|failback`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from kafka_replication.infra.commands.console import err, out
from kafka_replication.infra.commands.options import DryRun, Flow, Groups, InProject, Json, Stack, WaitSeconds, who
from kafka_replication.infra.stack.session import OpenStack
from kafka_replication.infra.stack.settings import read_settings

_Mode = Literal["planned", "continuous", "disaster"]


def failover(
    project: InProject,
    stack: Stack,
    flow: Flow,
    mode: Annotated[
        _Mode,
        typer.Option(
            help=(
                "`planned`: producers are stopped, and every record is replicated. `continuous`: producers and the "
                "flow keep running, and groups that do not run move. `disaster`: the source does not answer."
            )
        ),
    ] = "planned",
    groups: Groups = None,
    watch_seconds: Annotated[
        float, typer.Option(min=0, help="With `planned`: seconds for which nothing may be written to the source.")
    ] = 10,
    max_lag: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="RECORDS",
            help=(
                "With `planned`: if at most this many records are not yet replicated, wait for them for up to "
                "--wait-seconds. With `--fence` and without this option, wait for any number."
            ),
        ),
    ] = 0,
    fence: Annotated[
        bool,
        typer.Option(
            "--fence",
            help=(
                "With `planned`: deny everybody the right to write to the flow's topics on the source, instead of "
                "trusting that the producers are stopped. The connectors' user needs Alter on that cluster."
            ),
        ),
    ] = False,
    lift_fence: Annotated[
        bool, typer.Option("--lift-fence", help="Allow the writes that `--fence` denied, and move no groups.")
    ] = False,
    switch: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also stop the applications in this file, and start them on the target."),
    ] = None,
    dry_run: DryRun = False,
    as_json: Json = False,
    wait_seconds: WaitSeconds = 180,
) -> None:
    """Move consumer groups to the target: each continues at exactly the record that it had reached on the source.

    It does not stop or start consumers or producers, except those of `--switch`, and leaves running groups alone. It
    computes the positions from the records of both clusters. If a precondition is not met, it changes nothing. It does
    not ask for confirmation. Except with `disaster`, it stops the checkpoint connector, which could move a group back.
    If it is interrupted, run it again.

    With `--fence` it denies writes to the flow's topics on the source. If somebody still writes, such as a super user,
    or if anything else goes wrong before the first position is committed, it allows the writes again. After a
    successful failover they stay denied until `replicate failback` or `--lift-fence`.

    With `disaster` it works without the source, and refuses if the source answers. It uses the positions that
    validations have published and the offsets that MirrorMaker has translated. It reports since when records of each
    topic may be lost, and how many records each group may read again.

    The exit code is 0 if every precondition is met, even if groups are left alone; 1 if one is unmet or something
    changed during the run; 2 if something could not be asked or done.

    Example: `replicate failover prod-us-west-2 orders --dry-run`
    """
    if max_lag and mode != "planned":
        raise typer.BadParameter(
            "only `--mode planned` waits until every record is replicated.", param_hint="--max-lag"
        )
    for given, option in ((fence, "--fence"), (lift_fence, "--lift-fence")):
        if given and mode != "planned":
            raise typer.BadParameter("only `--mode planned` has a fence.", param_hint=option)
    if switch is not None and (as_json or lift_fence):
        raise typer.BadParameter("it cannot be given with `--json` or `--lift-fence`.", param_hint="--switch")
    if fence and lift_fence:
        raise typer.BadParameter("it cannot be given with `--fence`.", param_hint="--lift-fence")
    from kafka_replication.infra.operate.flow_access import open_flow
    from kafka_replication.infra.operate.move.disaster import DisasterFailover
    from kafka_replication.infra.operate.move.facts import Mode
    from kafka_replication.infra.operate.move.failover import Failover
    from kafka_replication.infra.operate.move.failover_plan import refuse_unsuited
    from kafka_replication.infra.operate.move.fence import FencedFailover, lift_only
    from kafka_replication.infra.operate.move.run import MoveCall
    from kafka_replication.infra.operate.switch.switch import Switch

    call = MoveCall(
        out, err, who(), groups or (), dry_run, as_json, wait_seconds, watch_seconds, max_lag, mode=Mode(mode)
    )
    lost = f"If the source is lost: `replicate failover {stack} {flow} --mode disaster --dry-run`."
    otherwise = "" if lift_fence or mode == "disaster" else lost
    with OpenStack(read_settings(stack, project.stacks)) as opened, open_flow(opened, flow, otherwise) as chosen:
        if lift_fence:
            lift_only(call, chosen)
            return
        refuse_unsuited(chosen.parameters, call.mode)
        operation = DisasterFailover if mode == "disaster" else FencedFailover if fence else Failover
        if switch is None:
            operation(call, chosen).run()
        else:
            Switch(call, chosen, operation, switch).run()


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
    from kafka_replication.infra.operate.flow_access import open_flow
    from kafka_replication.infra.operate.move.flow_back import fail_back
    from kafka_replication.infra.operate.move.run import MoveCall

    call = MoveCall(out, err, who(), groups or (), dry_run, as_json, wait_seconds, export=export)
    with OpenStack(read_settings(stack, project.stacks)) as opened, open_flow(opened, flow) as chosen:
        fail_back(call, chosen)
