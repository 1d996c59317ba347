"""Carries out what annotations ask of a connector: to list, alter or reset its offsets, or to restart it or a task.

The operator removes the annotation afterwards. If it fails, it writes a warning and tries again at each round. Source:
Strimzi 1.2 AbstractConnectOperator (manageConnectorOffsets, maybeRestartConnector), KafkaConnectAssemblyOperator and
KafkaMirrorMaker2AssemblyOperator.
"""

import json
import logging
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kafka_replication.infra.kubernetes.api import ApiError, KubernetesApi, Object, Reference
from kafka_replication.infra.local.operator.conditions import Condition, not_ready, warning
from kafka_replication.infra.local.operator.connect_rest import ConnectRest, RestError
from kafka_replication.infra.local.operator.resources import KAFKA_CONNECT, ConnectorResource, owner_reference

log = logging.getLogger(__name__)

OFFSETS, CONNECTOR = "strimzi.io/connector-offsets", "strimzi.io/mirrormaker-connector"
VALUES = ("none", "list", "alter", "reset")
_ENUM = "io.strimzi.operator.cluster.model.KafkaConnectorOffsetsAnnotation"
_DOING = {"list": "listing", "alter": "altering", "reset": "resetting"}


class OffsetsError(Exception):
    """A request cannot be carried out; the message is the operator's."""


@dataclass(frozen=True)
class OffsetsRequest:
    """What the annotations ask for: `list`, `alter` or `reset`, and the key of the offsets in the ConfigMap."""

    verb: str
    key: str
    annotations: tuple[str, ...]

    @property
    def reason(self) -> str:
        return f"{self.verb.capitalize()}Offsets"


def _removal(*annotations: str) -> list[Object]:
    paths = (f"/metadata/annotations/{annotation.replace('/', '~1')}" for annotation in annotations)
    return [{"op": "remove", "path": path} for path in paths]


def offsets_request(connector: ConnectorResource) -> OffsetsRequest | Condition | None:
    """Return the request for this connector, or why the operator cannot read it."""
    given, named = connector.annotations.get(OFFSETS), connector.annotations.get(CONNECTOR)
    key, annotations = "offsets.json", [OFFSETS]
    if connector.component is not KAFKA_CONNECT:
        if (given is None) != (named is None):
            missing = OFFSETS if given is None else CONNECTOR
            resource = f"KafkaMirrorMaker2 resource {connector.namespace}/{connector.cluster}"
            said = f"{resource} is missing annotation {missing}"
            return warning("ManageOffsets", f"Encountered error getting connector offsets annotation. {said}")
        if named != connector.name:
            return None
        key, annotations = f"{connector.name.replace('->', '--')}.json", [OFFSETS, CONNECTOR]
    if given not in (None, *VALUES):
        # The operator does not expect this exception, and gives up on the connector.
        return not_ready("IllegalArgumentException", f"No enum constant {_ENUM}.{given}")
    return OffsetsRequest(given, key, tuple(annotations)) if given not in (None, "none") else None


def manage_offsets(api: KubernetesApi, rest: ConnectRest, connector: ConnectorResource) -> Condition | None:
    """Carry out what the annotations ask for, and return the condition that says why it failed."""
    request = offsets_request(connector)
    if not isinstance(request, OffsetsRequest):
        return request
    work: dict[str, Callable[[], None]] = {
        "list": lambda: _list(api, rest, connector, request.key),
        "alter": lambda: _alter(api, rest, connector, request.key),
        "reset": lambda: _reset(rest, connector.name),
    }
    listed, altered = ("listOffsets", connector.list_offsets_to), ("alterOffsets", connector.alter_offsets_from)
    missing, config_map = {"list": listed, "alter": altered, "reset": ("", "none")}[request.verb]
    try:
        if not config_map:
            kind = connector.declared_by.kind
            said = f"Failed to {request.verb} the connector offsets due to missing property {missing} in {kind} CR."
            return warning(request.reason, said)
        work[request.verb]()
        api.patch(connector.declared_by, _removal(*request.annotations))
    except (OffsetsError, RestError, ApiError) as error:
        return warning(request.reason, f"Encountered error {_DOING[request.verb]} connector offsets. {error}")
    log.info("offsets of connector %s/%s: %s", connector.namespace, connector.name, request.verb)
    return None


def _list(api: KubernetesApi, rest: ConnectRest, connector: ConnectorResource, key: str) -> None:
    offsets = json.dumps(_offsets(rest, connector.name, "GET"), indent=2)
    target = Reference("v1", "ConfigMap", connector.namespace, connector.list_offsets_to)
    existing = api.get(target)
    if existing is not None and "data" not in existing:
        raise OffsetsError('Cannot invoke "java.util.Map.putAll(java.util.Map)" because "data" is null')
    resource, data = connector.declared_by, {**(existing or {}).get("data", {}), key: offsets}
    owners = list(((existing or {}).get("metadata") or {}).get("ownerReferences") or [])
    if all((owner["kind"], owner["name"]) != (resource.kind, resource.name) for owner in owners):
        owners.append(owner_reference(resource, connector.uid))
    metadata = {"name": target.name, "namespace": target.namespace, "ownerReferences": owners}
    item: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
    if existing is None:
        api.create(item)
    else:
        api.replace(item)


def _alter(api: KubernetesApi, rest: ConnectRest, connector: ConnectorResource, key: str) -> None:
    _verify_stopped(rest, connector.name)
    source = Reference("v1", "ConfigMap", connector.namespace, connector.alter_offsets_from)
    config_map, fetching = api.get(source), "Encountered error fetching offsets to use in alter operation."
    if config_map is None:
        raise OffsetsError(f"{fetching} ConfigMap {source.identifier} does not exist.")
    text = (config_map.get("data") or {}).get(key)
    if text is None:
        raise OffsetsError(f"{fetching} Data field {key} is missing.")
    try:
        offsets = json.loads(text)
    except ValueError as error:
        raise OffsetsError(f"Failed to parse contents of {key} as JSON: {error}") from error
    _offsets(rest, connector.name, "PATCH", offsets)


def _reset(rest: ConnectRest, name: str) -> None:
    _verify_stopped(rest, name)
    _offsets(rest, name, "DELETE")


def _verify_stopped(rest: ConnectRest, name: str) -> None:
    if rest.status(name)["connector"]["state"] != "STOPPED":
        raise OffsetsError("Connector is not in STOPPED state")


def _offsets(rest: ConnectRest, name: str, method: str, offsets: object = None) -> Object:
    """Return Connect's answer; like the operator, this does not pass on Connect's own error message."""
    try:
        return rest.call(name, method, "/offsets", offsets)
    except RestError as error:
        status = error.status
        said = f"{method} /connectors/{name}/offsets returned {status} ({status}): Unexpected status code"
        raise OffsetsError(said) from error


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
        """Return the JSON patch that removes the annotation."""
        return _removal(self.annotation)


def restart_requests(connector: ConnectorResource) -> Iterator[RestartRequest | Condition]:
    """Yield each requested restart of this connector, or a warning if the request cannot be understood."""
    alone = connector.component is KAFKA_CONNECT
    whole, task = _ANNOTATIONS[alone]
    if value := connector.annotations.get(whole, ""):
        name, _, given = (connector.name, "", value) if alone else value.partition(":")
        arguments = "&".join(f"{argument}={str(argument in given).lower()}" for argument in _ARGUMENTS)
        if name == connector.name and _is_valid(given, alone):
            yield RestartRequest(whole, f"restart?{arguments}")
        elif alone or connector.name in value:
            yield _INVALID
    wanted = connector.annotations.get(task, "")
    if not alone:
        name, _, wanted = wanted.rpartition(":")
        wanted = wanted if name == connector.name else ""
    if re.fullmatch(r"\d+", wanted):
        yield RestartRequest(task, f"tasks/{wanted}/restart")


def _is_valid(given: str, alone: bool) -> bool:
    without_arguments = given.strip().lower() == "true" if alone else not given
    return without_arguments or all(argument.strip() in _ARGUMENTS for argument in given.split(","))
