"""The command `replicate environments`."""

import json

import typer

from infra.commands.options import InProject
from infra.deploy.promotion.rule.plan import read_plan
from infra.stack.environment import stack_environment
from infra.stack.settings import read_settings


def environments(project: InProject) -> None:
    """Print the environments of the promotion plan in order, as a JSON list; an empty list without a plan.

    Environments with a stack on the local stack are left out, because only the machine that runs the local stack can
    deploy them.

    Example: `replicate environments`
    """
    plan = read_plan(project.stacks)
    names = []
    for environment in plan.environments if plan is not None else ():
        stacks = [stack for wave in environment.waves for stack in wave.stacks]
        if not any(stack_environment(read_settings(stack, project.stacks)).on_this_machine for stack in stacks):
            names.append(environment.name)
    typer.echo(json.dumps(names))
