"""Settings that the operator or its API version does not support."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kafka_replication.components.checks.heartbeats import resolved_without_addresses
from kafka_replication.components.checks.property_values import check_reference
from kafka_replication.components.contract.problems import Problem, warning
from kafka_replication.components.flows.expansion import ExpandedFlow, FlowShape
from kafka_replication.components.flows.operators import (
    CUSTOM_SINCE,
    KAFKAS,
    Strimzi,
    StrimziApi,
    strimzi,
    supported_versions,
)
from kafka_replication.components.flows.resolved import ResolvedFlow
from kafka_replication.components.kafka.connections import NOT_IN_IMAGES, login_classes
from kafka_replication.components.kafka.connectors import CONNECTOR_CLASSES
from kafka_replication.components.kafka.replication_policy import Side
from kafka_replication.components.properties.definitions import minor_version
from kafka_replication.components.render.secrets import mounts, references
from kafka_replication.components.topology import clusters
from kafka_replication.components.topology.connectors import Connector
from kafka_replication.components.topology.model import Topology
from kafka_replication.components.topology.workers import ReporterMetrics

#: Fields of the workers -> the first operator that has them. Source: Strimzi's custom resource definitions.
CONNECT_SINCE = {
    "template.pod.dnsPolicy": (0, 46),
    "template.pod.dnsConfig": (0, 46),
    "template.pod.securityContext.seLinuxChangePolicy": (0, 46),
    "template.pod.securityContext.supplementalGroupsPolicy": (0, 46),
    "template.pod.volumes.image": (0, 47),
    "template.pod.hostUsers": (0, 50),
    "template.pod.templatedVolumes": (1, 2),
    "plugins": (0, 47),
    "build.output.additionalBuildOptions": (0, 49),
    "build.output.additionalPushOptions": (0, 49),
    "build.plugins.artifacts.includeScope": (1, 1),
    "build.plugins.artifacts.mirrors": (1, 2),
    "rack.type": (1, 0),
}
#: Fields that the API `v1` does not have -> why, and what to set instead.
_GONE_IN_V1 = {
    "template.deployment": (
        "Operators run workers as StrimziPodSets, so the API `v1` has no Deployment to configure.",
        "remove it; `template.podSet` configures what runs the workers.",
    ),
    "build.output.additionalKanikoOptions": (
        "Newer operators build with Buildah unless they are told otherwise.",
        "write the options as `additionalBuildOptions`.",
    ),
}
#: Source: Strimzi 0.48, KafkaConnectSpec and KafkaClientAuthenticationCustom.
_MOUNTS = "/mnt"
_REPORTER_SINCE = (0, 48)
#: Source: Strimzi 0.49, KafkaConnectorSpec and KIP-891.
_PLUGIN_VERSION_SINCE = (0, 49)


def check_versions(topology: Topology, flow: ExpandedFlow) -> Iterator[Problem]:
    """The operator supports everything that a flow sets."""
    operator = strimzi(topology.strimzi)
    yield from _check_fields(operator, flow)
    yield from _check_mounts(flow)
    yield from _check_kafka(topology.strimzi, operator, flow)
    if isinstance(flow.settings.connect.metrics, ReporterMetrics) and not operator.has(_REPORTER_SINCE):
        remedy = "set `connect.metrics.type: jmxPrometheusExporter`"
        yield _too_old(flow.where("connect.metrics"), "strimziMetricsReporter", _REPORTER_SINCE, operator, remedy)
    yield from _check_plugin_versions(operator, flow)
    yield from _check_in_image(operator, flow, flow.where("policyClass"), flow.settings.policy_class or "")
    connect, source_connector = flow.settings.connect.config, flow.settings.connectors.source.config
    for where, config in (("connect.config", connect), ("connectors.source.config", source_connector)):
        for key, value in config.items():
            if key.endswith("partitioner.class"):
                yield from _check_in_image(operator, flow, flow.where(f"{where}.{key}"), str(value))
    resolved = resolved_without_addresses(topology, flow)
    if resolved is None:
        return
    sides: tuple[Side, Side] = ("source", "target")
    for side in sides:
        yield from _check_custom(resolved, side)
        yield from _check_trust(resolved, side)
    if flow.shape is not FlowShape.MIRROR_MAKER2:
        yield from _check_names(flow, mounts(resolved, sides))


def _check_plugin_versions(operator: Strimzi, flow: ExpandedFlow) -> Iterator[Problem]:
    connectors = flow.settings.connectors
    named: dict[str, Connector] = {role: getattr(connectors, role) for role in CONNECTOR_CLASSES}
    named |= {f"sources.{part}": source for part, source in connectors.sources.items()}
    for name, connector in named.items():
        if connector.plugin_version is not None and not operator.has(_PLUGIN_VERSION_SINCE):
            where = flow.where(f"connectors.{name}.version")
            yield _too_old(where, "version", _PLUGIN_VERSION_SINCE, operator, "remove it")


def _too_old(where: str, what: str, since: tuple[int, int], operator: Strimzi, remedy: str) -> Problem:
    version = ".".join(map(str, since))
    known = "does not say that the operator is new enough" if operator.version is None else "names an older operator"
    return Problem(
        where,
        "strimzi-too-old",
        f"`{what}` needs an operator of version {version} or later",
        f"`strimzi` {known}, and older resource definitions refuse it.",
        f"{remedy}, or upgrade the operator and set `strimzi: '{version}'` or later.",
    )


def _check_kafka(given: str, operator: Strimzi, flow: ExpandedFlow) -> Iterator[Problem]:
    """The operator has an image for the version, unless one is named. Source: KafkaVersion.Lookup."""
    connect, supported = flow.settings.connect, supported_versions(operator)
    own = connect.version is not None and len(connect.version.split(".")) == 3 and "-" not in connect.version
    if own and supported and connect.image is None and connect.version not in supported:
        image = f"image for Kafka {connect.version}"
        what, have, refuse = f"Strimzi {given} has no {image}", "It has", "it refuses"
        if operator.version is None:
            what = f"no Strimzi of `{given}` that is supported here, 0.45 or later, has an {image}"
            have, refuse = "They have", "they refuse"
        yield Problem(
            flow.where("connect.version"),
            "kafka-version-unsupported",
            what,
            f"{have} images for {', '.join(supported)}. Without `connect.image` {refuse} any other version, so no "
            "worker would start.",
            "set `connect.version` to one of these, remove it for the operator's default, or set `connect.image`.",
        )
    elif connect.version is not None and minor_version(connect.version) not in KAFKAS:
        yield Problem(
            flow.where("connect.version"),
            "kafka-version-unsupported",
            f"Kafka {connect.version} is not supported",
            f"Supported are {', '.join(KAFKAS)}. Nothing was tested with others.",
            "set `connect.version` to one of these, or remove it for the operator's default.",
        )


def _check_fields(operator: Strimzi, flow: ExpandedFlow) -> Iterator[Problem]:
    connect = flow.settings.connect.model_dump(by_alias=True, exclude_none=True)
    for path, since in CONNECT_SINCE.items():
        for where in _places(connect, path.split("."), "connect") if not operator.has(since) else ():
            remedy = "write only `rack: {topologyKey: LABEL}`" if path == "rack.type" else "remove it"
            yield _too_old(flow.where(where), path.removeprefix("template."), since, operator, remedy)
    for path, (why, remedy) in _GONE_IN_V1.items():
        for where in _places(connect, path.split("."), "connect") if operator.api is StrimziApi.V1 else ():
            what = f"the workers set `{path}`, which the API `v1` does not have"
            yield Problem(flow.where(where), "gone-in-v1", what, why, remedy)


def _places(value: Any, path: Sequence[str], where: str) -> Iterator[str]:
    """Yield where a field is set, in each entry of the lists on its path."""
    if not path:
        yield from () if value is None else (where,)
    elif isinstance(value, list | tuple):
        for index, entry in enumerate(value):
            yield from _places(entry, path, f"{where}.{index}")
    elif isinstance(value, Mapping) and path[0] in value:
        yield from _places(value[path[0]], path[1:], f"{where}.{path[0]}")


def _check_custom(flow: ResolvedFlow, side: Side) -> Iterator[Problem]:
    where = f"clusters.{flow.alias(side)}.authentication"
    authentication = flow.cluster(side).authentication
    if not isinstance(authentication, clusters.CustomAuthentication):
        return
    # The workers need the field; the connectors read the properties themselves.
    if side == flow.workers_on and not flow.strimzi.has(CUSTOM_SINCE):
        remedy = "set `type` to `oauth`, `scram-sha-512`, `plain` or `tls`"
        yield _too_old(f"{where}.type", "custom", CUSTOM_SINCE, flow.strimzi, remedy)
    for key, value in authentication.config.items():
        for reference in sorted(references(value, flow.namespace)):
            yield from check_reference(f"{where}.config.{key}", reference, flow.namespace)
    for name, key in login_classes(authentication.config).items():
        yield from _check_in_image(flow.strimzi, flow.expanded, f"{where}.config.{key}", name)


def _check_in_image(operator: Strimzi, flow: ExpandedFlow, where: str, name: str) -> Iterator[Problem]:
    """The operator's image has a well-known class, unless something else brings classes."""
    missing, connect = NOT_IN_IMAGES.get(name), flow.settings.connect
    if missing is None or connect.image or connect.build or connect.plugins:
        return
    has_kafka = tuple(map(int, flow.kafka.split("."))) < missing.kafka
    if not has_kafka and (operator.version is None or operator.version >= missing.strimzi):
        since = f" {'.'.join(map(str, missing.strimzi))} or later" if any(missing.strimzi) else ""
        yield warning(
            where,
            "class-not-in-image",
            f"no image of Strimzi{since} for Kafka {flow.kafka} has `{name}`",
            "Without `connect.image` the workers run the operator's image, and a connector that names a class that it "
            "does not have fails at its start.",
            f"{missing.instead and f'{missing.instead}, or '}set `connect.image` to an image that has it.",
        )


def _check_trust(flow: ResolvedFlow, side: Side) -> Iterator[Problem]:
    cluster, alias = flow.cluster(side), flow.alias(side)
    mirror, login = flow.expanded.shape is FlowShape.MIRROR_MAKER2, cluster.authentication
    trust = cluster.tls.trust if cluster.tls else None
    own = login.secret if isinstance(login, clusters.TlsAuthentication) else None
    trusts_own = isinstance(trust, clusters.SecretKey | clusters.SecretPattern) and trust.secret == own
    if mirror and flow.strimzi.keeps_stores and trusts_own:
        yield warning(
            f"clusters.{alias}.tls.trust",
            "secret-mounted-twice",
            f"the Secret `{own}` holds the trusted certificates and the client's key",
            "For a KafkaMirrorMaker2, operators before 0.47 mount it once for each, under one name, and Kubernetes "
            "refuses the pod (Strimzi issues 10865 and 11394).",
            "put the trusted certificates into a Secret of their own, or upgrade the operator and set `strimzi: "
            "'0.47'` or later.",
        )
    if isinstance(trust, clusters.SecretPattern) and trust.key is None and _read_by_connectors(flow, side):
        yield Problem(
            f"clusters.{alias}.tls.trust.pattern",
            "trust-pattern-needs-key",
            f"the trust of `{alias}` is every key of the Secret `{trust.secret}` that matches `{trust.pattern}`",
            "Connectors read certificates through a placeholder, which can name only one key of a Secret.",
            f"put all of the certificates into one more key of `{trust.secret}`, and name that key: `key: all.pem`.",
        )
    if mirror and side == "source" and isinstance(trust, clusters.KeystoreTrust):
        yield Problem(
            f"clusters.{alias}.tls.trust.format",
            "keystore-trust-in-mirror-maker",
            f"the trust of `{alias}`, a source of a KafkaMirrorMaker2, is a {trust.format} file",
            "Its trustedCertificates accept only PEM.",
            "set `trust: {secret: NAME, key: ca.crt}` with the certificate authority as PEM, or use `kind: flow`.",
        )


def _read_by_connectors(flow: ResolvedFlow, side: Side) -> bool:
    """Return whether a connector's configuration names the certificates; a KafkaMirrorMaker2's operator sets them."""
    if flow.expanded.shape is FlowShape.MIRROR_MAKER2:
        heartbeats = flow.settings.connectors.heartbeat.enabled and flow.api is StrimziApi.V1
        return heartbeats and side == "source"
    return side == "source" or not flow.strimzi.keeps_values


def _check_mounts(flow: ExpandedFlow) -> Iterator[Problem]:
    """Source: Strimzi TemplateUtils.addAdditionalVolumeMounts."""
    for container in ("connectContainer", "initContainer"):
        template: Mapping[str, Any] = flow.settings.connect.template or {}
        for index, mount in enumerate(template.get(container, {}).get("volumeMounts", ())):
            path = str(mount.get("mountPath", ""))
            if not path.startswith(_MOUNTS):
                yield Problem(
                    flow.where(f"connect.template.{container}.volumeMounts.{index}.mountPath"),
                    "mount-outside-mnt",
                    f"the volume `{mount.get('name')}` is mounted at `{path}`",
                    f"Strimzi refuses additional volumes that are not below `{_MOUNTS}`, so no worker would start.",
                    f"mount it at `{_MOUNTS}/{path.strip('/').rpartition('/')[2]}`.",
                )


def _check_names(flow: ExpandedFlow, ours: Mapping[str, Any]) -> Iterator[Problem]:
    """The user's template does not use a name or path that the rendered objects use."""
    template: Mapping[str, Any] = flow.settings.connect.template or {}
    for path, key in (("pod.volumes", "name"), ("connectContainer.volumeMounts", "mountPath")):
        top, below = path.split(".")
        reserved = {entry[key] for entry in ours.get(top, {}).get(below, ())}
        for entry in template.get(top, {}).get(below, ()):
            if entry.get(key) in reserved:
                yield Problem(
                    flow.where(f"connect.template.{path}"),
                    "template-name-taken",
                    f"the replication itself uses `{entry[key]}`",
                    "The workers' pod would then have it twice, which Kubernetes refuses.",
                    f"choose another `{key}`.",
                )
