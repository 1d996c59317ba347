"""Writes a status if it has changed."""

import logging

from infra.kubernetes.api import KubernetesApi, Object, Reference

log = logging.getLogger(__name__)


def write_status(api: KubernetesApi, target: Reference, previous: Object, status: Object) -> None:
    """Replace the whole status if it has changed, and log a changed readiness. A missing resource is ignored."""
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
