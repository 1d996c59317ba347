"""A flow with its two clusters, addresses filled in: what specs and validation parameters are made from.

Imports the model, naming and problems.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from components.clusters import Cluster, ConfigValue, KeystoreTrust, PlainAuthentication, ScramAuthentication
from components.expansion import NamedFlow, expand
from components.heartbeats import heartbeat_topics
from components.model import Flow, Topology
from components.naming import HEARTBEATS_TOPIC, Side
from components.problems import Problem, ReplicationError


class StrimziApi(StrEnum):
    """API version of Strimzi's custom resources."""

    V1 = "v1"
    V1BETA2 = "v1beta2"


#: First operator version that serves the API `v1`.
V1_SINCE = (0, 49)
#: First operator version whose worker files hold placeholders instead of values.
PLACEHOLDERS_SINCE = (0, 47)


@dataclass(frozen=True)
class Strimzi:
    """The operator: the API version that it is given, and its own version where the topology says it."""

    api: StrimziApi
    version: tuple[int, int] | None = None

    @property
    def keeps_values(self) -> bool:
        """Whether connectors can read the target's credentials from the worker's own property file.

        Source: Strimzi 0.47 release notes; later files hold placeholders, which Kafka does not resolve twice.
        """
        if self.version is not None:
            return self.version < PLACEHOLDERS_SINCE
        return self.api is StrimziApi.V1BETA2


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
    #: Heartbeat topics that the source holds, its own and those from further upstream.
    heartbeat_topics: frozenset[str] = frozenset({HEARTBEATS_TOPIC})

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
    heartbeats = heartbeat_topics(expand(topology))
    return tuple(
        ResolvedFlow(
            named,
            clusters[named.flow.source],
            clusters[named.flow.target],
            operator,
            heartbeats.get(named.flow.source, frozenset()),
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
    found: dict[str, ConfigValue] = {}
    authentication = cluster.authentication
    if isinstance(authentication, PlainAuthentication | ScramAuthentication):
        found |= _config_only("password", authentication.password)
    if cluster.tls is not None and cluster.tls.trust is not None:
        trust = cluster.tls.trust
        if isinstance(trust, ConfigValue):
            found["ca.crt"] = trust
        elif isinstance(trust, KeystoreTrust):
            found |= _config_only("truststore.password", trust.password)
    return found


def validation_config_secrets(cluster: Cluster) -> dict[str, ConfigValue]:
    """Credentials of the validation job that the stack's configuration holds, by their key in the Secret."""
    if cluster.validation is None:
        return {}
    authentication = cluster.validation.authentication
    if isinstance(authentication, PlainAuthentication | ScramAuthentication):
        return _config_only("password", authentication.password)
    return {}


def config_values(cluster: Cluster) -> Iterator[ConfigValue]:
    """Everything of a cluster that the stack's configuration holds, addresses and credentials."""
    if isinstance(cluster.bootstrap_servers, ConfigValue):
        yield cluster.bootstrap_servers
    yield from config_secrets(cluster).values()
    yield from validation_config_secrets(cluster).values()


def _config_only(key: str, credential: object) -> dict[str, ConfigValue]:
    return {key: credential} if isinstance(credential, ConfigValue) else {}
