"""What one call of `replicate offsets` does and prints."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import typer
from rich.markup import escape
from rich.table import Table

from kafka_replication.components.contract.wording import number
from kafka_replication.infra.commands.console import confirm_or_end, done, err, out, say
from kafka_replication.infra.operate.connectors.changes import ConnectorPlace
from kafka_replication.infra.operate.connectors.operator import read_live
from kafka_replication.infra.operate.offsets.change import Run, left_behind, refuse
from kafka_replication.infra.operate.offsets.file import OffsetsFile, csv_text, json_text
from kafka_replication.infra.operate.offsets.plan import Known, OffsetChange, of_those
from kafka_replication.infra.stack.yaml_files import shown


def change(
    run: Run, places: Sequence[ConnectorPlace], file: Path | None, *, yes: bool = False, carry_out: bool = True
) -> None:
    """Print what `run` would change of these connectors' offsets, as a file or else a reset says, and carry it out."""

    def plan() -> Sequence[OffsetChange]:
        known = run.reader.known([place.name for place in places])
        if file is None:
            return run.reader.resets(known)
        text = file.read_bytes().decode("utf-8-sig", errors="replace")
        return run.reader.moves(OffsetsFile(shown(file), text), known)

    moves = plan()
    _print_moves(moves)
    moved, left = {move.connector for move in moves}, left_behind(run.api, places)
    concerned = [place for place in places if place.name in moved or place in left]
    refuse(run.request, concerned, read_live(run.api, concerned))
    if not carry_out or not concerned:
        say("nothing was changed" if concerned else "every partition is already at its offset: nothing was changed")
        return
    if not yes:
        confirm_or_end(f"Stop {', '.join(place.name for place in concerned)}, and set the offsets?")
    with err.status("asking the operator") as status:
        made, seen = replace(run, say=status.update).set(concerned, lambda: of_those(plan(), moves))
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
