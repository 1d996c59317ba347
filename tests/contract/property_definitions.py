"""Generates the property definitions of components/properties from the ConfigDefs of pinned Kafka artifacts.

Run `python -m tests.contract.property_definitions` or `make properties`. The files are committed; a contract test
compares them with the artifacts. A part of a ConfigDef is available only as text: the `toString` of the validators of
org.apache.kafka.common.config.ConfigDef and of Connect.
"""

import html
import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.kafka import plugins
from kafka_replication.infra.local.parts.part import java_command
from kafka_replication.infra.machine import paths as machine_paths
from kafka_replication.infra.machine import toolchain, versions
from kafka_replication.infra.machine.jdk import Jdk, find_jdk
from kafka_replication.infra.machine.toolchain import JarSet, ensure_jars
from tests.building import building

PROGRAM = Path(__file__).with_name("ConfigDefs.java")
DATA = machine_paths.FOLDERS / "components" / "properties"

#: Kafka's minor version -> its exact version and its jars.
KAFKAS: Mapping[str, tuple[str, JarSet]] = {
    "3.9": (versions.KAFKA_3_9, toolchain.KAFKA_3_9),
    "4.2": (versions.KAFKA, toolchain.CONNECT),
    "4.3": (versions.KAFKA_4_3, toolchain.KAFKA_4_3),
}

_MIRROR = "org.apache.kafka.connect.mirror"
_RUNTIME = "org.apache.kafka.connect.runtime"
_CLIENTS = "org.apache.kafka.clients"
_TRANSFORMS = "org.apache.kafka.connect.transforms"

#: Kafka's transforms and predicates, by class without the package.
TRANSFORMS = (
    *sorted({*plugins.WHOLE_RECORD, *plugins.FOR_KEY_OR_VALUE}),
    *(f"predicates.{name}" for name in plugins.PREDICATES),
)

#: Section of the data file -> the field that holds its ConfigDef, or the method that creates it.
SECTIONS = {
    "source": f"{_MIRROR}.MirrorSourceConfig#CONNECTOR_CONFIG_DEF",
    "checkpoint": f"{_MIRROR}.MirrorCheckpointConfig#CONNECTOR_CONFIG_DEF",
    "heartbeat": f"{_MIRROR}.MirrorHeartbeatConfig#CONNECTOR_CONFIG_DEF",
    "topicFilter": f"{_MIRROR}.DefaultTopicFilter$TopicFilterConfig#DEF",
    "groupFilter": f"{_MIRROR}.DefaultGroupFilter$GroupFilterConfig#DEF",
    "configPropertyFilter": f"{_MIRROR}.DefaultConfigPropertyFilter$ConfigPropertyFilterConfig#DEF",
    "cluster": f"{_MIRROR}.MirrorClientConfig#CLIENT_CONFIG_DEF",
    "connect": f"{_RUNTIME}.SourceConnectorConfig#configDef",
    "topicCreation": f"{_RUNTIME}.TopicCreationConfig#defaultGroupConfigDef",
    "consumer": f"{_CLIENTS}.consumer.ConsumerConfig#configDef",
    "producer": f"{_CLIENTS}.producer.ProducerConfig#configDef",
    "admin": f"{_CLIENTS}.admin.AdminClientConfig#configDef",
    "worker": f"{_RUNTIME}.distributed.DistributedConfig#config",
    **{f"transforms.{name}": f"{_TRANSFORMS}.{name}#CONFIG_DEF" for name in TRANSFORMS},
}

#: Sections that repeat others: every connector also defines Connect's properties and a client's security settings.
REPEATING = {
    "source": ("connect", "cluster"),
    "checkpoint": ("connect", "cluster"),
    "heartbeat": ("connect", "cluster"),
}


def generate(kafka: str, jdk: Jdk) -> str:
    """The data file of one Kafka minor version as text. The same jars always give the same text.

    Raises CannotRunError if the jars cannot be downloaded or lack one of the ConfigDefs.
    """
    exact, jars = KAFKAS[kafka]
    with building("fetching Kafka's jars") as console:
        directory = ensure_jars(jars, jdk, console)
    read = read_config_defs(jdk, directory)
    sections = {name: {prop["name"]: definition(prop) for prop in props} for name, props in read.items()}
    for name, repeated in REPEATING.items():
        known = {key: value for other in repeated for key, value in sections[other].items()}
        sections[name] = {key: value for key, value in sections[name].items() if known.get(key) != value}
    return as_text(exact, sections)


def data_file(kafka: str) -> Path:
    """The data file of a Kafka minor version."""
    return DATA / f"kafka-{kafka}.json"


def read_config_defs(jdk: Jdk, jars: Path) -> dict[str, list[dict[str, Any]]]:
    """The properties of each section as ConfigDefs.java prints them."""
    command = java_command(
        jdk, [f"{jars}/*"], str(PROGRAM), *(f"{name}={at}" for name, at in SECTIONS.items()), heap_mib=256
    )
    ran = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        raise CannotRunError(
            "definitions-unreadable",
            f"the property definitions could not be read (exit code {ran.returncode})",
            str(jars),
            "They are read from the ConfigDefs in these jars.",
            "see the lines below; if a ConfigDef has moved, correct it in tests/contract/property_definitions.py",
            ran.stderr[-2000:],
        )
    read: dict[str, list[dict[str, Any]]] = json.loads(ran.stdout)
    return read


def definition(prop: Mapping[str, Any]) -> dict[str, Any]:
    """One property as the data file stores it, without the fields that are not set."""
    validator, kind = prop["validator"] or "", prop["validatorClass"]
    at_least, at_most = number_range(validator)
    accepted = accepted_values(validator, prop["type"])
    said = {
        "type": prop["type"].lower(),
        "default": prop["default"],
        "importance": prop["importance"].lower(),
        "documentation": first_sentence(prop["documentation"] or ""),
        "atLeast": at_least,
        "atMost": at_most,
        "accepted": accepted or None,
        "anyCase": (kind == "CaseInsensitiveValidString") or None,
        "notEmpty": prop["refusesEmpty"] or None,
        "distinct": prop["refusesRepeated"] or None,
        "required": prop["required"] or None,
        "internal": prop["internal"] or None,
    }
    return {key: value for key, value in said.items() if value is not None}


def as_text(exact: str, sections: Mapping[str, Mapping[str, Any]]) -> str:
    """JSON with one line for each property, sorted by name, so that two Kafka versions can be compared by line."""
    lines = [
        "{",
        '  "generatedBy": "tests/contract/property_definitions.py (make properties); do not edit",',
        f'  "kafka": {json.dumps(exact)},',
        '  "sections": {',
    ]
    for index, (name, properties) in enumerate(sections.items()):
        lines.append(f"    {json.dumps(name)}: {{")
        rows = [f"      {json.dumps(key)}: {json.dumps(value)}" for key, value in sorted(properties.items())]
        lines.append(",\n".join(rows))
        lines.append("    }" if index == len(sections) - 1 else "    },")
    return "\n".join([*lines, "  }", "}", ""])


def main() -> None:
    """Write the data file of every Kafka version."""
    console, jdk = Console(), find_jdk()
    for kafka in KAFKAS:
        path = data_file(kafka)
        path.write_text(generate(kafka, jdk), encoding="utf-8")
        console.print(f"  [green]✓[/] {path.relative_to(machine_paths.FOLDERS)}", highlight=False)


_NUMBER = r"-?\d+(?:\.\d+)?(?:E-?\d+)?"
_RANGE = re.compile(rf"\[(?:(?P<least>{_NUMBER}),)?\.\.\.(?:,(?P<most>{_NUMBER}))?\]")
_WORDS = re.compile(r"(?:\(case insensitive\) )?\[(?P<words>[^\[\]]+)\]")
_TAG = re.compile(r"</?[a-zA-Z][^>]*>")
_BLOCK = re.compile(r"<(?:p|br|ul|li|pre|/p|/ul|/li|/pre)\b[^>]*>")
_SENTENCE_END = re.compile(r"(?<!e\.g)(?<!i\.e)(?<!etc)[.!?](?=\s+[A-Z`'\"(]|\s*$)")
_POSITIVE = "Positive number"
_OR_DEFAULT = re.compile(r"\bor -1\b")


def number_range(validator: str) -> tuple[float | None, float | None]:
    """The least and the greatest number in a validator's text; integers stay integers."""
    if validator.startswith(_POSITIVE):
        return 1, None
    found = _RANGE.match(validator)
    if found is None:
        return None, None
    return _number(found["least"]), _number(found["most"])


def accepted_values(validator: str, config_type: str) -> list[str]:
    """The accepted values in a validator's text, sorted if Kafka does not order them. For numbers: the accepted values
    outside the range."""
    if config_type in {"INT", "SHORT", "LONG", "DOUBLE"}:
        return ["-1"] if _OR_DEFAULT.search(validator) else []
    found = _WORDS.fullmatch(validator)
    if found is None:
        return []
    words = [word.strip() for word in found["words"].split(",")]
    return sorted(words) if validator.startswith("(case insensitive)") else words


def first_sentence(documentation: str) -> str:
    """The first sentence of a property's documentation as one line of plain text."""
    text = _TAG.sub("", _BLOCK.sub("\n", documentation))
    text = html.unescape(text).strip()
    paragraph = re.split(r"\n\s*\n", text)[0]
    line = re.sub(r"\s+", " ", paragraph).strip()
    end = _SENTENCE_END.search(line)
    # A sentence that continues in a list ends before the list.
    return line[: end.end()] if end else line.rstrip(":")


def _number(text: str | None) -> float | None:
    if text is None:
        return None
    number = float(text)
    return int(number) if number.is_integer() and "." not in text else number


if __name__ == "__main__":
    main()
