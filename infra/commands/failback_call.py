"""What one call of `replicate failback` does and prints."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer
from rich.markup import escape

from components.clients.reader import KafkaReader
from components.clients.writer import GroupWriter
from components.contract.problems import RefusedError
from components.contract.wording import named, number
from components.kafka.replication_policy import Policy
from infra.commands.console import err, out
from infra.commands.options import who
from infra.operate.move import fence
from infra.operate.move.facts import CheckedPlan
from infra.operate.move.failback import plan_back, refuse_unsuited_back
from infra.operate.move.failback_look import look_back, reverse_flows
from infra.operate.move.failing_back import commit_back, expect_idle
from infra.operate.move.failover_look import OpenFlow
from infra.operate.move.flow_back import FlowBackPlan, plan_return
from infra.operate.move.flow_back_look import look_at_return, offsets_reader
from infra.operate.move.flow_back_run import not_stopped, set_beginning
from infra.operate.move.groups import Who
from infra.operate.move.source_only import SourceOnly, export
from infra.operate.move.text import document, print_plan, print_preconditions


@dataclass(frozen=True)
class Call:
    """One call of the command."""

    groups: Sequence[str]
    dry_run: bool
    as_json: bool
    export: Path | None = None
    wait_seconds: float = 180

    def say(self, text: str) -> None:
        if not self.as_json:
            out.print(text, soft_wrap=True)


def go_back(call: Call, scene: OpenFlow, writer: Callable[[], GroupWriter]) -> None:
    """Look at the groups, print the positions, and commit them unless it is a dry run. Raises RefusedError."""
    reverse = reverse_flows(scene)
    refuse_unsuited_back(scene.parameters, reverse)
    if scene.parameters.policy is Policy.IDENTITY:
        _begin(call, scene)
    else:
        _go_back(call, scene, writer, reverse)


def _begin(call: Call, scene: OpenFlow) -> None:
    """Set the offsets at which the flow back begins: after the last record that came from the other side."""
    flow = scene.parameters
    if call.groups:
        why = "This step sets the offsets at which the flow begins, so it affects every group."
        remedy = f"leave out `--group` here, and give it to `replicate failover` of {flow.name} afterwards."
        raise RefusedError("failback-unsuited", "`--group` is given", f"flow {flow.name}", why, remedy)
    with err.status("asking Kubernetes and Kafka") as status:
        running = not_stopped(scene, offsets_reader(scene).places)
        looked = look_at_return(scene, status.update)
        fences = fence.owners_on(scene, "target", {beginning.topic for beginning in looked.beginnings})
    found = plan_return(flow, looked, running, fences)
    sets = not call.dry_run and not found.unmet
    if not call.as_json:
        print_preconditions(found, out)
        for move in found.moves:
            out.print(escape(move.text), soft_wrap=True)
    _export(call, scene.reader(flow.target), looked.old_only, committed=flow.exactly_once)
    if sets:
        call.say("setting offsets; if this is interrupted, run the command again")
        with err.status("asking the operator") as status:
            set_beginning(scene, Who(who(), call.wait_seconds), found.moves, status.update)
        call.say(f"[green]✓[/] {number(len(found.moves), 'offset')} set, and read back from Connect")
        for owner in fences or ():
            fence.lift(scene.topic_acls("target"), owner)
            call.say(f"[green]✓[/] {escape(f'the fence of {owner} on {flow.target.alias} is lifted')}")
        call.say(escape("Now start the source connector: remove `state: stopped` from the topology, and deploy it"))
        stack = scene.settings.stack
        call.say(escape(f"Then stop the producers and consumers, and type `replicate failover {stack} {flow.name}`"))
    if call.as_json:
        typer.echo(json.dumps(_document(found, looked.old_only, sets=sets), indent=2))
    _refuse_unmet(call, scene, found)


def _document(found: FlowBackPlan, alone: Sequence[SourceOnly], *, sets: bool) -> dict[str, object]:
    """A beginning as JSON, version 1. `committed` says whether the offsets were set."""
    return {
        "version": 1,
        "committed": sets,
        "preconditions": [
            {"name": precondition.name, "value": precondition.value, "met": precondition.met}
            for precondition in found.preconditions
        ],
        "offsets": [
            {"connector": move.connector, "partition": str(move.partition), "now": move.now, "then": move.then}
            for move in found.moves
        ],
        "sourceOnly": [record.document() for record in alone],
    }


def _export(call: Call, source: KafkaReader, alone: Sequence[SourceOnly], *, committed: bool) -> None:
    if call.export is None:
        return
    with err.status("exporting") as status:
        count = export(source, alone, call.export, status.update, committed=committed)
    exported = f"{number(count, 'record')} exported to {call.export}"
    call.say(f"[green]✓[/] {escape(exported)}")


def _go_back(call: Call, scene: OpenFlow, writer: Callable[[], GroupWriter], reverse: Sequence[str]) -> None:
    flow = scene.parameters
    with err.status("asking Kafka") as status:
        looked = look_back(scene, call.groups, status.update)
        denied = fence.owned_by(scene)
    found = plan_back(flow, looked, reverse, denied)
    if not call.as_json:
        print_plan(found, out)
    _export(call, scene.reader(flow.source), looked.source_only, committed=flow.exactly_once)
    commits = not call.dry_run and not found.unmet
    if commits:
        expect_idle(scene, found.moves)
        call.say("point of no return: committing positions; if this is interrupted, run the command again")
        with err.status("committing") as status:
            commit_back(scene, writer(), found.moves, status.update)
        done = f"{number(len(found.moves), 'position')} committed on {flow.source.alias} and read back"
        call.say(f"[green]✓[/] {done}")
        if denied:
            fence.lift(scene.topic_acls("source"), fence.owner_of(scene))
            call.say(f"[green]✓[/] {escape(f'writes to {named(denied)} on {flow.source.alias} are allowed again')}")
        source = f"{flow.source.alias}: {flow.source.bootstrap_servers}"
        call.say(escape(f"Start the consumers and then the producers on {source}"))
        resume = f"`replicate resume {scene.settings.stack} {flow.name}`"
        call.say(f"If the failover or you stopped connectors of the flow, start them: {resume}")
    if call.as_json:
        alone = {"sourceOnly": [record.document() for record in looked.source_only]}
        typer.echo(json.dumps(document(found, committed=commits) | alone, indent=2))
    _refuse_unmet(call, scene, found)


def _refuse_unmet(call: Call, scene: OpenFlow, found: CheckedPlan) -> None:
    if found.unmet:
        what = "; ".join(f"{precondition.name}: {precondition.value}" for precondition in found.unmet)
        why = "A failback needs every precondition to be met; nothing was changed."
        remedy = "correct these, and run the command again; `--dry-run` shows them without changing anything."
        raise RefusedError("precondition-unmet", what, f"flow {scene.flow.name} of {scene.settings.stack}", why, remedy)
    if call.dry_run:
        call.say("nothing was changed")
