"""Puts what was read into topologies: each object in one replication at most, each alias with one meaning."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from kafka_replication.components.contract.grouping import grouped
from kafka_replication.components.contract.problems import ReplicationError
from kafka_replication.components.flows.operators import CLUSTER_LABEL, kafka_version, strimzi
from kafka_replication.components.topology.parsing import parse_topology
from kafka_replication.components.topology.workers import ConnectCluster
from kafka_replication.infra.onboard.importing.connect_rest import attach_connectors
from kafka_replication.infra.onboard.importing.dedicated import Dedicated, config_of
from kafka_replication.infra.onboard.importing.flows import Imported, Names, imported_flow, role_of
from kafka_replication.infra.onboard.importing.left_out import LeftOut
from kafka_replication.infra.onboard.importing.mirrors import as_flows, imported_mirror_maker2
from kafka_replication.infra.onboard.importing.reading import ReadInput, ReadObject, ReadProperties
from kafka_replication.infra.onboard.importing.values import config_map_data

_VERSION = re.compile(r"\d+\.\d+\.\d+")


@dataclass
class ImportedTopology:
    """One topology with the replications that agree on its aliases."""

    strimzi: str
    clusters: dict[str, dict[str, Any]] = field(default_factory=dict)
    imported: list[Imported] = field(default_factory=list)

    def takes(self, other: Imported) -> bool:
        """Return whether each alias of a replication means the same cluster here, and each key the same value."""
        needed = {key: what for replication in self.imported for key, what in replication.needed.items()}
        return (
            self.strimzi == other.strimzi
            and all(self.clusters.get(alias, given) == given for alias, given in other.clusters.items())
            and all(needed.get(key, what) == what for key, what in other.needed.items())
        )

    @property
    def runs_as_read(self) -> bool:
        """Return whether everything was read from objects, which the project keeps."""
        moves = any(replication.mirror_index is not None for replication in self.imported)
        read = [one for replication in self.imported for one in replication.read]
        return not moves and not any(isinstance(one, ReadProperties) for one in read)

    @property
    def document(self) -> dict[str, Any]:
        """Return the topology file as plain values, without defaults if its form is right."""
        document = {
            "strimzi": self.strimzi,
            "clusters": self.clusters,
            "replications": {replication.name: replication.replication for replication in self.imported},
        }
        try:
            topology = parse_topology(document)
        except ReplicationError:
            return document
        dumped: dict[str, Any] = topology.model_dump(by_alias=True, exclude_defaults=True, mode="json")
        # In the program the class gives the kind, but a file needs the key.
        kinds = {name: {"kind": replication.kind} for name, replication in topology.replications.items()}
        return dumped | {"replications": {name: kind | dumped["replications"][name] for name, kind in kinds.items()}}


def imported_topologies(
    found: ReadInput, operator: str | None, region: str, *, flows: bool = False
) -> tuple[list[ImportedTopology], list[LeftOut]]:
    """Return the topologies of what was read, and what is not in them. `operator` is the version of Strimzi, None for
    the API version of the objects. With `flows`, each mirror becomes a flow."""
    left_out = [*found.left_out, *attach_connectors(found)]
    topologies: list[ImportedTopology] = []
    for made in _replications(found, operator, Names(), flows=flows):
        if isinstance(made, LeftOut):
            left_out.append(made)
            continue
        left_out += made.left_out
        made.strimzi = operator or made.strimzi
        made.clusters = {alias: {"region": region, **cluster} for alias, cluster in made.clusters.items()}
        home = next((topology for topology in topologies if topology.takes(made)), None)
        if home is None:
            home = ImportedTopology(made.strimzi)
            topologies.append(home)
        home.clusters |= made.clusters
        home.imported.append(made)
    return topologies, list(dict.fromkeys([*left_out, *_config_maps(found)]))


def _replications(found: ReadInput, operator: str | None, names: Names, *, flows: bool) -> Iterable[Imported | LeftOut]:
    config_maps = config_map_data(read.body for read in found.of("ConfigMap"))
    for read in found.of("KafkaMirrorMaker2"):
        version = kafka_of(read, operator)
        made = version if isinstance(version, LeftOut) else imported_mirror_maker2(_name(read, names), read, version)
        if flows and isinstance(made, Imported):
            yield from as_flows(made, names)
        else:
            yield made
    for given in found.dedicated:
        kafka = kafka_version(ConnectCluster(version=None), strimzi(operator or "v1"))
        dedicated = Dedicated(given, config_of(given, kafka), kafka)
        wanted = {pair: f"{pair.source}-{pair.target}" for pair in dedicated.config.flows}
        taken = {pair: names.free(name, given.namespace) for pair, name in wanted.items()}
        of = {name: wanted[pair] for pair, name in taken.items()}
        for made in dedicated.parts(taken):
            yield made if isinstance(made, LeftOut) else replace(made, wanted=of[made.name])
    connectors = found.of("KafkaConnector")
    connects = {(connect.namespace, connect.name): connect for connect in found.of("KafkaConnect")}
    for place, connect in connects.items():
        own = [connector for connector in connectors if (connector.namespace, connector.workers) == place]
        mirrors = [connector for connector in own if role_of(connector) is not None]
        for connector in (other for other in own if role_of(other) is None):
            why = f"Its class is `{connector.spec.get('class')}`, which is not one of MirrorMaker's."
            remedy = "leave it as it is; it keeps running on the same workers."
            yield connector.left_out("", "other-connector", why, remedy)
        if not mirrors:
            why = "No connector of MirrorMaker runs on it, so it is not part of a replication."
            yield connect.left_out("", "no-mirror-connectors", why, "leave it as it is, or also import its connectors.")
            continue
        version = kafka_of(connect, operator)
        if isinstance(version, LeftOut):
            yield version
        else:
            yield imported_flow(_name(connect, names), connect, mirrors, config_maps, version)
    for connector in connectors:
        if not connector.workers:
            why = f"It has no label `{CLUSTER_LABEL}`, so the operator ignores it."
            remedy = "set the label to the name of its KafkaConnect, or delete it."
            yield connector.left_out("", "without-effect", why, remedy)
        elif (connector.namespace, connector.workers) not in connects:
            why = f"Its KafkaConnect `{connector.workers}` is not in namespace {connector.namespace} of the input."
            yield connector.left_out("", "workers-not-read", why, "also import its KafkaConnect.")


def kafka_of(read: ReadObject, operator: str | None) -> str | LeftOut:
    """Return the version of Kafka that workers run, or why it is not known."""
    version = read.spec.get("version")
    if version is not None and not _VERSION.match(str(version)):
        why = f"`{version}` is not a Kafka version such as 4.2.0."
        return read.left_out("spec.version", "version-not-known", why, "write it with three numbers, as text.")
    return kafka_version(ConnectCluster(version=version), strimzi(operator or read.api))


def _name(read: ReadObject, names: Names) -> str:
    return names.free(read.name, read.namespace, read.kind.lower())


def _config_maps(found: ReadInput) -> Iterable[LeftOut]:
    """Yield each ConfigMap that something names, and one note for all others of a file: a cluster has hundreds."""
    bodies = [str(read.body) for read in found.objects if read.kind != "ConfigMap"]
    by_use = grouped((any(read.name in body for body in bodies), read) for read in found.of("ConfigMap"))
    for config_map in by_use.get(True, []):
        why = "Workers may still read it. Values that connectors read from it are in the topology now."
        yield config_map.left_out("", "stays-as-it-is", why, "leave it as it is.")
    for file, unnamed in grouped((other.file, other) for other in by_use.get(False, [])).items():
        label = unnamed[0].label if len(unnamed) == 1 else f"{len(unnamed)} ConfigMaps"
        why = "Nothing that was imported names it." if len(unnamed) == 1 else "Nothing that was imported names them."
        yield LeftOut(file, label, "", "stays-as-it-is", why, "none is needed.")
