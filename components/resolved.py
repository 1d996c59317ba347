"""A flow with its two clusters, addresses filled in: what specs and validation parameters are made from.

Imports the model, naming and problems.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from components.clusters import Authentication, Cluster, ConfigValue, KeystoreTrust, OAuthAuthentication
from components.credentials import TOKEN_TRUST_KEY, credentials
from components.expansion import NamedFlow, expand
from components.heartbeats import Heartbeats, heartbeats_on
from components.model import Flow, Topology
from components.naming import Side
from components.problems import Problem, ReplicationError


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
#: First operator version whose worker files hold placeholders instead of values.
PLACEHOLDERS_SINCE = (0, 46)
#: First operator version whose workers trust the target by PEM certificates instead of a truststore file.
PEM_SINCE = (0, 47)


@dataclass(frozen=True)
class Strimzi:
    """The operator: the API version that it is given, and its own version where the topology says it."""

    api: StrimziApi
    version: tuple[int, int] | None = None

    @property
    def keeps_values(self) -> bool:
        """Whether connectors can read the target's credentials from the worker's own property file.

        Later files hold placeholders, which Kafka does not resolve twice. Source: Strimzi 0.45
        kafka_connect_config_generator.sh, 0.46 KafkaConnectConfigurationBuilder.
        """
        return self._before(PLACEHOLDERS_SINCE)

    @property
    def keeps_stores(self) -> bool:
        """Whether workers have the target's certificates, and their own, in binary stores instead of as PEM."""
        return self._before(PEM_SINCE)

    def has(self, since: tuple[int, int]) -> bool:
        """Whether the operator is of this version or later."""
        return not self._before(since)

    def _before(self, version: tuple[int, int]) -> bool:
        """Whether the operator is older; one that is known by its old API version only is taken for an old one."""
        return self.api is StrimziApi.V1BETA2 if self.version is None else self.version < version


def strimzi(setting: str) -> Strimzi:
    """The operator of a topology's `strimzi`: its version, or the API version by itself.

    Source: Strimzi 0.49 release notes.
    """
    if setting in set(StrimziApi):
        return Strimzi(StrimziApi(setting))
    major, minor = (int(part) for part in setting.split(".")[:2])
    return Strimzi(StrimziApi.V1 if (major, minor) >= V1_SINCE else StrimziApi.V1BETA2, (major, minor))


@dataclass(frozen=True)
class ResolvedFlow:
    """One flow, ready to be rendered; `source` and `target` hold plain bootstrap addresses."""

    named: NamedFlow
    source: Cluster
    target: Cluster
    strimzi: Strimzi
    heartbeats: Heartbeats = field(default=Heartbeats(), compare=False, repr=False)

    @property
    def name(self) -> str:
        return self.named.name

    @property
    def flow(self) -> Flow:
        return self.named.flow

    @property
    def workers(self) -> str:
        """Name of the Connect workers that run the flow; the names of their objects derive from it."""
        return self.named.workers

    def secrets_owner(self, side: Side) -> str:
        """Whose name the Secrets of our making for a cluster carry; mirrors of one KafkaMirrorMaker2 share a target."""
        return self.named.owner if side == "target" else self.name

    @property
    def heartbeat_topics(self) -> frozenset[str]:
        """Heartbeat topics that the source holds, its own and those from further upstream."""
        return self.heartbeats.on(self.flow.source)

    @property
    def heartbeats_on(self) -> Side:
        """The cluster that heartbeats are produced to."""
        return heartbeats_on(self.named, in_mirrors=self.api.has_heartbeat_mirrors)

    @property
    def api(self) -> StrimziApi:
        return self.strimzi.api

    def cluster(self, side: Side) -> Cluster:
        return self.source if side == "source" else self.target

    def alias(self, side: Side) -> str:
        return self.flow.source if side == "source" else self.flow.target


def bootstrap_address(cluster: Cluster) -> str:
    """Bootstrap servers of a resolved cluster."""
    if isinstance(cluster.bootstrap_servers, ConfigValue):
        raise TypeError(f"bootstrap servers of configuration key {cluster.bootstrap_servers.config} are not resolved")
    return cluster.bootstrap_servers


def resolve_flows(topology: Topology, region: str | None, addresses: Mapping[str, str]) -> tuple[ResolvedFlow, ...]:
    """Flows whose target is in `region` (all without one), their addresses taken from the stack's configuration.

    Raises ReplicationError for addresses that the configuration does not hold. The topology must have passed its
    checks.
    """
    operator = strimzi(topology.strimzi)
    chosen = [
        named for named in expand(topology) if region is None or topology.clusters[named.flow.target].region == region
    ]
    aliases = {alias for named in chosen for alias in (named.flow.source, named.flow.target)}
    missing = [problem for alias in sorted(aliases) for problem in _missing_address(alias, topology, addresses)]
    if missing:
        raise ReplicationError(missing)
    clusters = {alias: _with_address(topology.clusters[alias], addresses) for alias in aliases}
    heartbeats = Heartbeats(expand(topology), operator.api.has_heartbeat_mirrors)
    return tuple(
        ResolvedFlow(
            named,
            clusters[named.flow.source],
            clusters[named.flow.target],
            operator,
            heartbeats,
        )
        for named in sorted(chosen, key=lambda named: named.name)
    )


def _missing_address(alias: str, topology: Topology, addresses: Mapping[str, str]) -> Iterator[Problem]:
    value = topology.clusters[alias].bootstrap_servers
    if isinstance(value, ConfigValue) and value.config not in addresses:
        yield missing_config(f"clusters.{alias}.bootstrapServers", value.config, secret=False)


def missing_config(where: str, key: str, *, secret: bool) -> Problem:
    """Problem of a configuration key that the topology names and the stack file does not hold."""
    return Problem(
        where,
        "missing-config",
        f"configuration key `{key}` is not set",
        "The topology takes this value from the stack's configuration.",
        f"`pulumi config set {'--secret ' if secret else ''}{key} VALUE` for this stack.",
    )


def _with_address(cluster: Cluster, addresses: Mapping[str, str]) -> Cluster:
    value = cluster.bootstrap_servers
    return (
        cluster.model_copy(update={"bootstrap_servers": addresses[value.config]})
        if isinstance(value, ConfigValue)
        else cluster
    )


def config_secrets(cluster: Cluster) -> dict[str, ConfigValue]:
    """Credentials of the connectors that the stack's configuration holds, by their key in the Secret of our making."""
    found = _config_credentials(cluster.authentication)
    if isinstance(cluster.authentication, OAuthAuthentication):
        found |= _config_only(TOKEN_TRUST_KEY, cluster.authentication.trust)
    trust = cluster.tls.trust if cluster.tls else None
    if isinstance(trust, KeystoreTrust):
        return found | _config_only("truststore.password", trust.password)
    return found | _config_only("ca.crt", trust)


def validation_config_secrets(cluster: Cluster) -> dict[str, ConfigValue]:
    """Credentials of the validation job that the stack's configuration holds, by their key in the Secret."""
    if cluster.validation is None:
        return {}
    return _config_credentials(cluster.validation.authentication) | _config_only("ca.crt", cluster.validation.trust)


def _config_credentials(authentication: Authentication | None) -> dict[str, ConfigValue]:
    held = credentials(authentication) if authentication is not None else {}
    return {key: value for key, value in held.items() if isinstance(value, ConfigValue)}


def config_values(cluster: Cluster) -> Iterator[ConfigValue]:
    """Everything of a cluster that the stack's configuration holds, addresses and credentials."""
    if isinstance(cluster.bootstrap_servers, ConfigValue):
        yield cluster.bootstrap_servers
    yield from config_secrets(cluster).values()
    yield from validation_config_secrets(cluster).values()


def _config_only(key: str, credential: object) -> dict[str, ConfigValue]:
    return {key: credential} if isinstance(credential, ConfigValue) else {}
