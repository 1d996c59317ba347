"""Every field of an object is changed, one at a time. No change may pass as a change without an effect."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from kafka_replication.infra.review.yaml.report import comment_of, document_of, verdict_of
from tests.infra.onboard.importing.resources import FLOW, OLD_MIRROR
from tests.infra.review.yaml.folders import reviewed

RICH = """
apiVersion: kafka.strimzi.io/v1
kind: KafkaMirrorMaker2
metadata: {name: rich, namespace: kafka, labels: {a: b}, annotations: {x: y}}
spec:
  version: 4.2.0
  replicas: 2
  image: registry/image:1
  resources: {limits: {cpu: 1}}
  jvmOptions: {"-Xmx": 1g, javaSystemProperties: [{name: a, value: b}]}
  logging: {type: inline, loggers: {rootLogger.level: INFO}}
  metricsConfig: {type: jmxPrometheusExporter, valueFrom: {configMapKeyRef: {name: m, key: k}}}
  template:
    pod: {affinity: {a: b}}
    connectContainer: {env: [{name: A, value: b}]}
    apiService: {metadata: {labels: {q: r}}}
  rack: {topologyKey: zone}
  target:
    alias: west
    bootstrapServers: west:9092
    groupId: g
    configStorageTopic: g-configs
    offsetStorageTopic: g-offsets
    statusStorageTopic: g-status
    tls: {trustedCertificates: [{secretName: s, certificate: ca.crt}]}
    authentication: {type: scram-sha-512, username: u, passwordSecret: {secretName: s, password: p}}
    config: {offset.flush.interval.ms: 10000}
  mirrors:
    - source:
        alias: east
        bootstrapServers: east:9092
        tls: {trustedCertificates: [{secretName: s2, certificate: ca.crt}]}
        authentication: {type: tls, certificateAndKey: {secretName: t, certificate: c, key: k}}
        config: {ssl.endpoint.identification.algorithm: ""}
      topicsPattern: one,two.*
      topicsExcludePattern: twox
      groupsPattern: g.*
      groupsExcludePattern: gx
      sourceConnector:
        tasksMax: 3
        state: running
        autoRestart: {enabled: true}
        config: {refresh.topics.interval.seconds: 10, offset.lag.max: 5}
      checkpointConnector: {tasksMax: 1, config: {sync.group.offsets.enabled: true}}
"""
OLD = OLD_MIRROR.replace(
    "checkpointConnector: {}",
    "checkpointConnector: {}\n      heartbeatConnector: {config: {emit.heartbeats.interval.seconds: 3}}",
)
#: Effects of severity `none` that are enough to report a change.
HARMLESS = {"logging-changes", "auto-restart-changes", "heartbeats-stop", "api-version-changes"}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in entries:
        yield from places(below, (*path, key))


def mutated(body: Any, path: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    """The object without a field, with another value there, and with one more field in it."""
    for how in ("removed", "changed", "extended"):
        found = copy.deepcopy(body)
        parent = found
        for key in path[:-1]:
            parent = parent[key]
        value = parent[path[-1]]
        if how == "removed":
            del parent[path[-1]]
        elif how == "extended" and isinstance(value, dict):
            value["added"] = "x"
        elif how == "changed" and not isinstance(value, dict | list):
            parent[path[-1]] = f"{value}1" if isinstance(value, str) else 7
        else:
            continue
        yield how, found


@pytest.mark.parametrize("text", [RICH, FLOW, OLD], ids=["KafkaMirrorMaker2", "KafkaConnect", "v1beta2"])
def test_a_change_of_any_field_is_reported(text: str) -> None:
    documents = [each for each in yaml.safe_load_all(text) if each]
    silent = []
    for index, body in enumerate(documents):
        for path in places(body):
            for how, other in mutated(body, path):
                after = yaml.safe_dump_all([*documents[:index], other, *documents[index + 1 :]])
                found = reviewed({"a.yaml": text}, {"a.yaml": after})
                graver = {effect.code for effect in found.effects if effect.severity.rank or effect.code in HARMLESS}
                if not graver and not found.unjudged:
                    silent.append((how, path, verdict_of(found)))
                assert comment_of(found)
                assert document_of(found)["judged"] is not bool(found.unjudged)
    assert silent == []
