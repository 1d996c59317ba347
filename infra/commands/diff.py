"""The command `replicate diff`."""

import json
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.markup import escape

from kafka_replication.components.changes.effect import Impact
from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.commands.completion import complete_stack
from kafka_replication.infra.commands.console import err, out
from kafka_replication.infra.commands.options import InProject, Json
from kafka_replication.infra.review.bases import open_base
from kafka_replication.infra.review.comparison import Comparison, compare_plans, compare_stacks
from kafka_replication.infra.review.pull_request import as_markdown as markdown_document
from kafka_replication.infra.review.reports import as_json as json_document
from kafka_replication.infra.review.reports import print_comparisons
from kafka_replication.infra.review.source_comparison import are_sources, compare_with_sources

#: Compare with the cluster instead of files. A folder or branch of that name is ./cluster or refs/heads/cluster.
CLUSTER = "cluster"


def diff(
    project: InProject,
    stacks: Annotated[
        list[str] | None,
        typer.Argument(
            help=(
                "Stacks to compare; by default, every stack on either side (with `cluster`, every stack except those "
                "on the local stack)."
            ),
            autocompletion=complete_stack,
        ),
    ] = None,
    against: Annotated[
        list[str] | None,
        typer.Option(
            metavar="REF|DIR|FILE|-|cluster",
            help=(
                "A git ref, a folder of stack files, an earlier render, or `cluster`, which also shows drift. By "
                "default, the commit where this branch left the main branch. Or what runs, as `replicate import` "
                "reads it: a folder, `-` for standard input, or one or several files."
            ),
        ),
    ] = None,
    as_json: Json = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print a comment for a pull request.")] = False,
    fail_on: Annotated[
        Impact | None,
        typer.Option(
            help="Exit with 1 if an effect or a drift is of this severity or worse; `none` means any difference."
        ),
    ] = None,
) -> None:
    """Show what a change does to each object and to replication.

    It needs no Pulumi, and contacts a cluster only with `--against cluster`.

    Each effect has a severity: with `restart`, replication is interrupted for seconds, or for minutes while workers
    restart; with `re-read`, records are replicated again; with `data`, records or offsets are skipped, left behind or
    orphaned; with `none`, none of these happens.

    The exit code is 0 even if something differs; 1 if an effect is as severe as `--fail-on` says, or a stack has a
    mistake; 2 if something could not be compared.

    Example: `replicate diff prod-us-west-2 --against origin/main --fail-on data`
    """
    if as_json and as_markdown:
        raise typer.BadParameter("--json and --markdown exclude each other.")
    comparisons: Sequence[Comparison]
    failures: Sequence[CannotRunError] = ()
    if against == [CLUSTER]:
        # It loads a Kubernetes client, which TAB and comparisons of files do not need.
        from kafka_replication.infra.review.live_comparison import compare_with_clusters, deployable_stacks

        chosen = stacks or deployable_stacks(project.stacks)
        comparisons, failures = compare_with_clusters(chosen, project.stacks)
    elif against and are_sources(against):
        comparisons = compare_with_sources(stacks or (), project.stacks, against)
    else:
        with open_base(against[0] if against else None, project.stacks) as base:
            comparisons = compare_stacks(stacks or (), project.stacks, base)
            comparisons += () if stacks else compare_plans(project.stacks, base)
    if as_json:
        typer.echo(json.dumps(json_document(comparisons), indent=2))
    elif as_markdown:
        typer.echo(markdown_document(comparisons))
    else:
        print_comparisons(comparisons, out)
    for error in failures:
        err.print(f"[red]✗[/] {escape(str(error))}", soft_wrap=True)
    ranks = [comparison.severity.rank for comparison in comparisons if comparison.effects or comparison.drift]
    if fail_on is not None and any(rank >= fail_on.rank for rank in ranks):
        raise typer.Exit(1)
    if failures:
        raise typer.Exit(2)
