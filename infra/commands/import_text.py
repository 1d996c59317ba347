"""What `replicate import` prints. A message that applies to several resources is printed once."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich.markup import escape

from components.contract.problems import Problem
from components.contract.wording import number
from infra.commands.console import out, print_problems
from infra.onboard.importing.deployment_changes import Proof, said_of
from infra.onboard.importing.flows import Imported, why_named
from infra.onboard.importing.left_out import LeftOut, Others, alike, in_words, others


def print_names(imported: Sequence[Imported]) -> None:
    """Print the names of replications that differ from those in the input."""
    lines = [why_named(each.name, each.wanted, _what(each), _aliases(each)) for each in imported if _is_renamed(each)]
    if lines:
        out.print("\nNames that differ from the input:")
    for line in lines:
        _print(f"  {line}")


def _is_renamed(each: Imported) -> bool:
    return each.wanted not in ("", each.name)


def _aliases(each: Imported) -> list[str]:
    sources = each.replication.get("sources") or [each.replication["source"]]
    return [*sources, each.replication["target"]]


def _what(each: Imported) -> str:
    *sources, target = _aliases(each)
    return f"{', '.join(f'{source}->{target}' for source in sources)} of {each.read[0].label or each.read[0].file}"


def print_left_out(left_out: Sequence[LeftOut]) -> None:
    """Print what is not taken over, each reason once."""
    if left_out:
        out.print(f"\nNot taken over: {number(len(left_out), 'thing')}")
    # Fields of an object that are left out for the same reason, such as its Helm labels, count as one thing.
    fields: dict[LeftOut, list[str]] = {}
    for each in sorted(left_out):
        fields.setdefault(replace(each, field=""), []).append(each.field)
    joined = [replace(one, field=", ".join(filter(None, names))) for one, names in fields.items()]
    for group in alike(joined, lambda one: "\n".join((one.code, one.file, one.field, one.why, one.remedy))):
        _print(f"  {group[0]}")
        _print_others(others((one.obj or one.file, f"{one.why}\n{one.remedy}") for one in group))


def print_found(problems: Sequence[Problem]) -> None:
    """Print what a check finds, each sentence once."""
    for group in alike(problems, lambda each: f"{each.severity}\n{each.code}\n{_sentences(each)}"):
        # A line of the file may hold a credential that cannot be recognised as one.
        print_problems(group[:1], out, excerpts=False)
        _print_others(others((_place(each, group[0]), _sentences(each)) for each in group))


def _sentences(each: Problem) -> str:
    return f"{each.what}\n{each.why}\n{each.remedy}"


def _place(each: Problem, first: Problem) -> str:
    if each.place is None or first.place is None or each.place.file != first.place.file:
        return f"{each.place}: {each.where}" if each.place else each.where
    return f"line {each.place.line}: {each.where}"


def print_proofs(proofs: Sequence[Proof], doing: str) -> None:
    """Print what `doing` (deploying or moving) would change for each replication; equal changes are grouped."""

    def text(proof: Proof) -> str:
        return "\n".join((*_verdict(proof), *(_without(proof.name, line) for line in _lines(proof))))

    for group in alike(proofs, text):
        _print_proof(group, doing)


def _print_proof(group: Sequence[Proof], doing: str) -> None:
    first, mark, words = group[0], *_verdict(group[0])
    names = ", ".join(each.name for each in group)
    each_of = doing + (" each" if len(group) > 1 else " it")
    out.print(f"\n{mark} {escape(names)}: {each_of} {words}", soft_wrap=True)
    if len(group) > 1 and (first.effects or first.differences):
        _print(f"  shown for {first.name}; the others have the same changes, under their own names:")
    for at, line in enumerate(_lines(first)):
        _print(f"  {line}")
        found = others((each.name, _without(each.name, list(_lines(each))[at])) for each in group)
        _print_others([(name, parts) for name, parts in found if parts], "of the others")


def print_heartbeats(proofs: Sequence[Proof]) -> None:
    """Print the flows that can stand still unnoticed while no records are due."""
    if said := said_of(name for proof in proofs for name in proof.without_heartbeats):
        _print(f"\n{said}")


def _verdict(proof: Proof) -> tuple[str, str]:
    if proof.changes_records:
        return "[red]✗[/]", "would change records or offsets"
    if proof.properties:
        values = number(proof.properties, "value")
        words = f"would change {values} that connectors depend on, with no known effect on records or offsets"
        return "[yellow]![/]", words
    return "[green]✓[/]", "would change neither records nor offsets"


def _lines(proof: Proof) -> Iterator[str]:
    yield from (f"{each.severity:<8}{each.what} ({each.code})" for each in proof.effects)
    yield from (f"differs {each}" for each in proof.differences)


def _without(name: str, line: str) -> str:
    return re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "…", line)


def _print_others(found: Others, word: str = "also") -> None:
    if found:
        _print(f"    {word}: {in_words(found)}")


def _print(line: str) -> None:
    out.print(escape(line), soft_wrap=True)
