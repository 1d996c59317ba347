"""Arguments and options that several commands share."""

from typing import Annotated

import typer

Stack = Annotated[str, typer.Argument(help="Name of the stack: STACK in Pulumi.STACK.yaml.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]
ReadySeconds = Annotated[float, typer.Option(min=0, help="Seconds to wait for connectors to become ready.")]
CatchUpSeconds = Annotated[
    float, typer.Option(min=0, help="Seconds that the validation waits for a target to catch up.")
]
MergedInto = Annotated[
    str | None,
    typer.Option(
        "--against",
        metavar="REF",
        help="Branch that the change will be merged into; only what it adds to that branch counts.",
    ),
]
