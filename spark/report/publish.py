"""Publishes a flow's verdict as a ConfigMap beside the flow, where the promotion of the next region looks for it."""

import secrets
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from kubernetes import client
from urllib3.exceptions import HTTPError

from kafka_replication.components.contract.evidence import CLOCKS_APART, POSITIONS, read_positions
from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.contract.published_verdict import (
    BEGAN,
    BINARY,
    HISTORY,
    LABELS,
    config_map_name,
    history_entry,
    read_history,
    read_topic_ids,
    verdict_data,
)
from kafka_replication.components.contract.report import CheckName, Depth, FlowOutcome, Report, Verdict
from kafka_replication.spark.read.kubernetes import TIMEOUT_SECONDS, api_client, published_data
from kafka_replication.spark.report.failover import past_verdict

#: Several jobs may publish at the same time; each rereads what another has written in between.
_ATTEMPTS = 10
_CONFLICT = 409

_MANAGER = "replication-validation"
#: Source: Kubernetes API, server-side apply (JSON is YAML) and RFC 7386, in which null deletes an entry.
_APPLY, _MERGE = "application/apply-patch+yaml", "application/merge-patch+json"


def config_map(
    flow: FlowOutcome, before: Mapping[str, str] | None = None, version: str | None = None
) -> client.V1ConfigMap:
    """Return the ConfigMap of one flow: verdict, digest of the deployed model, time of the check, and the flow's
    report.

    `before` are the entries of the ConfigMap that this one replaces. Kubernetes refuses to replace it if its version is
    no longer `version`. A pass also says since when every verdict for this model has been a pass. If the earlier
    verdict `stays`, only its history grows.
    """
    # A run that could not reach the clusters must not hide from the next one that a topic was recreated.
    flow = flow if flow.topic_ids else replace(flow, topic_ids=read_topic_ids(before or {}))
    history = read_history(before or {}).followed_by(past_verdict(flow))
    if before is not None and stays(before, flow):
        return _config_map(flow, {**before, HISTORY: history_entry(history)}, version)
    passing_since = _passing_since(flow, before or {}) if flow.verdict is Verdict.PASS else None
    written = verdict_data(flow, passing_since, history, _positions_before(flow, before or {}))
    return _config_map(flow, written, version)


def stays(before: Mapping[str, str], flow: FlowOutcome) -> bool:
    """Return whether the verdict that another run published while this run was working stays the newest.

    The verdict of the run that began later counts, because the other one may describe the state before a deployment.
    There are two exceptions for verdicts on the same model. A failure replaces a pass. An incremental run replaces only
    a pass, because it may not have compared the records that the other run found wrong.
    """
    try:
        began, ended = (datetime.fromisoformat(time) for time in (flow.began_at, before["time"]))
        later = datetime.fromisoformat(before.get(BEGAN, before["time"])) > began
        # A verdict from the future comes from a wrong clock, and must not stay until that time.
        meanwhile = began < ended <= datetime.now(UTC) + CLOCKS_APART
        digest, verdict = before["digest"], before["verdict"]
    except (KeyError, TypeError, ValueError):
        # Such a verdict could not serve as evidence.
        return False
    if digest == flow.digest and verdict == Verdict.PASS != flow.verdict:
        return False
    if digest == flow.digest and verdict != Verdict.PASS and flow.depth is not Depth.FULL:
        return meanwhile
    return meanwhile and later


def _config_map(flow: FlowOutcome, written: Mapping[str, str], version: str | None) -> client.V1ConfigMap:
    return client.V1ConfigMap(
        api_version="v1",
        kind="ConfigMap",
        metadata=client.V1ObjectMeta(
            name=config_map_name(flow.name), namespace=flow.namespace, labels=LABELS, resource_version=version
        ),
        data={key: value for key, value in written.items() if key not in BINARY},
        binary_data={key: value for key, value in written.items() if key in BINARY} or None,
    )


def _positions_before(flow: FlowOutcome, before: Mapping[str, str]) -> str | None:
    """Return the positions that were proven earlier, if this outcome does not contradict them.

    The first validation after the loss of the source proves nothing, and must not remove what a failover relies on.
    """
    failed = any(check.name == CheckName.PARITY and check.verdict is Verdict.FAIL for check in flow.checks)
    try:
        published = None if failed else read_positions(before)
    except ValueError:
        return None
    return before[POSITIONS] if published is not None and published.digest == flow.digest else None


def _passing_since(flow: FlowOutcome, before: Mapping[str, str]) -> str:
    still_passes = before.get("verdict") == Verdict.PASS.value and before.get("digest") == flow.digest
    return before.get("passingSince", before["time"]) if still_passes else flow.began_at or flow.checked_at


def publish(report: Report, kubeconfig: Path | None = None) -> list[str]:
    """Write one ConfigMap per flow, whatever the verdict; raises CannotRunError.

    Returns sentences for the output: where each verdict is, and what part of a history was lost. A failure replaces an
    earlier pass, because only the newest run is evidence. `stays` decides which of two overlapping runs is the newest.
    """
    core = client.CoreV1Api(api_client(kubeconfig))
    return [sentence for flow in report.flows for sentence in _written(core, flow)]


def _written(core: client.CoreV1Api, flow: FlowOutcome) -> list[str]:
    name, namespace = config_map_name(flow.name), flow.namespace
    where = f"configmap {namespace}/{name}"
    for attempt in range(_ATTEMPTS):
        try:
            before = published_data(core, name, namespace)
            if before is None:
                _create(core, config_map(flow), name, namespace)
            else:
                _replace(core, config_map(flow, before.data, before.version), name, namespace, before.data)
        except (client.ApiException, HTTPError) as error:
            if getattr(error, "status", None) == _CONFLICT and attempt < _ATTEMPTS - 1:
                continue
            raise _not_published(error, where, name) from None
        damage = read_history(before.data).damage if before else ""
        message = f"published {where}"
        if before and stays(before.data, flow):
            other = f"the verdict of another run ({before.data['verdict']}), which was published meanwhile"
            message = f"{where} keeps {other}. The verdict of this run ({flow.verdict}) is only in the history"
        return [message, *([f"{where}: {damage}; the history continues from here"] if damage else [])]
    raise AssertionError("the last attempt returns or raises")


def _create(core: client.CoreV1Api, wanted: client.V1ConfigMap, name: str, namespace: str) -> None:
    """Create the ConfigMap; it is a conflict if another job has created it since.

    A Role cannot restrict an ordinary creation to one name, because only the object in the request has the name.
    Applying an object that does not exist creates it under the name in the path. The field manager has a new name each
    time, so what another job applied belongs to another manager.
    """
    body = core.api_client.sanitize_for_serialization(wanted)
    core.patch_namespaced_config_map(
        *(name, namespace, body),
        field_manager=f"{_MANAGER}-{secrets.token_hex(4)}",
        _content_type=_APPLY,
        _request_timeout=TIMEOUT_SECONDS,
    )


def _replace(
    core: client.CoreV1Api, wanted: client.V1ConfigMap, name: str, namespace: str, before: Mapping[str, str]
) -> None:
    """Make the ConfigMap hold exactly the wanted entries; it is a conflict if its version is another one by then."""
    body = core.api_client.sanitize_for_serialization(wanted)
    for entries, binary in (("data", False), ("binaryData", True)):
        left = dict.fromkeys(key for key in before if (key in BINARY) is binary)
        body[entries] = {**left, **(body.get(entries) or {})}
    core.patch_namespaced_config_map(
        *(name, namespace, body), field_manager=_MANAGER, _content_type=_MERGE, _request_timeout=TIMEOUT_SECONDS
    )


def _not_published(error: Exception, where: str, name: str) -> CannotRunError:
    what, remedy = "the Kubernetes API server does not answer", "check --kubeconfig."
    if isinstance(error, client.ApiException):
        what = f"Kubernetes answers {error.reason}"
        remedy = f"create the namespace, or let the job's account get, create and patch the ConfigMap {name} in it."
    return CannotRunError("not-published", what, where, "The job publishes the verdict there.", remedy)
