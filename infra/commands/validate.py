"""The command `replicate validate`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from components.contract.problems import CannotRunError
from infra.commands.completion import complete_flow, complete_stack
from infra.commands.console import err
from infra.commands.options import (
    CatchUpSeconds,
    DriverMemory,
    Json,
    Master,
    PerhapsInProject,
    SparkConf,
    chosen_spark,
)
from infra.project import find_project
from infra.settings import read_settings, settings_of_topology


def validate(
    project: PerhapsInProject,
    stack: Annotated[
        str | None,
        typer.Argument(help="Name of the stack; none with --topology.", autocompletion=complete_stack),
    ] = None,
    flow: Annotated[
        str | None,
        typer.Option(help="Validate only this flow or replication; without it, all.", autocompletion=complete_flow),
    ] = None,
    report: Annotated[Path, typer.Option(help="File to write the report to.")] = Path("report.json"),
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the report to this file, as a page for a browser.")
    ] = None,
    publish: Annotated[
        bool, typer.Option("--publish", help="Publish the verdict as a ConfigMap in the flow's namespace.")
    ] = False,
    catch_up_seconds: CatchUpSeconds = 30,
    declared: Annotated[
        bool, typer.Option("--declared", help="Validate what the stack's files declare, for a stack without Pulumi.")
    ] = False,
    master: Master = None,
    driver_memory: DriverMemory = None,
    spark_conf: SparkConf = None,
    topology: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Validate what this topology file declares, without a stack or Pulumi."),
    ] = None,
    context: Annotated[
        str | None,
        typer.Option(help="With --topology: Kubernetes context with the Secrets; without it, the current one."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Prove from the data that heartbeats arrive, offsets translate and nothing is missing.

    The exit code is 0 if everything passed, 1 if something failed, 2 if something could not be checked.

    Example: `replicate validate local --html report.html`
    """
    # It loads Pulumi, which takes longer than TAB may.
    from infra.validation.run import ValidationRun, run_validation

    if topology is None:
        settings = read_settings(_stack(stack, context), (project or find_project(Path.cwd())).stacks)
    else:
        _refuse_with_topology({"a stack": stack, "--publish": publish, "--declared": declared})
        settings = settings_of_topology(topology.resolve(), context)
    run = ValidationRun(
        settings,
        report,
        flow,
        publish,
        catch_up_seconds,
        as_json,
        declared or topology is not None,
        html,
        chosen_spark(master, driver_memory, spark_conf),
    )
    raise typer.Exit(run_validation(run, err))


def _stack(stack: str | None, context: str | None) -> str:
    if stack is None:
        raise CannotRunError(
            "nothing-named",
            "neither a stack nor a topology is named",
            "the arguments",
            "Nothing can be validated.",
            "name a stack, or the file of a topology with `--topology`.",
        )
    if context is not None:
        raise CannotRunError(
            "option-without-topology",
            "`--context` is given with a stack",
            "--context",
            "A stack's file says which cluster it is deployed to.",
            "leave it out, or set `kubernetes:context` in the stack file.",
        )
    return stack


def _refuse_with_topology(others: Mapping[str, object]) -> None:
    for name, given in others.items():
        if given:
            raise CannotRunError(
                "option-with-topology",
                f"{name} is given with `--topology`",
                "--topology",
                "Nobody knows whether this topology is what is deployed, so its verdict is no evidence for a stack.",
                "leave one of them out; `replicate validate STACK --declared --publish` proves a stack without Pulumi.",
            )
