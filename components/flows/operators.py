"""The Strimzi operator that a topology names, how its versions behave, and the Kafka version that its workers run."""

from dataclasses import dataclass
from enum import StrEnum

from kafka_replication.components.properties.definitions import minor_version
from kafka_replication.components.topology.workers import ConnectCluster

#: The API group of Strimzi's custom resources.
STRIMZI_GROUP = "kafka.strimzi.io"
#: The kinds that run workers. Together with KafkaConnector they are all the kinds that replicate.
WORKER_KINDS = ("KafkaConnect", "KafkaMirrorMaker2")
REPLICATING_KINDS = ("KafkaConnect", "KafkaConnector", "KafkaMirrorMaker2")
#: The label that names the cluster to which an object belongs.
CLUSTER_LABEL = "strimzi.io/cluster"
#: The annotations that make a KafkaConnect take its connectors from KafkaConnectors, and that pause reconciliation.
USES_CONNECTOR_RESOURCES = "strimzi.io/use-connector-resources"
PAUSE = "strimzi.io/pause-reconciliation"


class StrimziApi(StrEnum):
    """API version of Strimzi's custom resources."""

    V1 = "v1"
    V1BETA2 = "v1beta2"

    @property
    def has_heartbeat_mirrors(self) -> bool:
        """Whether a KafkaMirrorMaker2 has heartbeat connectors of its own. Source: KafkaMirrorMaker2MirrorSpec."""
        return self is StrimziApi.V1BETA2


#: First operator version that serves the API `v1`.
V1_SINCE = (0, 49)
#: First operator version whose worker files contain placeholders instead of values.
PLACEHOLDERS_SINCE = (0, 46)
#: First operator version whose workers trust the target through PEM certificates instead of a truststore file.
PEM_SINCE = (0, 47)
#: First operator version whose resources have logins of the type `custom`.
CUSTOM_SINCE = (0, 48)


@dataclass(frozen=True)
class Strimzi:
    """The operator: the API whose fields its resources have, and its own version if the topology names it.

    Objects are written in the API version `written_as`. Operators from 0.49 to 0.51 also take the fields of `v1` in
    `v1beta2`, which makes stored objects ready for `v1`. Source: Strimzi 0.49 custom resource definitions.
    """

    api: StrimziApi
    version: tuple[int, int] | None = None
    written_as: StrimziApi = StrimziApi.V1

    @property
    def api_version(self) -> str:
        """The `apiVersion` of Strimzi's resources."""
        return f"{STRIMZI_GROUP}/{self.written_as}"

    @property
    def keeps_values(self) -> bool:
        """Whether connectors can read the target's credentials in the worker's file; later files have placeholders."""
        return self._before(PLACEHOLDERS_SINCE)

    @property
    def keeps_stores(self) -> bool:
        """Whether workers have certificates in keystore and truststore files instead of as PEM."""
        return self._before(PEM_SINCE)

    def has(self, since: tuple[int, int]) -> bool:
        """Return whether the operator is of this version or later."""
        return not self._before(since)

    def _before(self, version: tuple[int, int]) -> bool:
        """Return whether the operator is older; if only its API is known, it counts as the oldest that may have it."""
        if self.version is not None:
            return self.version < version
        return self.api is StrimziApi.V1BETA2 or version > V1_SINCE


def strimzi(setting: str) -> Strimzi:
    """Return the operator that `strimzi` names: `0.49`, `v1`, or `0.51/v1beta2`. Source: Strimzi 0.49 release notes."""
    if setting in set(StrimziApi):
        return Strimzi(StrimziApi(setting), None, StrimziApi(setting))
    version, _, written_as = setting.partition("/")
    major, minor = (int(part) for part in version.split(".")[:2])
    api = StrimziApi.V1 if (major, minor) >= V1_SINCE else StrimziApi.V1BETA2
    return Strimzi(api, (major, minor), StrimziApi(written_as or api))


#: Supported operator -> the versions of Kafka that it has images for, over all its patch releases; the last is its
#: default. `infra/SUPPORT.md` has what each was judged by. Source: Strimzi's kafka-versions.yaml.
OPERATORS = {
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
#: Supported minor versions of Kafka. `infra/SUPPORT.md` says how each was tested.
KAFKAS = tuple(dict.fromkeys(minor_version(version) for known in OPERATORS.values() for version in known))
#: First operator that does not serve the API `v1beta2`.
_ONLY_V1_SINCE = (1, 0)
#: API version -> a Kafka version that every operator with this API version supports.
_BY_API = {StrimziApi.V1BETA2: "3.9", StrimziApi.V1: "4.2"}


def kafka_version(connect: ConnectCluster, operator: Strimzi) -> str:
    """Return Kafka's minor version: that of `connect.version`, or else the operator's default."""
    if connect.version is not None:
        return minor_version(connect.version)
    if operator.version is None:
        return _BY_API[operator.api]
    known = max((version for version in OPERATORS if version <= operator.version), default=min(OPERATORS))
    return minor_version(OPERATORS[known][-1])


def supported_versions(operator: Strimzi) -> tuple[str, ...] | None:
    """Return the versions of Kafka that an operator, or all of its API, has images for; None if not known."""
    if operator.version is not None:
        return OPERATORS.get(operator.version)
    if operator.api is StrimziApi.V1:
        return None
    of_all = (versions for version, versions in OPERATORS.items() if version < _ONLY_V1_SINCE)
    return tuple(sorted({version for versions in of_all for version in versions}))
