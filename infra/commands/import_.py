"""The command `replicate import`. A message that applies to several resources is printed once."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from kafka_replication.components.contract.grouping import grouped
from kafka_replication.components.contract.problems import CannotRunError, Problem, ReplicationError, Severity
from kafka_replication.components.contract.wording import number
from kafka_replication.components.flows.operators import strimzi
from kafka_replication.components.topology.clusters import is_label
from kafka_replication.infra.commands.console import done, err, out, print_next, print_problems, say
from kafka_replication.infra.onboard.importing.deployment_changes import (
    ImportChanges,
    changes_of_imports,
    heartbeat_warning,
)
from kafka_replication.infra.onboard.importing.flows import Imported, why_named
from kafka_replication.infra.onboard.importing.left_out import (
    DifferingParts,
    LeftOut,
    differing_parts,
    grouped_by_wording,
    parts_text,
)
from kafka_replication.infra.onboard.importing.project_files import (
    add_logins,
    environments,
    needed_values,
    project_files,
    read_logins,
)
from kafka_replication.infra.onboard.importing.reading import ReadInput, ReadObject, read_documents, read_objects
from kafka_replication.infra.onboard.importing.topologies import ImportedTopology, imported_topologies
from kafka_replication.infra.onboard.new_project.files import advice, require_empty, requirement, write_files
from kafka_replication.infra.stack.settings import read_settings
from kafka_replication.infra.stack.stack_checks import problems_of_stack
from kafka_replication.infra.stack.yaml_files import shown


def print_names(imported: Sequence[Imported]) -> None:
    """Print the names of replications that differ from those in the input."""
    renamed = [replication for replication in imported if replication.wanted not in ("", replication.name)]
    if renamed:
        out.print("\nNames that differ from the input:")
    for replication in renamed:
        sources = list(replication.replication.get("sources") or [replication.replication["source"]])
        target, read = replication.replication["target"], replication.read[0]
        what = f"{', '.join(f'{source}->{target}' for source in sources)} of {read.label or read.file}"
        say(f"  {why_named(replication.name, replication.wanted, what, [*sources, target])}")


def print_left_out(left_out: Sequence[LeftOut]) -> None:
    """Print what is not taken over, each reason once."""
    if left_out:
        out.print(f"\nNot taken over: {number(len(left_out), 'thing')}")
    # Fields of an object that are left out for the same reason, such as its Helm labels, count as one thing.
    fields = grouped((replace(item, field=""), item.field) for item in sorted(left_out))
    joined = [replace(one, field=", ".join(filter(None, names))) for one, names in fields.items()]
    for group in grouped_by_wording(
        joined, lambda one: "\n".join((one.code, one.file, one.field, one.why, one.remedy))
    ):
        say(f"  {group[0]}")
        _print_others(differing_parts((one.obj or one.file, f"{one.why}\n{one.remedy}") for one in group))


def print_found(problems: Sequence[Problem]) -> None:
    """Print what a check finds, each sentence once."""
    for group in grouped_by_wording(
        problems, lambda problem: f"{problem.severity}\n{problem.code}\n{_sentences(problem)}"
    ):
        # A line of the file may hold a credential that cannot be recognised as one.
        print_problems(group[:1], out, excerpts=False)
        _print_others(differing_parts((_place(member, group[0]), _sentences(member)) for member in group))


def _sentences(problem: Problem) -> str:
    return f"{problem.what}\n{problem.why}\n{problem.remedy}"


def _place(problem: Problem, first: Problem) -> str:
    if problem.place is None or first.place is None or problem.place.file != first.place.file:
        return f"{problem.place}: {problem.where}" if problem.place else problem.where
    return f"line {problem.place.line}: {problem.where}"


def print_proofs(proofs: Sequence[ImportChanges], doing: str, refused: bool) -> None:
    """Print what `doing` (deploying or moving) would change for each replication; equal changes are grouped. `refused`
    is whether a check found errors, so that nothing can be deployed yet.
    """

    def text(proof: ImportChanges) -> str:
        return "\n".join((*_verdict(proof, refused), *(_without(proof.name, line) for line in _lines(proof))))

    for group in grouped_by_wording(proofs, text):
        _print_proof(group, doing, refused)


def _print_proof(group: Sequence[ImportChanges], doing: str, refused: bool) -> None:
    first, mark, words = group[0], *_verdict(group[0], refused)
    names = ", ".join(member.name for member in group)
    each_of = f"{'apart from the corrections, ' if refused else ''}{doing}{' each' if len(group) > 1 else ' it'}"
    out.print(f"\n{mark} {escape(names)}: {each_of} {words}", soft_wrap=True)
    if len(group) > 1 and (first.effects or first.differences):
        say(f"  shown for {first.name}; the others have the same changes, under their own names:")
    of_each = ([(member.name, _without(member.name, line)) for line in _lines(member)] for member in group)
    for line, *same in zip(_lines(first), *of_each, strict=True):
        say(f"  {line}")
        _print_others([(name, parts) for name, parts in differing_parts(same) if parts], "of the others")


def _verdict(proof: ImportChanges, refused: bool) -> tuple[str, str]:
    if proof.changes_records:
        return "[red]✗[/]", "would change records or offsets"
    if proof.decisive:
        values = number(len(proof.decisive), "value")
        words = f"would change {values} that connectors depend on; what that does to records or offsets is not judged"
        return "[yellow]![/]", words
    return "[yellow]![/]" if refused else "[green]✓[/]", "would change neither records nor offsets"


def _lines(proof: ImportChanges) -> Iterator[str]:
    yield from (f"{effect.severity:<8}{effect.what} ({effect.code})" for effect in proof.effects)
    yield from (f"differs {difference}" for difference in proof.differences)


def _without(name: str, line: str) -> str:
    return re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "…", line)


def _print_others(places: DifferingParts, word: str = "also") -> None:
    if places:
        say(f"    {word}: {parts_text(places)}")


def import_(
    folder: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the new project; new, or empty.")],
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE|FOLDER|-…",
            help="YAML, `mm2.properties`, or responses of Connect's REST API; `-` is standard input. If none is given, "
            "the cluster of --context is read.",
        ),
    ] = None,
    environment: Annotated[str, typer.Option(help="Name of the topology and its stack.")] = "prod",
    operator: Annotated[
        str | None,
        typer.Option(
            "--strimzi",
            metavar="VERSION",
            help="Version of Strimzi; by default, only the objects' API version is declared.",
        ),
    ] = None,
    namespace: Annotated[
        str | None,
        typer.Option(
            help="Namespace for objects that have none; by default, `default`. When a cluster is read: the only "
            "namespace to read; by default, all."
        ),
    ] = None,
    region: Annotated[
        str, typer.Option(help="Region of all clusters, because nothing in the input names one.")
    ] = "imported",
    context: Annotated[
        str | None, typer.Option(help="Kubernetes context of the cluster to read, and of the stacks.")
    ] = None,
    flows: Annotated[
        bool,
        typer.Option(
            "--as-flows",
            help="Declare a flow for each mirror of a KafkaMirrorMaker2; `replicate adopt --from` can then move the "
            "mirror to it.",
        ),
    ] = False,
    validate: Annotated[
        bool,
        typer.Option("--validate", help="Afterwards prove what runs, as `replicate validate STACK --declared` does."),
    ] = False,
    validation_login: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help=(
                "How the validation logs in: a YAML file that maps each alias to the `validation` section of its "
                "cluster, as in a topology. By default, the validation logs in as the connectors do."
            ),
        ),
    ] = None,
) -> None:
    """Write a project for the MirrorMaker that you run already, and compare what it would deploy with what runs.

    Changes nothing in a cluster.

    It reports what the project leaves out, the mistakes in what runs, and what deploying the project would change.

    The exit code is 1 if what runs has an error, if something that may matter was not taken over, or if records or
    offsets might not continue as they are. With --validate it is the validation's exit code, if that is higher.

    Example: `replicate import --context prod --out mirrors`
    """
    folder = folder.resolve()
    require_empty(folder)
    if operator is not None:
        _refuse_unknown(operator)
    _refuse_bad_names(environment, namespace or "default", region)
    logins = read_logins(validation_login) if validation_login is not None else {}
    read = _found(sources or [], context, namespace)
    topologies, left_out = imported_topologies(read, operator, region, flows=flows)
    if validation_login is not None:
        add_logins(topologies, logins, validation_login)
    if topologies:
        files = project_files(topologies, environment, folder, requirement(), context)
        write_files(files, folder)
        for name in sorted(files):
            done(shown(folder / name))
        if said := advice(requirement()):
            say(f"\n{said}")
    print_names([replication for topology in topologies for replication in topology.imported])
    print_left_out(left_out)
    stacks, names = folder / "stacks", environments(environment, len(topologies))
    mistakes = list(_checked(names, stacks))
    wrong = any(mistake.severity is Severity.ERROR for mistake in mistakes)
    proven = [_proven(topology, read.of("ConfigMap"), wrong) for topology in topologies]
    if values := needed_values(topologies, environment):
        out.print("\nSet these values, which the project does not contain:")
    for line in values:
        say(f"  {line}")
    runs = all(imported.runs_as_read for imported in topologies)
    if topologies:
        _print_next(folder, names, wrong, runs=runs, moved=[_moved(imported) for imported in topologies])
    refused = not topologies or wrong or not all(proven) or not all(item.harmless for item in left_out)
    code = 0
    if validate:
        _refuse_to_validate(environment, wrong=wrong or not topologies, runs=runs)
        code = max(_validated(stack, stacks) for stack in names)
    raise typer.Exit(max(code, int(refused)))


def _refuse_to_validate(stack: str, *, wrong: bool, runs: bool) -> None:
    if wrong:
        why = "The topology that was imported has mistakes."
        remedy = f"correct the mistakes above, then run `replicate validate {stack} --declared`."
    elif not runs:
        why = "The project's resources have new names, and nothing runs under those names yet."
        remedy = f"deploy the project, then run `replicate validate {stack}`."
    else:
        return
    raise CannotRunError("not-validated", "what runs was not validated", "--validate", why, remedy)


def _validated(stack: str, stacks: Path) -> int:
    """Return the exit code of the validation of what runs, as the new project declares it."""
    # It loads Pulumi, which takes longer than an import.
    from kafka_replication.infra.validate.run import ValidationRun, run_validation

    report = stacks.parent / f"report-{stack}.json"
    say(f"\nValidation of what runs; the report is {shown(report)}:")
    return run_validation(ValidationRun(read_settings(stack, stacks), report, declared=True), err)


def _found(sources: Sequence[str], context: str | None, namespace: str | None) -> ReadInput:
    if sources:
        return read_objects(sources, namespace or "default")
    if context is None:
        why, remedy = "Nothing can be read.", "name files, `-` for standard input, or a cluster with `--context`."
        raise CannotRunError("nothing-named", "neither a file nor a cluster is named", "the arguments", why, remedy)
    # A client of Kubernetes takes longer to load than most files take to read, and need not be installed.
    from kafka_replication.infra.onboard.importing.cluster import objects_of

    return read_documents(f"context {context}", objects_of(context, namespace))


def _refuse_unknown(operator: str) -> None:
    try:
        strimzi(operator)
    except ValueError:
        what, why = f"`{operator}` is not a version of Strimzi", "The version decides which fields the objects have."
        remedy = "give a version such as `1.2` or `0.45`."
        raise CannotRunError("not-a-version", what, "--strimzi", why, remedy) from None


def _refuse_bad_names(environment: str, namespace: str, region: str) -> None:
    for option, given in (("--environment", environment), ("--namespace", namespace)):
        if not is_label(given):
            what = f"`{given}` cannot be the name of {'an' if option == '--environment' else 'a'} {option.lstrip('-')}"
            why = "It becomes part of the names of files, stacks and objects."
            remedy = "give lower-case letters, digits and hyphens, such as `prod`."
            raise CannotRunError("bad-name", what, option, why, remedy)
    if not region.strip():
        raise CannotRunError("bad-name", "the region is empty", "--region", "Clusters need one.", "name a region.")


def _checked(stacks: Sequence[str], folder: Path) -> Iterator[Problem]:
    for stack in stacks:
        problems = problems_of_stack(stack, folder)
        out.print(f"\nWhat `replicate check {stack}` finds:")
        print_found(problems)
        errors = sum(problem.severity is Severity.ERROR for problem in problems)
        mark = "[red]✗[/]" if errors else "[green]✓[/]"
        out.print(f"{mark} {stack}: {number(errors, 'error')}, {number(len(problems) - errors, 'warning')}")
        yield from problems


def _proven(topology: ImportedTopology, config_maps: Sequence[ReadObject], refused: bool) -> bool:
    """Print what deploying each replication would change; return whether all records and offsets continue. `refused` is
    whether a check found errors.
    """
    try:
        proofs = changes_of_imports(topology, config_maps)
    except ReplicationError as error:
        out.print("\n[red]✗[/] Not compared with the input, because the topology cannot be rendered:")
        print_problems(error.problems, out)
        return False
    if refused:
        out.print("\n[red]✗[/] Nothing can be rendered or deployed before the errors above are corrected.")
    moving = {replication.name for replication in topology.imported if replication.mirror_index is not None}
    print_proofs([proof for proof in proofs if proof.name not in moving], "deploying", refused)
    print_proofs([proof for proof in proofs if proof.name in moving], "moving", refused)
    if said := heartbeat_warning(name for proof in proofs for name in proof.without_heartbeats):
        say(f"\n{said}")
    return not any(proof.changes_records or proof.decisive for proof in proofs)


def _moved(topology: ImportedTopology) -> str:
    """Return the options that name the KafkaMirrorMaker2s that become flows of a stack; "" if there are none."""
    read = [replication.read[0] for replication in topology.imported if replication.mirror_index is not None]
    return " ".join(
        f"--from {resource.namespace}/{resource.name}"
        for resource in {resource.label: resource for resource in read}.values()
    )


def _print_next(folder: Path, stacks: Sequence[str], wrong: bool, *, runs: bool, moved: Sequence[str]) -> None:
    """Print the commands that work now. What already `runs` under the project's names can be validated first; `moved`
    has the options that move mirrors to each stack."""
    stack = stacks[0]
    validated = [f"replicate validate {stack} --declared", f"replicate adopt {stack}"] if runs else []
    adopted = [f"replicate adopt {name} {options}" for name, options in zip(stacks, moved, strict=True) if options]
    further = [*validated, *adopted, f"replicate render {stack} --out rendered/{stack}", f"replicate runbook {stack}"]
    print_next(folder, ["replicate check", *([] if wrong else further)])
    if len(stacks) > 1 and not wrong:
        say(f"The other stacks need the same commands: {', '.join(stacks[1:])}.")
