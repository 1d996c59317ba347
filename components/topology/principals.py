"""The user of a replication in a Kafka cluster: its principal in ACLs, and the name of its KafkaUser.

Imports `clusters` only.
"""

from components.topology.clusters import (
    Authentication,
    Cluster,
    PlainAuthentication,
    ScramAuthentication,
    TlsAuthentication,
)

_COMMON_NAME = "CN="
_USER = "User:"


def kafka_principal(cluster: Cluster) -> str | None:
    """Return the principal of the connectors' user, such as `User:mirror`, or None if only the cluster knows it.

    Source: KIP-11, ssl.principal.mapping.rules, Strimzi KafkaUserModel.getUserName.
    """
    return _principal(_known_name(cluster))


def validation_principal(cluster: Cluster) -> str | None:
    """Return the principal of the validation job's own login, or None if it has none or only the cluster knows it."""
    validation = cluster.validation
    return _principal(_name_in(validation.authentication)) if validation is not None else None


def kafka_user_name(cluster: Cluster) -> str | None:
    """Return the name of the user's KafkaUser: the one given, or else the one that its credentials imply."""
    if cluster.kafka_user is None:
        return None
    if cluster.kafka_user.name is not None:
        return cluster.kafka_user.name
    authentication = cluster.authentication
    if isinstance(authentication, TlsAuthentication):
        # The User Operator keeps a user's certificate in a Secret with the user's name.
        return (authentication.principal or authentication.secret).removeprefix(_USER).removeprefix(_COMMON_NAME)
    return _known_name(cluster)


def _known_name(cluster: Cluster) -> str | None:
    authentication = cluster.authentication
    if cluster.kafka_user is not None and isinstance(authentication, TlsAuthentication):
        return _name_in(authentication) or f"{_COMMON_NAME}{kafka_user_name(cluster)}"
    return _name_in(authentication)


def _name_in(authentication: Authentication | None) -> str | None:
    if isinstance(authentication, PlainAuthentication | ScramAuthentication):
        return authentication.username
    if authentication is None:
        return None
    # Kafka prints a principal with its type, and clients only have the type `User`.
    return authentication.principal and authentication.principal.removeprefix(_USER)


def _principal(name: str | None) -> str | None:
    return None if name is None else f"{_USER}{name}"
