"""The commands `replicate pause|stop|resume|restart`."""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from kafka_replication.infra.commands import options
from kafka_replication.infra.commands.console import done, err, out, say
from kafka_replication.infra.stack.session import OpenStack
from kafka_replication.infra.stack.settings import read_settings
from kafka_replication.infra.stack.yaml_files import shown

Keep = Annotated[
    bool, typer.Option("--keep", help="Print the change in the topology that makes it permanent, and change nothing.")
]
_DURATION = re.compile(r"(\d+)([smhd])")
_VERBS = {"paused": "pause", "stopped": "stop"}
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_MOST_SECONDS = 3_650 * _SECONDS["d"]


def _duration(text: str) -> timedelta:
    match = _DURATION.fullmatch(text)
    if match is None:
        raise typer.BadParameter(f"`{text}` is not a duration: write a number and s, m, h or d, such as 90m or 1h.")
    seconds = int(match[1]) * _SECONDS[match[2]]
    if seconds > _MOST_SECONDS:
        raise typer.BadParameter(f"`{text}` is more than ten years: leave `--for` out if no end is known.")
    return timedelta(seconds=seconds)


For = Annotated[
    timedelta | None,
    typer.Option(
        "--for",
        metavar="DURATION",
        parser=_duration,
        help="How long it should last, such as 90m; nothing resumes by itself.",
    ),
]


def halt(state: str, help_text: str) -> Callable[..., None]:
    """Return the command that brings connectors into the state `paused` or `stopped`, with this text as its help."""

    def command(
        project: options.InProject,
        stack: options.Stack,
        flow: options.Flow,
        connector: options.Connectors = None,
        lasts: For = None,
        dry_run: options.DryRun = False,
        keep: Keep = False,
        take_over: options.TakeOver = False,
        wait_seconds: options.WaitSeconds = 180,
    ) -> None:
        with OpenStack(read_settings(stack, project.stacks)) as opened:
            if keep:
                keep_state(opened, flow, state, connector or ())
            else:
                _request(
                    opened, flow, state, connector or (), wait_seconds, lasts, take_over=take_over, dry_run=dry_run
                )

    command.__doc__ = f"""{help_text}

    An annotation records who did it and until when; `status` and `diff --against cluster` show it. The source keeps
    records only as long as its retention allows.

    Example: `replicate {_VERBS[state]} prod-us-west-2 orders --connector orders-checkpoint --for 1h`
    """
    return command


def _request(
    stack: OpenStack,
    name: str,
    state: str,
    connectors: Sequence[str],
    wait_seconds: float,
    lasts: timedelta | None = None,
    *,
    take_over: bool,
    dry_run: bool,
) -> None:
    """Bring the connectors into the state, wait until the operator reports it, and print what was seen."""
    from kafka_replication.infra.operate.connectors.changes import StateRequest, concerned, planned
    from kafka_replication.infra.operate.connectors.operator import carry_out, chosen_places, cluster_of, read_live

    flow = stack.declared_flow(name)
    places = chosen_places(flow, connectors)
    now = datetime.now(UTC)
    until = None if lasts is None else now + lasts
    request = StateRequest(stack.name, flow.name, state, options.who(), now, until, take_over)
    with cluster_of(stack) as api:
        live = read_live(api, places)
        chosen = places if connectors else concerned(request, places, live)
        changes = planned(request, chosen, live)
        for change in changes:
            for connector, then in change.states.items():
                say(f"{connector.name}: {then} in {change.resource}")
        if dry_run:
            say("nothing was changed")
            return
        with err.status("waiting for the operator") as status:
            reports = carry_out(api, changes, wait_seconds, status.update)
    for report in reports:
        done(report.text)
    if state == "stopped":
        say("Tasks may copy records for a few more seconds: Connect reports STOPPED before they have ended.")
    if state != "running":
        say(_how_it_ends(request.stack, request.flow, until))


def _how_it_ends(stack: str, flow: str, until: datetime | None) -> str:
    resume = f"`replicate resume {stack} {flow}`"
    if until is None:
        return f"Nothing resumes by itself. End it with {resume}."
    report = "from then on, `status` and `diff --against cluster` report that the time has passed"
    return f"Nothing resumes by itself at {until:%H:%MZ}; {report}. End it with {resume}."


def keep_state(stack: OpenStack, name: str, state: str, connectors: Sequence[str]) -> None:
    """Print the change in the topology that makes a state permanent."""
    from kafka_replication.infra.operate.connectors.operator import chosen_places

    flow = stack.declared_flow(name)
    roles = dict.fromkeys(place.role for place in chosen_places(flow, connectors))
    say(f"in {shown(stack.settings.topology_file)}:")
    for role in roles:
        say(f"  {flow.expanded.where(f'connectors.{role}.state')}: {state}")
    say(f"then deploy it: `replicate up {stack.name}`")


pause = halt(
    "paused", "Pause connectors of a flow for a while: tasks stay assigned and read nothing. Nothing resumes by itself."
)


stop = halt(
    "stopped",
    "Stop connectors of a flow for a while: their tasks end, and offsets can be changed. Nothing resumes by itself.",
)


def resume(
    project: options.InProject,
    stack: options.Stack,
    flow: options.Flow,
    connector: options.Connectors = None,
    dry_run: options.DryRun = False,
    take_over: options.TakeOver = False,
    wait_seconds: options.WaitSeconds = 180,
) -> None:
    """End an announced pause or stop: connectors return to their earlier state.

    Example: `replicate resume prod-us-west-2 orders`
    """
    with OpenStack(read_settings(stack, project.stacks)) as opened:
        _request(opened, flow, "running", connector or (), wait_seconds, take_over=take_over, dry_run=dry_run)


def restart(
    project: options.InProject,
    stack: options.Stack,
    flow: options.Flow,
    connector: options.Connectors = None,
    task: Annotated[
        int | None, typer.Option(min=0, help="Only this task; needs one `--connector`, unless the flow has only one.")
    ] = None,
    dry_run: options.DryRun = False,
    wait_seconds: options.WaitSeconds = 180,
) -> None:
    """Restart what failed in a flow, or the named connectors with all their tasks, one after the other. An annotation
    asks the operator to do it. The command waits until the operator reports that they run.

    Example: `replicate restart prod-us-west-2 orders --connector orders-source --task 0`
    """
    from kafka_replication.infra.kubernetes.secret_readers import note_secrets_read, secrets_read
    from kafka_replication.infra.operate.connectors.changes import planned_restarts
    from kafka_replication.infra.operate.connectors.operator import chosen_places, cluster_of, read_live
    from kafka_replication.infra.operate.connectors.operator import restart as carry_out

    with OpenStack(read_settings(stack, project.stacks)) as opened:
        places = chosen_places(opened.declared_flow(flow), connector or ())
        if task is not None and len(places) > 1:
            raise typer.BadParameter("name the `--connector` that has this task.", param_hint="--task")
        with cluster_of(opened) as api:
            restarts = planned_restarts(places, read_live(api, places), named=bool(connector), task=task)
            for planned in restarts:
                say(f"restart {planned.title}")
            if dry_run:
                out.print("nothing was changed")
                return
            # Only these restart with all their tasks, and so read their Secrets again.
            whole = {place.resource for place in places} if connector and task is None else set()
            noted = secrets_read(api, opened.flows, whole)
            with err.status("waiting for the operator") as status:
                restarted = carry_out(api, restarts, wait_seconds, status.update)
            note_secrets_read(api, noted)
    for connector_ in restarted:
        done(connector_.text)
