"""A ConfigMap that nobody has created is named at once, instead of after five minutes of waiting for workers."""

from typing import Any

import pytest

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.kubernetes.api import KubernetesApi, Object, Reference
from kafka_replication.infra.kubernetes.preconditions import require_config_maps
from tests.builders import a_resolved_flow

METRICS = {"type": "jmxPrometheusExporter", "configMap": "connect-metrics", "key": "rules.yaml"}
LOGGING = {"type": "external", "configMap": "connect-logging", "key": "log4j2.properties"}


class _Holding(KubernetesApi):
    """A cluster that holds these ConfigMaps, by name, and nothing else."""

    def __init__(self, **held: Object) -> None:
        self._held = held

    def get(self, target: Reference) -> Object | None:
        assert (target.kind, target.namespace) == ("ConfigMap", "mirror-orders")
        return self._held.get(target.name.replace("-", "_"))


@pytest.mark.parametrize(
    ("held", "said"),
    [
        ({}, "connect-logging does not exist; it needs the key `log4j2.properties`"),
        ({"connect_logging": {"data": {"log4j2.properties": ""}}}, "connect-metrics does not exist"),
        (
            {"connect_logging": {"data": {"log4j2.properties": ""}}, "connect_metrics": {"data": {"rules.yml": ""}}},
            "ConfigMap mirror-orders/connect-metrics has no key `rules.yaml`",
        ),
    ],
    ids=["none", "one", "another key"],
)
def test_a_missing_config_map_or_its_key_is_named(held: dict[str, Any], said: str) -> None:
    with pytest.raises(CannotRunError, match="config-map-missing") as caught:
        require_config_maps(_Holding(**held), [a_resolved_flow(connect={"metrics": METRICS, "logging": LOGGING})])
    assert said in caught.value.what


def test_config_maps_that_exist_or_are_not_needed_are_accepted() -> None:
    held = {"connect_metrics": {"data": {"rules.yaml": ""}}}
    require_config_maps(_Holding(**held), [a_resolved_flow(connect={"metrics": METRICS}), a_resolved_flow()])
