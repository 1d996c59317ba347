"""Judges for `replicate ready`, as KafkaUsers too, and says who may not write the missing ACLs."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from kafka_replication.components.clients.readiness import ready_facts
from kafka_replication.components.contract.parameters import JsonObject
from kafka_replication.components.contract.problems import RefusedError
from kafka_replication.components.contract.readiness import Judgement, Quotas, judge
from kafka_replication.components.flows.operators import strimzi
from kafka_replication.components.kafka.acls import CLUSTER_NAME, EVERYONE, grant_options
from kafka_replication.components.kafka.replication_policy import SIDES, Side
from kafka_replication.components.render.flow_acls import Acl
from kafka_replication.components.render.kafka_users import acl_rule
from kafka_replication.components.topology.clusters import kafka_principal
from kafka_replication.infra.operate.flow_access import FlowAccess

_USER = "User:"
_KAFKA_USER_QUOTAS = {
    "consumer_byte_rate": "consumerByteRate",
    "controller_mutation_rate": "controllerMutationRate",
    "producer_byte_rate": "producerByteRate",
    "request_percentage": "requestPercentage",
}


def look(opened: FlowAccess, quotas: Mapping[Side, Quotas]) -> Judgement:
    """Ask both clusters and judge. Raises NoAnswerError if one does not answer."""
    flow, readers = opened.parameters, opened.readers()
    judgement = judge(flow, ready_facts(flow, readers["source"], readers["target"], quotas))
    api_version = strimzi(opened.stack.settings.topology.strimzi).api_version
    users = tuple(kafka_users(judgement, quotas, api_version))
    return replace(judgement, readiness=judgement.readiness.model_copy(update={"kafka_users": users}))


def kafka_users(judgement: Judgement, quotas: Mapping[Side, Quotas], api_version: str) -> Iterator[JsonObject]:
    """Yield what the KafkaUsers of the applications lack on the target."""
    readiness = judgement.readiness
    rules: dict[str, list[dict[str, object]]] = {}
    for entry in judgement.acls:
        kind, pattern = entry.resource.lower(), entry.pattern.lower()
        acl = Acl(readiness.target, entry.principal, kind, pattern, entry.name, (entry.operation,))  # type: ignore[arg-type]
        rule = {**acl_rule(acl), "type": entry.permission.lower(), "host": entry.host}
        rules.setdefault(entry.principal, []).append(rule)
    here: Quotas = quotas.get("source", {}) if len(quotas) == len(SIDES) else {}
    for user in readiness.applications:
        name = user.removeprefix(_USER)
        if user in (EVERYONE, name):
            continue
        spec: JsonObject = {}
        if "SCRAM-SHA-512" in judgement.scram.get(name, ()):
            spec["authentication"] = {"type": "scram-sha-512"}
        if user in rules:
            spec["authorization"] = {"type": "simple", "acls": rules[user]}
        limited = f"user-principal '{name}'"
        if limited in here and here[limited] != quotas["target"].get(limited):
            limits = here[limited].items()
            spec["quotas"] = {_KAFKA_USER_QUOTAS[key]: value for key, value in limits if key in _KAFKA_USER_QUOTAS}
        if spec:
            metadata = {"name": name.removeprefix("CN=")}
            yield {"apiVersion": api_version, "kind": "KafkaUser", "metadata": metadata, "spec": spec}


def refuse_copy(opened: FlowAccess) -> None:
    """Raise RefusedError unless the connectors' user may write ACLs on the target, and nobody would delete them."""
    alias, cluster = opened.parameters.target.alias, opened.flow.target
    if cluster.kafka_user is not None:
        what, why = "ACLs are not written", "The User Operator of that cluster deletes ACLs that no KafkaUser has."
        remedy = "add what `--kafka-users` prints to the KafkaUsers."
        raise RefusedError("acls-by-operator", what, alias, why, remedy)
    if not opened.topic_acls("target").access().may_change:
        principal = kafka_principal(cluster) or "…"
        grant = grant_options(principal, "cluster", "literal", CLUSTER_NAME, ["ALTER"])
        what, why = "the connectors' user may not write ACLs", "It needs Alter on the cluster."
        remedy = f"run the printed lines as an administrator, or allow it: `kafka-acls.sh … {grant}`."
        raise RefusedError("acls-refused", what, alias, why, remedy)
