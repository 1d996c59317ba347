"""The command `replicate check`."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from kafka_replication.components.checks.listed_names import ClusterNames
from kafka_replication.components.contract.problems import CannotRunError, Problem, Severity
from kafka_replication.components.contract.wording import number
from kafka_replication.infra.commands.completion import complete_stack
from kafka_replication.infra.commands.console import out, print_problems, say
from kafka_replication.infra.commands.options import InProject, Json
from kafka_replication.infra.deploy.promotion.rule.plan import plan_problems
from kafka_replication.infra.stack.listed_names import listed_problems, read_names, refuse_unknown, selection_lines
from kafka_replication.infra.stack.session import OpenStack
from kafka_replication.infra.stack.settings import StackSettings, read_settings, stack_names
from kafka_replication.infra.stack.stack_checks import problems_of_stack
from kafka_replication.infra.stack.yaml_files import shown


def check(
    project: InProject,
    stacks: Annotated[
        list[str] | None,
        typer.Argument(help="Stacks to check; by default, all of them.", autocompletion=complete_stack),
    ] = None,
    topics: Annotated[
        str | None,
        typer.Option(
            "--topics",
            metavar="FILE|cluster",
            help=(
                "Show what each entry selects from the topics in a file, or from the topics that the clusters have now."
            ),
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Find mistakes in stack and topology files. Needs no Pulumi, and a cluster only for `--topics cluster`.

    Example: `replicate check prod-us-west-2`
    """
    problems = _check(stacks or stack_names(project.stacks), project.stacks)
    lines = list(_check_listed(problems, project.stacks, topics)) if topics else []
    if as_json:
        typer.echo(
            json.dumps({stack: [_as_dict(item) for item in items] for stack, items in problems.items()}, indent=2)
        )
    else:
        for line in lines:
            say(line)
        print_problems(_each_once(problems), out)
        for stack, items in problems.items():
            errors = sum(item.severity is Severity.ERROR for item in items)
            mark = "[red]✗[/]" if errors else "[green]✓[/]"
            out.print(f"{mark} {stack}: {number(errors, 'error')}, {number(len(items) - errors, 'warning')}")
        if any(problems.values()):
            out.print("`replicate explain CODE` shows what a code means, with an example.")
    if any(item.severity is Severity.ERROR for items in problems.values() for item in items):
        raise typer.Exit(1)


def _check(names: Sequence[str], stacks: Path) -> dict[str, list[Problem]]:
    """Return the problems of each stack and of the plan. Raises CannotRunError if there is no such stack."""
    if not names:
        what, why = "there is no stack", "Nothing would be checked."
        raise CannotRunError("no-stack", what, shown(stacks), why, "write Pulumi.STACK.yaml there.")
    problems: dict[str, list[Problem]] = {}
    for stack in names:
        try:
            problems[stack] = problems_of_stack(stack, stacks)
        except CannotRunError as error:
            if error.place is None:
                raise
            problems[stack] = [Problem(error.where, error.code, error.what, error.why, error.remedy, place=error.place)]
    return problems | plan_problems(stacks)


def _check_listed(problems: dict[str, list[Problem]], stacks: Path, topics: str) -> Iterator[str]:
    """Add the problems of the listed names to each sound stack; yield what is selected, once for each topology."""
    told: set[tuple[str, ...]] = set()
    sound = [
        read_settings(stack, stacks)
        for stack in stack_names(stacks)
        if stack in problems and all(item.severity is Severity.WARNING for item in problems[stack])
    ]
    aliases = {alias for settings in sound for alias in settings.topology.clusters}
    if topics != "cluster" and len(sound) == len(problems.keys() & set(stack_names(stacks))):
        refuse_unknown(read_names(Path(topics), aliases), aliases, Path(topics))
    for settings in sound:
        names = _names(settings, topics, aliases)
        problems[settings.stack] += listed_problems(settings, names)
        asked = (str(settings.topology_file), *sorted(names))
        if asked not in told:
            told.add(asked)
            yield from selection_lines(settings, names)


def _names(settings: StackSettings, topics: str, aliases: set[str]) -> dict[str, ClusterNames]:
    if topics != "cluster":
        return read_names(Path(topics), aliases)
    # Only this option needs the Kubernetes and Kafka clients, which take a second to load.
    from kafka_replication.infra.stack.listed_names import names_in_clusters

    with OpenStack(settings) as stack:
        return names_in_clusters(stack)


def _each_once(problems: Mapping[str, list[Problem]]) -> list[Problem]:
    """Return every problem in the order of the files; stacks that share a topology share its problems."""
    once = {(str(item.place), item): item for items in problems.values() for item in items}
    return sorted(once.values(), key=lambda item: (item.place.order if item.place else ("", 0, 0), item))


def _as_dict(item: Problem) -> dict[str, Any]:
    return {
        "code": item.code,
        "severity": item.severity.value,
        "where": item.where,
        "file": item.place.file if item.place else None,
        "line": item.place.line if item.place else None,
        "column": item.place.column if item.place else None,
        "what": item.what,
        "why": item.why,
        "remedy": item.remedy,
    }
