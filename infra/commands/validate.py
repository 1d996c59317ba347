"""The command `replicate validate`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from kafka_replication.components.contract.problems import CannotRunError, ReplicationError
from kafka_replication.components.contract.report import Depth, why_not_published
from kafka_replication.infra.commands import options
from kafka_replication.infra.commands.completion import complete_flow, complete_stack
from kafka_replication.infra.commands.console import err, print_problems
from kafka_replication.infra.stack.project import find_project
from kafka_replication.infra.stack.settings import read_settings, settings_of_topology


def validate(
    project: options.PerhapsInProject,
    stack: Annotated[
        str | None,
        typer.Argument(help="Name of the stack; leave it out with --topology.", autocompletion=complete_stack),
    ] = None,
    flow: Annotated[
        str | None,
        typer.Option(help="Validate only this flow or replication; by default, all.", autocompletion=complete_flow),
    ] = None,
    report: Annotated[Path, typer.Option(help="File to write the report to.")] = Path("report.json"),
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the report to this file, as a page for a browser.")
    ] = None,
    publish: Annotated[
        bool, typer.Option("--publish", help="Publish the verdict as a ConfigMap in the flow's namespace.")
    ] = False,
    depth: options.DepthOption = Depth.INCREMENTAL,
    catch_up_seconds: options.CatchUpSeconds = 30,
    declared: Annotated[
        bool, typer.Option("--declared", help="Validate what the stack's files declare, without Pulumi.")
    ] = False,
    master: options.Master = None,
    driver_memory: options.DriverMemory = None,
    spark_conf: options.SparkConf = None,
    topology: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Validate what this topology file declares, without a stack or Pulumi."),
    ] = None,
    context: Annotated[
        str | None,
        typer.Option(help="With --topology: Kubernetes context with the Secrets; by default, the current one."),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Prove from the data that heartbeats arrive, offsets translate and nothing is missing.

    The exit code is 0 if everything that was checked passed, even if `--depth quick` left something out; 1 if a check
    failed; 2 if something that should be checked could not be.

    Example: `replicate validate local --html report.html`
    """
    from kafka_replication.infra.validate.run import ValidationRun, run_validation

    _refuse_files(report, html)
    if publish and (refused := why_not_published(depth)):
        raise refused
    if topology is not None:
        _refuse_with_topology({"a stack": stack, "--publish": publish, "--declared": declared})
    try:
        if topology is None:
            settings = read_settings(_stack(stack, context), (project or find_project(Path.cwd())).stacks)
        else:
            settings = settings_of_topology(topology.resolve(), context)
        run = ValidationRun(
            settings,
            report,
            flow,
            publish,
            catch_up_seconds,
            as_json,
            declared or topology is not None or settings.by_gitops,
            html,
            options.chosen_spark(master, driver_memory, spark_conf),
            depth,
        )
        code = run_validation(run, err)
    except ReplicationError as error:
        if topology is None:
            raise
        # The data can neither prove nor refute a topology with mistakes.
        print_problems(error.problems, err)
        code = 2
    raise typer.Exit(code)


def _refuse_files(report: Path, html: Path | None) -> None:
    """Raise CannotRunError for files that cannot be written, before Spark starts."""
    if html is not None and html.resolve() == report.resolve():
        why, remedy = "The page would overwrite the report.", "give the page a file of its own, such as `report.html`."
        raise CannotRunError("same-file", "`--html` and `--report` name the same file", str(html), why, remedy)
    for option, file in (("--report", report), ("--html", html)):
        if file is not None and not file.parent.is_dir():
            what, why = "its folder does not exist", f"The report goes to the file that {option} names."
            raise CannotRunError("report-not-written", what, str(file), why, f"give {option} a writable path.")


def _stack(stack: str | None, context: str | None) -> str:
    if stack is None:
        why, remedy = "Nothing can be validated.", "name a stack, or the file of a topology with `--topology`."
        raise CannotRunError("nothing-named", "neither a stack nor a topology is named", "the arguments", why, remedy)
    if context is not None:
        why = "A stack's file says which cluster the stack is deployed to."
        remedy = "leave it out, or set `kubernetes:context` in the stack file."
        raise CannotRunError("option-without-topology", "`--context` is given with a stack", "--context", why, remedy)
    return stack


def _refuse_with_topology(others: Mapping[str, object]) -> None:
    for name, given in others.items():
        if given:
            raise CannotRunError(
                "option-with-topology",
                f"{name} is given with `--topology`",
                "--topology",
                "This topology may differ from what is deployed, so its verdict is not evidence for a stack.",
                "use either a stack or `--topology`; `replicate validate STACK --declared --publish` proves a stack "
                "without Pulumi.",
            )
