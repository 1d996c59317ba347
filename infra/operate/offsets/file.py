"""Reads and writes files of offsets: YAML, JSON or CSV, one entry for a partition or a whole topic. Pure.

Every entry names the `topic`, and the `offset` of the next record to replicate, `earliest`, `latest`, or a `time`.
"""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from io import StringIO

import yaml

from kafka_replication.components.contract.problems import CannotRunError, Problem
from kafka_replication.components.kafka.positions import TopicPartition
from kafka_replication.components.properties.definitions import nearest
from kafka_replication.infra.stack.yaml_files import place

KEYS = ("source", "topic", "partition", "offset", "time")
_FORM = "write a list of entries such as `{topic: orders, partition: 0, offset: 42}`."


@dataclass(frozen=True)
class Entry:
    """One entry of a file: where a partition, or every partition of a topic, should continue.

    Either `offset` (of the next record, `earliest` or `latest`) or `time_ms` (since 1970) is set; `source` may be "".
    """

    file: "OffsetsFile"
    line: int
    topic: str
    source: str = ""
    partition: int | None = None
    offset: int | str | None = None
    time_ms: int | None = None

    def problem(self, code: str, what: str, why: str, remedy: str) -> Problem:
        """Return a mistake in this entry."""
        return self.file.problem(self.line, code, what, why, remedy)


@dataclass(frozen=True)
class OffsetsFile:
    """The name and the lines of a file."""

    name: str
    text: str

    def problem(self, line: int, code: str, what: str, why: str, remedy: str) -> Problem:
        """Return a mistake in a line, counted from 1."""
        where = f"line {line}"
        return Problem(where, code, what, why, remedy, place=place(self.name, self.text.splitlines(), line, 1))


_Row = tuple[int, Mapping[str, str]]


def entries(file: OffsetsFile) -> tuple[list[Entry], list[Problem]]:
    """Return the entries of a file and its mistakes. Raises CannotRunError for a file of another form."""
    rows = _of_csv(file) if file.name.endswith(".csv") else _of_yaml(file)
    parsed: list[Entry] = []
    problems: list[Problem] = []
    for line, values in rows:
        mistakes = list(_mistakes(file, line, values))
        problems += mistakes
        if not mistakes:
            parsed.append(_entry(file, line, values))
    if not parsed and not problems:
        raise _unreadable(file, "it has no entry")
    return parsed, [*problems, *_duplicates(parsed)]


def _of_csv(file: OffsetsFile) -> Iterator[_Row]:
    rows = csv.reader(StringIO(file.text))
    header = [column.strip() for column in next(rows, [])]
    if "topic" not in header:
        raise _unreadable(file, "its first line does not name the columns")
    for values in rows:
        if any(values):
            named = zip([*header, *["?"] * len(values)], values, strict=False)
            yield rows.line_num, {key: value.strip() for key, value in named if value.strip()}


def _of_yaml(file: OffsetsFile) -> Iterator[_Row]:
    try:
        root = yaml.compose(file.text, yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        reason = f"line {mark.line + 1}: {getattr(error, 'problem', '')}" if mark else "it is not YAML"
        raise _unreadable(file, reason) from error
    if not isinstance(root, yaml.SequenceNode) or not all(isinstance(node, yaml.MappingNode) for node in root.value):
        raise _unreadable(file, "it is not a list of entries")
    for node in root.value:
        values = {}
        for key, value in node.value:
            if not isinstance(value, yaml.ScalarNode):
                raise _unreadable(file, f"line {value.start_mark.line + 1}: a value is a list or a mapping")
            values[key.value] = value.value
        yield node.start_mark.line + 1, values


def _unreadable(file: OffsetsFile, what: str) -> CannotRunError:
    why = "The file says for each partition where replication should continue."
    return CannotRunError("unreadable-offsets", what, file.name, why, _FORM)


def _mistakes(file: OffsetsFile, line: int, values: Mapping[str, str]) -> Iterator[Problem]:
    if unknown := [key for key in values if key not in KEYS]:
        known = ", ".join(f"`{name}`" for name in KEYS)
        for key in unknown:
            similar = nearest(key, KEYS)
            remedy = f"write `{similar}`." if similar else f"use only {known}."
            why = f"An entry has the keys {known}."
            yield file.problem(line, "unknown-key", f"there is no key `{key}`", why, remedy)
        return
    if not values.get("topic"):
        yield file.problem(line, "no-topic", "`topic` is missing", "Every offset belongs to a topic.", "add `topic`.")
    given = [key for key in ("offset", "time") if key in values]
    if len(given) != 1:
        what = "`offset` and `time` are both set" if given else "neither `offset` nor `time` is set"
        why = "An entry gives the place to continue in exactly one way."
        yield file.problem(line, "no-position", what, why, "set exactly one.")
    yield from _mistaken_values(file, line, values)


def _mistaken_values(file: OffsetsFile, line: int, values: Mapping[str, str]) -> Iterator[Problem]:
    partition, offset, time = (values.get(key) for key in ("partition", "offset", "time"))
    if partition is not None and not partition.isdecimal():
        what, why = f"partition `{partition}` is not a number", "Partitions count from 0."
        yield file.problem(line, "invalid-partition", what, why, "write a number, or leave it out for the whole topic.")
    if offset is not None and not offset.isdecimal() and offset not in ("earliest", "latest"):
        what = f"offset `{offset}` is not one that a record can have"
        why = "It is the offset of the next record to replicate. Offsets count from 0."
        yield file.problem(line, "invalid-offset", what, why, "write a number, `earliest` or `latest`.")
    elif offset is not None and offset.isdecimal() and partition is None:
        what = f"offset {offset} is for a whole topic"
        why = "The same offset means a different record in each partition."
        remedy = "add `partition`, or write `earliest`, `latest` or a `time`."
        yield file.problem(line, "no-partition", what, why, remedy)
    if time is not None and _time_ms(time) is None:
        what, why = f"time `{time}` is not a point in time", "A time without a time zone is ambiguous."
        yield file.problem(line, "invalid-time", what, why, "write it like `2026-01-31T02:10:00Z`.")


def _time_ms(text: str) -> int | None:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return round(time.timestamp() * 1000) if time.tzinfo is not None else None


def _entry(file: OffsetsFile, line: int, values: Mapping[str, str]) -> Entry:
    offset, partition = values.get("offset"), values.get("partition")
    return Entry(
        file,
        line,
        values["topic"],
        values.get("source", ""),
        None if partition is None else int(partition),
        int(offset) if offset is not None and offset.isdecimal() else offset,
        _time_ms(values["time"]) if "time" in values else None,
    )


def _duplicates(parsed: Iterable[Entry]) -> Iterator[Problem]:
    """Report entries that cover the same partition as an earlier one."""
    lines: dict[tuple[str, int | None], int] = {}
    whole: dict[str, int] = {}
    for entry in parsed:
        anywhere = whole.get(entry.topic, -1)
        same = lines.get((entry.topic, entry.partition), anywhere)
        if entry.partition is None and same < 0:
            same = next((line for (topic, _), line in lines.items() if topic == entry.topic), -1)
        if same >= 0:
            name = entry.topic if entry.partition is None else str(TopicPartition(entry.topic, entry.partition))
            what, why = f"{name} is also in line {same}", "Only one of them could take effect."
            yield entry.problem("duplicate-offset", what, why, "keep one of the two.")
        lines.setdefault((entry.topic, entry.partition), entry.line)
        if entry.partition is None:
            whole.setdefault(entry.topic, entry.line)


Positions = Mapping[TopicPartition, int | str]


def json_text(source: str, positions: Positions) -> str:
    """Return a file with these positions: the offset of the next record, or `earliest` or `latest`, by partition."""
    return json.dumps([dict(zip(KEYS, row, strict=False)) for row in _rows(source, positions)], indent=2)


def csv_text(source: str, positions: Positions) -> str:
    """Return the same as CSV."""
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows([KEYS[:4], *_rows(source, positions)])
    return text.getvalue()


def _rows(source: str, positions: Positions) -> Iterator[tuple[str, str, int, int | str]]:
    for partition, position in sorted(positions.items()):
        yield source, partition.topic, partition.partition, position
