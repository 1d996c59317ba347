"""KafkaUsers with the replications' ACLs, beside their Kafka cluster, whichever stack deploys the flows."""

from kafka_replication.components.flows.naming import kafka_user_password_secret_name
from kafka_replication.components.flows.operators import CLUSTER_LABEL, Strimzi, strimzi
from kafka_replication.components.kafka.acls import operation_title
from kafka_replication.components.render.flow_acls import (
    Acl,
    flow_acls,
    flows_without_addresses,
    keeper_acls,
    merged_acls,
)
from kafka_replication.components.render.planned_objects import Manifest, ObjectRole, PlannedObject, manifest
from kafka_replication.components.topology.clusters import (
    Cluster,
    ConfigValue,
    KafkaUserDeclaration,
    ScramAuthentication,
    TlsAuthentication,
    kafka_principal,
    kafka_user_name,
)
from kafka_replication.components.topology.model import Topology

#: The objects' `part-of` label, in place of a flow's name.
_USERS = "kafka-users"
_PASSWORD_KEY = "password"
_RESOURCE_TYPES = {"topic": "topic", "group": "group", "transactional_id": "transactionalId", "cluster": "cluster"}
_PATTERN_TYPES = {"literal": "literal", "prefixed": "prefix"}


def kafka_user_objects(topology: Topology, region: str | None, *, keeper: bool = False) -> tuple[PlannedObject, ...]:
    """Return the KafkaUsers of a region's clusters (None: all) that flows use, and Secrets of given passwords. With a
    `keeper` that writes with the connectors' login, they may do what it needs.
    """
    if not any(cluster.kafka_user for cluster in topology.clusters.values()):
        return ()
    # A user has one KafkaUser with all its ACLs, including those for flows of other stacks.
    flows = flows_without_addresses(topology)
    acls = merged_acls(acl for flow in flows for acl in (*flow_acls(flow), *(keeper_acls(flow) if keeper else ())))
    operator = strimzi(topology.strimzi)
    objects: list[PlannedObject] = []
    for alias, cluster in topology.clusters.items():
        own = [acl for acl in acls if (acl.cluster, acl.principal) == (alias, kafka_principal(cluster))]
        if cluster.kafka_user is not None and own and region in (None, cluster.region):
            objects += _objects(alias, cluster, cluster.kafka_user, own, operator)
    return tuple(objects)


def _objects(
    alias: str, cluster: Cluster, declared: KafkaUserDeclaration, acls: list[Acl], operator: Strimzi
) -> list[PlannedObject]:
    name = kafka_user_name(cluster) or ""
    spec: Manifest = {
        "authentication": _authentication(cluster, declared, name),
        "authorization": {"type": "simple", "acls": [acl_rule(acl) for acl in acls]},
    }
    body = manifest(operator.api_version, "KafkaUser", name, declared.namespace, _USERS, spec=spec)
    body["metadata"]["labels"][CLUSTER_LABEL] = declared.cluster
    # Without the Secret of its password the operator reports a user as NotReady.
    user = PlannedObject(ObjectRole.KAFKA_USER, body, after=(ObjectRole.KAFKA_USER_PASSWORD,), part=alias)
    password = _configured_password(cluster)
    if password is None:
        return [user]
    secret = manifest("v1", "Secret", kafka_user_password_secret_name(name), declared.namespace, _USERS, type="Opaque")
    values = {_PASSWORD_KEY: password.config}
    return [PlannedObject(ObjectRole.KAFKA_USER_PASSWORD, secret, secret_values=values, part=alias), user]


def _authentication(cluster: Cluster, declared: KafkaUserDeclaration, name: str) -> Manifest:
    """Source: Strimzi KafkaUserScramSha512ClientAuthentication, KafkaUserTls(External)ClientAuthentication."""
    if isinstance(cluster.authentication, TlsAuthentication):
        return {"type": "tls-external" if declared.external_certificate else "tls"}
    if _configured_password(cluster) is None:
        return {"type": "scram-sha-512"}
    reference = {"name": kafka_user_password_secret_name(name), "key": _PASSWORD_KEY}
    return {"type": "scram-sha-512", "password": {"valueFrom": {"secretKeyRef": reference}}}


def _configured_password(cluster: Cluster) -> ConfigValue | None:
    authentication = cluster.authentication
    password = authentication.password if isinstance(authentication, ScramAuthentication) else None
    return password if isinstance(password, ConfigValue) else None


def acl_rule(acl: Acl) -> Manifest:
    """Return the ACL as KafkaUsers have it. Source: Strimzi AclRule, whose `operation` is deprecated."""
    resource = {"type": _RESOURCE_TYPES[acl.resource]}
    if acl.resource != "cluster":
        resource |= {"name": acl.name, "patternType": _PATTERN_TYPES[acl.pattern]}
    operations = [operation_title(operation) for operation in acl.operations]
    return {"type": "allow", "resource": resource, "operations": operations, "host": "*"}
