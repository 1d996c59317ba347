"""Commits the positions of a plan, and reads them back."""

from collections.abc import Sequence
from datetime import UTC, datetime

from components.clients.reader import KafkaReader
from components.clients.writer import GroupWriter
from components.contract.problems import RefusedError
from components.kafka.positions import TopicPartition
from infra.operate.move.facts import NewPosition
from infra.operate.partition_logs import Say


def commit_moves(
    writer: GroupWriter, reader: KafkaReader, moves: Sequence[NewPosition], command: str, say: Say
) -> None:
    """Commit one group after the other; `command` and the time are stored as the offsets' metadata. Raises
    CannotRunError, and RefusedError if a different offset is there afterwards.
    """
    by_group: dict[str, dict[TopicPartition, int]] = {}
    for move in moves:
        by_group.setdefault(move.group, {})[move.target] = move.offset
    tag = f"{command} at {datetime.now(UTC).isoformat(timespec='seconds')}"
    for number, (group, offsets) in enumerate(by_group.items(), start=1):
        say(f"committing for {group} ({number} of {len(by_group)})")
        writer.commit(group, offsets, tag)
    found = reader.committed(by_group)
    for move in moves:
        if (now := found.get(move.group, {}).get(move.target)) != move.offset:
            what = f"{move.group} is at {now} in {move.target}, not at {move.offset}"
            why = "Somebody moved the group while its position was being committed."
            remedy = "stop the group, and run the command again."
            raise RefusedError("read-back-differs", what, reader.alias, why, remedy)
