"""The command `replicate runbook`."""

from pathlib import Path
from typing import Annotated

import typer

from kafka_replication.infra.commands.console import done
from kafka_replication.infra.commands.options import InProject, Stack
from kafka_replication.infra.stack.settings import read_settings


def runbook(
    project: InProject,
    stack: Stack,
    output: Annotated[
        Path | None, typer.Option("--output", metavar="FILE", help="File to write to; by default, the page is printed.")
    ] = None,
) -> None:
    """Write one page for the engineer on call: what to type in each situation, with the names of this stack. It needs
    only the stack's files and no cluster, so print it in advance. Durations are those of the last `replicate drill`. It
    contains no credentials, only where each is stored.

    Example: `replicate runbook prod-us-west-2 --output runbook.md`
    """
    from kafka_replication.infra.operate.rehearse.page import runbook as page

    settings = read_settings(stack, project.stacks)
    file = settings.topology_file.resolve()
    shown = file.relative_to(project.folder) if file.is_relative_to(project.folder) else file
    text = page(settings, shown.as_posix())
    if output is None:
        typer.echo(text, nl=False)
        return
    output.write_text(text)
    done(str(output))
