"""The Kafka version whose properties hold for a flow. Imports `workers`, `resolved` and the property definitions."""

from components.properties.definitions import minor_version
from components.resolved import Strimzi, StrimziApi
from components.workers import ConnectCluster

#: Kafka that an operator of this version and later runs by default. Source: Strimzi's kafka-versions.yaml.
_BY_OPERATOR = (((0, 45), "3.9"), ((0, 46), "4.0"), ((0, 48), "4.1"), ((0, 51), "4.2"), ((1, 1), "4.3"))
#: Where a topology says the API version alone: Kafka that an operator which serves it surely knew.
_BY_API = {StrimziApi.V1BETA2: "3.9", StrimziApi.V1: "4.2"}


def kafka_version(connect: ConnectCluster, operator: Strimzi) -> str:
    """Kafka's minor version: of `connect.version`, else the operator's default."""
    if connect.version is not None:
        return minor_version(connect.version)
    if operator.version is None:
        return _BY_API[operator.api]
    since = [version for first, version in _BY_OPERATOR if first <= operator.version]
    return since[-1] if since else _BY_OPERATOR[0][1]
