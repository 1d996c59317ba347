"""A running Connect says of its connectors' properties what our definitions say, and refuses what we refuse.

Without it the definitions may be Kafka's and our reading of them wrong: a value that works is refused, or passes here
and stops a connector on the cluster.
"""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from components.properties.definitions import CONNECTORS, Definition, Owner, PropertyType, definitions
from components.properties.values import type_problem
from infra.local import versions
from infra.local.endpoints import Endpoints
from infra.local.kubernetes_api import KubernetesApi
from tests.operator.connect_flow import ConnectFlow

CLASSES = {role: f"Mirror{role.capitalize()}Connector" for role in CONNECTORS}

COMPARED = ("type", "required", "default_value", "importance")

#: Given to every property at once; Connect answers for each apart.
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


#: A connector's filter reads them; the connector itself does not define them.
OF_FILTERS = {
    Owner.SOURCE: {"use.defaults.from"},
    Owner.CHECKPOINT: {"topics", "topics.exclude"},
    Owner.HEARTBEAT: set[str](),
}

#: Settled by the request itself.
REQUESTED = {"name", "connector.class"}


@pytest.fixture(scope="module")
def connect(endpoints: Endpoints) -> Iterator[httpx.Client]:
    """REST interface of one worker on the local stack, with no connector."""
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
