"""The command `replicate diff`."""

import json
from pathlib import Path
from typing import Annotated

import typer

from components.effects.effect import Severity
from infra.command_options import Json
from infra.console import out
from infra.settings import STACKS

#: What is compared with instead of files; a folder or ref of that name is ./cluster or refs/heads/cluster.
CLUSTER = "cluster"


def diff(
    stacks: Annotated[
        list[str] | None,
        typer.Argument(
            help="Stacks to compare; all of both sides without any, but those of the local stack with `cluster`."
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="REF|DIR|cluster",
            help="A git ref, a folder of stack files, an earlier render, or `cluster` for what runs, with what "
            "drifted there. Without it, the commit at which this branch left the main one.",
        ),
    ] = None,
    as_json: Json = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print a comment for a pull request.")] = False,
    fail_on: Annotated[
        Severity | None,
        typer.Option(help="End with 1 if there is an effect or a drift of this severity or a graver one."),
    ] = None,
    folder: Annotated[
        Path, typer.Option("--stacks", exists=True, file_okay=False, help="Folder of the stack files to compare.")
    ] = STACKS,
) -> None:
    """Show what a change does, object by object and to replication, without Pulumi; only `cluster` asks a cluster.

    An effect is of severity `none`; `restart`, replication is interrupted for seconds, or for minutes while workers
    come and go; `re-read`, records are replicated again; or `data`, records or offsets are left out, left behind or
    orphaned.

    Example: `replicate diff prod-us-west-2 --against origin/main --fail-on data`
    """
    from infra.review.bases import open_base
    from infra.review.comparison import compare_stacks
    from infra.review.report_json import as_json as json_document
    from infra.review.report_markdown import as_markdown as markdown_document
    from infra.review.report_text import print_comparisons

    if as_json and as_markdown:
        raise typer.BadParameter("--json and --markdown exclude each other.")
    if against == CLUSTER:
        from infra.review.cluster import compare_with_cluster, deployable_stacks

        comparisons = tuple(compare_with_cluster(stack, folder) for stack in stacks or deployable_stacks(folder))
    else:
        with open_base(against, folder) as base:
            comparisons = compare_stacks(stacks or (), folder, base)
    if as_json:
        typer.echo(json.dumps(json_document(comparisons), indent=2))
    elif as_markdown:
        typer.echo(markdown_document(comparisons))
    else:
        print_comparisons(comparisons, out)
    ranks = [each.severity.rank for each in comparisons if each.effects or each.drift]
    if fail_on is not None and any(rank >= fail_on.rank for rank in ranks):
        raise typer.Exit(1)
