"""What Connect's REST API reports about connectors: one, a list, or all of them with `expand`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from infra.onboard.importing.left_out import LeftOut

#: Connect's states for a connector that is neither paused nor stopped. Source: AbstractStatus.State.
_RUNNING = ("UNASSIGNED", "RUNNING", "FAILED", "RESTARTING")
_STATES = {"PAUSED": "paused", "STOPPED": "stopped"} | dict.fromkeys(_RUNNING, "running")
#: What to ask Connect for.
COMPLETE = "import the answer of `GET /connectors?expand=info&expand=status`."
_CLASS = "connector.class"


@dataclass(frozen=True)
class RestConnector:
    """A connector as Connect reports it, for workers in a namespace.

    `state` is as in a KafkaConnector, None if the answer does not have it.
    """

    file: str
    namespace: str
    name: str
    config: Mapping[str, str]
    state: str | None


def rest_connectors(document: object, file: str, namespace: str) -> list[RestConnector]:
    """Return the connectors of an answer; none if it is something else."""
    return [
        RestConnector(file, namespace, str(name), _texts(config), _STATES.get(str(state).upper()))
        for name, config, state in _connectors(document)
    ]


def without_config(document: object, file: str) -> list[LeftOut]:
    """Return the connectors for which an answer has only the status, as from `GET /connectors?expand=status`."""
    if not isinstance(document, Mapping) or "kind" in document:
        return []
    why = "The answer has its status, but not its configuration."
    return [
        LeftOut(file, f"connector {name}", "", "config-not-said", why, COMPLETE)
        for name, each in document.items()
        if isinstance(each, Mapping) and _config(each) is None and _state(each) is not None
    ]


def _connectors(document: object) -> Iterator[tuple[object, Mapping[str, Any], object]]:
    if isinstance(document, list):
        for each in document:
            yield from _connectors(each)
    elif isinstance(document, Mapping) and "kind" not in document:
        if _CLASS in document:
            yield document.get("name", "connector"), document, None
        elif _is_config(document.get("config")):
            yield document.get("name", document["config"].get("name", "connector")), document["config"], None
        else:
            yield from _expanded(document)


def _expanded(document: Mapping[str, Any]) -> Iterator[tuple[object, Mapping[str, Any], object]]:
    """Yield the connectors of `GET /connectors?expand=info`, with their states if `expand=status` was also given."""
    for name, each in document.items():
        if isinstance(each, Mapping) and (config := _config(each)) is not None:
            yield name, config, _state(each)


def _config(each: Mapping[str, Any]) -> Mapping[str, Any] | None:
    info = each.get("info")
    config = info.get("config") if isinstance(info, Mapping) else None
    return config if isinstance(config, Mapping) and _is_config(config) else None


def _state(each: Mapping[str, Any]) -> object:
    status = each.get("status")
    connector = status.get("connector") if isinstance(status, Mapping) else None
    return connector.get("state") if isinstance(connector, Mapping) else None


def _is_config(given: object) -> bool:
    return isinstance(given, Mapping) and _CLASS in given


def _texts(config: Mapping[str, Any]) -> dict[str, str]:
    return {
        str(key): str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in config.items()
        if value is not None
    }
