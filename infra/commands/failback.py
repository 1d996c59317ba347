"""The command `replicate failback`."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from components.changes.effect import number
from components.contract.problems import RefusedError
from infra.commands.console import err, out
from infra.commands.intervention import DryRun, Flow
from infra.commands.options import InProject, Json, Stack
from infra.settings import read_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from infra.operations.failover_looking import Scene
    from infra.operations.group_writer import GroupWriter


def failback(
    project: InProject,
    stack: Stack,
    flow: Flow,
    groups: Annotated[
        list[str] | None,
        typer.Option("--group", metavar="NAME", help="Only this consumer group; may be given several times."),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the records that only the source has to this new file, as JSON lines."
        ),
    ] = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Move consumer groups back to the source: each goes on at exactly the record that it had reached on the target.

    It translates positions in the flow's remote topics, such as `useast.orders`, back to `orders` on the source, by
    comparing the records of both. It names the records that only the source has, and `--export` writes them to a file
    before anything is changed, also with `--dry-run`. It stops and starts neither consumers nor producers, and leaves a
    group alone that runs on either side. If a precondition is not met, it changes nothing. It does not ask for
    confirmation. If it is interrupted, run it again.

    The exit code is 0 if every precondition is met, 1 if one is not or something changed meanwhile, 2 if something
    could not be asked.

    Example: `replicate failback prod-us-west-2 orders --dry-run`
    """
    # They load clients of Kubernetes and Kafka, which takes longer than TAB may.
    from infra.operations import failing_back, failover_looking

    with failover_looking.opened(read_settings(stack, project.stacks), flow) as scene:
        go_back(Call(groups or (), dry_run, as_json, export), scene, lambda: failing_back.source_writer(scene))


@dataclass(frozen=True)
class Call:
    """One call of the command."""

    groups: "Sequence[str]"
    dry_run: bool
    as_json: bool
    export: Path | None = None

    def say(self, text: str) -> None:
        if not self.as_json:
            out.print(text, soft_wrap=True)


def go_back(call: Call, scene: "Scene", writer: "Callable[[], GroupWriter]") -> None:
    """Look, print what was found, and commit unless it is a dry run. Raises RefusedError."""
    from infra.operations.failback_looking import look_back, reverse_flows
    from infra.operations.failback_plan import plan_back, refuse_unsuited_back
    from infra.operations.failing_back import commit_back, expect_idle
    from infra.operations.failover_text import document, print_plan
    from infra.operations.source_only import export

    flow, reverse = scene.parameters, reverse_flows(scene)
    refuse_unsuited_back(flow, reverse)
    with err.status("asking Kafka") as status:
        looked = look_back(scene, call.groups, status.update)
    found = plan_back(flow, looked, reverse)
    if not call.as_json:
        print_plan(found, out)
    if call.export is not None:
        with err.status("exporting") as status:
            of_source = scene.reader(flow.source)
            count = export(of_source, looked.source_only, call.export, status.update, committed=flow.exactly_once)
        exported = f"{number(count, 'record')} exported to {call.export}"
        call.say(f"[green]✓[/] {escape(exported)}")
    commits = not call.dry_run and not found.unmet
    if commits:
        expect_idle(scene, found.moves)
        call.say("point of no return: committing positions; if this is interrupted, run the command again")
        with err.status("committing") as status:
            commit_back(scene, writer(), found.moves, status.update)
        done = f"{number(len(found.moves), 'position')} committed on {flow.source.alias} and read back"
        call.say(f"[green]✓[/] {done}")
        source = f"{flow.source.alias}: {flow.source.bootstrap_servers}"
        call.say(escape(f"Start the consumers and then the producers on {source}"))
        resume = f"`replicate resume {scene.settings.stack} {flow.name}`"
        call.say(f"If the failover or you stopped connectors of the flow, start them: {resume}")
    if call.as_json:
        alone = {"sourceOnly": [each.document() for each in looked.source_only]}
        typer.echo(json.dumps(document(found, committed=commits) | alone, indent=2))
    if found.unmet:
        what = "; ".join(f"{each.name}: {each.value}" for each in found.unmet)
        why = "A failback needs every precondition, and nothing was changed."
        remedy = "correct these, and run the command again; `--dry-run` shows them without changing anything."
        raise RefusedError("precondition-unmet", what, f"flow {flow.name} of {scene.settings.stack}", why, remedy)
    if call.dry_run:
        call.say("nothing was changed")
