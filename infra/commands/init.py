"""The command `replicate init`."""

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from kafka_replication.components.contract.grouping import grouped
from kafka_replication.infra.commands.console import done, interruptible, out, print_next, say
from kafka_replication.infra.onboard.new_project.answers import Answers, ClusterAnswers, assumed
from kafka_replication.infra.onboard.new_project.files import advice, require_empty, requirement, write_project
from kafka_replication.infra.stack.yaml_files import shown


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the new project; new, or empty.")],
    source: Annotated[str | None, typer.Option(help="Alias of the cluster to replicate from.")] = None,
    source_region: Annotated[str | None, typer.Option(help="Region of the source.")] = None,
    source_servers: Annotated[
        str | None, typer.Option(metavar="HOST:PORT,…", help="Bootstrap servers of the source.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="Alias of the cluster to replicate to.")] = None,
    target_region: Annotated[str | None, typer.Option(help="Region of the target.")] = None,
    target_servers: Annotated[
        str | None, typer.Option(metavar="HOST:PORT,…", help="Bootstrap servers of the target.")
    ] = None,
    topics: Annotated[
        str | None, typer.Option(metavar="NAME,…", help="Topics to replicate: names or patterns.")
    ] = None,
    groups: Annotated[
        str | None, typer.Option(metavar="NAME,…", help="Consumer groups whose offsets to translate.")
    ] = None,
    flow: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the flow; by default, SOURCE-to-TARGET.")
    ] = None,
    environment: Annotated[str | None, typer.Option(help="Name of the environment.")] = None,
    strimzi: Annotated[str | None, typer.Option(metavar="VERSION", help="Version of Strimzi in the clusters.")] = None,
    context: Annotated[
        str | None, typer.Option(help="Kubernetes context of the target's region; by default, the current one.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the project; by default, that of the folder.")] = None,
    package: Annotated[
        str | None, typer.Option(metavar="REQUIREMENT", help="What workflows install: a requirement in pip's form.")
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask: use the default for every option that is not given.")
    ] = False,
) -> None:
    """Write a new project: a topology, its stack, a local stack to try, a promotion plan and workflows for GitHub.

    In a terminal it asks for the options that are not given, except `--flow` and `--package`. At the end it
    lists every fact that it assumed, with the file and the key to correct.

    Example: `replicate init kafka --source useast --target uswest --topics 'orders,payments-.*'`
    """
    folder = folder.resolve()
    require_empty(folder)
    asks = not yes and sys.stdin is not None and sys.stdin.isatty()

    ask = _Questions(asks)
    answers = Answers(
        name=ask.answer(name, "Name of the project", re.sub(r"[^A-Za-z0-9._-]+", "-", folder.name)),
        environment=ask.fact("--environment", environment, "Environment", "prod"),
        source=ask.cluster("source", (source, source_region, source_servers), "useast", "us-east-1"),
        target=ask.cluster("target", (target, target_region, target_servers), "uswest", "us-west-2"),
        flow=flow,
        topics=_listed(ask.fact("--topics", topics, "Topics to replicate, separated by commas", "orders,payments-.*")),
        groups=_listed(
            ask.fact("--groups", groups, "Consumer groups to translate, separated by commas", "checkout-.*")
        ),
        strimzi=ask.fact("--strimzi", strimzi, "Version of Strimzi", "1.2"),
        context=ask.answer(context, "Kubernetes context (empty for the current one)", "") or None,
        package=package or requirement(),
    )
    written = write_project(answers, folder)
    for path in written:
        done(shown(folder / path))
    _print_assumed(grouped(assumed(answers, ask.given)), folder)
    if wrong := [option for option in ("--environment", "--target-region") if option not in ask.given]:
        say(
            f"The stack is named {answers.stack}. If that is wrong, start again in a new folder with "
            f"{' and '.join(wrong)}."
        )
    if said := advice(answers.package):
        say(f"\n{said}")
    rendering = f"replicate render {answers.stack} --out rendered/{answers.stack}"
    print_next(folder, ["replicate check", rendering, "replicate local demo      # try it on this machine"])


def _print_assumed(by_file: Mapping[str, Sequence[tuple[str, str]]], folder: Path) -> None:
    """The facts that nobody gave, by file."""
    out.print("\nAssumed; correct what is wrong:")
    for file, facts in by_file.items():
        out.print(f"  in {shown(folder / file)}", markup=False, soft_wrap=True)
        for key, value in facts:
            out.print(f"    {key}: {value}", markup=False, soft_wrap=True)


@dataclass
class _Questions:
    """Asks for what the options leave out, or fills it in. `given` has the options that a person answered."""

    asks: bool
    given: list[str] = field(default_factory=list)

    def answer(self, given: str | None, question: str, default: str) -> str:
        if given is not None:
            return given
        if not self.asks:
            return default
        with interruptible():
            return str(typer.prompt(question, default))

    def fact(self, option: str, given: str | None, question: str, example: str) -> str:
        answer = self.answer(given, question, example)
        if given is not None or answer != example:
            self.given.append(option)
        return answer

    def cluster(
        self, role: str, given: tuple[str | None, str | None, str | None], alias: str, region: str
    ) -> ClusterAnswers:
        alias = self.fact(f"--{role}", given[0], f"Alias of the {role} cluster", alias)
        region = self.fact(f"--{role}-region", given[1], f"Region of {alias}", region)
        servers = f"kafka.{alias}.example.com:9093"
        return ClusterAnswers(
            alias, region, self.fact(f"--{role}-servers", given[2], f"Bootstrap servers of {alias}", servers)
        )


def _listed(text: str) -> tuple[str, ...]:
    return tuple(entry.strip() for entry in text.split(",") if entry.strip())
