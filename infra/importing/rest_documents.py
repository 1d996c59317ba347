"""What Connect's REST API answers about connectors: one, a list, or all of them with `expand=info`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_STATES = {"PAUSED": "paused", "STOPPED": "stopped"}
_CLASS = "connector.class"


@dataclass(frozen=True)
class RestConnector:
    """A connector as Connect reports it, for workers in a namespace. `state` is as in a KafkaConnector."""

    file: str
    namespace: str
    name: str
    config: Mapping[str, str]
    state: str


def rest_connectors(document: object, file: str, namespace: str) -> list[RestConnector]:
    """Return the connectors of an answer; none if it is something else."""
    return [
        RestConnector(file, namespace, str(name), _texts(config), _STATES.get(str(state).upper(), "running"))
        for name, config, state in _connectors(document)
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
    """Yield the connectors of `GET /connectors?expand=info`, with their states if `expand=status` is there, too."""
    for name, each in document.items():
        info = each.get("info") if isinstance(each, Mapping) else None
        if isinstance(info, Mapping) and _is_config(info.get("config")):
            status = each.get("status")
            connector = status.get("connector") if isinstance(status, Mapping) else None
            yield name, info["config"], connector.get("state") if isinstance(connector, Mapping) else None


def _is_config(given: object) -> bool:
    return isinstance(given, Mapping) and _CLASS in given


def _texts(config: Mapping[str, Any]) -> dict[str, str]:
    return {
        str(key): str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in config.items()
        if value is not None
    }
