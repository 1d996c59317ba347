"""Secrets and ConfigMaps that placeholders in properties name: `${secret:NAME:KEY}`, `${cfmap:NAMESPACE/NAME:KEY}`.

Source: Strimzi kafka-kubernetes-config-provider, KubernetesResourceIdentifier.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from components.topology.model import Flow

#: Aliases of the configuration providers in every worker.
CONFIG_MAP_PROVIDER = "cfmap"
SECRET_PROVIDER = "secret"
#: Alias of the provider that the operator configures for every worker whose file holds placeholders.
#: Source: Strimzi KafkaConnectConfigurationBuilder.printConfigProviders.
OPERATOR_SECRET_PROVIDER = "strimzisecrets"

_KINDS: dict[str, Literal["Secret", "ConfigMap"]] = {
    CONFIG_MAP_PROVIDER: "ConfigMap",
    SECRET_PROVIDER: "Secret",
    OPERATOR_SECRET_PROVIDER: "Secret",
}
_PLACEHOLDER = re.compile(
    rf"\$\{{(?P<provider>{'|'.join(_KINDS)}):(?:(?P<namespace>[^/:}}]+)/)?(?P<name>[^/:}}]+):(?P<key>[^}}]+)\}}"
)


@dataclass(frozen=True, order=True)
class Reference:
    """An object that a placeholder names."""

    kind: Literal["Secret", "ConfigMap"]
    namespace: str
    name: str


def references(text: str, namespace: str) -> set[Reference]:
    """Return the objects that placeholders in a text name; `namespace` is that of the workers, the default."""
    return {
        Reference(_KINDS[found["provider"]], found["namespace"] or namespace, found["name"])
        for found in _PLACEHOLDER.finditer(text)
    }


def names_here(found: set[Reference], kind: Literal["Secret", "ConfigMap"], namespace: str) -> set[str]:
    """Return the names of the objects of one kind in a namespace."""
    return {each.name for each in found if (each.kind, each.namespace) == (kind, namespace)}


def secret_placeholders_for(text: str, provider: str, namespace: str) -> str:
    """Return a text with its Secret placeholders rewritten for another provider, each with its namespace."""

    def rewritten(found: re.Match[str]) -> str:
        if _KINDS[found["provider"]] != "Secret":
            return found[0]
        return f"${{{provider}:{found['namespace'] or namespace}/{found['name']}:{found['key']}}}"

    return _PLACEHOLDER.sub(rewritten, text)


def user_references(flow: Flow, namespace: str) -> Iterator[tuple[str, Reference]]:
    """Yield what users refer to in the properties of workers, connectors and transforms, preceded by the path of the
    key.
    """
    given = {
        "connect": {"config": flow.connect.config},
        "connectors": flow.connectors.model_dump(by_alias=True, exclude_unset=True),
        "transforms": flow.transforms.model_dump(by_alias=True, exclude_unset=True),
    }
    for path, text in _texts("", given):
        for reference in sorted(references(text, namespace)):
            yield path, reference


def _texts(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, below in value.items():
            yield from _texts(f"{path}.{key}" if path else str(key), below)
    elif isinstance(value, str) and "${" in value:
        yield path, value
