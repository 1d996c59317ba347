"""Our SparkApplications fit the models of the Spark operator's API: every field exists and has the right type.

The operator's installed definitions do not check pod templates, so a misspelt field there would have no effect. The
models are generated from the operator's own types and know these fields too.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Union, get_args, get_origin

import pytest
from kubeflow_spark_api.models import (  # type: ignore[import-untyped]  # it has no marker
    spark_v1beta2_scheduled_spark_application as scheduled,
)
from kubeflow_spark_api.models import spark_v1beta2_spark_application as once
from pydantic import BaseModel, ValidationError

from kafka_replication.components.contract.spark_conf import SparkSettings
from kafka_replication.components.flows.resolved import resolve_flows
from kafka_replication.components.render.planned_objects import Manifest
from kafka_replication.components.render.validation_jobs import validation_objects
from kafka_replication.components.topology.in_cluster import InCluster
from kafka_replication.components.topology.parsing import parse_model, parse_topology
from tests.builders import a_flow, a_topology

MODELS: Mapping[str, type[BaseModel]] = {
    "SparkApplication": once.SparkV1beta2SparkApplication,
    "ScheduledSparkApplication": scheduled.SparkV1beta2ScheduledSparkApplication,
}
#: Every field that this project can render.
ASKED = {
    "image": f"registry.example.com/validation@sha256:{'0' * 64}",
    "imagePullSecret": "registry",
    "workload": "SparkApplication",
    "executors": {"instances": 3, "cores": 2, "memory": "2g", "cpu": "500m"},
    "resources": {
        "requests": {"cpu": 1, "ephemeral-storage": "1Gi"},
        "limits": {"cpu": 2, "memory": "3Gi", "ephemeral-storage": "2Gi"},
    },
    "retries": 2,
}


def rendered(kind: str) -> Manifest:
    flows = resolve_flows(parse_topology(a_topology(a_flow())), None, {})
    spark = SparkSettings(None, "2g", {"spark.kubernetes.node.selector.pool": "batch"})
    (found,) = [
        each.manifest
        for each in validation_objects(flows, "prod", parse_model(InCluster, ASKED), spark)
        if each.kind == kind
    ]
    return found


def unknown(model: Any, value: Any, where: str = "") -> Iterator[str]:
    """The paths of fields that a model does not have and would silently ignore."""
    if get_origin(model) is Union:
        (model,) = [each for each in get_args(model) if each is not type(None)]
    match get_origin(model), value:
        case _ if isinstance(model, type) and issubclass(model, BaseModel) and isinstance(value, dict):
            fields = {each.alias or name: each.annotation for name, each in model.model_fields.items()}
            for key, each in value.items():
                if key not in fields:
                    yield f"{where}.{key}"
                else:
                    yield from unknown(fields[key], each, f"{where}.{key}")
        case origin, list() if origin is list:
            for at, each in enumerate(value):
                yield from unknown(get_args(model)[0], each, f"{where}[{at}]")
        case origin, dict() if origin is dict:
            for key, each in value.items():
                yield from unknown(get_args(model)[1], each, f"{where}.{key}")


@pytest.mark.parametrize("kind", MODELS)
def test_the_spark_operators_models_know_every_rendered_field(kind: str) -> None:
    MODELS[kind].model_validate(without_quantities(rendered(kind)))
    assert list(unknown(MODELS[kind], rendered(kind))) == []


def without_quantities(value: Any) -> Any:
    """The same without resources: the models refuse quantities, because these are strings and not objects."""
    if isinstance(value, list):
        return [without_quantities(each) for each in value]
    if isinstance(value, dict):
        return {key: without_quantities(each) for key, each in value.items() if key != "resources"}
    return value


def test_a_misspelt_or_mistyped_field_is_found() -> None:
    """Without this check the test above might accept anything."""
    application = rendered("SparkApplication")
    (container,) = application["spec"]["driver"]["template"]["spec"]["containers"]
    container["securityContext"] = {"readOnlyRootFileSystem": True}
    application["spec"]["executor"]["instance"] = 2
    assert list(unknown(MODELS["SparkApplication"], application)) == [
        ".spec.driver.template.spec.containers[0].securityContext.readOnlyRootFileSystem",
        ".spec.executor.instance",
    ]
    application["spec"]["executor"]["instances"] = "2"
    with pytest.raises(ValidationError, match=r"spec\.executor\.instances"):
        MODELS["SparkApplication"].model_validate(without_quantities(application))
