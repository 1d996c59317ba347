"""Reads the Kubernetes objects that run a flow's connectors. What cannot be read is also a result."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from kubernetes import client
from urllib3.exceptions import HTTPError

from components.contract.parameters import ConnectorParameters, FlowParameters
from components.contract.problems import CannotRunError
from spark.checks.connectors import Object
from spark.kubernetes_access import api_client

_TIMEOUT_SECONDS = 10
_PLURALS = {"KafkaConnector": "kafkaconnectors", "KafkaMirrorMaker2": "kafkamirrormaker2s"}


def read_objects(flow: FlowParameters, kubeconfig: Path | None) -> dict[ConnectorParameters, Object]:
    """The object of each of the flow's connectors, as Kubernetes has it now."""
    wanted = flow.connectors or ()
    try:
        objects = client.CustomObjectsApi(api_client(kubeconfig))
    except CannotRunError as error:
        return dict.fromkeys(wanted, Object(refusal=error.what))
    return {each: _read(objects, each, flow.namespace) for each in wanted}


def _read(objects: client.CustomObjectsApi, connector: ConnectorParameters, namespace: str) -> Object:
    group, _, version = connector.api_version.partition("/")
    plural, name = _PLURALS[connector.kind], connector.object_name
    try:
        live = objects.get_namespaced_custom_object(
            group, version, namespace, plural, name, _request_timeout=_TIMEOUT_SECONDS
        )
        return Object(cast("Mapping[str, Any]", live))
    except client.ApiException as error:
        return Object() if error.status == 404 else Object(refusal=f"Kubernetes answers {error.reason}")
    except HTTPError:
        return Object(refusal="the Kubernetes API server does not answer")
