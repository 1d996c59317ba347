"""KafkaUsers: they can be created, keep the ACLs that are needed, and open no cluster by a selective pattern."""

import re
from collections.abc import Iterator, Sequence

from kafka_replication.components.contract.problems import Problem, warning
from kafka_replication.components.flows.expansion import ExpandedFlow
from kafka_replication.components.flows.selections import topic_lists
from kafka_replication.components.kafka.name_prefixes import beginnings_of_entry
from kafka_replication.components.kafka.patterns import is_for_everything
from kafka_replication.components.kafka.replication_policy import Policy
from kafka_replication.components.topology.clusters import (
    SUBDOMAIN,
    SUBDOMAIN_LENGTH,
    Cluster,
    ScramAuthentication,
    TlsAuthentication,
    kafka_principal,
    kafka_user_name,
)
from kafka_replication.components.topology.model import Topology

#: Longest common name of a certificate. Source: Strimzi KafkaUserModel.validateTlsUsername.
_COMMON_NAME_LENGTH = 64


def check_kafka_users(topology: Topology, flows: Sequence[ExpandedFlow]) -> Iterator[Problem]:
    """Every KafkaUser can be created, belongs to one cluster only, and has no more ACLs than flows need."""
    places: dict[tuple[str, str, str | None], str] = {}
    for alias, cluster in topology.clusters.items():
        if cluster.kafka_user is None:
            continue
        where = f"clusters.{alias}.kafkaUser"
        unlike = list(_check_authentication(where, cluster))
        yield from unlike or _check_name(f"{where}.name", cluster)
        place = (cluster.region, cluster.kafka_user.namespace, kafka_user_name(cluster))
        other = places.setdefault(place, alias)
        if other != alias and not unlike:
            yield Problem(
                where,
                "kafka-user-shared",
                f"the cluster has the same KafkaUser `{place[2]}` as `{other}`",
                "Both would declare one object, and each deployment would remove the other's ACLs.",
                "use a different user or a different namespace for each cluster.",
            )
    # Here the stack itself grants the ACLs, so a pattern can open the cluster.
    declared = {alias for alias, cluster in topology.clusters.items() if cluster.kafka_user is not None}
    for flow in flows:
        yield from _check_acl_sync(topology, flow)
        yield from open_grants(topology, flow, declared)


def _check_authentication(where: str, cluster: Cluster) -> Iterator[Problem]:
    assert cluster.kafka_user is not None
    authentication = cluster.authentication
    certificate = isinstance(authentication, TlsAuthentication)
    scram = isinstance(authentication, ScramAuthentication) and authentication.type == "scram-sha-512"
    if not certificate and not scram:
        given = authentication.type if authentication else "none"
        yield Problem(
            where,
            "kafka-user-authentication",
            f"the cluster has a KafkaUser, but its authentication is `{given}`",
            "The User Operator creates only users with SCRAM-SHA-512 or a client certificate.",
            "set `authentication.type` to `scram-sha-512` or `tls`, or remove `kafkaUser` and grant what `replicate "
            "acls` prints.",
        )
    elif scram and cluster.kafka_user.external_certificate:
        yield Problem(
            f"{where}.externalCertificate",
            "kafka-user-authentication",
            "`externalCertificate` is set, but the user logs in with a password",
            "A user with SCRAM-SHA-512 presents no certificate.",
            "remove `externalCertificate`, or set `authentication.type: tls`.",
        )


def _check_name(where: str, cluster: Cluster) -> Iterator[Problem]:
    name = kafka_user_name(cluster) or ""
    certificate = isinstance(cluster.authentication, TlsAuthentication)
    longest = _COMMON_NAME_LENGTH if certificate else SUBDOMAIN_LENGTH
    if not re.fullmatch(SUBDOMAIN, name) or len(name) > longest:
        yield Problem(
            where,
            "kafka-user-name",
            f"the KafkaUser would be named `{name}`",
            "A KafkaUser has the name of its user in Kafka. Kubernetes allows lower-case letters, digits, `-` and `.` "
            f"(RFC 1123), and this name may have at most {longest} characters.",
            "rename the user in its credentials and in `kafkaUser.name`.",
        )
        return
    expected = f"User:CN={name}" if certificate else f"User:{name}"
    if kafka_principal(cluster) != expected:
        yield Problem(
            where,
            "kafka-user-name",
            f"the KafkaUser `{name}` declares `{expected}`, but connectors log in as `{kafka_principal(cluster)}`",
            "The ACLs would belong to another user, and the connectors would have no access.",
            "remove `kafkaUser.name`, or set it to the user's name (for a certificate, its common name).",
        )


def _check_acl_sync(topology: Topology, flow: ExpandedFlow) -> Iterator[Problem]:
    target = topology.clusters.get(flow.settings.target)
    if flow.settings.sync_topic_acls and target is not None and target.kafka_user is not None:
        yield Problem(
            flow.where("syncTopicAcls"),
            "acl-sync-beside-kafka-user",
            f"topic ACLs are synced to `{flow.settings.target}`, whose users are managed by Strimzi's User Operator",
            "MirrorMaker creates ACLs through Kafka's Admin API. The User Operator removes every ACL of its users that "
            "no KafkaUser declares, so these ACLs would come and go.",
            f"set `syncTopicAcls: false`, and declare the ACLs of applications on `{flow.settings.target}` in their "
            "KafkaUsers.",
        )


def open_grants(topology: Topology, flow: ExpandedFlow, aliases: set[str]) -> Iterator[Problem]:
    """Warn about every pattern whose ACLs cover every topic or group on one of these clusters."""
    settings = flow.settings
    renamed = settings.policy is Policy.DEFAULT
    topics = [
        (settings.source, "read every topic"),
        *([] if renamed else [(settings.target, "create, write and alter every topic")]),
    ]
    groups = [
        (settings.source, "describe every group"),
        *([(settings.target, "commit offsets of every group")] if settings.sync_group_offsets else []),
    ]
    lists = [(key, entries, topics) for key, entries in topic_lists(settings).items()]
    if settings.connectors.checkpoint.enabled:
        lists.append(("groups", settings.groups, groups))
    for key, entries, opened in lists:
        for index, entry in enumerate(entries):
            said = [
                f"`{kafka_principal(topology.clusters[alias])}` to {what} on `{alias}`"
                for alias, what in opened
                if alias in aliases and kafka_principal(topology.clusters[alias]) is not None
            ]
            if said and beginnings_of_entry(entry) == (("", False),) and not is_for_everything(entry):
                yield warning(
                    flow.where(f"{key}.{index}"),
                    "acl-for-every-name",
                    f"the ACLs needed for `{entry}` allow {' and '.join(said)}",
                    "Kafka's ACLs take whole names and prefixes, and the names that this pattern matches have no "
                    "common prefix.",
                    "begin the pattern with text, as in `orders-.*`, or list the names.",
                )
