"""Renders an imported topology and compares each of its replications with what was read."""

from collections.abc import Sequence
from dataclasses import replace

from components.flows.resolved import resolve_flows
from components.render.deployments import deployments
from components.topology.clusters import ConfigValue
from components.topology.parsing import parse_topology
from infra.onboard.importing.heartbeats import without_heartbeats
from infra.onboard.importing.moved import effects_of_move
from infra.onboard.importing.placeholders import Placeholders, providers_of
from infra.onboard.importing.proof import Proof, prove
from infra.onboard.importing.reading import ReadObject
from infra.onboard.importing.topologies import ImportedTopology


def proofs_of(imported: ImportedTopology, config_maps: Sequence[ReadObject]) -> list[Proof]:
    """Return the proof of each replication. Raises ReplicationError if the topology cannot be rendered."""
    topology = parse_topology(imported.document)
    unknown = {
        cluster.bootstrap_servers.config: f"(configuration key {cluster.bootstrap_servers.config})"
        for cluster in topology.clusters.values()
        if isinstance(cluster.bootstrap_servers, ConfigValue)
    }
    rendered = {each.name: each for each in deployments(resolve_flows(topology, None, unknown))}
    data = {(each.namespace, each.name): dict(each.body.get("data") or {}) for each in config_maps}
    proofs = []
    for each in imported.imported:
        workers, silent = each.read[0], without_heartbeats(rendered[each.name].flows)
        if each.moves_from is not None:
            effects = effects_of_move(workers.body, each.moves_from, [rendered[each.name]], data)
            proofs.append(Proof(each.name, effects, (), silent))
            continue
        config = workers.spec.get("config") or {}
        proof = prove(each, rendered[each.name], Placeholders(workers.namespace, providers_of(config), data))
        proofs.append(replace(proof, without_heartbeats=silent))
    return proofs
