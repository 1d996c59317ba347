"""Values of properties: their placeholders, and which of them may hold a secret."""

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Self

from kafka_replication.components.checks.property_values import is_open_credential
from kafka_replication.components.kafka.connections import entries, may_hold_secret
from kafka_replication.components.properties.definitions import Owner, definitions, supported_versions
from kafka_replication.components.properties.values import Value, value_text
from kafka_replication.components.render.connections import FILE_PROVIDER
from kafka_replication.components.render.planned_objects import Manifest
from kafka_replication.components.render.secrets import CONFIG_MAP_PROVIDER, SECRET_PROVIDER

_JAAS = "sasl.jaas.config"
#: The part of a key that concerns a login, after any client prefixes.
_LOGIN = re.compile(r"(?:^|\.)((?:sasl|ssl\.(?:keystore|truststore|key))\..+)$", re.IGNORECASE)
_REFERENCE = re.compile(r"\$\{[^}]*\}")
_OWNERS = (Owner.CLUSTER, Owner.CONSUMER, Owner.PRODUCER, Owner.ADMIN, Owner.WORKER)


def may_be_secret(key: str, value: object) -> bool:
    """Return whether a value may contain a secret, also in unknown options of login modules and misspelt properties."""
    text = str(value)
    if is_open_credential(key, text):
        return True
    if key.endswith(_JAAS):
        return may_hold_secret(text)
    login = _LOGIN.search(key)
    return login is not None and login[1] not in _defined() and _REFERENCE.sub("", text).strip(" \"'") != ""


@functools.cache
def _defined() -> frozenset[str]:
    return frozenset(
        name for version in supported_versions() for owner in _OWNERS for name in definitions(version, owner)
    )


_PLACEHOLDER = re.compile(r"\$\{(?P<provider>[\w-]+):(?P<rest>[^}]*)\}")
_KUBERNETES = re.compile(r"(?:(?P<namespace>[^/:]+)/)?(?P<name>[^/:]+):(?P<key>.+)")
#: Source: strimzi/kafka-kubernetes-config-provider, org.apache.kafka.common.config.provider.
_CLASSES = {
    "KubernetesConfigMapConfigProvider": CONFIG_MAP_PROVIDER,
    "KubernetesSecretConfigProvider": SECRET_PROVIDER,
    "FileConfigProvider": FILE_PROVIDER,
}
#: The aliases of the providers of rendered workers.
OURS = {provider: provider for provider in _CLASSES.values()}


#: The data of ConfigMaps by namespace and name.
ConfigMaps = Mapping[tuple[str, str], Mapping[str, str]]


def config_map_data(bodies: Iterable[Manifest]) -> ConfigMaps:
    """Return the data of ConfigMaps."""
    return {(body["metadata"]["namespace"], body["metadata"]["name"]): dict(body.get("data") or {}) for body in bodies}


@dataclass(frozen=True)
class Placeholders:
    """Resolves the placeholders of workers: `providers` has our alias for theirs, `config_maps` the data by place."""

    namespace: str
    providers: Mapping[str, str] = field(default_factory=dict)
    config_maps: ConfigMaps = field(default_factory=dict)

    @classmethod
    def of(cls, namespace: str, worker_config: Mapping[str, Value], config_maps: ConfigMaps | None = None) -> Self:
        """Return what resolves placeholders of the connectors that workers with this configuration run."""
        return cls(namespace, providers_of(worker_config), config_maps or {})

    def text(self, value: Value) -> str:
        """Return a value with ConfigMaps resolved and Secrets under our own provider; what is unknown stays."""
        return _PLACEHOLDER.sub(self._resolved, value_text(value))

    def _resolved(self, found: re.Match[str]) -> str:
        provider = self.providers.get(found["provider"], "")
        place = _KUBERNETES.fullmatch(found["rest"])
        if provider == FILE_PROVIDER:
            return f"${{{FILE_PROVIDER}:{found['rest']}}}"
        if not provider or place is None:
            return found[0]
        namespace = place["namespace"] or self.namespace
        if provider == CONFIG_MAP_PROVIDER:
            data = self.config_maps.get((namespace, place["name"]), {})
            value = str(data.get(place["key"], ""))
            # A credential does not belong there, but we must not spread it.
            if place["key"] in data and not may_be_secret(place["key"], value):
                return value
        return f"${{{provider}:{namespace}/{place['name']}:{place['key']}}}"


def providers_of(config: Mapping[str, Value]) -> dict[str, str]:
    """Return our alias for each configuration provider of a worker's configuration whose class we know."""
    names = filter(None, entries(str(config.get("config.providers", ""))))
    classes = {name: str(config.get(f"config.providers.{name}.class", "")).rpartition(".")[2] for name in names}
    return {name: _CLASSES[found] for name, found in classes.items() if found in _CLASSES}


def secret_key(text: str, namespace: str) -> dict[str, str] | None:
    """Return `{secret, key}` if a text is only a placeholder for a Secret of this namespace."""
    placeholder = _PLACEHOLDER.fullmatch(text.strip())
    if placeholder is None or placeholder["provider"] not in (SECRET_PROVIDER, "strimzisecrets"):
        return None
    place = _KUBERNETES.fullmatch(placeholder["rest"])
    if place is None or (place["namespace"] or namespace) != namespace:
        return None
    return {"secret": place["name"], "key": place["key"]}


def unresolved(text: str) -> str | None:
    """Return the first placeholder in a text that the topology cannot express: neither a Secret's nor a ConfigMap's."""
    known = (SECRET_PROVIDER, CONFIG_MAP_PROVIDER, "strimzisecrets")
    return next((found[0] for found in _PLACEHOLDER.finditer(text) if found["provider"] not in known), None)


def texts_in(value: object) -> Iterator[str]:
    """Yield every text in a value, also the keys of mappings."""
    if isinstance(value, Mapping):
        yield from (text for key, inner in value.items() for text in (str(key), *texts_in(inner)))
    elif isinstance(value, list | tuple):
        yield from (text for entry in value for text in texts_in(entry))
    elif isinstance(value, str):
        yield value
