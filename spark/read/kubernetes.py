"""What the job reads from Kubernetes: connectors' resources and earlier verdicts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast

from kubernetes import client, config
from urllib3.exceptions import HTTPError

from kafka_replication.components.contract.evidence import ParityEvidence, read_evidence
from kafka_replication.components.contract.parameters import ConnectorParameters, FlowParameters
from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.contract.published_verdict import (
    History,
    config_map_name,
    entries,
    read_history,
    read_topic_ids,
)
from kafka_replication.components.contract.report import TopicIds
from kafka_replication.components.kafka.connectors import failures, is_observed, reported_connectors
from kafka_replication.spark.checks.connectors import ConnectorObject
from kafka_replication.spark.read.waiting import wait_until

T = TypeVar("T")


def api_client(kubeconfig: Path | None) -> client.ApiClient:
    """Return a client: by `kubeconfig`, else by $KUBECONFIG or the usual file, else by the pod's service account."""
    configuration = client.Configuration()
    try:
        config.load_kube_config(str(kubeconfig) if kubeconfig else None, client_configuration=configuration)  # type: ignore[no-untyped-call]
        return client.ApiClient(configuration)
    except config.ConfigException:
        if kubeconfig is not None:
            raise CannotRunError(
                "kubeconfig-invalid",
                "not a usable kubeconfig",
                str(kubeconfig),
                "The job reads Secrets and publishes verdicts with it.",
                "give --kubeconfig a valid file.",
            ) from None
    configuration = client.Configuration()
    try:
        config.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
    except config.ConfigException:
        what = "no kubeconfig and no service account"
        why = "The job reads Secrets and publishes verdicts through the Kubernetes API."
        remedy = "set KUBECONFIG to a kubeconfig file. The job called by itself also takes `--kubeconfig FILE`."
        raise CannotRunError("kubeconfig-missing", what, "environment", why, remedy) from None
    return client.ApiClient(configuration)


TIMEOUT_SECONDS = 10
_PLURALS = {"KafkaConnector": "kafkaconnectors", "KafkaMirrorMaker2": "kafkamirrormaker2s"}


def read_objects(flow: FlowParameters, kubeconfig: Path | None) -> dict[ConnectorParameters, ConnectorObject]:
    """Return the object of each of the flow's connectors, as Kubernetes has it now."""
    wanted = flow.connectors or ()
    try:
        objects = client.CustomObjectsApi(api_client(kubeconfig))
    except CannotRunError as error:
        return dict.fromkeys(wanted, ConnectorObject(refusal=error.what))
    return {connector: _read(objects, connector, flow.namespace) for connector in wanted}


def _read(objects: client.CustomObjectsApi, connector: ConnectorParameters, namespace: str) -> ConnectorObject:
    group, _, version = connector.api_version.partition("/")
    plural, name = _PLURALS[connector.kind], connector.object_name
    try:
        live = objects.get_namespaced_custom_object(
            group, version, namespace, plural, name, _request_timeout=TIMEOUT_SECONDS
        )
        return ConnectorObject(cast("Mapping[str, Any]", live))
    except client.ApiException as error:
        return (
            ConnectorObject() if error.status == 404 else ConnectorObject(refusal=f"Kubernetes answers {error.reason}")
        )
    except HTTPError:
        return ConnectorObject(refusal="the Kubernetes API server does not answer")


@dataclass(frozen=True)
class Before:
    """What the flow's newest published verdict says; `why_not` is why it has no evidence, if it should have some."""

    topic_ids: TopicIds = field(default_factory=dict)
    evidence: ParityEvidence | None = None
    why_not: str = ""


def published_before(flow: FlowParameters, kubeconfig: Path | None) -> Before:
    """Return what the flow's newest published verdict says; nothing if no verdict was published."""
    unread = Before(why_not="the published verdict cannot be read")
    return _of_published(flow, kubeconfig, before_of, Before(), unread)


def published_history(flow: FlowParameters, kubeconfig: Path | None) -> History:
    """Return the flow's earlier verdicts; the history says so if it cannot be read."""
    why = "the earlier verdicts are unknown, because the job could not read them from Kubernetes"
    return _of_published(flow, kubeconfig, read_history, History(), History(damage=why))


def _of_published(
    flow: FlowParameters, kubeconfig: Path | None, read: Callable[[Mapping[str, str]], T], none: T, unread: T
) -> T:
    """Return what `read` makes of the flow's published verdict, `none` without one, `unread` if it cannot be read."""
    try:
        core = client.CoreV1Api(api_client(kubeconfig))
        published = published_data(core, config_map_name(flow.name), flow.namespace)
    except (CannotRunError, client.ApiException, HTTPError):
        return unread
    return none if published is None else read(published.data)


def before_of(data: Mapping[str, str]) -> Before:
    """Return what the entries of the ConfigMap say."""
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
    """Return what a ConfigMap holds; None if it does not exist."""
    try:
        config_map = core.read_namespaced_config_map(name, namespace, _request_timeout=TIMEOUT_SECONDS)
    except client.ApiException as error:
        if error.status != 404:
            raise
        return None
    assert config_map.metadata is not None
    data = entries({"data": config_map.data, "binaryData": config_map.binary_data})
    return Published(data, config_map.metadata.resource_version or "")


_EVERY_SECONDS = 2.0


def await_connectors(
    flows: Sequence[FlowParameters], kubeconfig: Path | None, deadline_seconds: float, progress: Callable[[str], object]
) -> bool:
    """Return whether the connectors of every flow run, waiting at most until the deadline, but not for connectors that
    the job may not read. If they do not run, the checks say what is wrong.
    """
    if deadline_seconds <= 0 or not any(flow.connectors for flow in flows):
        return True
    progress(f"waiting until the connectors run, at most {deadline_seconds:g} s")

    def probe() -> bool:
        return all(settled(read_object) for flow in flows for read_object in read_objects(flow, kubeconfig).values())

    return wait_until(probe, deadline_seconds, _EVERY_SECONDS)


def settled(read: ConnectorObject) -> bool:
    """Return whether an object's connectors run according to its status, or cannot be read."""
    live = read.live
    if read.refusal or live is None:
        return bool(read.refusal)
    conditions = (live.get("status") or {}).get("conditions") or []
    ready = any(condition.get("type") == "Ready" and condition.get("status") == "True" for condition in conditions)
    failed = any(True for connector in reported_connectors(live) for _ in failures(connector))
    return ready and is_observed(live) and not failed
