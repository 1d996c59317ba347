"""Prints the adoption plan: each object, what it means, and what prevents it."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.markup import escape

from kafka_replication.components.changes.effect import gravest, listed
from kafka_replication.components.contract.wording import named, number
from kafka_replication.infra.deploy.adoption.carry_out import MoveResult
from kafka_replication.infra.deploy.adoption.moves import MirrorMove
from kafka_replication.infra.deploy.adoption.plan import AdoptionPlan, Fate
from kafka_replication.infra.onboard.importing.deployment_changes import heartbeat_warning, without_heartbeats
from kafka_replication.infra.review.reports import SEVERITY_COLORS, field_text, print_fact

_SYMBOLS_AND_WORDS = {
    Fate.CREATED: ("[green]+[/]", "does not exist, and is created"),
    Fate.EQUAL: ("=", "exists as declared"),
    Fate.CHANGED: ("[yellow]~[/]", "exists, and would change"),
    Fate.REPLACED: ("[magenta]±[/]", "exists, and would be replaced"),
}
_SHOWN = 5


def print_plan(plan: AdoptionPlan, console: Console) -> None:
    """Print everything of a plan except its refusals."""
    known, counts = sum(planned.known for planned in plan.objects), Counter(planned.fate for planned in plan.objects)
    fates = ", ".join(f"{counts[fate]} {fate}" for fate in Fate if counts[fate])
    head = f"{number(len(plan.objects), 'object')}: {fates}; Pulumi knows {known}"
    print_fact(console, f"[bold]{escape(plan.stack)}[/]: {head}")
    for planned in plan.objects:
        also = ", Pulumi knows it" if planned.known else ""
        symbol, words = _SYMBOLS_AND_WORDS[planned.fate]
        print_fact(console, f"{symbol} {escape(str(planned.object))}: {words}{also}", 2)
        for field in planned.fields:
            print_fact(console, f"[dim]{escape(field_text(field))}[/]", 6)
        for owner, parts in () if planned.known else planned.owners.items():
            since = f" (last wrote at {owner.since})" if owner.since else ""
            owned = f"{owner.manager or 'an unnamed field manager'} owns {named(parts, _SHOWN)}{since}"
            print_fact(console, f"[dim]{escape(owned)}[/]", 6)
    for effect in plan.effects:
        text = f"{escape(f'{effect.flow}: {effect.what}')} [dim]({effect.code})[/]"
        print_fact(console, f"[{SEVERITY_COLORS[effect.severity]}]{effect.severity:<7}[/] {text}", 2)
    for move in plan.moves.mirrors:
        for line in _move_lines(move):
            print_fact(console, escape(line), 2)
    for note in _notes(plan):
        print_fact(console, escape(note), 2)


def print_move_results(results: Sequence[MoveResult], console: Console) -> None:
    """Print how many offsets were copied, and the topics without copied offsets."""
    for result in results:
        names = result.move.flow_names
        line = f"{result.move.title}: {number(result.offsets, 'offset')} copied to {names}, and read back from Connect"
        console.print(f"[green]✓[/] {escape(line)}", soft_wrap=True)
        if result.left_out:
            rest = f"  Not copied, because {names} does not replicate them: {listed(result.left_out)}"
            console.print(escape(rest), soft_wrap=True)


def print_remains(plan: AdoptionPlan, console: Console) -> None:
    """Print what remains of the KafkaMirrorMaker2s, and how to delete it."""
    for resource in dict.fromkeys(move.resource for move in plan.moves.mirrors):
        moves = [move for move in plan.moves.mirrors if move.resource == resource]
        if len(moves) == len(moves[0].live["spec"]["mirrors"]):
            how = f"kubectl delete kafkamirrormaker2 {resource.name} -n {resource.namespace}"
            console.print(escape(f"{resource} is stopped. Delete it once the proof passes: {how}"), soft_wrap=True)
        else:
            names = ", ".join(f"{move.source}->{move.target}" for move in moves)
            remedy = f"{names} of {resource} is stopped, and its other mirrors run. Remove it from `spec.mirrors`."
            console.print(escape(remedy), soft_wrap=True)


def _move_lines(move: MirrorMove) -> Iterator[str]:
    if not move.waiting:
        yield f"{move.title} was already moved to {move.flow_names}"
        return
    yield (
        f"{move.title} becomes {move.flow_names}: {', '.join(place.name for place in move.places)} stop, the offsets "
        f"of {move.connector} are copied to {', '.join(place.name for place in move.waiting if place.role == 'source')}"
    )
    yield (
        "Offsets of checkpoint and heartbeat connectors are not copied: their tasks do not use the offsets that "
        "Connect stores. The checkpoint connector continues from the topics of checkpoints and offset syncs, which "
        "stay the same."
    )
    if said := heartbeat_warning(without_heartbeats(move.flows)):
        yield said


def _notes(plan: AdoptionPlan) -> Iterator[str]:
    if not plan.unmanaged:
        return
    yield (
        f"From now on `replicate up {plan.stack}` changes these objects, `replicate destroy {plan.stack}` deletes "
        "them, and the fields of the tools above belong to Pulumi."
    )
    for target in plan.unmanaged:
        if target.kind == "Namespace":
            yield (
                f"`replicate destroy` also deletes namespace {target.name} and everything in it, whoever created "
                "it. To leave the namespace out, set `namespace: {create: false}` (`createNamespaces: false` for a "
                "pair) in the topology before you adopt. After the adoption, that change would make `replicate up` "
                "delete the namespace."
            )
    if any(owner.manager == "helm" for planned in plan.objects for owner in planned.owners):
        yield (
            "Helm still has these objects in a release: `helm upgrade` would change them and `helm uninstall` delete "
            "them. Make Helm forget the release: `kubectl delete secret -l owner=helm,name=RELEASE`."
        )
    for mirror in plan.moves.unmatched:
        yield f"No flow of {plan.stack} copies topics of mirror {mirror}, so the mirror stays as it is."
    if plan.searched:
        yield (
            "Other resources that copy between the same clusters were looked for only in "
            f"{', '.join(plan.searched)}: the account is not allowed to list other namespaces."
        )
    for agreement in plan.unused:
        yield f"`--agree {agreement}` has no effect here."


VERSION = 1
_OF_PROBLEM = ("code", "where", "what", "why", "remedy")


def document_of(plan: AdoptionPlan, changes: Mapping[str, int] | None = None) -> dict[str, Any]:
    """Return the plan with its refusals; `changes` counts the objects by what the deployment did, None before it."""
    return {
        "version": VERSION,
        "stack": plan.stack,
        "done": plan.is_done or changes is not None,
        "carriedOut": changes is not None,
        "changes": dict(changes or {}),
        "severity": gravest(effect.severity for effect in plan.effects).value,
        "moves": [
            {
                "mirror": f"{move.source}->{move.target}",
                "resource": str(move.resource),
                "flows": [flow.name for flow in move.flows],
                "waiting": [place.name for place in move.waiting],
            }
            for move in plan.moves.mirrors
        ],
        "objects": [
            {
                "apiVersion": planned.object.api_version,
                "kind": planned.object.kind,
                "namespace": planned.object.namespace,
                "name": planned.object.name,
                "fate": planned.fate.value,
                "known": planned.known,
                "fields": [asdict(field) for field in planned.fields],
                "owners": [{**asdict(owner), "parts": list(parts)} for owner, parts in planned.owners.items()],
            }
            for planned in plan.objects
        ],
        "effects": [asdict(effect) for effect in plan.effects],
        "refusals": [
            {**{name: getattr(refusal.problem, name) for name in _OF_PROBLEM}, "agreement": refusal.agreement}
            for refusal in plan.refusals
        ],
        "unusedAgreements": list(plan.unused),
        "searchedNamespaces": list(plan.searched),
    }
