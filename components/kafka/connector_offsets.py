"""The offsets of a source connector as Connect stores them, and which record comes next. Connect stores the offset of
the last replicated record, so a connector resumes at the one after it. Without a stored offset it begins where its
consumer's `auto.offset.reset` says. Source: KIP-875, MirrorSourceTask.initializeConsumer.
"""

from collections.abc import Mapping
from typing import Any

from components.kafka.positions import OffsetRange, TopicPartition

#: Connectors commit their offsets once a minute, so even a healthy flow sometimes seems this far behind.
BEHIND_SECONDS = 120


def next_record(stored: int | None, log: OffsetRange, start_from: str) -> int:
    """The offset of the next record that a connector replicates.

    If the log lacks the record after `stored`, because retention deleted it or the topic was recreated, the consumer
    begins where it would without a stored offset.
    """
    if stored is None or not is_within(stored, log):
        return log.start if start_from == "earliest" else log.end
    return stored + 1


def is_within(stored: int, log: OffsetRange) -> bool:
    """Whether the log has the record after `stored`, or ends there."""
    return log.start <= stored + 1 <= log.end


def can_resume_at(offset: int, start_from: str) -> bool:
    """Whether a connector can resume at `offset`. A stored offset is never negative, so 0 needs no stored one."""
    return offset > 0 or start_from == "earliest"


def stored_for(offset: int) -> int | None:
    """What to store so that the record at `offset` is next; None means no stored offset."""
    return offset - 1 if offset else None


def offsets_document(alias: str, offsets: Mapping[TopicPartition, int | None]) -> dict[str, Any]:
    """The body of Connect's `PATCH /connectors/<name>/offsets` for these stored offsets of topics of one source."""
    return {
        "offsets": [
            {
                "partition": {"cluster": alias, "topic": each.topic, "partition": each.partition},
                "offset": None if stored is None else {"offset": stored},
            }
            for each, stored in sorted(offsets.items())
        ]
    }
