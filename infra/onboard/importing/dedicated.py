"""Turns a dedicated MirrorMaker's `mm2.properties` into flows, each with its own workers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kafka_replication.components.kafka.connectors import CONNECTOR_CLASSES, ConnectorRole
from kafka_replication.components.kafka.dedicated_config import (
    CLUSTERS,
    ENABLED,
    DedicatedConfig,
    DedicatedSetting,
    Pair,
    side_property,
)
from kafka_replication.components.kafka.plugins import CONVERTER_KEYS
from kafka_replication.components.kafka.replication_policy import SIDES
from kafka_replication.components.properties.clients import CLUSTER_PREFIXES, clients, split_prefix
from kafka_replication.components.properties.definitions import CLIENTS, CONNECTORS, Owner, definitions, nearest
from kafka_replication.infra.onboard.importing.documents import PropertiesFile
from kafka_replication.infra.onboard.importing.flows import Imported, flow_of
from kafka_replication.infra.onboard.importing.left_out import LeftOut
from kafka_replication.infra.onboard.importing.reading import GROUP, ReadProperties, read_connector, read_workers
from kafka_replication.infra.onboard.importing.settings import OLD_NAMES

#: Prefixes of keys that only MirrorMaker's own REST server reads. Source: RestServerConfig.
_REST = ("dedicated.mode.", "listeners", "rest.", "admin.listeners", "access.control.", "response.http.")
#: Prefixes of properties that plugins define.
_OF_PLUGINS = (
    *("transforms.", "predicates.", "topic.creation.", "replication.policy.", "config.providers."),
    *("key.converter.", "value.converter.", "header.converter."),
)


def config_of(given: PropertiesFile, kafka: str) -> DedicatedConfig:
    """Return a file as a given version of MirrorMaker reads it."""
    known = {name for role in CONNECTORS for name in definitions(kafka, role)}
    return DedicatedConfig(given.properties, known, definitions(kafka, Owner.CLUSTER).keys())


@dataclass(frozen=True)
class Dedicated:
    """A file of a dedicated MirrorMaker, as a version of Kafka reads it."""

    given: PropertiesFile
    config: DedicatedConfig
    kafka: str

    def parts(self, names: Mapping[Pair, str]) -> Iterator[Imported | LeftOut]:
        """Yield a flow for each pair that replicates, and note what belongs to none; `names` has their names."""
        if not self.config.flows:
            why = "No flow of it is enabled, so it replicates nothing."
            yield self._left(CLUSTERS, "nothing-enabled", why, "set `SOURCE->TARGET.enabled = true`.")
        read: set[str] = set()
        for pair in self.config.flows:
            flow = self._flow(pair, names[pair], read)
            if refused := self._refused(pair):
                yield refused
            else:
                yield flow
                yield self._offsets(pair)
        if self.config.flows:
            why = f"The file does not name MirrorMaker's Kafka version. Defaults are taken from {self.kafka}."
            yield self._left("", "version-not-said", why, "set `connect.version` of the replications.")
            yield from self._unread(read)
        yield from self._disabled()

    def _left(self, field: str, code: str, why: str, remedy: str) -> LeftOut:
        return LeftOut(self.given.file, "", field, code, why, remedy)

    def _flow(self, pair: Pair, name: str, read: set[str]) -> Imported:
        connector = self.config.connector(pair)
        roles: tuple[ConnectorRole, ...] = ("source", "checkpoint", "heartbeat")
        configs = {role: self._of_role(role, pair, connector) for role in roles}
        worker = self._of_workers(pair)
        for settings in (*configs.values(), worker):
            read |= {setting.key for key, setting in settings.items() if key not in GROUP}
        by_role = {role: self._connector(role, name, config) for role, config in configs.items()}
        address = self.config.cluster(pair.target).get("bootstrap.servers", DedicatedSetting("")).value
        # New names: the existing group has connectors that the operator would delete.
        connect = read_workers(
            self.given.file, self.given.namespace, name, address, _values(worker), origins=_origins(worker)
        )
        return flow_of(name, connect, by_role, {}, self.kafka)

    def _refused(self, pair: Pair) -> LeftOut | None:
        """Return why a flow is not taken over whose connectors have another alias than that of their cluster."""
        settings = self.config.connector(pair)
        for side, own in zip(SIDES, pair, strict=True):
            alias = settings[f"{side}.cluster.alias"]
            if alias.value == own:
                continue
            more, back = "", Pair(pair.target, pair.source)
            if back in self.config.flows and self.config.connector(back)[f"{side}.cluster.alias"] == alias:
                more = (
                    " Both directions have it, so MirrorMaker does not recognize topics that came from the other "
                    f"cluster: records go round in a loop between `{pair.source}` and `{pair.target}`."
                )
            elif side == "source" and not alias.value.strip():
                more = " With an empty separator, topics keep their names, as with `policy: identity`."
            why = (
                f"All connectors of `{pair}` get it instead of the alias `{own}`. A topology names a cluster by its "
                f"alias, so it cannot express that.{more}"
            )
            remedy = "remove it, and set `replication.policy.class` if topics are to keep their names; import it then."
            return self._left(alias.key, "alias-fixed", why, remedy)
        return None

    def _connector(self, role: ConnectorRole, workers: str, settings: Mapping[str, DedicatedSetting]) -> ReadProperties:
        spec = {"class": CONNECTOR_CLASSES[role], "config": _values(settings)}
        name = CONNECTOR_CLASSES[role].rpartition(".")[2]
        return read_connector(self.given.file, self.given.namespace, workers, name, spec, origins=_origins(settings))

    def _of_role(
        self, role: ConnectorRole, pair: Pair, settings: Mapping[str, DedicatedSetting]
    ) -> dict[str, DedicatedSetting]:
        """Return what a connector reads of the properties that all three connectors get."""
        known = definitions(self.kafka, Owner(role))
        location = settings.get("offset-syncs.topic.location", DedicatedSetting("source")).value
        reached = {
            prefix
            for client in clients(Owner(role), location if location in SIDES else "source")
            for prefix in client.prefixes
        }
        properties = {}
        for key, setting in settings.items():
            prefix, name = split_prefix(key) or ("", key)
            if prefix.endswith(".cluster."):
                wanted = name in self.config.clients and prefix in reached
            elif prefix:
                wanted = prefix in reached
            else:
                custom = setting.key.startswith(f"{pair}.") and key not in self.config.connectors
                wanted = key in known or key.startswith(_OF_PLUGINS) or custom
                # Logins need a prefix, and heartbeats have one task.
                single = ["tasks.max"] if role == "heartbeat" else []
                wanted = wanted and key not in {ENABLED, "name", "connector.class", *self.config.clients, *single}
            if wanted or key.endswith(".cluster.alias"):
                properties[key] = setting
        return properties

    def _of_workers(self, pair: Pair) -> dict[str, DedicatedSetting]:
        known = definitions(self.kafka, Owner.WORKER)
        return {
            key: setting
            for key, setting in self.config.worker(pair).items()
            if (key in known and key not in self.config.clients and key != "client.id")
            or key.startswith(("producer.", "admin.", "config.providers", *CONVERTER_KEYS))
        }

    def _offsets(self, pair: Pair) -> LeftOut:
        topic = self.config.worker(pair)["offset.storage.topic"].value
        why = (
            f"MirrorMaker keeps the offsets of `{pair}` in `{topic}`, under the name `MirrorSourceConnector`, which no "
            "KafkaConnector can have. The connectors of the project would copy every record again."
        )
        remedy = (
            "set `connectors.source.state: stopped` before you deploy it, and stop MirrorMaker. Write the offsets of "
            "that topic to a file and add one to each, because `replicate offsets` expects the offset of the next "
            "record. Pass the file to `replicate offsets STACK FLOW set FILE`. Then start the connector."
        )
        return LeftOut(self.given.file, str(pair), "", "offsets-not-carried", why, remedy)

    def _disabled(self) -> Iterator[LeftOut]:
        """Yield the pairs that replicate nothing, if the file or MirrorMaker does anything with them."""
        heartbeats = self.config.heartbeats_only
        for pair in (other for other in self.config.pairs if other not in self.config.flows):
            keys = [key for key in self.given.properties if key.startswith(f"{pair}.")]
            if not keys and not (pair in heartbeats and Pair(pair.target, pair.source) in self.config.flows):
                continue
            given = self.given.properties.get(f"{pair}.{ENABLED}")
            why = "It is not enabled, so it replicates nothing."
            if given is not None and given.strip().lower() == "true":
                why = (
                    f"Its `enabled` is `{given}`; because of the blank MirrorMaker reads it as false, so it "
                    "replicates nothing."
                )
            if pair in heartbeats:
                why += (
                    f" For this pair, MirrorMaker only writes heartbeats to `{pair.target}`. The heartbeat connector "
                    f"of a flow from `{pair.target}` does the same."
                )
            code, remedy = "without-effect", "none is needed."
            if given is None and any(nearest(key.removeprefix(f"{pair}."), {ENABLED}) for key in keys):
                code, remedy = "unknown-property", f"did you mean `{pair}.{ENABLED}`?"
            yield LeftOut(self.given.file, str(pair), ", ".join(keys), code, why, remedy)

    def _unread(self, read: set[str]) -> Iterator[LeftOut]:
        """Yield the keys that no flow takes."""
        handled = {CLUSTERS, *(f"{pair}.{ENABLED}" for pair in self.config.flows)}
        silent = tuple(f"{pair}." for pair in self.config.pairs if pair not in self.config.flows)
        for key in self.given.properties:
            if key in read | handled or key.startswith(silent):
                continue
            if near := self._meant(key):
                why = "Kafka has no property of this name, so it has no effect."
                yield self._left(key, "unknown-property", why, f"did you mean `{near}`?")
            elif key in OLD_NAMES:
                why = (
                    "Kafka reads it up to 3.9, and from 4.0 on nowhere. The file does not name its version; this "
                    f"import assumes {self.kafka}, so nothing is excluded by it."
                )
                remedy = f"set `{OLD_NAMES[key]}`, which every version reads."
                yield self._left(key, "removed-property", why, remedy)
            elif key in definitions(self.kafka, Owner.WORKER) and "." in key and not key.startswith(_REST):
                wanted = " and ".join(
                    f"`{alias}.{key}`" for alias in dict.fromkeys(p.target for p in self.config.flows)
                )
                why = "Only workers read it, and MirrorMaker passes it to them only with a cluster before it."
                yield self._left(key, "without-effect", why, f"set {wanted}, if it is meant to have an effect.")
            else:
                remedy = "none is needed, unless the key was meant to have an effect."
                yield self._left(key, "without-effect", self._why_unread(key), remedy)

    def _meant(self, key: str) -> str:
        """Return the key that was meant; "" if nothing resembles it, or if Kafka knows its name."""
        pairs = [f"{pair}." for pair in self.config.pairs]
        if "->" in key and not key.startswith(tuple(pairs)):
            # The wrong pair is the mistake.
            return ""
        prefixes = (*pairs, *(f"{alias}." for alias in self.config.clusters))
        prefix = next((candidate for candidate in prefixes if key.startswith(candidate)), "")
        name = key.removeprefix(prefix)
        known = {*self.config.connectors, *self.config.clients, *definitions(self.kafka, Owner.WORKER), *GROUP}
        known.add(ENABLED if prefix in pairs else CLUSTERS)
        if name in known | OLD_NAMES.keys() or name.startswith((*_REST, *(f"{client}." for client in CLIENTS))):
            return ""
        side = next((candidate for candidate in CLUSTER_PREFIXES if name.startswith(candidate)), "")
        if side and name.removeprefix(side) in self.config.clients:
            return ""
        near = nearest(name.removeprefix(side), self.config.clients if side else known | OLD_NAMES.keys())
        near = OLD_NAMES.get(near or "", near)
        return f"{prefix}{side}{near}" if near else ""

    def _why_unread(self, key: str) -> str:
        if key.startswith(_REST):
            return "Only the REST server between the processes of a dedicated MirrorMaker reads it."
        name = next((key.removeprefix(f"{a}.") for a in self.config.clusters if key.startswith(f"{a}.")), key)
        if name in GROUP:
            return f"`{name}` belongs to the workers, and the project's workers have their own group and topics."
        # MirrorMaker prefers the keys of flows to a key of a cluster.
        flows = [
            f"{pair}.{side_property(side, key.removeprefix(f'{alias}.'))}"
            for pair in self.config.flows
            for side, alias in zip(SIDES, pair, strict=True)
            if key.startswith(f"{alias}.")
        ]
        if overriding := [f"`{preferred}`" for preferred in flows if preferred in self.given.properties]:
            return f"{', '.join(overriding)} override{'s' if len(overriding) == 1 else ''} it."
        if key.startswith(tuple(f"{pair}." for pair in self.config.flows)):
            return "None of the three connectors reads it."
        if key.startswith(tuple(f"{alias}." for alias in self.config.clusters)):
            return "MirrorMaker passes it on as a property of the cluster, where nothing reads it."
        if "->" in key:
            return f"It names a cluster that is not in `{CLUSTERS}`, so MirrorMaker ignores it."
        return "MirrorMaker does not read it unless a cluster or a flow is named before it."


def _values(settings: Mapping[str, DedicatedSetting]) -> dict[str, str]:
    return {key: setting.value for key, setting in settings.items()}


def _origins(settings: Mapping[str, DedicatedSetting]) -> dict[str, str]:
    return {key: setting.key for key, setting in settings.items() if setting.key}
