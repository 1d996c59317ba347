"""Records that only the source of a flow has: counted, dated, and exported as JSON lines. Only reads from Kafka."""

import json
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from kafka_replication.components.clients.reader import KafkaReader
from kafka_replication.components.contract.problems import CannotRunError, RefusedError
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.components.kafka.record_identity import KafkaRecord
from kafka_replication.infra.operate.partition_logs import Say


@dataclass(frozen=True)
class SourceOnly:
    """`records` records of a partition at the offsets [start, end) that never reached the target.

    `first_ms` and `last_ms` are the lowest and the highest of their timestamps, in ms since 1970. Groups have `passed`
    them if later records reached the target.
    """

    partition: TopicPartition
    offsets: OffsetRange
    records: int
    first_ms: int
    last_ms: int
    passed: bool

    @property
    def text(self) -> str:
        last = self.offsets.end - 1
        offsets = f"offset {last}" if self.offsets.size == 1 else f"offsets {self.offsets.start} to {last}"
        times = dict.fromkeys((_time(self.first_ms), _time(self.last_ms)))
        return f"{self.partition}, {offsets}, written {' to '.join(times)}"

    def document(self) -> dict[str, object]:
        return {
            "topic": self.partition.topic,
            "partition": self.partition.partition,
            "firstOffset": self.offsets.start,
            "lastOffset": self.offsets.end - 1,
            "records": self.records,
            "firstTime": _time(self.first_ms),
            "lastTime": _time(self.last_ms),
            "passed": self.passed,
        }


def _time(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def source_only(
    source: KafkaReader,
    tails: Mapping[TopicPartition, OffsetRange],
    gaps: Mapping[TopicPartition, Iterable[OffsetRange]],
    say: Say,
    *,
    committed: bool,
) -> tuple[SourceOnly, ...]:
    """Read the ranges at the ends of the logs (`tails`) and between replicated records (`gaps`), and describe what they
    hold. Raises NoAnswerError if the source does not answer.
    """
    ranges = [(partition, offsets, False) for partition, offsets in tails.items()]
    ranges += [(partition, offsets, True) for partition, several in gaps.items() for offsets in several]
    spans = []
    with source.stream(committed=committed) as stream:
        for partition, offsets, passed in sorted(ranges):
            say(f"reading what only {source.alias} has of {partition}")
            count, first_ms, last_ms = 0, 0, 0
            for record in stream.records(partition, offsets):
                at_ms = record.time_ms
                first_ms, last_ms = (min(first_ms, at_ms), max(last_ms, at_ms)) if count else (at_ms, at_ms)
                count += 1
            if count:
                spans.append(SourceOnly(partition, offsets, count, first_ms, last_ms, passed))
    return tuple(spans)


def export(source: KafkaReader, spans: Iterable[SourceOnly], file: Path, say: Say, *, committed: bool) -> int:
    """Write the records to a new file that only this user can read, one JSON object a line, and return their number.

    The file gets its name when it is complete. Raises RefusedError if the file exists, CannotRunError if it cannot be
    written, and NoAnswerError if the source does not answer.
    """
    if file.exists():
        why, remedy = "An export never replaces a file.", "name a file that does not exist."
        raise RefusedError("file-exists", f"{file} exists", "--export", why, remedy)
    part = file.with_name(f"{file.name}.part")
    try:
        part.touch(mode=0o600)
        with part.open("w") as lines, source.stream(committed=committed) as stream:
            count = 0
            for span in spans:
                say(f"exporting {span.partition}")
                for line in map(_line, stream.records(span.partition, span.offsets)):
                    lines.write(f"{line}\n")
                    count += 1
        part.rename(file)
    except OSError as error:
        why, remedy = "The records must be in the file before anything is changed.", "name a file that can be written."
        raise CannotRunError("not-exported", f"{file}: {error.strerror}", "--export", why, remedy) from None
    return count


def _line(record: KafkaRecord) -> str:
    """Return a record as JSON: its bytes in base64, its timestamp in ms since 1970."""
    return json.dumps(
        {
            "topic": record.partition.topic,
            "partition": record.partition.partition,
            "offset": record.offset,
            "timestamp": record.time_ms,
            "key": _base64(record.key),
            "value": _base64(record.value),
            "headers": [[name, _base64(value)] for name, value in record.headers],
        }
    )


def _base64(data: bytes | None) -> str | None:
    return None if data is None else b64encode(data).decode("ascii")
