"""Publishes a flow's verdict as a ConfigMap beside the flow, where the promotion of the next region looks for it."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from kubernetes import client
from urllib3.exceptions import HTTPError

from components.contract.problems import CannotRunError
from components.contract.published_verdict import BINARY, LABELS, config_map_name, read_topic_ids, verdict_data
from components.contract.report import FlowOutcome, Report, Verdict
from spark.kubernetes_access import api_client
from spark.published import TIMEOUT_SECONDS, published_data


def config_map(flow: FlowOutcome, before: Mapping[str, str] | None = None) -> client.V1ConfigMap:
    """The ConfigMap of one flow: verdict, digest of the deployed model, time of the check, and the flow's report.

    `before` are the entries of the ConfigMap that this one replaces. A pass also says since when every verdict has been
    a pass for this model.
    """
    # A run that could not reach the clusters must not hide from the next one that a topic was made anew.
    flow = flow if flow.topic_ids else replace(flow, topic_ids=read_topic_ids(before or {}))
    passing_since = _passing_since(flow, before or {}) if flow.verdict is Verdict.PASS else None
    written = verdict_data(flow, passing_since)
    return client.V1ConfigMap(
        api_version="v1",
        kind="ConfigMap",
        metadata=client.V1ObjectMeta(name=config_map_name(flow.name), namespace=flow.namespace, labels=LABELS),
        data={key: value for key, value in written.items() if key not in BINARY},
        binary_data={key: value for key, value in written.items() if key in BINARY} or None,
    )


def _passing_since(flow: FlowOutcome, before: Mapping[str, str]) -> str:
    goes_on = before.get("verdict") == Verdict.PASS.value and before.get("digest") == flow.digest
    return before.get("passingSince", before["time"]) if goes_on else flow.checked_at


def publish(report: Report, kubeconfig: Path | None = None) -> list[str]:
    """Write one ConfigMap per flow, whatever the verdict, and return their names; raises CannotRunError.

    A failure replaces an earlier pass: only the newest run is evidence.
    """
    core = client.CoreV1Api(api_client(kubeconfig))
    return [_written(core, flow) for flow in report.flows]


def _written(core: client.CoreV1Api, flow: FlowOutcome) -> str:
    name, namespace = config_map_name(flow.name), flow.namespace
    where = f"configmap {namespace}/{name}"
    try:
        before = published_data(core, name, namespace)
        wanted = config_map(flow, before)
        if before is None:
            core.create_namespaced_config_map(namespace, wanted, _request_timeout=TIMEOUT_SECONDS)
        else:
            core.replace_namespaced_config_map(name, namespace, wanted, _request_timeout=TIMEOUT_SECONDS)
    except (client.ApiException, HTTPError) as error:
        what, remedy = "the Kubernetes API server does not answer", "check --kubeconfig."
        if isinstance(error, client.ApiException):
            what = f"Kubernetes answers {error.reason}"
            remedy = "create the namespace, or let the job's account get, create and update ConfigMaps in it."
        raise CannotRunError("not-published", what, where, "The job publishes the verdict there.", remedy) from None
    return where
