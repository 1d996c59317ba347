"""Replication policies and legs of rings to test with."""

from kafka_replication.components.kafka.cycles import Leg, LoopGuard
from kafka_replication.components.kafka.patterns import Selection
from kafka_replication.components.kafka.replication_policy import Policy, ReplicationPolicy


def a_policy(
    kind: str = "default", separator: str = ".", source: str = "useast", target: str = "uswest"
) -> ReplicationPolicy:
    return ReplicationPolicy(Policy(kind), separator, source, target)


def a_leg(
    source: str, target: str, *topics: str, guarded: bool = False, kind: str = "identity", separator: str = "."
) -> Leg:
    policy = a_policy(kind, separator, source, target)
    guard = LoopGuard(drops=f"replicated-from-{target}", adds=f"replicated-from-{source}") if guarded else None
    return Leg(f"{source}-{target}", policy, Selection(topics or ("ledger",), policy.never_selected), guard)
