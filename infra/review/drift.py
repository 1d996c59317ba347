"""One thing that no longer matches a stack, and the words that all drift shares. Pure."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from components.changes.effect import Effect, Severity
from components.render.planned_objects import Manifest

if TYPE_CHECKING:
    from infra.kubernetes.managed_fields import Owner


@dataclass(frozen=True)
class Drift(Effect):
    """One thing that no longer matches the stack; `by` and `since` are empty if they are unknown."""

    by: str
    since: str
    remedy: str


def drift_at(
    severity: Severity, code: str, flow: str, live: Manifest, what: str, remedy: str, by: "Owner | None" = None
) -> Drift:
    """A finding at an object, and who caused it if Kubernetes knows."""
    # `diff` needs only the type, and TAB must not wait for the Kubernetes client.
    from infra.kubernetes.api import reference

    who, since = (by.manager, by.since) if by is not None else ("", "")
    return Drift(severity, code, flow, str(reference(live)), what, who, since, remedy)


def kubectl(verb: str, live: Manifest) -> str:
    """A kubectl command for an object, without what follows the name."""
    namespace = live["metadata"].get("namespace")
    place = f" -n {namespace}" if namespace else ""
    return f"kubectl {verb} {live['kind'].lower()} {live['metadata']['name']}{place}"
