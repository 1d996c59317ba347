"""Which restarts an annotation asks for, in Strimzi's forms."""

from dataclasses import replace

import pytest

from kafka_replication.infra.local.operator.conditions import Condition
from kafka_replication.infra.local.operator.connector_annotations import RestartRequest, restart_requests
from kafka_replication.infra.local.operator.resources import KAFKA_CONNECT, KAFKA_MIRROR_MAKER_2
from tests.infra.operator.builders import a_connector

ONE = "restart?includeTasks=false&onlyFailed=false"
ALL = "restart?includeTasks=true&onlyFailed=false"
FAILED = "restart?includeTasks=true&onlyFailed=true"
NAME = "a->b.MirrorSourceConnector"


@pytest.mark.parametrize(
    ("annotation", "value", "path"),
    [
        ("restart", "true", ONE),
        ("restart", "includeTasks", ALL),
        ("restart", "includeTasks,onlyFailed", FAILED),
        ("restart-task", "2", "tasks/2/restart"),
        ("restart", "yes", None),
        ("restart", "true,includeTasks", None),
    ],
)
def test_a_restart_annotation_becomes_a_request_to_connect_or_a_warning(
    annotation: str, value: str, path: str | None
) -> None:
    connector = replace(a_connector(), component=KAFKA_CONNECT, annotations={f"strimzi.io/{annotation}": value})
    (found,) = restart_requests(connector)
    if path is None:
        assert found == Condition("Warning", "RestartConnector", "Invalid annotation format")
    else:
        assert found == RestartRequest(f"strimzi.io/{annotation}", path)


@pytest.mark.parametrize(
    ("annotation", "value", "paths"),
    [
        ("restart-connector", NAME, [ONE]),
        ("restart-connector", f"{NAME}:includeTasks", [ALL]),
        ("restart-connector-task", f"{NAME}:1", ["tasks/1/restart"]),
        ("restart-connector", "a->b.MirrorCheckpointConnector", []),
        ("restart-connector-task", "a->b.MirrorCheckpointConnector:1", []),
    ],
)
def test_a_restart_annotation_of_a_mirror_maker_applies_to_the_connector_that_it_names(
    annotation: str, value: str, paths: list[str]
) -> None:
    given = {f"strimzi.io/{annotation}": value}
    connector = replace(a_connector(), name=NAME, component=KAFKA_MIRROR_MAKER_2, annotations=given)
    assert [each.path for each in restart_requests(connector) if isinstance(each, RestartRequest)] == paths


def test_a_name_that_only_contains_the_connectors_name_is_an_invalid_format() -> None:
    given = {"strimzi.io/restart-connector": f"x{NAME}"}
    connector = replace(a_connector(), name=NAME, component=KAFKA_MIRROR_MAKER_2, annotations=given)
    assert list(restart_requests(connector)) == [Condition("Warning", "RestartConnector", "Invalid annotation format")]


def test_the_annotation_is_removed_by_its_escaped_path() -> None:
    assert RestartRequest("strimzi.io/restart", ONE).removal == [
        {"op": "remove", "path": "/metadata/annotations/strimzi.io~1restart"}
    ]
