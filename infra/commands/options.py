"""Arguments and options that several commands share, and the project that `--project` and `--stacks` name."""

import getpass
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.contract.report import Depth
from kafka_replication.components.contract.spark_conf import SparkSettings, why_not_conf, why_not_master, why_not_memory
from kafka_replication.infra.commands.completion import complete_flow, complete_stack
from kafka_replication.infra.stack.project import Project, find_project, read_project

Stack = Annotated[
    str, typer.Argument(help="Name of the stack: STACK in Pulumi.STACK.yaml.", autocompletion=complete_stack)
]
Flow = Annotated[str, typer.Argument(help="Name of the flow.", autocompletion=complete_flow)]
Connectors = Annotated[
    list[str] | None,
    typer.Option("--connector", metavar="NAME", help="Only this connector; may be given several times."),
]
Groups = Annotated[
    list[str] | None,
    typer.Option("--group", metavar="NAME", help="Only this consumer group; may be given several times."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print what would change, and change nothing.")]
TakeOver = Annotated[
    bool, typer.Option("--take-over", help="Also end or replace a state that somebody else announced or set by hand.")
]
WaitSeconds = Annotated[float, typer.Option(min=0, help="Seconds to wait until the operator reports the effect.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]
ReadySeconds = Annotated[float, typer.Option(min=0, help="Seconds to wait for connectors to become ready.")]
CatchUpSeconds = Annotated[
    float, typer.Option(min=0, help="Seconds that the validation waits for a target to catch up.")
]

DepthOption = Annotated[
    Depth,
    typer.Option(
        help=(
            "How deep to look: quick compares only the newest records of each partition, and its verdict is "
            "partial; incremental compares what the newest published verdict has not proven; full compares "
            "everything."
        )
    ),
]


def _checked(why_not: Callable[[str], str]) -> Callable[[str | None], str | None]:
    def checked(given: str | None) -> str | None:
        if given is not None and (why := why_not(given)):
            raise typer.BadParameter(f"{given}: {why}")
        return given

    return checked


def _conf(given: list[str] | None) -> list[str]:
    for setting in given or ():
        key, is_pair, _ = setting.partition("=")
        if not is_pair:
            raise typer.BadParameter(f"{setting}: write KEY=VALUE, such as spark.executor.memory=4g")
        if refused := why_not_conf(key):
            raise typer.BadParameter(f"{key}: {refused[0]}; {refused[1]}")
    return given or []


Master = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        callback=_checked(why_not_master),
        help="Spark master of the job; by default, the stack file's, else local[*].",
    ),
]
DriverMemory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        callback=_checked(why_not_memory),
        help="Heap of the job's driver; by default, the stack file's, else 1g.",
    ),
]
SparkConf = Annotated[
    list[str] | None,
    typer.Option(metavar="KEY=VALUE", callback=_conf, help="A Spark setting for the job; may be repeated."),
]
MergedInto = Annotated[
    str | None,
    typer.Option(
        "--against",
        metavar="REF",
        help="Branch that the change will be merged into; only what the change adds to that branch counts.",
    ),
]


def who() -> str:
    """Return the user's name on this machine; in a container without names, the number."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


def chosen_spark(master: str | None, driver_memory: str | None, conf: list[str] | None) -> SparkSettings:
    """Return a command's options for the job's Spark."""
    pairs = (setting.partition("=") for setting in conf or ())
    return SparkSettings(master, driver_memory, {key: value for key, _, value in pairs})


def chosen_project(context: typer.Context) -> Project:
    """Return the project that `--project` names, or that of this folder, and use its `.local` for a local stack."""
    named: Path | None = context.find_root().params.get("project")
    project = find_project(Path.cwd()) if named is None else read_project(named)
    os.environ.setdefault("REPLICATE_LOCAL", str(project.folder / ".local"))
    return project


def _with_stacks(context: typer.Context, folder: str) -> Project:
    """Return the chosen project, with another folder of stack files if one is given."""
    project = chosen_project(context)
    if not folder:
        return project
    stacks = Path(folder).resolve()
    if not stacks.is_dir():
        why = "`--stacks` names the folder of the stack files."
        remedy = "name a folder with Pulumi.STACK.yaml and topologies/ in it, or leave the option out."
        raise CannotRunError("no-stacks-folder", "there is no such folder", str(stacks), why, remedy)
    return replace(project, stacks=stacks)


def _with_stacks_if_any(context: typer.Context, folder: str) -> Project | None:
    """Return the chosen project, as `_with_stacks` returns it; None outside a project if no folder is given."""
    try:
        return _with_stacks(context, folder)
    except CannotRunError as error:
        if folder or error.code != "no-project" or context.find_root().params.get("project") is not None:
            raise
        return None


def _stacks(callback: Callable[[typer.Context, str], Project | None]) -> Any:
    return typer.Option(
        "--stacks",
        metavar="DIR",
        parser=str,
        default_factory=str,
        callback=callback,
        show_default=False,
        help="Folder of the stack files; by default, the one that the project's Pulumi.yaml names.",
    )


InProject = Annotated[Project, _stacks(_with_stacks)]
PerhapsInProject = Annotated[Project | None, _stacks(_with_stacks_if_any)]
