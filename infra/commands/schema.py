"""The command `replicate schema`."""

from pathlib import Path
from typing import Annotated

import typer

from kafka_replication.components.topology.model import topology_schema
from kafka_replication.infra.commands.console import done
from kafka_replication.infra.commands.options import InProject
from kafka_replication.infra.deploy.promotion.rule.plan import plan_schema
from kafka_replication.infra.stack.stack_checks import stack_schema


def schema(
    project: InProject,
    out_folder: Annotated[
        Path | None, typer.Option("--out", help="Folder to write them to; by default, the folder of the stack files.")
    ] = None,
) -> None:
    """Write the JSON Schemas that editors use to complete topologies, stack files and the promotion plan.

    Example: `replicate schema`
    """
    folder = out_folder or project.stacks
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (("topology", topology_schema()), ("stack", stack_schema()), ("promotion", plan_schema())):
        file = folder / f"{name}.schema.json"
        file.write_text(text)
        done(str(file))
