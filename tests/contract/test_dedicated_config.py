"""Kafka's own MirrorMakerConfig reads a dedicated MirrorMaker's file as our rules do."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kafka_replication.components.kafka.dedicated_config import DedicatedConfig, DedicatedSetting, Pair
from kafka_replication.components.properties.definitions import Owner, definitions
from kafka_replication.infra.machine.toolchain import CONNECT
from kafka_replication.infra.onboard.importing.dedicated import config_of
from kafka_replication.infra.onboard.importing.documents import PropertiesFile, java_properties
from tests.contract.java_programs import answer

PROGRAM = Path(__file__).with_name("Dedicated.java")
KAFKA = "4.2.0"
CLIENTS = definitions(KAFKA, Owner.CLUSTER).keys()
TEXT = r"""
! every way to write an entry
clusters=a , b,  us.east
a.bootstrap.servers: a:9092
  b.bootstrap.servers   b:9092
us.east.bootstrap.servers = c:9092
security.protocol = SASL_SSL
b.security.protocol = PLAINTEXT
a.sasl.jaas.config = org.example.Login required \
    username="me" \
    # password="hunter2";
a.consumer.sasl.mechanism = PLAIN
sasl.mechanism = GSSAPI
a->b.enabled = True
a->b.topics = orders\\..*, caf\u00e9
a->b.tasks.max = 7
a->b.my.filter.list = x
b->a.enabled = true\u0020
us.east->b.enabled = true
us.east->b.emit.heartbeats.enabled = false
b->us.east.emit.heartbeats.enabled = false
tasks.max = 3
topics = payments
replication.policy.mine = 1
replication.factor = 2
a.replication.factor = 3
offset.storage.replication.factor = 1
b.offset.storage.topic = of-b
b.group.id = of-b
b.producer.linger.ms = 5
a.consumer.max.poll.records = 9
consumer.fetch.max.bytes = 1
transforms = seal
a->b.transforms.seal.type = org.example.Seal
key.converter.schemas.enable = false
listeners = http://:8083
"""


@pytest.fixture(scope="module")
def java() -> dict[str, Any]:
    said: dict[str, Any] = json.loads(answer(PROGRAM, CONNECT, TEXT).splitlines()[-1])
    return said


@pytest.fixture(scope="module")
def ours() -> DedicatedConfig:
    given = {key: value for _, key, value in java_properties(TEXT)}
    return config_of(PropertiesFile("mm2.properties", "default", given), KAFKA)


def _pair(text: str) -> Pair:
    source, _, target = text.partition("->")
    return Pair(source, target)


def _values(settings: Mapping[str, DedicatedSetting], without: tuple[str, ...] = ()) -> dict[str, str]:
    return {key: each.value for key, each in settings.items() if key not in without}


def _uncopied(
    config: Mapping[str, str], ours: Mapping[str, DedicatedSetting], of_cluster: str, of_client: str
) -> dict[str, str]:
    """A configuration without the addresses and logins that MirrorMaker copies to each kind of client."""
    copies = {
        f"{of_client}{kind}.{name}"
        for kind in ("producer", "consumer", "admin")
        for name in CLIENTS
        if config.get(f"{of_client}{kind}.{name}") == config.get(f"{of_cluster}{name}")
    }
    return {key: value for key, value in config.items() if key not in copies - ours.keys()}


def test_we_read_the_same_keys_and_values_as_kafka(java: dict[str, Any], ours: DedicatedConfig) -> None:
    assert ours.properties == java["given"]


def test_we_find_the_same_pairs_and_enabled_flows_as_kafka(java: dict[str, Any], ours: DedicatedConfig) -> None:
    assert {str(each) for each in (*ours.flows, *ours.heartbeats_only)} == {each["pair"] for each in java["pairs"]}
    enabled = {each["pair"] for each in java["pairs"] if each["connector"]["enabled"].lower() == "true"}
    assert {str(each) for each in ours.flows} == enabled


def test_connectors_get_the_same_properties_as_in_kafka(java: dict[str, Any], ours: DedicatedConfig) -> None:
    for each in java["pairs"]:
        made = ours.connector(_pair(each["pair"]))
        theirs = _uncopied(each["connector"], made, "source.cluster.", "source.")
        theirs = _uncopied(theirs, made, "target.cluster.", "target.")
        added = ("name", "connector.class", "enabled")
        assert _values(made, added) == {key: value for key, value in theirs.items() if key not in added}


def test_workers_get_the_same_properties_as_in_kafka(java: dict[str, Any], ours: DedicatedConfig) -> None:
    for each in java["pairs"]:
        made = ours.worker(_pair(each["pair"]))
        assert _values(made) == _uncopied(each["worker"], made, "", "")
