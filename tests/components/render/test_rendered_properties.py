"""Kafka's definitions are applied to rendered properties as to a user's, and no property is silently lost."""

from typing import Any

import pytest

from kafka_replication.components.checks import check_topology
from kafka_replication.components.flows.expansion import expand
from kafka_replication.components.kafka.connectors import ConnectorRole
from kafka_replication.components.properties.definitions import Owner, supported_versions
from kafka_replication.components.properties.keys import (
    ClientProperty,
    OwnProperty,
    PassedOn,
    connector_key_meaning,
    worker_key_meaning,
)
from kafka_replication.components.properties.values import type_problem
from kafka_replication.components.render.client_settings import PRESETS
from kafka_replication.components.render.config_layers import LayerName, merged
from kafka_replication.components.render.connector_config import connector_layers
from kafka_replication.components.render.kafka_connect import worker_layers
from kafka_replication.components.topology.model import Preset
from kafka_replication.components.topology.parsing import parse_topology
from kafka_replication.infra.stack.settings import read_settings, stack_names
from tests.builders import a_flow, a_resolved_flow, a_topology
from tests.components.checks.test_wrong_settings import problems_of
from tests.repository import STACKS

ROLES: tuple[ConnectorRole, ...] = ("source", "checkpoint", "heartbeat")
CHANGEABLE = {LayerName.DEFAULT, LayerName.PRESET, LayerName.CONNECTOR, LayerName.PART, LayerName.WORKER}

FLOWS: dict[str, dict[str, Any]] = {
    "a plain flow": {},
    "every setting that changes connectors": {
        "startFrom": "latest",
        "exactlyOnce": "enabled",
        "loopGuard": True,
        "syncTopicAcls": True,
        "replicateHeartbeats": False,
        "tuning": {"preset": "throughput"},
        "offsetSyncs": {"location": "target"},
        "transforms": {"before": {"Mask": {"type": "com.example.Mask", "config": {"fields": "card"}}}},
    },
    "without offset syncs": {"offsetSyncs": {"enabled": False}, "connectors": {"checkpoint": {"enabled": False}}},
    "low latency": {"tuning": {"preset": "latency"}},
}


@pytest.mark.parametrize("version", supported_versions())
@pytest.mark.parametrize("given", FLOWS.values(), ids=FLOWS)
def test_every_property_that_we_render_is_known_and_has_an_effect(given: dict[str, Any], version: str) -> None:
    flow = a_resolved_flow(**given, connect={"version": f"{version}.0"})
    syncs = flow.settings.offset_syncs
    where = {"offset_syncs_location": syncs.location.value if syncs.enabled else ""}
    exactly_once = flow.settings.exactly_once == "enabled"
    wrong = []
    for role in ROLES:
        config = {key: setting.value for key, setting in merged(connector_layers(flow, role)).items()}
        for key, value in config.items():
            meaning = connector_key_meaning(
                Owner(role), key, version, config=config, exactly_once=exactly_once, **where
            )
            if not isinstance(meaning, OwnProperty | ClientProperty | PassedOn):
                wrong.append(f"{role}: {key}: {meaning}")
            elif not isinstance(meaning, PassedOn) and (said := type_problem(meaning.definition, value)):
                wrong.append(f"{role}: {key}={value}: {said}")
    assert not wrong


@pytest.mark.parametrize("version", supported_versions())
def test_every_worker_property_that_we_render_is_known(version: str) -> None:
    settings = merged(worker_layers(a_resolved_flow(exactlyOnce="enabled")))
    meanings = {key: worker_key_meaning(key, version, exactly_once=True) for key in settings}
    assert not {key: meaning for key, meaning in meanings.items() if not isinstance(meaning, OwnProperty | PassedOn)}


@pytest.mark.parametrize("given", FLOWS.values(), ids=FLOWS)
def test_a_users_property_that_the_model_would_override_is_reported(given: dict[str, Any]) -> None:
    flow = a_resolved_flow(**given)
    unreported = [
        f"{role}: {key}"
        for role in ROLES
        if getattr(getattr(flow.settings.connectors, role), "enabled", True)
        for layer in connector_layers(flow, role)
        if layer.name not in CHANGEABLE
        for key, value in layer.properties.items()
        if not problems_of(role, {key: value.value}, given)
    ]
    assert not unreported


def test_a_users_worker_property_that_the_model_would_override_is_reported() -> None:
    settings = merged(worker_layers(a_resolved_flow(exactlyOnce="enabled")))
    owned = {key: setting.value for key, setting in settings.items() if setting.layer not in CHANGEABLE}
    assert owned
    assert not [
        key for key, value in owned.items() if not problems_of("worker", {key: value}, {"exactlyOnce": "enabled"})
    ]


@pytest.mark.parametrize("preset", [preset for preset in Preset if PRESETS[preset]])
def test_a_user_may_set_every_property_that_a_preset_sets(preset: Preset) -> None:
    settings = {key: given.value for key, given in PRESETS[preset].items()}
    assert not [str(problem) for problem in problems_of("source", settings)]


@pytest.mark.parametrize("preset", Preset)
@pytest.mark.parametrize("exactly_once", ["disabled", "preparing", "enabled"])
def test_no_preset_causes_a_problem(preset: Preset, exactly_once: str) -> None:
    flow = a_flow(tuning={"preset": preset.value}, exactlyOnce=exactly_once)
    assert not [str(problem) for problem in check_topology(parse_topology(a_topology(flow)))]


@pytest.mark.parametrize("stack", stack_names(STACKS))
def test_no_example_has_a_problem(stack: str) -> None:
    topology = read_settings(stack, STACKS).topology
    assert expand(topology)
    assert not [str(problem) for problem in check_topology(topology)]


@pytest.mark.parametrize(
    ("strimzi", "connect", "known"),
    [
        pytest.param("0.45", {}, False, id="the Kafka of an old operator"),
        pytest.param("1.2", {}, True, id="the Kafka of a new operator"),
        pytest.param("0.45", {"version": "4.2.0"}, True, id="the workers' own version wins"),
        pytest.param("1.2", {"version": "3.9.1"}, False, id="an old version of the workers"),
    ],
)
def test_the_workers_kafka_version_decides_which_properties_are_known(
    strimzi: str, connect: dict[str, Any], known: bool
) -> None:
    settings = {"producer.metadata.recovery.rebootstrap.trigger.ms": 60000}
    topology = a_topology(a_flow(connect={**connect, "config": settings}), strimzi=strimzi)
    codes = {problem.code for problem in check_topology(parse_topology(topology))}
    assert ("unknown-property" not in codes) is known


def test_a_deprecated_exclusion_must_agree_in_a_kafka_that_still_reads_it() -> None:
    old = {"connect": {"version": "3.9.1", "image": "connect:3.9.1"}}
    assert [problem.code for problem in problems_of("source", {"topics.blacklist": "x"}, old)] == ["must-agree"]


SOURCES = {"fast": {"topics": ["orders"]}, "bulk": {"topics": ["logs"]}}


@pytest.mark.parametrize(
    ("flow", "reported"),
    [
        pytest.param({"replicateHeartbeats": False}, True, id="the flow does not replicate heartbeats"),
        pytest.param({"topics": [], "connectors": {"sources": SOURCES}}, True, id="one of several source connectors"),
        pytest.param({}, False, id="the only source connector"),
        pytest.param({"replicateHeartbeats": False, "connect": {"version": "4.2.0"}}, False, id="a newer Kafka"),
    ],
)
def test_heartbeats_that_an_older_kafka_always_replicates_are_reported(flow: dict[str, Any], reported: bool) -> None:
    whole = a_flow(**{"connect": {"version": "3.9.1", "image": "connect:3.9.1"}, **flow})
    codes = {problem.code for problem in check_topology(parse_topology(a_topology(whole)))}
    assert ("heartbeats-replicated-anyway" in codes) is reported
