"""Completion with TAB: names of stacks and flows. It contacts no cluster and loads no engine; after a mistake
it offers nothing.
"""

from collections.abc import Iterable
from pathlib import Path

import typer

from kafka_replication.components.contract.problems import CannotRunError, ReplicationError
from kafka_replication.components.flows.expansion import expand
from kafka_replication.infra.stack.project import find_project
from kafka_replication.infra.stack.settings import read_settings, stack_names


def complete_stack(context: typer.Context, incomplete: str) -> list[str]:
    """Return the stacks that begin with the typed text and are not on the command line yet."""
    try:
        return _beginning(incomplete, stack_names(_stacks(context)), context.params.get("stacks") or ())
    except (CannotRunError, OSError):
        return []


def complete_flow(context: typer.Context, incomplete: str) -> list[str]:
    """Return the flows, and in `validate` also the replications, of the stack on the command line."""
    # If an option before the arguments still lacks its value, Click does not parse them.
    stack = context.params.get("stack") or next(iter(context.args), None)
    if stack is None:
        return []
    try:
        settings = read_settings(stack, _stacks(context))
        clusters = settings.topology.clusters
        flows = [
            flow
            for flow in expand(settings.topology)
            if settings.region in (None, clusters[flow.settings.target].region)
        ]
    except (CannotRunError, ReplicationError, OSError):
        return []
    of_replications = [flow.replication for flow in flows] if context.info_name == "validate" else []
    return _beginning(incomplete, dict.fromkeys([*(flow.name for flow in flows), *of_replications]))


def _stacks(context: typer.Context) -> Path:
    """Return the folder of the stack files. Raises CannotRunError outside any project."""
    project = context.params.get("project") or find_project(Path.cwd())
    return project.stacks


def _beginning(incomplete: str, names: Iterable[str], given: Iterable[str] = ()) -> list[str]:
    return [name for name in names if name.startswith(incomplete) and name not in set(given)]
