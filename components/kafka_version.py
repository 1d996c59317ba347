"""The Kafka version whose properties hold for a flow. Imports `workers`, `resolved` and the property definitions."""

from components.properties.definitions import minor_version
from components.resolved import Strimzi, StrimziApi
from components.workers import ConnectCluster

#: Kafka of the operators that serve each API version, where a topology does not say it.
#: Source: supported versions of Strimzi 0.45 and 1.2.
_BY_API = {StrimziApi.V1BETA2: "3.9", StrimziApi.V1: "4.2"}


def kafka_version(connect: ConnectCluster, operator: Strimzi) -> str:
    """Kafka's minor version: of `connect.version`, else the operator's."""
    try:
        return minor_version(connect.version or "")
    except ValueError:
        return _BY_API[operator.api]
