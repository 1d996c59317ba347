"""What one API version or one operator cannot be told, and what its workers would not get."""

from collections.abc import Iterator, Mapping
from typing import Any

from components.clusters import CustomAuthentication, KeystoreTrust, SecretPattern
from components.expansion import NamedFlow, Shape
from components.model import Topology
from components.naming import Side, namespace_name
from components.problems import Problem
from components.resolved import ResolvedFlow, Strimzi, StrimziApi, strimzi
from components.specs.clients import placeholder_secrets
from components.specs.mounts import mounts
from components.workers import ReporterMetrics

#: Fields of the workers' template by the first operator that has them. Source: Strimzi's custom resource definitions.
_TEMPLATE_SINCE = {
    "pod.dnsPolicy": (0, 46),
    "pod.dnsConfig": (0, 46),
    "pod.securityContext.seLinuxChangePolicy": (0, 46),
    "pod.securityContext.supplementalGroupsPolicy": (0, 46),
    "pod.hostUsers": (0, 50),
    "pod.templatedVolumes": (1, 2),
}
#: Fields of the workers' template that `v1` has no more, by what stands for them.
_TEMPLATE_GONE = {"deployment": "`template.podSet`"}
#: Source: Strimzi 0.48, KafkaConnectSpec and KafkaClientAuthenticationCustom.
_CUSTOM_SINCE = _REPORTER_SINCE = (0, 48)


def check_versions(topology: Topology, named: NamedFlow) -> Iterator[Problem]:
    """Problems of one flow with the operator that is to run it."""
    operator = strimzi(topology.strimzi)
    yield from _check_template(operator, named)
    if isinstance(named.flow.connect.metrics, ReporterMetrics) and not operator.has(_REPORTER_SINCE):
        remedy = "set `connect.metrics.type: jmxPrometheusExporter` with its ConfigMap"
        yield _too_old(named.where("connect.metrics"), "strimziMetricsReporter", _REPORTER_SINCE, operator, remedy)
    source, target = (topology.clusters.get(alias) for alias in (named.flow.source, named.flow.target))
    if source is None or target is None:
        return
    resolved = ResolvedFlow(named, source, target, operator)
    sides: tuple[Side, Side] = ("source", "target")
    for side in sides:
        yield from _check_custom(resolved, side)
        yield from _check_trust(resolved, side)
    if named.shape is not Shape.MIRROR_MAKER2:
        yield from _check_names(named, mounts(resolved, sides))


def _too_old(where: str, what: str, since: tuple[int, int], operator: Strimzi, remedy: str) -> Problem:
    version = ".".join(map(str, since))
    known = "an operator that may be older" if operator.version is None else "an older one"
    return Problem(
        where,
        "strimzi-too-old",
        f"`{what}` is given, which operators have since {version}",
        f"`strimzi` names {known}, whose definitions refuse it.",
        f"{remedy}, or upgrade the operator and set `strimzi: '{version}'` or later.",
    )


def _check_template(operator: Strimzi, named: NamedFlow) -> Iterator[Problem]:
    template = named.flow.connect.template or {}
    for path, since in _TEMPLATE_SINCE.items():
        if _holds(template, path) and not operator.has(since):
            yield _too_old(named.where(f"connect.template.{path}"), path, since, operator, "remove it")
    for path, instead in _TEMPLATE_GONE.items():
        if _holds(template, path) and operator.api is StrimziApi.V1:
            yield Problem(
                named.where(f"connect.template.{path}"),
                "gone-in-v1",
                f"`{path}` of the workers' template is given under the API `v1`",
                "Operators run workers as StrimziPodSets; the API `v1` has no Deployment to shape.",
                f"remove it; {instead} shapes what runs the workers.",
            )


def _holds(template: Mapping[str, Any], path: str) -> bool:
    here: Any = template
    for part in path.split("."):
        if not isinstance(here, Mapping) or part not in here:
            return False
        here = here[part]
    return True


def _check_custom(resolved: ResolvedFlow, side: Side) -> Iterator[Problem]:
    where = f"clusters.{resolved.alias(side)}.authentication"
    authentication = resolved.cluster(side).authentication
    if not isinstance(authentication, CustomAuthentication):
        return
    if not resolved.strimzi.has(_CUSTOM_SINCE):
        remedy = "set `type` to `oauth`, `scram-sha-512`, `plain` or `tls`"
        yield _too_old(f"{where}.type", "custom", _CUSTOM_SINCE, resolved.strimzi, remedy)
    here = namespace_name(resolved.workers, resolved.flow)
    for key, value in authentication.config.items():
        for namespace, secret in sorted(placeholder_secrets(value, here)):
            if namespace != here:
                yield Problem(
                    f"{where}.config.{key}",
                    "secret-elsewhere",
                    f"the Secret `{secret}` is in the namespace `{namespace}`, the workers are in `{here}`",
                    "The Role that lets them read it is in their own namespace and holds for no other.",
                    f"keep a copy of the Secret in each replication's namespace, and write `${{secret:{secret}:KEY}}`.",
                )


def _check_trust(resolved: ResolvedFlow, side: Side) -> Iterator[Problem]:
    cluster, alias = resolved.cluster(side), resolved.alias(side)
    mirror = resolved.named.shape is Shape.MIRROR_MAKER2
    trust = cluster.tls.trust if cluster.tls else None
    if isinstance(trust, SecretPattern) and _read_by_connectors(resolved, side):
        yield Problem(
            f"clusters.{alias}.tls.trust.pattern",
            "trust-pattern-needs-key",
            f"`{alias}` is trusted by every key like `{trust.pattern}` of the Secret `{trust.secret}`",
            "Connectors read certificates by a placeholder, which names one key of a Secret.",
            f"set `trust: {{secret: {trust.secret}, key: ca.crt}}`; one key can hold several certificates.",
        )
    if mirror and side == "source" and isinstance(trust, KeystoreTrust):
        yield Problem(
            f"clusters.{alias}.tls.trust.format",
            "keystore-trust-in-mirror-maker",
            f"the source `{alias}` of a KafkaMirrorMaker2 is trusted by a {trust.format} file",
            "Its trustedCertificates take PEM only.",
            "set `trust: {secret: NAME, key: ca.crt}` with the certificate authority as PEM, or use `kind: flow`.",
        )


def _read_by_connectors(resolved: ResolvedFlow, side: Side) -> bool:
    """Whether a connector names the certificates of a cluster itself; in a KafkaMirrorMaker2 the operator does it."""
    if resolved.named.shape is Shape.MIRROR_MAKER2:
        heartbeats = resolved.flow.connectors.heartbeat.enabled and resolved.api is StrimziApi.V1
        return heartbeats and side == "source"
    return side == "source" or not resolved.strimzi.keeps_values


def _check_names(named: NamedFlow, ours: Mapping[str, Any]) -> Iterator[Problem]:
    """Names and paths that both the user's template and ours would give."""
    template: Mapping[str, Any] = named.flow.connect.template or {}
    for path, key in (("pod.volumes", "name"), ("connectContainer.volumeMounts", "mountPath")):
        top, below = path.split(".")
        reserved = {entry[key] for entry in ours.get(top, {}).get(below, ())}
        for entry in template.get(top, {}).get(below, ()):
            if entry.get(key) in reserved:
                yield Problem(
                    named.where(f"connect.template.{path}"),
                    "template-name-taken",
                    f"`{entry[key]}` is used by the replication itself",
                    "The workers' pod would have it twice, and Kubernetes refuses such a pod.",
                    f"choose another `{key}`.",
                )
