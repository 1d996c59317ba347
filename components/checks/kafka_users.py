"""KafkaUsers: what the User Operator can declare, and nothing that it would undo."""

import re
from collections.abc import Iterator, Sequence

from components.clusters import Cluster, ScramAuthentication, TlsAuthentication
from components.expansion import NamedFlow
from components.model import Topology
from components.principals import kafka_principal, kafka_user_name
from components.problems import Problem

#: RFC 1123 subdomain.
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_SUBDOMAIN_LENGTH = 253
#: Longest common name of a certificate. Source: Strimzi KafkaUserModel.validateTlsUsername.
_COMMON_NAME_LENGTH = 64


def check_kafka_users(topology: Topology, flows: Sequence[NamedFlow]) -> Iterator[Problem]:
    """Problems of every cluster whose user is declared as a KafkaUser."""
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
            yield _shared(where, str(place[2]), other)
    for named in flows:
        yield from _check_acl_sync(topology, named)


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
            f"a KafkaUser is declared beside authentication `{given}`",
            "The User Operator makes users of SCRAM-SHA-512 and of client certificates only.",
            "set `authentication.type` to `scram-sha-512` or `tls`, or remove `kafkaUser` and grant what `replicate "
            "acls` prints.",
        )
    elif scram and cluster.kafka_user.external_certificate:
        yield Problem(
            f"{where}.externalCertificate",
            "kafka-user-authentication",
            "a certificate is spoken of, and the user has a password",
            "A user of SCRAM-SHA-512 presents no certificate.",
            "remove `externalCertificate`, or set `authentication.type: tls`.",
        )


def _check_name(where: str, cluster: Cluster) -> Iterator[Problem]:
    name = kafka_user_name(cluster) or ""
    certificate = isinstance(cluster.authentication, TlsAuthentication)
    longest = _COMMON_NAME_LENGTH if certificate else _SUBDOMAIN_LENGTH
    if not _SUBDOMAIN.fullmatch(name) or len(name) > longest:
        yield Problem(
            where,
            "kafka-user-name",
            f"the KafkaUser would be named `{name}`",
            "A KafkaUser has the name of the user in Kafka, and Kubernetes takes lower-case letters, digits, `-` and "
            f"`.` only (RFC 1123), at most {longest} of them.",
            "name the user so, in its credentials and in `kafkaUser.name`.",
        )
        return
    expected = f"User:CN={name}" if certificate else f"User:{name}"
    if kafka_principal(cluster) != expected:
        yield Problem(
            where,
            "kafka-user-name",
            f"the KafkaUser `{name}` declares `{expected}`, and connectors log in as `{kafka_principal(cluster)}`",
            "The ACLs would be another user's, and the connectors could do nothing.",
            "remove `kafkaUser.name`, or set it to the user's name (the common name of its certificate).",
        )


def _shared(where: str, name: str, other: str) -> Problem:
    return Problem(
        where,
        "kafka-user-shared",
        f"the KafkaUser `{name}` is that of `{other}`, too",
        "Two objects of one name would take each other's ACLs away, deploy after deploy.",
        "give the clusters users of their own, or their own namespaces.",
    )


def _check_acl_sync(topology: Topology, named: NamedFlow) -> Iterator[Problem]:
    target = topology.clusters.get(named.flow.target)
    if named.flow.sync_topic_acls and target is not None and target.kafka_user is not None:
        yield Problem(
            named.where("syncTopicAcls"),
            "acl-sync-beside-kafka-user",
            f"topic ACLs are copied to `{named.flow.target}`, whose users Strimzi's User Operator rules",
            "MirrorMaker copies ACLs with Kafka's Admin API, and the User Operator removes every ACL of a user of its "
            "own that no KafkaUser says: they would come and go.",
            f"set `syncTopicAcls: false` and declare what applications may do on `{named.flow.target}` in their "
            "KafkaUsers.",
        )
