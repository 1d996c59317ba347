"""The metrics that both exporters report for a worker with a source and a checkpoint task of Kafka's own classes.

A small Java program creates the metrics without a broker and asks the JMX exporter and Strimzi's reporter for them.
"""

import functools
import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafka_replication.components.flows.resolved import ResolvedFlow
from kafka_replication.components.properties.values import value_text
from kafka_replication.components.render.config_layers import values
from kafka_replication.components.render.connector_config import connector_layers
from kafka_replication.components.render.metrics import ALLOW_LIST, jmx_rules
from kafka_replication.infra.machine.jdk import find_jdk
from kafka_replication.infra.machine.toolchain import JarSet, ensure_jars
from tests.builders import a_resolved_flow
from tests.building import building
from tests.contract.property_definitions import KAFKAS

PROGRAM = Path(__file__).with_name("metrics") / "Metrics.java"
EXPORTERS = JarSet("exporters", PROGRAM.with_name("pom.xml"), "the exporters of metrics")

#: Kafka version -> the forms in which it names metrics.
FORMS = {"3.9": ("legacy",), "4.2": ("legacy",), "4.3": ("legacy", "new")}
#: The value of `metric.names.formats` with which Kafka 4.3 reports every metric twice.
BOTH = "legacy,new"
EXPORTED_BY = ("jmxPrometheusExporter", "strimziMetricsReporter")
#: Key of the error for a second group of a task, in place of an exporter's name.
REFUSED = "second group"
_STRIMZI = {"3.9": "0.45", "4.2": "1.0", "4.3": "1.2"}
_JMX_REPORTER = "org.apache.kafka.common.metrics.JmxReporter"
_REPORTERS = ("metric.reporters", "source.consumer.metric.reporters")
_SERIES = re.compile(r"(?P<name>\w+)(\{(?P<labels>.*)\})? (?P<value>\S+)")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True)
class Series:
    """One series as an exporter reports it."""

    name: str
    labels: dict[str, str]
    value: float


def reporting_flow(kafka: str) -> ResolvedFlow:
    """A flow whose workers run this Kafka and use Strimzi's reporter."""
    return a_resolved_flow(strimzi=_STRIMZI[kafka], connect={"metrics": {"type": "strimziMetricsReporter"}})


@functools.cache
def exported(kafka: str) -> dict[str, dict[str, Any]]:
    """Form of the metrics' names -> exporter -> its series."""
    flow = reporting_flow(kafka)
    assert flow.expanded.kafka == kafka
    given = values(connector_layers(flow, "source"))
    source = {key: value_text(value) for key, value in given.items() if "metric" in key}
    source |= {key: f"{_JMX_REPORTER},{given[key]}" for key in _REPORTERS}
    source |= {
        "name": "orders-source",
        "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
        "source.cluster.alias": "useast",
        "target.cluster.alias": "uswest",
        "source.cluster.bootstrap.servers": "localhost:1",
        "target.cluster.bootstrap.servers": "localhost:1",
        "task.index": "0",
        "task.assigned.partitions": "orders-3",
        "task.assigned.groups": "first,second",
    }
    converter = "org.apache.kafka.connect.converters.ByteArrayConverter"
    worker = {
        "bootstrap.servers": "localhost:1",
        "key.converter": converter,
        "value.converter": converter,
        "offset.storage.file.filename": "unused",
        "metric.reporters": source["metric.reporters"],
        "prometheus.metrics.reporter.listener.enable": "false",
        "prometheus.metrics.reporter.allowlist": ",".join(ALLOW_LIST),
    }
    forms = [*FORMS[kafka], *([BOTH] if "new" in FORMS[kafka] else [])]
    asked = {"rules": jmx_rules(), "forms": forms, "worker": worker, "source": source}
    printed = _run(kafka, asked | {"connector": "useast->uswest.MirrorSourceConnector"})
    return {
        form: {by: _series(text) if by in EXPORTED_BY else text for by, text in said.items()}
        for form, said in printed.items()
    }


def _run(kafka: str, asked: dict[str, Any]) -> dict[str, dict[str, str]]:
    jdk, (_, jars) = find_jdk(), KAFKAS[kafka]
    with building("fetching the exporters' jars") as console:
        exporters, connect = (ensure_jars(each, jdk, console) for each in (EXPORTERS, jars))
    command = [jdk.java, "-XX:TieredStopAtLevel=1", "-cp", f"{exporters}/*:{connect}/*", PROGRAM]
    ran = subprocess.run(
        [str(word) for word in command], input=json.dumps(asked), capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    printed: dict[str, dict[str, str]] = json.loads(ran.stdout.splitlines()[-1])
    return printed


def _series(text: str) -> list[Series]:
    found = (_SERIES.fullmatch(line) for line in text.splitlines() if not line.startswith("#"))
    return [
        Series(
            each["name"],
            {k: v.replace('\\"', '"') for k, v in _LABEL.findall(each["labels"] or "")},
            float(each["value"]),
        )
        for each in found
        if each is not None
    ]
