"""The connector in whose configuration a key appears: which clients read that configuration, and through which keys.

Imports `definitions` and `clients` only.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from components.properties.clients import CLUSTER_PREFIXES, Client, clients
from components.properties.definitions import CLIENTS, Definition, Origin, Owner, definitions, nearest

#: The names of the clients of offset syncs begin with this.
_OFFSET_SYNCS = "offset-syncs"


@dataclass(frozen=True)
class ConnectorContext:
    """A connector with its configuration, the version of Kafka it runs in, and what decides which clients it has."""

    role: Owner
    kafka_version: str
    config: Mapping[str, object]
    offset_syncs_location: str
    exactly_once: bool

    def defined(self, owner: Owner) -> Mapping[str, Definition]:
        """Return the definitions of an owner in this version of Kafka, by name."""
        return definitions(self.kafka_version, owner)

    def clients(self) -> tuple[Client, ...]:
        """Return every client that this connector can have; `has` says whether it does."""
        return clients(self.role, self.offset_syncs_location, exactly_once=self.exactly_once)

    def has(self, client: Client) -> bool:
        """Return whether this connector has the client; see `Client.only_with`."""
        if not client.only_with or self.exactly_once or "offsets.storage.topic" in self.config:
            return True
        creates = any(key.startswith("topic.creation.") for key in self.config)
        return client.kind is Owner.ADMIN and creates

    def cluster_prefixes(self) -> list[str]:
        """Return the prefixes of the clusters that this connector has a client for."""
        used = {prefix for client in self.clients() for prefix in client.prefixes}
        return [prefix for prefix in CLUSTER_PREFIXES if prefix in used]

    def instead(self, kinds: Iterable[Owner], name: str, side: str = "") -> str:
        """Return, as prose, the keys that set `name` for clients of these kinds; `side` "" means both sides."""
        if name in self.defined(Owner.CLUSTER):
            return either(prefix + name for prefix in self.cluster_prefixes() if prefix.startswith(side))
        reached = [
            client
            for client in self.clients()
            if client.kind in kinds
            and client.side in {side or client.side, "worker"}
            and self.has(client)
            and name not in client.fixed
        ]
        # Users rarely tune clients of offset syncs, so suggest one only if there is no other client of its kind.
        other_kinds = {client.kind for client in reached if not client.name.startswith(_OFFSET_SYNCS)}
        return either(
            client.prefixes[-1] + name
            for client in reached
            if client.kind not in other_kinds or not client.name.startswith(_OFFSET_SYNCS)
        )

    def nearest_key(self, key: str) -> str | None:
        """Return the key of this connector or its clients that an unknown key most likely stands for, or None."""
        side, _, name = key.partition(".")
        if side in {"source", "target"}:
            for owner, prefix in ((Owner.CLUSTER, "cluster."), *((kind, f"{kind}.") for kind in CLIENTS)):
                whole = f"{side}.{prefix}"
                if name in self.defined(owner) and any(whole in client.prefixes for client in self.clients()):
                    return whole + name
        own = self.defined(self.role).items()
        known = {each for each, definition in own if definition.origin is not Origin.CLIENT}
        return nearest(key, known | self._prefixed_keys())

    def _prefixed_keys(self) -> set[str]:
        return {
            prefix + name
            for client in self.clients()
            for prefix in client.prefixes
            for name in self.defined(Owner.CLUSTER if prefix in CLUSTER_PREFIXES else client.kind)
        }


def owner_of(prefix: str) -> Owner:
    """Return the kind of client that a prefix addresses, or CLUSTER for the prefix of a cluster."""
    return next((kind for kind in CLIENTS if kind in prefix.split(".")), Owner.CLUSTER)


def either(keys: Iterable[str]) -> str:
    """Return keys as prose: "`a`, `b` or `c`"."""
    quoted = [f"`{key}`" for key in dict.fromkeys(keys)]
    return " or ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)
