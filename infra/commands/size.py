"""The command `replicate size`."""

import json
import re
from collections.abc import Callable
from typing import Annotated

import typer
import yaml
from rich.markup import escape

from kafka_replication.components.contract.wording import number
from kafka_replication.components.kafka.replication_policy import Side
from kafka_replication.components.kafka.throughput import measurements
from kafka_replication.infra.commands.console import out
from kafka_replication.infra.commands.options import Json
from kafka_replication.infra.review.size import Answer, Question, answer

_BYTES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_RATES = {f"{unit}/s": size for unit, size in _BYTES.items()}


def _quantity(units: dict[str, int], example: str, least: int = 1) -> Callable[[str], int]:
    def read(text: str) -> int:
        match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?([A-Za-z/]+)", text)
        if match is None or match[2] not in units:
            raise typer.BadParameter(f"{text}: write a number and one of {', '.join(units)}, such as {example}")
        if (size := round(float(match[1]) * units[match[2]])) < least:
            raise typer.BadParameter(f"{text}: it is less than {least} {next(iter(units))}")
        return size

    return read


def size(
    rate: Annotated[
        int,
        typer.Option(
            metavar="RATE", parser=_quantity(_RATES, "200MB/s"), help="Rate of the records to copy, such as 200MB/s."
        ),
    ],
    record: Annotated[
        int, typer.Option(metavar="SIZE", parser=_quantity(_BYTES, "1kB"), help="A usual record, such as 1kB.")
    ],
    partitions: Annotated[int, typer.Option(min=1, help="Partitions of all topics, equally busy.")],
    round_trip: Annotated[
        int,
        typer.Option(
            metavar="TIME",
            parser=_quantity({"ms": 1, "s": 1000}, "80ms", least=0),
            help="Round trip between source and target, such as 80ms.",
        ),
    ],
    tls: Annotated[bool, typer.Option("--tls", help="Both clusters use TLS.")] = False,
    exactly_once: Annotated[bool, typer.Option("--exactly-once", help="`exactlyOnce: enabled`.")] = False,
    near: Annotated[Side, typer.Option(help="The side that the workers are beside.")] = "target",
    tasks: Annotated[int | None, typer.Option(min=1, help="Tasks, instead of the fewest that carry the rate.")] = None,
    link: Annotated[
        int | None,
        typer.Option(
            metavar="RATE", parser=_quantity(_RATES, "125MB/s"), help="What the link between the regions carries."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Say how many tasks and which workers carry a rate over a round trip, and what to write into the topology.

    It computes with what `make bench-mirror` measured, and prints the measurement each answer stands on, and what was
    not measured. It reads no project and asks no cluster.

    The exit code is 0 if the partitions can carry the rate and a quarter more, to catch up after a stop, and 1 if not.

    Example: `replicate size --rate 200MB/s --record 1kB --partitions 48 --round-trip 80ms`
    """
    if tasks is not None and tasks > partitions:
        text = f"{tasks}: {number(partitions, 'partition')} keep at most as many tasks busy"
        raise typer.BadParameter(text, param_hint="--tasks")
    question = Question(rate, record, partitions, round_trip, tls, exactly_once, near, tasks, link or 0)
    answered = answer(question, measurements())
    if as_json:
        typer.echo(json.dumps(answered.document(), indent=2))
    else:
        _print(answered)


def _print(answered: Answer) -> None:
    cores = f"{answered.worker_cores:g} {'core' if answered.worker_cores == 1 else 'cores'}"
    workers = f"{answered.workers} workers with {cores} and {answered.worker_mib:,} MiB each"
    out.print(f"[green]✓[/] {number(answered.case.tasks, 'task')}, {workers}", soft_wrap=True)
    for title, text in answered.reasons.items():
        out.print(f"  {title:<9} {escape(text)}", soft_wrap=True)
    for text in answered.not_measured:
        out.print(f"[yellow]![/] not measured: {escape(text)}", soft_wrap=True)
    out.print("# Write into the flow", soft_wrap=True)
    out.out(yaml.safe_dump(answered.settings, sort_keys=False).rstrip(), highlight=False)
