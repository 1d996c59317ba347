"""Writes a status when it says something new."""

import logging

from infra.local.kubernetes_api import KubernetesApi, Object, Reference

log = logging.getLogger(__name__)


def write_status(api: KubernetesApi, target: Reference, previous: Object, status: Object) -> None:
    """Replace the whole status, unless it is the same, and log a readiness that changed. A missing resource is fine."""
    if status == previous:
        return
    before, after = _readiness(previous), _readiness(status)
    if before != after:
        log.info("%s: %s", target, after)
    api.apply_status(target, status)


def _readiness(status: Object) -> str:
    told = [
        ": ".join(filter(None, (each["type"], each.get("message"))))
        for each in status.get("conditions") or []
        if each["type"] in {"Ready", "NotReady"}
    ]
    return "; ".join(told) or "no status"
