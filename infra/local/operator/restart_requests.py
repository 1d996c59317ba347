"""Restarts requested by an annotation, which the operator removes afterwards. Pure.

Source: Strimzi 1.2 AbstractConnectOperator.maybeRestartConnector, KafkaConnectAssemblyOperator and
KafkaMirrorMaker2AssemblyOperator.restartAnnotationIsValid.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from infra.kubernetes.api import Object
from infra.local.operator.conditions import Condition, warning
from infra.local.operator.resources import KAFKA_CONNECT, ConnectorResource

_ARGUMENTS = ("includeTasks", "onlyFailed")
#: The annotations for a connector and for one of its tasks, by the kind of the workers.
_ANNOTATIONS = {
    True: ("strimzi.io/restart", "strimzi.io/restart-task"),
    False: ("strimzi.io/restart-connector", "strimzi.io/restart-connector-task"),
}
_INVALID = warning("RestartConnector", "Invalid annotation format")


@dataclass(frozen=True)
class RestartRequest:
    """A restart of one connector: the path of Connect's REST interface below the connector, and what asked for it."""

    annotation: str
    path: str

    @property
    def removal(self) -> list[Object]:
        """The JSON patch that removes the annotation."""
        return [{"op": "remove", "path": f"/metadata/annotations/{self.annotation.replace('/', '~1')}"}]


def restart_requests(connector: ConnectorResource) -> Iterator[RestartRequest | Condition]:
    """Yield each requested restart of this connector, or a warning if the request cannot be understood."""
    alone = connector.component is KAFKA_CONNECT
    whole, task = _ANNOTATIONS[alone]
    if value := connector.annotations.get(whole, ""):
        name, _, given = (connector.name, "", value) if alone else value.partition(":")
        if alone or connector.name in value:
            yield _restart(whole, given) if name == connector.name and _is_valid(given, alone) else _INVALID
    wanted = connector.annotations.get(task, "")
    if not alone:
        name, _, wanted = wanted.rpartition(":")
        wanted = wanted if name == connector.name else ""
    if re.fullmatch(r"\d+", wanted):
        yield RestartRequest(task, f"tasks/{wanted}/restart")


def _is_valid(given: str, alone: bool) -> bool:
    if alone and given.strip().lower() == "true":
        return True
    if not alone and not given:
        return True
    return all(each.strip() in _ARGUMENTS for each in given.split(","))


def _restart(annotation: str, given: str) -> RestartRequest:
    arguments = "&".join(f"{each}={str(each in given).lower()}" for each in _ARGUMENTS)
    return RestartRequest(annotation, f"restart?{arguments}")
