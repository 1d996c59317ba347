"""Replications that were removed from a topology but whose objects are still in the cluster. Pure.

An object's labels name its replication and not its stack. A replication belongs to the stack in whose region its target
is, because Connect runs beside its target; the address of the workers says which cluster that is. What Pulumi deployed
belongs to another stack: this module covers stacks whose objects another tool applies.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from components.changes.effect import Severity
from components.contract.wording import agreeing, number
from components.flows.expansion import expand
from components.flows.operators import WORKER_KINDS
from components.render.planned_objects import PART_OF, Manifest
from components.topology.clusters import ConfigValue
from infra.kubernetes.api import reference
from infra.kubernetes.managed_fields import PULUMI, owners
from infra.review.drift import Drift
from infra.review.live_objects import former, whole
from infra.review.object_changes import identity
from infra.review.snapshots import Objects
from infra.stack.settings import StackSettings

CODE = "replication-not-deleted"


@dataclass(frozen=True)
class Territory:
    """What a stack deploys: names of flows and replications, and the addresses of the targets in its region."""

    names: frozenset[str]
    servers: frozenset[str]


def territory(settings: StackSettings, values: Mapping[str, str]) -> Territory:
    """The territory of a stack; `values` are those of its configuration, which may hold addresses."""
    topology, region = settings.topology, settings.region
    flows = [
        flow for flow in expand(topology) if region is None or topology.clusters[flow.settings.target].region == region
    ]
    addresses = [
        values.get(given.config, "") if isinstance(given := cluster.bootstrap_servers, ConfigValue) else given
        for cluster in topology.clusters.values()
        if region is None or cluster.region == region
    ]
    names = {name for flow in flows for name in (flow.name, flow.replication)}
    return Territory(frozenset(names), frozenset(server for address in addresses for server in _servers(address)))


def left_behind(
    live: Iterable[Manifest], known: Iterable[str], own: Territory, others: Sequence[Territory]
) -> dict[str, Objects]:
    """Objects by role and part of each replication that the stack does not declare and no other stack deploys.

    `known` are the replications whose objects the stack does declare.
    """
    groups: dict[str, list[Manifest]] = {}
    declared = set(known)
    for each in live:
        name = (each["metadata"].get("labels") or {}).get(PART_OF, "")
        if name and name not in declared:
            groups.setdefault(name, []).append(each)
    found = {}
    for name, objects in sorted(groups.items()):
        servers = frozenset(server for each in objects for server in _servers(_address(each)))
        elsewhere = any(name in other.names and servers & other.servers for other in others)
        if servers & own.servers and not elsewhere and not any(map(_by_pulumi, objects)):
            found[name] = _by_key(objects)
    return found


def _by_pulumi(live: Manifest) -> bool:
    return any(owner.manager.startswith(PULUMI) for owner in owners(live))


def _address(live: Manifest) -> str:
    """The address of the cluster beside which workers run; "" for other objects."""
    spec = live.get("spec") or {}
    if live["kind"] not in WORKER_KINDS:
        return ""
    chosen = [each for each in spec.get("clusters") or [] if each.get("alias") == spec.get("connectCluster")]
    target = spec.get("target") or next(iter(chosen), spec)
    return str(target.get("bootstrapServers") or "")


def _servers(address: str) -> frozenset[str]:
    return frozenset(filter(None, (each.strip() for each in address.split(","))))


def _by_key(objects: Sequence[Manifest]) -> Objects:
    found: dict[str, Manifest] = {}
    for key, live in former(objects, {}, {}):
        free = key if key not in found else f"{live['kind'].lower()} {'/'.join(identity(live)[1:])}"
        found[free] = whole(live)
    return found


def not_deleted(stack: str, name: str, objects: Objects) -> Drift:
    """The finding that a replication still exists."""
    workers = [each for each in objects.values() if each["kind"] in WORKER_KINDS]
    places = ", ".join(str(reference(each)) for each in workers)
    more = len(objects) - len(workers)
    others = f" and {number(more, 'more object')}" if more else ""
    exist = agreeing(len(objects), "[exists, and no stack declares it|exist, and no stack declares them]")
    what = f"{places}{others} {exist}: `{name}` keeps replicating as before, and no check or validation covers it"
    namespaces = sorted({each["metadata"].get("namespace", "") for each in objects.values()} - {""})
    commands = "; ".join(
        f"`kubectl delete kafkaconnector,kafkaconnect,kafkamirrormaker2,role,rolebinding,configmap -n {namespace} "
        f"-l {PART_OF}={name}`"
        for namespace in namespaces
    )
    remedy = (
        f"let Argo CD or Flux prune it if it is not needed, or delete it: {commands}. Otherwise declare it in the "
        f"topology of stack {stack} again."
    )
    return Drift(Severity.DATA, CODE, name, f"replication {name}", what, "", "", remedy)
