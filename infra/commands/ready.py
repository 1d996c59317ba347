"""The command `replicate ready`."""

import json
from pathlib import Path
from typing import Annotated

import typer
import yaml
from rich.console import Console
from rich.markup import escape

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.contract.readiness import Quotas, Readiness, read_quotas, summary
from kafka_replication.components.contract.wording import number
from kafka_replication.components.kafka.acls import administrator
from kafka_replication.components.kafka.replication_policy import SIDES, Side
from kafka_replication.infra.commands.completion import complete_flow
from kafka_replication.infra.commands.console import confirm_or_end, err, out
from kafka_replication.infra.commands.options import InProject, Json, Stack, Yes
from kafka_replication.infra.stack.session import OpenStack
from kafka_replication.infra.stack.settings import read_settings


def ready(
    project: InProject,
    stack: Stack,
    flow: Annotated[
        str | None, typer.Argument(help="Name of the flow; by default, every flow.", autocompletion=complete_flow)
    ] = None,
    quotas: Annotated[
        list[str] | None,
        typer.Option(
            "--quotas",
            metavar="CLUSTER=FILE",
            help="What `kafka-configs.sh --describe --entity-type users` prints for a cluster; give both. `CLUSTER=` "
            "means that it prints nothing.",
        ),
    ] = None,
    kafka_users: Annotated[
        bool, typer.Option("--kafka-users", help="Print what KafkaUsers lack as YAML, instead of commands.")
    ] = False,
    copy: Annotated[
        bool,
        typer.Option(
            "--copy", help="Write the missing ACLs with the connectors' login, which needs Alter on the target."
        ),
    ] = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Say whether the applications of the source can log in, read and write on the target. Only reads without `--copy`.

    Every ACL of the source about a replicated topic, a group that would move, or a transactional id needs an ACL at
    least as wide on the target. SCRAM users, quotas and the settings of topics are compared too. What is missing is
    printed with the lines of Kafka's tools that add it. They contain no secret: a user's password is read from a
    variable of the shell.

    The exit code is 0 if nothing is missing, 1 if something is, 2 if something was not judged: without `--quotas`,
    quotas never are.

    Example: `replicate ready prod-us-west-2 orders --quotas useast=useast.txt --quotas uswest=uswest.txt`
    """
    from kafka_replication.infra.operate.flow_access import open_flow
    from kafka_replication.infra.operate.ready.look import look, refuse_copy

    printed = _read_quotas(quotas or [])
    with OpenStack(read_settings(stack, project.stacks)) as opened:
        judged: list[Readiness] = []
        for name in [flow] if flow else [each.name for each in opened.flows]:
            with open_flow(opened, name) as chosen:
                sides: dict[Side, str] = {side: getattr(chosen.parameters, side).alias for side in SIDES}
                given = {side: printed[alias] for side, alias in sides.items() if alias in printed}
                with err.status("asking Kafka"):
                    judgement = look(chosen, given)
                if copy and judgement.acls:
                    _print(judgement.readiness, err if as_json else out)
                    refuse_copy(chosen)
                    if not yes:
                        confirm_or_end(f"Write {number(len(judgement.acls), 'ACL')} on {sides['target']}?")
                    chosen.topic_acls("target").add(judgement.acls)
                    judgement = look(chosen, given)
                judged.append(judgement.readiness)
        if as_json:
            flows = [{**each.document(), "summary": summary(each)} for each in judged]
            typer.echo(json.dumps({"version": 1, "stack": stack, "flows": flows}, indent=2))
        else:
            for each in judged:
                _print(each, out, kafka_users=kafka_users)
    raise typer.Exit(1 if any(each.missing for each in judged) else 2 if any(each.not_judged for each in judged) else 0)


def _read_quotas(given: list[str]) -> dict[str, Quotas]:
    """Return the quotas of each cluster that `--quotas` names. Raises CannotRunError."""
    quotas: dict[str, Quotas] = {}
    for pair in given:
        alias, is_pair, file = pair.partition("=")
        if not is_pair:
            raise typer.BadParameter(f"{pair}: write CLUSTER=FILE", param_hint="--quotas")
        text = Path(file).read_text() if file else ""
        if file and not text.strip():
            why = "The tool prints nothing for a cluster without users and quotas, but also if it was refused."
            remedy = f"if the tool reported no error, give `--quotas {alias}=`; otherwise write its output to the file."
            raise CannotRunError("quotas-unreadable", "the file is empty", file, why, remedy)
        try:
            quotas[alias] = read_quotas(text)
        except ValueError as error:
            what = f"this line is no quota: {error}"
            why = "Quotas are compared as `kafka-configs.sh --describe --entity-type users` prints them."
            raise CannotRunError("quotas-unreadable", what, file, why, "write its output to the file.") from None
    return quotas


def _print(readiness: Readiness, console: Console, *, kafka_users: bool = False) -> None:
    def line(mark: str, color: str, title: str, text: str) -> None:
        console.print(f"[{color}]{mark}[/] {title:<10} {escape(text)}", soft_wrap=True)

    wrong = bool(readiness.missing)
    mark, color = ("✗", "red") if wrong else ("!", "yellow") if readiness.not_judged else ("✓", "green")
    line(mark, color, readiness.flow, summary(readiness))
    for missing in readiness.missing:
        line("✗", "red", missing.kind, missing.text)
    for text in readiness.not_judged:
        line("!", "yellow", "not judged", text)
    for text in readiness.unknowable:
        line("!", "yellow", "unknown", text)
    for text in readiness.warnings:
        line("!", "yellow", "careful", text)
    if kafka_users and readiness.kafka_users:
        # A merge patch would replace the list.
        console.print("# Append these `acls` to those of each KafkaUser, and set the other keys", soft_wrap=True)
        console.out(yaml.safe_dump_all(readiness.kafka_users, sort_keys=False), highlight=False, end="")
    elif commands := [missing.command for missing in readiness.missing if missing.command]:
        console.out("\n".join([administrator(readiness.target)[0], *commands]), highlight=False)
