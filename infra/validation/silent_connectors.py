"""What the operator reports of connectors behind a validation that did not pass: failures, and nothing to run. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from components.kafka.connector_status import Failure, connectors, failures


def silent_connectors(objects: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """One sentence for each failed connector or task, and for each connector that runs without a task."""
    for live in objects:
        for each in connectors(live):
            name = each.get("name", live["metadata"]["name"])
            failed = list(failures(each))
            yield from (_failed(name, failure) for failure in failed)
            if not failed and (each.get("connector") or {}).get("state") == "RUNNING" and not each.get("tasks"):
                yield (
                    f"{name} runs, but nothing arrives through it, because it has no task: nothing that it selects "
                    "exists, or a cluster refuses its login. Remedy: the log of its Connect workers names the reason; "
                    "correct the topology or the credential, and deploy it with `replicate up`"
                )


def _failed(name: str, failure: Failure) -> str:
    if "AuthenticationException" in failure.reason:
        return (
            f"{name} is deployed, but nothing arrives through it: authentication failed ({failure.reason}). Remedy: "
            "correct the credential that the flow logs in with, and deploy it with `replicate up`, which restarts what "
            "reads it"
        )
    return failure.of(name)
