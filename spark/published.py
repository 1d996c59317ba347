"""Reads what an earlier run of the job has published about a flow."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kubernetes import client
from urllib3.exceptions import HTTPError

from components.contract.evidence import Evidence, read_evidence
from components.contract.parameters import FlowParameters
from components.contract.problems import CannotRunError
from components.contract.published_verdict import History, config_map_name, entries, read_history, read_topic_ids
from components.contract.report import TopicIds
from spark.kubernetes_access import api_client

TIMEOUT_SECONDS = 10


@dataclass(frozen=True)
class Before:
    """What the flow's newest published verdict says about its topics; `why_not` says why it has no evidence, if it
    should have some.
    """

    topic_ids: TopicIds = field(default_factory=dict)
    evidence: Evidence | None = None
    why_not: str = ""


def published_before(flow: FlowParameters, kubeconfig: Path | None) -> Before:
    """Nothing if no verdict was published, or if the job cannot read it."""
    try:
        core = client.CoreV1Api(api_client(kubeconfig))
        found = published_data(core, config_map_name(flow.name), flow.namespace)
    except (CannotRunError, client.ApiException, HTTPError):
        return Before(why_not="the published verdict cannot be read")
    return before_of(found.data) if found is not None else Before()


def published_history(flow: FlowParameters, kubeconfig: Path | None) -> History:
    """The flow's earlier verdicts; the history says so if it cannot be read."""
    try:
        core = client.CoreV1Api(api_client(kubeconfig))
        found = published_data(core, config_map_name(flow.name), flow.namespace)
    except (CannotRunError, client.ApiException, HTTPError):
        return History(damage="the earlier verdicts are unknown, because the job could not read them from Kubernetes")
    return read_history(found.data) if found is not None else History()


def before_of(data: Mapping[str, str]) -> Before:
    """What the entries of the ConfigMap say."""
    ids = read_topic_ids(data)
    try:
        evidence = read_evidence(data)
    except ValueError as error:
        return Before(ids, why_not=f"the evidence in the newest verdict cannot be used: {error}")
    none = (
        "the newest verdict holds no evidence to continue from: its parity check did not pass, relied on an accepted "
        "finding or proved no partition, or the evidence did not fit into the ConfigMap"
    )
    return Before(ids, evidence, "" if evidence is not None else none)


@dataclass(frozen=True)
class Published:
    """The entries of a ConfigMap, and the version of the object that has them."""

    data: Mapping[str, str]
    version: str


def published_data(core: client.CoreV1Api, name: str, namespace: str) -> Published | None:
    """What a ConfigMap holds; None if it does not exist."""
    try:
        found = core.read_namespaced_config_map(name, namespace, _request_timeout=TIMEOUT_SECONDS)
    except client.ApiException as error:
        if error.status != 404:
            raise
        return None
    assert found.metadata is not None
    data = entries({"data": found.data, "binaryData": found.binary_data})
    return Published(data, found.metadata.resource_version or "")
