"""Digest of what a flow replicates and how: equal in every environment that should behave alike.

Addresses, credentials and sizes differ between environments by nature and are left out.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from components.resolved import ResolvedFlow

#: Parts of a flow that say how large it is or where it runs, not what it does.
_ENVIRONMENT: Mapping[str, bool | set[str]] = {
    "namespace": True,
    "connect": {"replicas", "resources", "jvm_options", "image", "image_pull_secret"},
}


def flow_digest(resolved: ResolvedFlow) -> str:
    """`sha256:` and the hex digest of the flow's canonical JSON."""
    content: dict[str, Any] = {
        "name": resolved.name,
        "flow": resolved.flow.model_dump(mode="json", exclude=_ENVIRONMENT),
        "api": resolved.api.value,
    }
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(canonical.encode()).hexdigest()}"
