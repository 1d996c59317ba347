"""The command `replicate render`."""

from pathlib import Path
from typing import Annotated

import typer

from kafka_replication.infra.commands.console import done
from kafka_replication.infra.commands.options import InProject, Stack
from kafka_replication.infra.review.render import rendered_files, write_files
from kafka_replication.infra.stack.environment import stack_environment
from kafka_replication.infra.stack.settings import read_settings


def render(
    project: InProject,
    stack: Stack,
    folder: Annotated[Path, typer.Option("--out", help="Folder to write to. An earlier render in it is replaced.")],
) -> None:
    """Write the Kubernetes objects of a stack as YAML, for review or GitOps. Needs no cluster, credentials or Pulumi.

    Example: `replicate render prod-us-west-2 --out rendered/prod-us-west-2`
    """
    settings = read_settings(stack, project.stacks)
    files = rendered_files(settings, stack_environment(settings).configured().values)
    write_files(files, folder)
    done(f"{len(files)} files in {folder}")
