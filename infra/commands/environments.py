"""The command `replicate environments`."""

import json
from collections.abc import Sequence

import typer

from infra.commands.options import InProject
from infra.deploy.promotion.rule.plan import read_plan
from infra.stack.environment import stack_environment
from infra.stack.project import Project
from infra.stack.settings import read_settings


def environments(project: InProject) -> None:
    """Print the environments of the promotion plan in order, as a JSON list; an empty list without a plan.

    Environments with a stack on the local stack are left out, because only the machine that runs the local stack can
    deploy them.

    Example: `replicate environments`
    """
    plan = read_plan(project.stacks)
    environments = plan.environments if plan is not None else ()
    stacks = {
        environment.name: [stack for wave in environment.waves for stack in wave.stacks] for environment in environments
    }
    typer.echo(json.dumps([name for name, members in stacks.items() if not _on_this_machine(members, project)]))


def _on_this_machine(stacks: Sequence[str], project: Project) -> bool:
    return any(stack_environment(read_settings(stack, project.stacks)).on_this_machine for stack in stacks)
