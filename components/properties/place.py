"""A connector's configuration as a place for keys: which clients read it, and by which key one of them is reached.

Imports `definitions` and `clients` only.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from components.properties.clients import CLUSTER_PREFIXES, Client, clients
from components.properties.definitions import CLIENTS, Definition, Origin, Owner, definitions, nearest

OFFSET_SYNCS = "offset-syncs"
"""How the names of clients of offset syncs begin."""


@dataclass(frozen=True)
class Place:
    """A connector's configuration: whose it is, in which Kafka, and what decides which clients there are."""

    role: Owner
    kafka_version: str
    config: Mapping[str, object]
    offset_syncs_location: str
    exactly_once: bool

    def defined(self, owner: Owner) -> Mapping[str, Definition]:
        """Definitions of an owner in this Kafka."""
        return definitions(self.kafka_version, owner)

    def clients(self) -> tuple[Client, ...]:
        """Clients of this connector, those that it may have included."""
        return clients(self.role, self.offset_syncs_location, exactly_once=self.exactly_once)

    def has(self, client: Client) -> bool:
        """Whether a client exists here; see `Client.only_with`."""
        if not client.only_with or self.exactly_once or "offsets.storage.topic" in self.config:
            return True
        creates = any(key.startswith("topic.creation.") for key in self.config)
        return client.kind is Owner.ADMIN and creates

    def cluster_prefixes(self) -> list[str]:
        """Prefixes of the clusters that this connector has a client for."""
        used = {prefix for client in self.clients() for prefix in client.prefixes}
        return [prefix for prefix in CLUSTER_PREFIXES if prefix in used]

    def instead(self, kinds: Iterable[Owner], name: str, side: str = "") -> str:
        """Keys by which `name` reaches the clients of these kinds, at one cluster or at both, as words."""
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
        # What users tune is rarely a client of offset syncs: it is named only where it is the only one of its kind.
        of_records = {client.kind for client in reached if not client.name.startswith(OFFSET_SYNCS)}
        wanted = [each for each in reached if each.kind not in of_records or not each.name.startswith(OFFSET_SYNCS)]
        return either(client.prefixes[-1] + name for client in wanted)

    def nearest_key(self, key: str) -> str | None:
        """The key of this connector or of its clients that an unknown key was probably meant to be."""
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


def kind_of(prefix: str) -> Owner:
    """The kind of client that a prefix other than a cluster's is for."""
    return next(kind for kind in CLIENTS if kind in prefix.split("."))


def either(keys: Iterable[str]) -> str:
    """Keys as words: "`a`, `b` or `c`"."""
    quoted = [f"`{key}`" for key in dict.fromkeys(keys)]
    return " or ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)
