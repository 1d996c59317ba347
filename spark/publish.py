"""The verdict beside the flow: a ConfigMap that the promotion of the next region asks for."""

import json
from collections.abc import Mapping
from pathlib import Path

from kubernetes import client
from urllib3.exceptions import HTTPError

from spark.errors import PublishError
from spark.kubernetes_access import api_client
from spark.report import SCHEMA_VERSION, FlowOutcome, Report, Verdict

TIMEOUT_SECONDS = 10
_LABELS = {"app.kubernetes.io/managed-by": "replication-validation"}


def config_map_name(flow: str) -> str:
    return f"{flow}-validation"


def config_map(flow: FlowOutcome, before: Mapping[str, str] | None = None) -> client.V1ConfigMap:
    """The ConfigMap of one flow: verdict, digest of the deployed model, time of the check, and the flow's report.

    `before` is the data of the one that it replaces: a verdict that is pass says since when it has been, without one in
    between that was not.
    """
    document = {"schemaVersion": SCHEMA_VERSION, **flow.document()}
    passing = {"passingSince": _passing_since(flow, before or {})} if flow.verdict is Verdict.PASS else {}
    return client.V1ConfigMap(
        api_version="v1",
        kind="ConfigMap",
        metadata=client.V1ObjectMeta(name=config_map_name(flow.name), namespace=flow.namespace, labels=_LABELS),
        data={
            "verdict": flow.verdict.value,
            "digest": flow.digest,
            "time": flow.checked_at,
            **passing,
            "report.json": json.dumps(document, indent=2, sort_keys=True),
        },
    )


def _passing_since(flow: FlowOutcome, before: Mapping[str, str]) -> str:
    goes_on = before.get("verdict") == Verdict.PASS.value and before.get("digest") == flow.digest
    return before.get("passingSince", before["time"]) if goes_on else flow.checked_at


def publish(report: Report, kubeconfig: Path | None = None) -> list[str]:
    """Write one ConfigMap a flow, whatever its verdict, and return their names; raises PublishError.

    A failing verdict replaces an earlier pass: evidence is the newest run.
    """
    core = client.CoreV1Api(api_client(kubeconfig))
    return [_written(core, flow) for flow in report.flows]


def _written(core: client.CoreV1Api, flow: FlowOutcome) -> str:
    name, namespace = config_map_name(flow.name), flow.namespace
    where = f"configmap {namespace}/{name}"
    try:
        before = _data(core, name, namespace)
        wanted = config_map(flow, before)
        if before is None:
            core.create_namespaced_config_map(namespace, wanted, _request_timeout=TIMEOUT_SECONDS)
        else:
            core.replace_namespaced_config_map(name, namespace, wanted, _request_timeout=TIMEOUT_SECONDS)
    except client.ApiException as error:
        raise PublishError(
            "not-published",
            f"Kubernetes answers {error.reason}",
            where,
            "create the namespace, or let the job's account get, create and update ConfigMaps in it",
        ) from None
    except HTTPError:
        raise PublishError(
            "not-published", "the Kubernetes API server does not answer", where, "check --kubeconfig"
        ) from None
    return where


def _data(core: client.CoreV1Api, name: str, namespace: str) -> Mapping[str, str] | None:
    """Data of a ConfigMap, or None without one."""
    try:
        return core.read_namespaced_config_map(name, namespace, _request_timeout=TIMEOUT_SECONDS).data or {}
    except client.ApiException as error:
        if error.status != 404:
            raise
        return None
