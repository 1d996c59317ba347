"""The command `replicate acls`."""

import json
from typing import Annotated

import typer
from rich.markup import escape

from kafka_replication.infra.commands.console import err, out, print_problems
from kafka_replication.infra.commands.options import InProject, Json, Stack
from kafka_replication.infra.review import acls as access
from kafka_replication.infra.stack.settings import read_settings


def acls(
    project: InProject,
    stack: Stack,
    commands: Annotated[bool, typer.Option("--commands", help="Print commands for Kafka's kafka-acls.sh.")] = False,
    keeper: Annotated[bool, typer.Option("--keeper", help="Also print what `replicate keep` needs.")] = False,
    as_json: Json = False,
) -> None:
    """Print exactly the ACLs that a stack's Kafka users need, including those of its validation.

    They are for clusters without a User Operator.

    Example: `replicate acls prod-us-west-2 --commands`
    """
    settings = read_settings(stack, project.stacks)
    rules = access.stack_acls(settings, keeper=keeper)
    if as_json:
        typer.echo(json.dumps(access.acl_documents(rules), indent=2))
    elif commands:
        for line in access.acl_commands(rules, settings.topology):
            typer.echo(line)
    else:
        for table in access.acl_tables(rules):
            out.print(table)
    print_problems(access.widest_grants(settings), err)
    for path in access.unknown_principals(settings):
        _note(
            f"the Kafka user of `{path}` is not known, so no ACLs are printed for it: set `principal` there, or the "
            "login itself if the cluster has none"
        )
    for alias, missing in access.validations_without_user(settings):
        added = "; ".join(map(access.acl_phrase, missing))
        _note(
            f"on {alias}, the validation job logs in as the connectors do, and `replicate validate` needs more ACLs "
            f"than are printed here: {added}. Name a separate user in `clusters.{alias}.validation.authentication` to "
            "get its ACLs printed, too"
        )


def _note(message: str) -> None:
    err.print(f"[yellow]![/] {escape(message)}", soft_wrap=True)
