"""Reads what Connect's REST interface reports about a connector, which Strimzi copies into its resources. Pure.

Source: KafkaConnectorStatus.connectorStatus, KafkaMirrorMaker2Status.connectors.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_CAUSE = "Caused by: "


@dataclass(frozen=True)
class Failure:
    """A connector, or with `task` one of its tasks, that Connect reports as FAILED."""

    task: int | None
    trace: str

    @property
    def reason(self) -> str:
        """The first line of the stack trace, and the innermost cause, which names a refused login or permission."""
        lines = [line.strip() for line in self.trace.strip().splitlines()] or ["no trace"]
        causes = [line.removeprefix(_CAUSE) for line in lines if line.startswith(_CAUSE)]
        return "; caused by ".join(dict.fromkeys([lines[0], *causes[-1:]]))

    def of(self, connector: str) -> str:
        """The failure as a sentence about the connector of this name."""
        return f"{connector}{'' if self.task is None else f' task {self.task}'} failed: {self.reason}"


def connectors(live: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What Connect reported about the connectors of a KafkaConnector or KafkaMirrorMaker2 when the operator last
    asked.
    """
    status = live.get("status") or {}
    own = status.get("connectorStatus")
    return [*(status.get("connectors") or []), *([own] if own else [])]


def failures(connector: Mapping[str, Any]) -> Iterator[Failure]:
    """What failed in a connector."""
    parts = [(None, connector.get("connector") or {}), *((task["id"], task) for task in connector.get("tasks") or [])]
    for task, state in parts:
        if state.get("state") == "FAILED":
            yield Failure(task, str(state.get("trace") or ""))


def is_observed(live: Mapping[str, Any]) -> bool:
    """Whether the status is about the newest generation of the spec."""
    return bool((live.get("status") or {}).get("observedGeneration") == live["metadata"].get("generation"))
