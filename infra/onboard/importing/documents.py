"""Files and answers as they are read: YAML documents, Java properties, and what Connect's REST API reports."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from kafka_replication.components.properties.values import value_text
from kafka_replication.infra.onboard.importing.left_out import LeftOut
from kafka_replication.infra.stack.yaml_files import MERGE


class _Loader(yaml.CSafeLoader):
    """A fast YAML loader that records duplicate keys. Dates stay text, as in the JSON of Kubernetes."""

    def __init__(self, stream: bytes) -> None:
        super().__init__(stream)
        self.repeated: list[tuple[str, int]] = []

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag == MERGE:
                continue
            if key.value in seen:
                self.repeated.append((key.value, key.start_mark.line + 1))
            seen.add(key.value)
        return super().construct_mapping(node, deep=deep)

    def construct_date(self, node: yaml.ScalarNode) -> str:
        return str(self.construct_scalar(node))


_Loader.add_constructor("tag:yaml.org,2002:timestamp", _Loader.construct_date)


def documents_of(file: str, content: bytes, left_out: list[LeftOut]) -> Iterator[object]:
    """Yield the documents of a file. If it is not YAML, yield none and add the reason to `left_out`."""
    documents = []
    try:
        loader = _Loader(content)
        while loader.check_data():  # type: ignore[no-untyped-call]
            documents.append(loader.get_data())
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f"line {mark.line + 1}" if mark is not None else ""
        why = "The file is not YAML."
        remedy = "correct it."
        if content.lstrip().startswith((b"{", b"[")) and b"{{" not in content:
            try:
                json.loads(content)
            except ValueError as refused:
                # The column is in the message.
                line, why, remedy = "", f"The file is not JSON: {refused}.", "correct it."
        if b"{{" in content:
            why, remedy = "The file is a template, not YAML.", _FILL_IN
        elif content.startswith(b"#!"):
            why, remedy = "The file is a script, not YAML.", f"if it creates connectors, {COMPLETE}"
        left_out.append(LeftOut(file, "", line, "invalid-yaml", why, remedy))
        return
    for key, line_number in loader.repeated:
        why = f"`{key}` is given twice in one mapping, and only the last value counts."
        left_out.append(LeftOut(file, "", f"line {line_number}", "duplicate-key", why, "remove one of the two."))
    yield from documents


#: A line that only the properties of a dedicated MirrorMaker have; YAML objects have a list or mapping at this key.
OF_DEDICATED = re.compile(rb"^[ \t]*clusters[ \t]*[=:][ \t]*[^\s{\[]", re.MULTILINE)
#: The same with a blank as separator, which Java also reads.
OF_DEDICATED_AFTER_BLANK = re.compile(rb"^[ \t]*clusters[ \t]+[^\s{\[=:]", re.MULTILINE)
#: A line that the properties of a single connector have, as MSK Connect and standalone workers take them.
OF_CONNECTOR = re.compile(rb"^[ \t]*connector\.class[ \t]*[=:][ \t]*\S", re.MULTILINE)
#: A line that the properties of Connect's workers have.
OF_WORKERS = re.compile(rb"^[ \t]*group\.id[ \t]*[=:][ \t]*\S", re.MULTILINE)

_COMMENT = re.compile(r"[ \t\f]*[#!]")
_LINE_END = re.compile(r"\r\n|\r|\n")
_KEY = re.compile(r"((?:\\.|[^\\:= \t\f])*)[ \t\f]*[:=]?[ \t\f]*(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_LETTERS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


@dataclass(frozen=True)
class PropertiesFile:
    """The properties of a file by key. `namespace` is where the workers made from it will run."""

    file: str
    namespace: str
    properties: Mapping[str, str]


#: A placeholder that some other program fills in: Kafka's own have a colon after the name of their provider.
_TEMPLATE = re.compile(r"\$\{\w+\}|\{\{|\{%")
_FILL_IN = "print it first with the tool that fills it in, such as `helm template` or `envsubst`."
#: Keys whose values may have such placeholders: a credential is not written anyway, and a replacement has groups.
_MAY_HAVE_PLACEHOLDERS = re.compile(r"jaas|password|^transforms\.|\.transforms\.")


def template_note(text: str) -> tuple[str, str] | None:
    """Return why a text is a template, and the remedy; None if it is not."""
    placeholder = _TEMPLATE.search(text)
    return placeholder and (f"The file is a template: nothing replaces the `{placeholder[0]}` in it.", _FILL_IN)


def properties_of(file: str, content: bytes, left_out: list[LeftOut]) -> dict[str, str] | None:
    """Return a file's properties; None if Java refuses it. Add the reason, and each duplicate key, to `left_out`."""
    properties: dict[str, str] = {}
    try:
        for number, key, value in list(java_properties(content.decode("utf-8", "replace"))):
            if key in properties:
                why = f"`{key}` is given twice, and only the last value counts."
                left_out.append(LeftOut(file, "", f"line {number}", "duplicate-key", why, "remove one of the two."))
            properties[key] = value
            template = template_note(f"{key} {value}")
            if template and not _MAY_HAVE_PLACEHOLDERS.search(key):
                left_out.append(LeftOut(file, "", f"line {number}", "invalid-properties", *template))
                return None
    except ValueError as error:
        why = "A `\\u` in it has no four hexadecimal digits after it, so Java refuses the whole file."
        remedy = "correct it; a backslash itself is written as `\\\\`."
        left_out.append(LeftOut(file, "", str(error), "invalid-properties", why, remedy))
        return None
    return properties


def java_properties(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield line, key and value of each entry of Java properties; of two entries with one key, the later counts. Raises
    ValueError, with the line of the entry, for a `\\u` without four hexadecimal digits.
    """
    for number, line in _logical_lines(text):
        if "u" in _ESCAPE.findall(line):
            raise ValueError(f"line {number}")
        entry = _KEY.match(line)
        if entry is not None:
            yield number, _unescaped(entry[1]), _unescaped(entry[2])


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    begun, first = "", 0
    for number, line in enumerate(_LINE_END.split(text), start=1):
        if not begun and (_COMMENT.match(line) or not line.strip(" \t\f")):
            continue
        first = first if begun else number
        begun += line.lstrip(" \t\f")
        if (len(begun) - len(begun.rstrip("\\"))) % 2:
            begun = begun[:-1]
            continue
        yield first, begun
        begun = ""
    if begun:
        yield first, begun


def _unescaped(text: str) -> str:
    def letter(escape: re.Match[str]) -> str:
        return chr(int(escape[1][1:], 16)) if len(escape[1]) == 5 else _LETTERS.get(escape[1], escape[1])

    return _ESCAPE.sub(letter, text)


#: Connect's states for a connector that is neither paused nor stopped. Source: AbstractStatus.State.
_RUNNING = ("UNASSIGNED", "RUNNING", "FAILED", "RESTARTING")
_STATES = {"PAUSED": "paused", "STOPPED": "stopped"} | dict.fromkeys(_RUNNING, "running")
#: What to ask Connect for.
COMPLETE = "import the answer of `GET /connectors?expand=info&expand=status`."
_CLASS = "connector.class"


@dataclass(frozen=True)
class RestConnector:
    """A connector as Connect reports it; `config` is empty, or `state` None, if the answer lacks it."""

    name: str
    config: Mapping[str, str]
    state: str | None


def rest_connectors(document: object) -> Iterator[RestConnector]:
    """Yield the connectors in an answer of Connect; yield none for any other document."""
    if isinstance(document, list):
        for entry in document:
            yield from rest_connectors(entry)
    elif isinstance(document, Mapping) and "kind" not in document:
        if _CLASS in document:
            yield _connector(document.get("name", "connector"), document, None)
        elif _CLASS in (config := _mapping(document, "config")):
            yield _connector(document.get("name", config.get("name", "connector")), config, None)
        else:
            # The answer of `GET /connectors` with `expand=info`, `expand=status`, or both.
            for name, reported in document.items():
                config = _mapping(_mapping(reported, "info"), "config")
                state = _mapping(_mapping(reported, "status"), "connector").get("state")
                if _CLASS in config or state is not None:
                    yield _connector(name, config if _CLASS in config else {}, state)


def _mapping(given: object, key: str) -> Mapping[str, Any]:
    inner = given.get(key) if isinstance(given, Mapping) else None
    return inner if isinstance(inner, Mapping) else {}


def _connector(name: object, config: Mapping[str, Any], state: object) -> RestConnector:
    texts = {str(key): value_text(value) for key, value in config.items() if value is not None}
    return RestConnector(str(name), texts, _STATES.get(str(state).upper()))
