"""A running Connect defines its connectors' properties as our definitions do, and refuses the values that we refuse.

We could have Kafka's own definitions and still read them wrongly. Then we would refuse a value that works, or accept
one that stops a connector on the cluster.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import pytest

from kafka_replication.components.flows.resolved import resolve_flows
from kafka_replication.components.properties.definitions import CONNECTORS, Definition, Owner, PropertyType, definitions
from kafka_replication.components.properties.values import type_problem
from kafka_replication.components.render.deployments import deployments
from kafka_replication.infra.kubernetes.api import KubernetesApi
from kafka_replication.infra.local.endpoints import Endpoints
from kafka_replication.infra.local.operator.connector_reconciler import connector_config
from kafka_replication.infra.local.operator.mirror_maker2 import connector_resources
from kafka_replication.infra.local.operator.resources import connector_resource
from kafka_replication.infra.machine import versions
from kafka_replication.infra.stack.settings import read_settings, stack_names
from tests.infra.operator.connect_flow import ConnectFlow
from tests.repository import STACKS

CLASSES = {role: f"Mirror{role.capitalize()}Connector" for role in CONNECTORS}
ROLES = {name: role for role, name in CLASSES.items()}

COMPARED = ("type", "required", "default_value", "importance")

#: Each value is given to all properties at once; Connect reports errors for each property separately.
VALUES = [
    "True",
    "0",
    "1",
    "-1",
    "1.5",
    "40000",
    "3000000000",
    "1" * 20,
    "word",
    "All",
    "none",
    "source",
    "Ssl",
    "Requested",
]


#: Properties that a connector's filter reads and the connector itself does not define.
OF_FILTERS = {
    Owner.SOURCE: {"use.defaults.from"},
    Owner.CHECKPOINT: {"topics", "topics.exclude"},
    Owner.HEARTBEAT: set[str](),
}

#: Strimzi writes a mirror's selections into all of its connectors, even if a connector does not read them.
OF_MIRRORS = {"topics", "topics.exclude", "groups", "groups.exclude"}

#: Properties that the request itself sets.
REQUESTED = {"name", "connector.class"}

#: Prefixes of properties for clients and transforms, which no definition of the connector contains.
HANDED_ON = ("source.", "target.", "producer.", "consumer.", "admin.", "transforms.", "predicates.")
_PLACEHOLDER = re.compile(r"\$\{[^}]*\}")


@pytest.fixture(scope="module")
def connect(endpoints: Endpoints) -> Iterator[httpx.Client]:
    """The REST interface of one worker on the local stack, without connectors."""
    with KubernetesApi(endpoints.kubeconfig, field_manager="test") as api:
        flow = ConnectFlow(api, endpoints)
        flow.set_up()
        flow.connect()
        url = flow.expect("KafkaConnect", "Ready")["url"]
        with httpx.Client(base_url=url, timeout=30, trust_env=False) as client:
            yield client
        flow.tear_down()


def as_connect_says(definition: Definition) -> dict[str, Any]:
    said = (definition.type.upper(), definition.required, definition.default, definition.importance.upper())
    return dict(zip(COMPARED, said, strict=True))


def is_checked_by_its_type(definition: Definition) -> bool:
    plugin = definition.type is PropertyType.CLASS or definition.name.endswith(".plugin.version")
    return not plugin and definition.name not in REQUESTED


@pytest.mark.parametrize("role", CONNECTORS)
def test_connect_defines_a_connectors_properties_as_we_do(connect: httpx.Client, role: Owner) -> None:
    answer = connect.get(f"/connector-plugins/{CLASSES[role]}/config").raise_for_status().json()
    theirs = {each["name"]: {key: each[key] for key in COMPARED} for each in answer}
    ours = {name: as_connect_says(each) for name, each in definitions(versions.KAFKA, role).items()}
    assert {name: ours.get(name) for name in theirs} == theirs


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("role", CONNECTORS)
def test_connect_refuses_the_values_that_we_refuse_and_no_others(
    connect: httpx.Client, role: Owner, value: str
) -> None:
    known = definitions(versions.KAFKA, role)
    asked = {name: each for name, each in known.items() if is_checked_by_its_type(each)}
    config = {**dict.fromkeys(asked, value), "connector.class": CLASSES[role], "name": "asked"}
    path = f"/connector-plugins/{CLASSES[role]}/config/validate"
    answer = connect.put(path, json=config)
    assert answer.is_success, answer.text
    errors = {each["value"]["name"]: each["value"]["errors"] for each in answer.json()["configs"]}
    assert set(asked) - set(errors) == OF_FILTERS[role]
    refused = {name for name in asked if errors.get(name)}
    assert refused == {name for name, each in asked.items() if name in errors and type_problem(each, value)}


def example_connectors(stack: str, operator: str) -> Iterator[tuple[str, Owner, dict[str, str], set[str]]]:
    """Yield the name, role and configuration of each connector of an example, without credentials, and the correct
    properties that the connector does not define."""
    settings = read_settings(stack, STACKS)
    topology = settings.topology.model_copy(update={"strimzi": operator})
    addresses = {f"{alias}Bootstrap": f"{alias}:9093" for alias in topology.clusters}
    for deployment in deployments(resolve_flows(topology, settings.region, {**settings.values, **addresses})):
        maps = {planned.name: planned.manifest["data"] for planned in deployment.objects if planned.kind == "ConfigMap"}
        for planned in deployment.objects:
            item = {**planned.manifest, "metadata": {**planned.manifest["metadata"], "generation": 1}}
            if planned.kind == "KafkaConnector":
                found, selections = [connector_resource(item)], set[str]()
            elif planned.kind == "KafkaMirrorMaker2":
                found, selections = connector_resources(item), OF_MIRRORS
            else:
                continue
            for each in found:
                config = {key: _opened(value, maps) for key, value in connector_config(each).items()}
                role = ROLES[each.connector_class.rsplit(".", 1)[-1]]
                yield each.name, role, config, OF_FILTERS[role] | selections


def _opened(text: str, maps: Mapping[str, Mapping[str, str]]) -> str:
    """The text with its ConfigMap placeholders resolved; any other placeholder becomes a plain word."""

    def held(found: re.Match[str]) -> str:
        provider, path, key = found.group()[2:-1].split(":")
        return maps[path.split("/")[1]][key] if provider == "cfmap" else "kept"

    return _PLACEHOLDER.sub(held, text)


@pytest.mark.parametrize("operator", ["1.2", "0.45"])
@pytest.mark.parametrize("stack", stack_names(STACKS))
def test_connect_finds_no_error_and_no_unknown_property_in_an_example(
    connect: httpx.Client, stack: str, operator: str
) -> None:
    wrong = {}
    asked = list(example_connectors(stack, operator))
    for name, role, config, undefined in asked:
        path = f"/connector-plugins/{CLASSES[role]}/config/validate"
        answer = connect.put(path, json={**config, "name": name, "connector.class": CLASSES[role]})
        assert answer.is_success, answer.text
        said = {each["value"]["name"]: each["value"]["errors"] for each in answer.json()["configs"]}
        errors = {key: found for key, found in said.items() if found}
        unknown = {key for key in config if not key.startswith(HANDED_ON)} - set(said) - undefined
        if errors or unknown:
            wrong[name] = (errors, unknown)
    assert asked
    assert wrong == {}
