"""How a dedicated MirrorMaker reads its properties file: which properties reach the workers and connectors of a flow.

Source: MirrorMakerConfig, MirrorHerder, MirrorClientConfig of Kafka 4.3.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import NamedTuple

from kafka_replication.components.kafka.connectors import EMIT_HEARTBEATS
from kafka_replication.components.kafka.plugins import BYTE_ARRAY_CONVERTER, CONVERTER_KEYS

CLUSTERS = "clusters"
ENABLED = "enabled"
_CLIENT = re.compile(r"(consumer|producer|admin).*")
#: Prefixes of properties that a file may set without a cluster, and that all workers get.
_OF_ALL_WORKERS = (
    *("offset.storage", "config.storage", "status.storage", "key.converter", "value.converter", "header.converter"),
    *("task", "worker", "replication.policy"),
)
#: Prefixes of properties that all connectors get although they do not belong to them.
_OF_ALL_CONNECTORS = ("config.providers", "replication.policy")


class DedicatedSetting(NamedTuple):
    """A value, and the key of the file that sets it; "" for a default."""

    value: str
    key: str = ""


class Pair(NamedTuple):
    """Two aliases. MirrorMaker runs workers for a pair if its flow is enabled, or only to send heartbeats."""

    source: str
    target: str

    def __str__(self) -> str:
        return f"{self.source}->{self.target}"


@dataclass(frozen=True)
class DedicatedConfig:
    """The properties of a file, by key.

    `connectors` are the names that the three connectors define, `clients` those of addresses and logins.
    """

    properties: Mapping[str, str]
    connectors: Collection[str]
    clients: Collection[str]

    @property
    def clusters(self) -> list[str]:
        """Return the aliases, in the order of the file."""
        given = self.properties.get(CLUSTERS, "").split(",")
        return list(dict.fromkeys(part.strip() for part in given if part.strip()))

    @property
    def flows(self) -> list[Pair]:
        """Return the pairs that replicate records."""
        return [pair for pair in self.pairs if _is_true(self.properties.get(f"{pair}.{ENABLED}", ""))]

    @property
    def heartbeats_only(self) -> list[Pair]:
        """Return the pairs that replicate nothing, but for which MirrorMaker still runs a heartbeat connector."""
        everywhere = self.properties.get(EMIT_HEARTBEATS, "true")
        pairs = (pair for pair in self.pairs if pair not in self.flows)
        return [pair for pair in pairs if _is_true(self.properties.get(f"{pair}.{EMIT_HEARTBEATS}", everywhere))]

    @property
    def pairs(self) -> list[Pair]:
        """Return all pairs of clusters, in the order of the file."""
        return [Pair(*permutation) for permutation in permutations(self.clusters, 2)]

    def cluster(self, alias: str) -> dict[str, DedicatedSetting]:
        """Return the properties of a cluster by name: its own, then logins that the file sets for all clusters.

        MirrorMaker also copies addresses and logins to `producer.`, `consumer.` and `admin.`, where every client reads
        them anyway; these copies are left out.
        """
        settings = self._below(f"{alias}.")
        for name in self.clients:
            if name in self.properties:
                settings.setdefault(name, DedicatedSetting(self.properties[name], name))
        return settings

    def connector(self, pair: Pair) -> dict[str, DedicatedSetting]:
        """Return the properties of a pair's three connectors; all three get the same ones."""
        settings = {key: setting for key, setting in self._all().items() if key in self.connectors}
        settings |= self._beginning(_OF_ALL_CONNECTORS)
        for side, alias in zip(("source", "target"), pair, strict=True):
            for name, setting in self.cluster(alias).items():
                settings[side_property(side, name)] = setting
            settings.setdefault(f"{side}.cluster.alias", DedicatedSetting(alias))
        return settings | self._below(f"{pair}.")

    def worker(self, pair: Pair) -> dict[str, DedicatedSetting]:
        """Return the properties of the workers of a pair, which belong to its target."""
        settings = self.cluster(pair.target) | self._beginning(_OF_ALL_WORKERS) | self._beginning(("config.providers",))
        defaults = {
            "client.id": str(pair),
            "group.id": f"{pair.source}-mm2",
            "offset.storage.topic": f"mm2-offsets.{pair.source}.internal",
            "config.storage.topic": f"mm2-configs.{pair.source}.internal",
            "status.storage.topic": f"mm2-status.{pair.source}.internal",
            **dict.fromkeys(CONVERTER_KEYS, BYTE_ARRAY_CONVERTER),
        }
        return {key: DedicatedSetting(value) for key, value in defaults.items()} | settings

    def _all(self) -> dict[str, DedicatedSetting]:
        return {key: DedicatedSetting(value, key) for key, value in self.properties.items()}

    def _below(self, prefix: str) -> dict[str, DedicatedSetting]:
        given = ((key, setting) for key, setting in self._all().items() if key.startswith(prefix) and key != prefix)
        return {key.removeprefix(prefix): setting for key, setting in given}

    def _beginning(self, prefixes: tuple[str, ...]) -> dict[str, DedicatedSetting]:
        return {key: setting for key, setting in self._all().items() if key.startswith(prefixes)}


def side_property(side: str, name: str) -> str:
    """Return the connector's property for a cluster's property; `side` is `source` or `target`."""
    return f"{side}.{name}" if _CLIENT.fullmatch(name) else f"{side}.cluster.{name}"


def _is_true(text: str) -> bool:
    """Return whether Java's Boolean.parseBoolean reads a text as true: blanks around it make it false."""
    return text.lower() == "true"
