"""Sends records through Connect's real transforms and converters without a worker: one JVM for many chains."""

import base64
import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kafka_replication.components.kafka.transform_chains import HEADER, KEY, VALUE
from kafka_replication.components.properties.values import value_text
from kafka_replication.components.render.config_layers import values
from kafka_replication.components.render.connector_config import connector_layers
from kafka_replication.infra.machine.jdk import find_jdk
from kafka_replication.infra.machine.toolchain import CONNECT
from tests.builders import a_resolved_flow

SOURCES = Path(__file__).parent / "chains"
#: Each character of a text is one byte.
ONE_BYTE = "latin-1"


def chain_config(flow: Mapping[str, Any]) -> dict[str, str]:
    """The properties of a rendered source connector's transforms and converters, as Connect gets them."""
    config = values(connector_layers(a_resolved_flow(**flow), "source"))
    kept = ("transforms", "predicates", KEY, VALUE, HEADER)
    chain = {key: value_text(value) for key, value in config.items() if key.startswith(kept)}
    return {"name": "asked", "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector", **chain}


def a_record(**given: Any) -> dict[str, Any]:
    return {"topic": "useast.orders", "key": "1", "value": '{"name":"Ada"}', "headers": [], **given}


class Connect:
    """Connect's classes with our program and the vendor's transforms from the guide, compiled into `folder`."""

    def __init__(self, folder: Path) -> None:
        self.jdk, self.folder = find_jdk(), folder
        compiled = [self.jdk.home / "bin" / "javac", "-nowarn", "-cp", f"{CONNECT.directory}/*", "-d", folder]
        subprocess.run([*map(str, compiled), *map(str, SOURCES.rglob("*.java"))], check=True, capture_output=True)

    def sent(self, cases: Sequence[tuple[Mapping[str, str], Sequence[Mapping[str, Any]]]]) -> list[dict[str, Any]]:
        """Return, for each configuration, its `records` as they would be written, and the `error` if a task fails."""
        asked = [{"config": config, "records": [_halves(each, _encoded) for each in sent]} for config, sent in cases]
        answers = self._asked(asked)
        return [{**each, "records": [_halves(record, _decoded) for record in each["records"]]} for each in answers]

    def classes(self, names: Sequence[str]) -> dict[str, str | None]:
        """The class that Connect finds by each name, or None."""
        return dict(zip(names, self._asked(names), strict=True))

    def _asked(self, asked: Sequence[Any]) -> list[Any]:
        # A class path with a folder of classes cannot have a class archive, so `java_command` is not used.
        class_path = f"{self.folder}:{CONNECT.directory}/*"
        command = [self.jdk.java, "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", class_path, "Chains"]
        ran = subprocess.run(
            [str(word) for word in command], input=json.dumps(asked), capture_output=True, text=True, check=True
        )
        answers: list[Any] = json.loads(ran.stdout.splitlines()[-1])
        return answers


def _halves(record: Mapping[str, Any] | None, code: Any) -> dict[str, Any] | None:
    if record is None:
        return None
    halves = {half: code(record[half]) for half in ("key", "value")}
    return {**record, **halves, "headers": [[name, code(value)] for name, value in record["headers"]]}


def _encoded(text: str | None) -> str | None:
    return None if text is None else base64.b64encode(text.encode(ONE_BYTE)).decode()


def _decoded(text: str | None) -> str | None:
    return None if text is None else base64.b64decode(text).decode(ONE_BYTE)
