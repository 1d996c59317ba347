"""The `replicate` command: check, render, preview, up, validate, destroy, and the local stack."""

import json
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from components.model import Topology
from components.problems import Problem, ReplicationError, Severity
from infra.errors import CannotRunError
from infra.local.cli import app as local_app
from infra.local.errors import LocalStackError
from infra.local.waiting import DeadlineError
from infra.promotion.cli import environments, promote
from infra.review.cli import diff
from infra.review.pull_request_cli import review, touched
from infra.settings import STACKS, read_settings, stack_names

app = typer.Typer(
    help="Kafka replication between regions: declared in one topology file, proven from the data.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
app.add_typer(local_app, name="local")
app.command()(promote)
app.command()(environments)
app.command()(diff)
app.command()(touched)
app.command()(review)

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


class Shape(StrEnum):
    """Shapes of replication that have an example stack."""

    FLOW = "flow"
    PAIR = "pair"
    SPLIT = "split"
    MIRROR_MAKER2 = "mirrormaker2"


StackArgument = Annotated[str, typer.Argument(help="Name of the stack, as in stacks/Pulumi.STACK.yaml.")]
ReadySeconds = Annotated[float, typer.Option(help="How long connectors may take to become Ready, in seconds.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]


@app.command()
def check(
    stacks: Annotated[list[str] | None, typer.Argument(help="Stacks to check; all without any.")] = None,
    as_json: Json = False,
) -> None:
    """Find every mistake in the topology of stacks, without a cluster and without Pulumi.

    Example: `replicate check prod-us-west-2`
    """
    from infra.deployment import problems
    from infra.promotion.plan import plan_problems

    found: dict[str, list[Problem]] = {}
    for stack in stacks or stack_names():
        try:
            found[stack] = problems(read_settings(stack))
        except ReplicationError as error:
            found[stack] = list(error.problems)
    found |= plan_problems()
    if as_json:
        typer.echo(json.dumps({stack: [_as_dict(item) for item in items] for stack, items in found.items()}, indent=2))
    else:
        for stack, items in found.items():
            _print_problems(items, out)
            errors = sum(item.severity is Severity.ERROR for item in items)
            mark = "[red]✗[/]" if errors else "[green]✓[/]"
            out.print(f"{mark} {stack}: {errors} errors, {len(items) - errors} warnings")
    if any(item.severity is Severity.ERROR for items in found.values() for item in items):
        raise typer.Exit(1)


@app.command()
def render(
    stack: StackArgument,
    folder: Annotated[Path, typer.Option("--out", help="Folder to write to; replaced if it is an earlier render.")],
) -> None:
    """Write the objects of a stack as YAML, for review or GitOps, without cluster, credentials or Pulumi.

    Example: `replicate render prod-us-west-2 --out rendered/prod-us-west-2`
    """
    from infra.deployment import addresses
    from infra.render import rendered_files, write_files

    settings = read_settings(stack)
    files = rendered_files(settings, addresses(settings))
    write_files(files, folder)
    out.print(f"[green]✓[/] {len(files)} files in {escape(str(folder))}")


@app.command()
def acls(
    stack: StackArgument,
    commands: Annotated[bool, typer.Option("--commands", help="Print lines for Kafka's own kafka-acls.sh.")] = False,
    as_json: Json = False,
) -> None:
    """Print the least ACLs that the Kafka users of a stack's flows need, for clusters without a User Operator.

    Example: `replicate acls prod-us-west-2 --commands`
    """
    from infra import acls as access

    settings = read_settings(stack)
    found = access.stack_acls(settings)
    if as_json:
        typer.echo(json.dumps(access.acl_documents(found), indent=2))
    elif commands:
        for line in access.acl_commands(found, settings.topology):
            typer.echo(line)
    else:
        for table in access.acl_tables(found):
            out.print(table)
    for alias in access.unknown_principals(settings):
        message = f"what {alias} calls the flows' user is not known: set `principal` of its authentication"
        err.print(f"[yellow]![/] {escape(message)}", soft_wrap=True)


@app.command()
def explain(
    stack: StackArgument,
    flow: Annotated[str, typer.Argument(help="Name of the flow, as in the report of `replicate validate`.")],
    name: Annotated[
        str | None, typer.Argument(metavar="[PROPERTY]", help="One property only, wherever it occurs.")
    ] = None,
    with_defaults: Annotated[bool, typer.Option("--all", help="Also what only Kafka's defaults set.")] = False,
    as_json: Json = False,
) -> None:
    """Show every effective property of a flow's connectors, clients and workers, and which layer set it.

    Example: `replicate explain local orders producer.override.linger.ms`
    """
    from infra import explain, explain_tables

    explained = explain.explanation(read_settings(stack), flow, name, defaults=with_defaults)
    if as_json:
        typer.echo(json.dumps(explain.as_json(explained), indent=2))
    elif name is None:
        explain_tables.print_explanation(explained, out)
    else:
        explain_tables.print_property(explained, out)


@app.command()
def schema(
    file: Annotated[Path, typer.Option("--out", help="File to write.")] = STACKS / "topology.schema.json",
) -> None:
    """Write the JSON Schemas of topology files and of the plan of promotion, with which editors complete them.

    Example: `replicate schema`
    """
    from infra.promotion.plan import plan_schema

    for path, text in ((file, topology_schema()), (file.with_name("promotion.schema.json"), plan_schema())):
        path.write_text(text)
        out.print(f"[green]✓[/] {escape(str(path))}")


@app.command()
def preview(
    stack: StackArgument,
    diff: Annotated[bool, typer.Option("--diff", help="Show every changed property.")] = False,
) -> None:
    """Show what `up` would change.

    Example: `replicate preview local --diff`
    """
    from infra import deployment, engine

    settings = read_settings(stack)
    out.print(f"Deploying with {engine.kubernetes_provider(settings)}.")
    _print_changes(deployment.preview(settings, typer.echo, diff=diff))


@app.command()
def up(
    stack: StackArgument,
    yes: Annotated[bool, typer.Option("--yes", help="Deploy without asking.")] = False,
    refresh: Annotated[
        bool, typer.Option("--refresh", help="Also mend what was edited or deleted in the cluster by hand.")
    ] = False,
    ready_seconds: ReadySeconds = 300,
) -> None:
    """Deploy a stack and wait until its connectors run. What proves it is `replicate validate`.

    Example: `replicate up local --yes`
    """
    from infra import deployment, engine

    settings = read_settings(stack)
    out.print(f"Deploying with {engine.kubernetes_provider(settings)}.")
    if not yes:
        deployment.preview(settings, typer.echo)
        typer.confirm(f"Deploy {stack}?", abort=True)
    _print_changes(deployment.up(settings, typer.echo, refresh=refresh))
    with err.status("waiting for connectors to be ready"):
        deployment.wait_ready(settings, ready_seconds)
    out.print(f"[green]✓[/] every connector is Ready; prove it with: replicate validate {escape(stack)}")


@app.command()
def destroy(
    stack: StackArgument, yes: Annotated[bool, typer.Option("--yes", help="Destroy without asking.")] = False
) -> None:
    """Delete every object of a stack. Remote topics and committed offsets stay in Kafka.

    Example: `replicate destroy local --yes`
    """
    from infra import deployment

    settings = read_settings(stack)
    if not yes:
        typer.confirm(f"Destroy {stack}?", abort=True)
    _print_changes(deployment.destroy(settings, typer.echo))


@app.command()
def validate(
    stack: StackArgument,
    flow: Annotated[str | None, typer.Option(help="One replication only; all of the stack without it.")] = None,
    report: Annotated[Path, typer.Option(help="Where the report is written.")] = Path("report.json"),
    publish: Annotated[
        bool, typer.Option("--publish", help="Keep the verdict as a ConfigMap beside the flow.")
    ] = False,
    catch_up_seconds: Annotated[float, typer.Option(help="How long the target may need to catch up, in seconds.")] = 30,
    as_json: Json = False,
) -> None:
    """Prove from the data that heartbeats arrive, offsets translate and nothing is missing.

    Ends with 0 if everything passed, 1 if something failed, 2 if something could not be checked.

    Example: `replicate validate local --publish`
    """
    from infra import deployment
    from infra.kubernetes_access import kubernetes_access
    from infra.validate import ValidationRun, run_validation

    settings = read_settings(stack)
    options = [f"--catch-up-seconds={catch_up_seconds:g}"]
    options += ["--flow", flow] if flow else []
    options += [option for option, wanted in (("--publish", publish), ("--json", as_json)) if wanted]
    kubeconfig, context = kubernetes_access(settings)
    document = deployment.outputs(settings)["validation"]
    run = ValidationRun(stack, document, report, Path(kubeconfig) if kubeconfig else None, options, context)
    raise typer.Exit(run_validation(run, err))


@local_app.command()
def demo(shape: Annotated[Shape, typer.Argument(help="Which example stack.")] = Shape.FLOW) -> None:
    """Set up the local stack, make traffic, deploy an example stack, and prove that it replicates.

    Example: `replicate local demo pair`
    """
    from infra.demo import DEMOS, run_demo

    raise typer.Exit(run_demo(DEMOS[shape.value], out))


def topology_schema() -> str:
    """JSON Schema of a topology file, as text."""
    return json.dumps(Topology.model_json_schema(), indent=2, sort_keys=True) + "\n"


def main() -> None:
    """Run the command; problems end with 1, what could not run with 2, Ctrl-C with 130."""
    try:
        app()
    except ReplicationError as error:
        _print_problems(error.problems, err)
        raise SystemExit(1) from None
    except (CannotRunError, LocalStackError, DeadlineError) as error:
        err.print(f"[red]✗[/] {escape(str(error))}", soft_wrap=True)
        raise SystemExit(2) from None


def _print_problems(items: Iterable[Problem], console: Console) -> None:
    for item in items:
        color = "red" if item.severity is Severity.ERROR else "yellow"
        console.print(f"[{color}]{item.severity}[/] {escape(str(item))}", soft_wrap=True)


def _print_changes(changes: Mapping[str, int]) -> None:
    text = ", ".join(f"{count} {kind}" for kind, count in sorted(changes.items())) or "nothing"
    out.print(f"Changes: {text}")


def _as_dict(item: Problem) -> dict[str, Any]:
    return {
        "code": item.code,
        "severity": item.severity.value,
        "where": item.where,
        "what": item.what,
        "why": item.why,
        "remedy": item.remedy,
    }
