"""Arguments and options that several commands take, so that they are called and explained alike."""

from typing import Annotated

import typer

Stack = Annotated[str, typer.Argument(help="Name of the stack, as in stacks/Pulumi.STACK.yaml.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do it without asking.")]
ReadySeconds = Annotated[float, typer.Option(min=0, help="How long connectors may take to become Ready, in seconds.")]
CatchUpSeconds = Annotated[
    float, typer.Option(min=0, help="How long a target may need to catch up in the validation, in seconds.")
]
