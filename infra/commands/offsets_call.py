"""What one call of `replicate offsets` does and prints."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import typer
from rich.markup import escape
from rich.table import Table

from kafka_replication.components.contract.wording import number
from kafka_replication.infra.commands.console import confirm_or_end, done, err, out, say
from kafka_replication.infra.commands.options import who
from kafka_replication.infra.kubernetes.api import KubernetesApi
from kafka_replication.infra.operate.connectors.changes import ConnectorPlace, StateRequest
from kafka_replication.infra.operate.connectors.operator import read_live
from kafka_replication.infra.operate.offsets.change import PURPOSE, Run, left_behind, refuse
from kafka_replication.infra.operate.offsets.file import OffsetsFile, csv_text, json_text
from kafka_replication.infra.operate.offsets.plan import Known, OffsetChange, of_those
from kafka_replication.infra.operate.offsets.reader import OffsetsReader
from kafka_replication.infra.stack.yaml_files import shown


@dataclass(frozen=True)
class Call:
    """One call of `plan`, `set` or `reset`, which has no file."""

    api: KubernetesApi
    reader: OffsetsReader
    stack: str
    places: Sequence[ConnectorPlace]
    file: Path | None
    yes: bool
    take_over: bool
    seconds: float

    def moves(self) -> Sequence[OffsetChange]:
        """Return the changes that the call would make now. Raises ReplicationError and CannotRunError."""

        known = self.reader.known([place.name for place in self.places])
        if self.file is None:
            return self.reader.resets(known)
        text = self.file.read_bytes().decode("utf-8-sig", errors="replace")
        return self.reader.moves(OffsetsFile(shown(self.file), text), known)


def change(call: Call, *, carry_out: bool) -> None:
    moves = call.moves()
    _print_moves(moves)
    by = f"{who()}{PURPOSE}"
    request = StateRequest(
        call.stack, call.reader.flow.name, "stopped", by, datetime.now(UTC), take_over=call.take_over
    )
    moved, left = {move.connector for move in moves}, left_behind(call.api, call.places)
    concerned = [place for place in call.places if place.name in moved or place in left]
    refuse(request, concerned, read_live(call.api, concerned))
    if not carry_out or not concerned:
        say("nothing was changed" if concerned else "every partition is already at its offset: nothing was changed")
        return
    if not call.yes:
        confirm_or_end(f"Stop {', '.join(place.name for place in concerned)}, and set the offsets?")
    with err.status("asking the operator") as status:
        verb = "reset" if call.file is None else "alter"
        run = Run(call.api, call.reader, request, verb, call.seconds, status.update)
        made, seen = run.set(concerned, lambda: of_those(call.moves(), moves))
    if made != moves:
        then = ". These changes were made instead:" if made else ", and nothing had to be changed."
        say(f"Offsets have moved since the plan was printed{then}")
        _print_moves(made)
    if made:
        say(f"{number(len(made), 'offset')} set, and read back from Connect")
    for connector in seen:
        done(connector.text)


def print_list(known: Known, *, as_json: bool, as_csv: bool) -> None:
    if as_json or as_csv:
        typer.echo((json_text if as_json else csv_text)(known.source, known.positions()).rstrip())
        return
    table = Table("Connector", "Partition", "Next record", "Log on the source", box=None, pad_edge=False)
    for partition, position in known.positions().items():
        log = known.logs[partition]
        row = (known.connectors[partition.topic], str(partition), str(position), f"{log.start} to {log.end}")
        table.add_row(*map(escape, row))
    out.print(table)


def _print_moves(moves: Sequence[OffsetChange]) -> None:
    for move in moves:
        say(move.text)
    if any(move.again for move in moves):
        say(
            "Records that are replicated again are on the target twice, at new offsets. Until new offset syncs are "
            "written, the translated offsets of groups are less exact, and groups may read the second copies."
        )
