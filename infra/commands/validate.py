"""The command `replicate validate`."""

from pathlib import Path
from typing import Annotated

import typer

from infra.commands.completion import complete_flow
from infra.commands.console import err
from infra.commands.options import CatchUpSeconds, DriverMemory, InProject, Json, Master, SparkConf, Stack, chosen_spark
from infra.settings import read_settings


def validate(
    project: InProject,
    stack: Stack,
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
    as_json: Json = False,
) -> None:
    """Prove from the data that heartbeats arrive, offsets translate and nothing is missing.

    The exit code is 0 if everything passed, 1 if something failed, 2 if something could not be checked.

    Example: `replicate validate local --html report.html`
    """
    # It loads Pulumi, which takes longer than TAB may.
    from infra.validation.run import ValidationRun, run_validation

    run = ValidationRun(
        read_settings(stack, project.stacks),
        report,
        flow,
        publish,
        catch_up_seconds,
        as_json,
        declared,
        html,
        chosen_spark(master, driver_memory, spark_conf),
    )
    raise typer.Exit(run_validation(run, err))
