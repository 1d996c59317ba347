"""Reads what an earlier run of the job has published about a flow."""

from collections.abc import Mapping
from pathlib import Path

from kubernetes import client
from urllib3.exceptions import HTTPError

from components.contract.parameters import FlowParameters
from components.contract.problems import CannotRunError
from components.contract.published_verdict import config_map_name, entries, read_topic_ids
from components.contract.report import TopicIds
from spark.kubernetes_access import api_client

TIMEOUT_SECONDS = 10


def ids_before(flow: FlowParameters, kubeconfig: Path | None) -> TopicIds:
    """The topics' ids of the flow's newest published verdict; empty if there is none or the job cannot read it."""
    try:
        core = client.CoreV1Api(api_client(kubeconfig))
        data = published_data(core, config_map_name(flow.name), flow.namespace)
    except (CannotRunError, client.ApiException, HTTPError):
        return {}
    return read_topic_ids(data or {})


def published_data(core: client.CoreV1Api, name: str, namespace: str) -> Mapping[str, str] | None:
    """The entries of a ConfigMap; None if it does not exist."""
    try:
        found = core.read_namespaced_config_map(name, namespace, _request_timeout=TIMEOUT_SECONDS)
        return entries({"data": found.data, "binaryData": found.binary_data})
    except client.ApiException as error:
        if error.status != 404:
            raise
        return None
