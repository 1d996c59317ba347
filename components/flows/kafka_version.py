"""The version of Kafka whose properties a flow can use."""

from components.flows.operators import Strimzi, StrimziApi
from components.properties.definitions import minor_version
from components.topology.workers import ConnectCluster

#: Operator version -> the versions of Kafka that it has images for, over all its patch releases; the last is its
#: default. Source: Strimzi's kafka-versions.yaml.
_BY_OPERATOR = {
    (0, 45): ("3.8.0", "3.8.1", "3.9.0", "3.9.1", "3.9.2"),
    (0, 46): ("3.9.0", "4.0.0"),
    (0, 47): ("3.9.0", "3.9.1", "4.0.0"),
    (0, 48): ("4.0.0", "4.1.0"),
    (0, 49): ("4.0.0", "4.0.1", "4.1.0", "4.1.1"),
    (0, 50): ("4.0.0", "4.0.1", "4.1.0", "4.1.1"),
    (0, 51): ("4.1.0", "4.1.1", "4.2.0"),
    (1, 0): ("4.1.0", "4.1.1", "4.1.2", "4.2.0"),
    (1, 1): ("4.2.0", "4.2.1", "4.3.0"),
    (1, 2): ("4.2.0", "4.2.1", "4.3.0", "4.3.1"),
}
#: First operator that does not serve the API `v1beta2`.
_ONLY_V1_SINCE = (1, 0)
#: API version -> a Kafka version that every operator with this API version supports.
_BY_API = {StrimziApi.V1BETA2: "3.9", StrimziApi.V1: "4.2"}


def kafka_version(connect: ConnectCluster, operator: Strimzi) -> str:
    """Kafka's minor version: that of `connect.version`, or else the operator's default."""
    if connect.version is not None:
        return minor_version(connect.version)
    if operator.version is None:
        return _BY_API[operator.api]
    known = max((each for each in _BY_OPERATOR if each <= operator.version), default=min(_BY_OPERATOR))
    return minor_version(_BY_OPERATOR[known][-1])


def supported_versions(operator: Strimzi) -> tuple[str, ...] | None:
    """The versions of Kafka that an operator has images for, oldest first; None if they are not known here.

    Without the operator's version they are those of all operators with its API; operators with `v1` still get new ones.
    """
    if operator.version is not None:
        return _BY_OPERATOR.get(operator.version)
    if operator.api is StrimziApi.V1:
        return None
    of_all = (versions for version, versions in _BY_OPERATOR.items() if version < _ONLY_V1_SINCE)
    return tuple(sorted({each for versions in of_all for each in versions}))
