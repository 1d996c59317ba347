"""The commands `replicate promote|environments`."""

import getpass
import json
from typing import Annotated

import typer
from rich.console import Console

from kafka_replication.infra.commands import options
from kafka_replication.infra.commands.completion import complete_stack
from kafka_replication.infra.commands.console import confirm_or_end
from kafka_replication.infra.deploy.promotion.rule.plan import read_plan, required_plan
from kafka_replication.infra.stack.environment import stack_environment
from kafka_replication.infra.stack.settings import read_settings

#: Exit code after Ctrl-C: 128 plus the number of the signal, as in shells.
_INTERRUPTED = 130


def promote(
    project: options.InProject,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="STACK",
            help="Last stack to deploy; by default, the last one of the plan.",
            autocompletion=complete_stack,
        ),
    ] = None,
    environment: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Deploy only the stacks of this environment. Earlier stacks must already be proven."
        ),
    ] = None,
    yes: options.Yes = False,
    who: Annotated[
        str | None,
        typer.Option(
            "--as",
            envvar="REPLICATE_USER",
            help="Your name, for the evidence and for `maySkip`; by default, your login name.",
        ),
    ] = None,
    skip: Annotated[
        str | None,
        typer.Option(metavar="REASON", help="Deploy without proof, for this reason. Only users in `maySkip` may."),
    ] = None,
    ready_seconds: options.ReadySeconds = 300,
    catch_up_seconds: options.CatchUpSeconds = 30,
    master: options.Master = None,
    driver_memory: options.DriverMemory = None,
    spark_conf: options.SparkConf = None,
) -> None:
    """Deploy a model one stack at a time in the order of stacks/promotion.yaml, each only after the earlier stacks have
    proven it. You can interrupt it and run it again: it does not repeat what is deployed and proven.

    Example: `replicate promote --to prod-us-west-2`
    """
    if skip is not None and not skip.strip():
        raise typer.BadParameter("say why the model is deployed unproven", param_hint="--skip")
    from kafka_replication.infra.deploy.promotion.run import promotion
    from kafka_replication.infra.deploy.promotion.run.promotion import Promotion, PromotionRequest

    request = PromotionRequest(
        project.stacks,
        to,
        who or getpass.getuser(),
        skip,
        ready_seconds,
        catch_up_seconds,
        environment,
        options.chosen_spark(master, driver_memory, spark_conf),
    )

    def confirm(stack: str) -> None:
        if not yes:
            confirm_or_end(f"Deploy {stack}?")

    run = Promotion(required_plan(project.stacks), request, Console(highlight=False, emoji=False), confirm)
    try:
        code = promotion.promote(run)
    except KeyboardInterrupt:
        run.say("interrupted; what was deployed stays. Run it again to continue from there")
        raise typer.Exit(_INTERRUPTED) from None
    raise typer.Exit(code)


def environments(project: options.InProject) -> None:
    """Print the environments of the promotion plan in order, as a JSON list; an empty list without a plan.

    Environments with a stack on the local stack are left out, because only the machine that runs the local stack can
    deploy them.

    Example: `replicate environments`
    """
    plan = read_plan(project.stacks)
    names = []
    for environment in plan.environments if plan is not None else ():
        settings = (read_settings(stack, project.stacks) for stack in environment.stacks)
        if not any(stack_environment(known).on_this_machine for known in settings):
            names.append(environment.name)
    typer.echo(json.dumps(names))
