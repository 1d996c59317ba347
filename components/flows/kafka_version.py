"""The version of Kafka whose properties a flow can use."""

from components.flows.resolved import Strimzi, StrimziApi
from components.properties.definitions import minor_version
from components.topology.workers import ConnectCluster

#: Operator version -> the Kafka that it and later ones run by default. Source: Strimzi's kafka-versions.yaml.
_BY_OPERATOR = (((0, 45), "3.9"), ((0, 46), "4.0"), ((0, 48), "4.1"), ((0, 51), "4.2"), ((1, 1), "4.3"))
#: API version -> a Kafka that every operator with this API version supports.
_BY_API = {StrimziApi.V1BETA2: "3.9", StrimziApi.V1: "4.2"}


def kafka_version(connect: ConnectCluster, operator: Strimzi) -> str:
    """Kafka's minor version: that of `connect.version`, or else the operator's default."""
    if connect.version is not None:
        return minor_version(connect.version)
    if operator.version is None:
        return _BY_API[operator.api]
    since = [version for first, version in _BY_OPERATOR if first <= operator.version]
    return since[-1] if since else _BY_OPERATOR[0][1]
