"""Secrets: those created from the stack's configuration, those that workers mount as files, and the placeholders with
which properties name Secrets and ConfigMaps: `${secret:NAME:KEY}`, `${cfmap:NAMESPACE/NAME:KEY}`.

Only keys appear here, never values. Binary truststores need files, and so do the PEM certificates for a token endpoint:
the options of a login module cannot hold line breaks.
Source: Strimzi kafka-kubernetes-config-provider, KubernetesResourceIdentifier.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from kafka_replication.components.flows.operators import StrimziApi
from kafka_replication.components.flows.resolved import ResolvedFlow, config_secrets
from kafka_replication.components.kafka.replication_policy import SIDES, Side
from kafka_replication.components.render.planned_objects import Manifest, ObjectRole, PlannedObject, flow_object
from kafka_replication.components.topology import clusters
from kafka_replication.components.topology.clusters import TOKEN_TRUST_KEY, secret_key
from kafka_replication.components.topology.known_keys import leaves
from kafka_replication.components.topology.model import Flow

#: Aliases of the configuration providers in every worker.
CONFIG_MAP_PROVIDER = "cfmap"
SECRET_PROVIDER = "secret"
#: Alias of the provider that the operator configures for every worker whose file holds placeholders.
#: Source: Strimzi KafkaConnectConfigurationBuilder.printConfigProviders.
OPERATOR_SECRET_PROVIDER = "strimzisecrets"

_KINDS: dict[str, Literal["Secret", "ConfigMap"]] = {
    CONFIG_MAP_PROVIDER: "ConfigMap",
    SECRET_PROVIDER: "Secret",
    OPERATOR_SECRET_PROVIDER: "Secret",
}
_PLACEHOLDER = re.compile(
    rf"\$\{{(?P<provider>{'|'.join(_KINDS)}):(?:(?P<namespace>[^/:}}]+)/)?(?P<name>[^/:}}]+):(?P<key>[^}}]+)\}}"
)


@dataclass(frozen=True, order=True)
class ObjectReference:
    """An object that a placeholder names."""

    kind: Literal["Secret", "ConfigMap"]
    namespace: str
    name: str


def references(text: str, namespace: str) -> set[ObjectReference]:
    """Return the objects that placeholders in a text name; `namespace` is that of the workers, the default."""
    return {
        ObjectReference(_KINDS[placeholder["provider"]], placeholder["namespace"] or namespace, placeholder["name"])
        for placeholder in _PLACEHOLDER.finditer(text)
    }


#: A property's value from a Secret; the alias of the provider is free, but everybody's has this word in it.
_FROM_SECRET = re.compile(r"\$\{[\w-]*secret[\w-]*:(?:([^/:}]+)/)?([^/:}]+):([^}]+)\}")
#: Fields of Strimzi's resources with the key in the Secret that `secretName` beside them names.
_KEY_FIELDS = ("certificate", "key", "password")
#: The key of a Secret for pulling images.
REGISTRIES = ".dockerconfigjson"


def named_secrets(value: Any, namespace: str) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield the namespace and name of each Secret that a part of an object needs, with a key; "" if it names none."""
    if isinstance(value, str):
        for place, name, key in _FROM_SECRET.findall(value):
            yield (place or namespace, name), key
    elif isinstance(value, Mapping):
        for name, keys in _secrets_of_pods(value):
            for key in keys or [""]:
                yield (namespace, name), key
    for inner in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from named_secrets(inner, namespace)


def _secrets_of_pods(value: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield the Secrets that one part of an object names, each with its keys, unless they are optional."""
    if isinstance(name := value.get("secretName"), str) and not value.get("optional"):
        items = [item["key"] for item in value.get("items") or () if isinstance(item, Mapping) and "key" in item]
        yield name, items + [value[field] for field in _KEY_FIELDS if isinstance(value.get(field), str)]
    for field in ("secret", "secretKeyRef", "secretRef"):
        named = value.get(field)
        if isinstance(named, Mapping) and "name" in named and not named.get("optional"):
            yield named["name"], [named["key"]] if "key" in named else []
    for field in ("pushSecret", "pullSecret"):
        if isinstance(name := value.get(field), str):
            yield name, [REGISTRIES]
    for pulling in value.get("imagePullSecrets") or ():
        yield (pulling["name"] if isinstance(pulling, Mapping) else pulling), [REGISTRIES]
    if "secrets" in (value.get("resources") or ()):
        yield from ((name, []) for name in value.get("resourceNames") or ())


def names_here(named: set[ObjectReference], kind: Literal["Secret", "ConfigMap"], namespace: str) -> set[str]:
    """Return the names of the objects of one kind in a namespace."""
    return {reference.name for reference in named if (reference.kind, reference.namespace) == (kind, namespace)}


def secret_placeholders_for(text: str, provider: str, namespace: str) -> str:
    """Return a text with its Secret placeholders rewritten for another provider, each with its namespace."""

    def rewritten(placeholder: re.Match[str]) -> str:
        if _KINDS[placeholder["provider"]] != "Secret":
            return placeholder[0]
        return f"${{{provider}:{placeholder['namespace'] or namespace}/{placeholder['name']}:{placeholder['key']}}}"

    return _PLACEHOLDER.sub(rewritten, text)


def user_references(flow: Flow, namespace: str) -> Iterator[tuple[str, ObjectReference]]:
    """Yield what users refer to in properties of workers, connectors and transforms, after the path of the key."""
    given = {
        "connect": {"config": flow.connect.config},
        "connectors": flow.connectors.model_dump(by_alias=True, exclude_unset=True),
        "transforms": flow.transforms.model_dump(by_alias=True, exclude_unset=True),
    }
    for key, settings in given.items():
        for path, value in leaves(settings, key):
            for reference in sorted(references(str(value), namespace)):
                yield path, reference


#: A JKS or PKCS#12 truststore, or the PEM certificates that authenticate a token endpoint.
FilePurpose = Literal["truststore", "token-trust"]
#: Annotation of the workers' pods; the operator rolls pods whose annotations change.
REVISIONS = "kafka-replication/credentials-revisions"
#: Directory in which Strimzi mounts additional volumes. Source: Strimzi AdditionalVolume.
_MOUNT_ROOT = "/mnt"


def secret_objects(flow: ResolvedFlow) -> list[PlannedObject]:
    """Return the Secrets of connectors, validation job and keeper whose values are in the stack configuration."""
    return [planned for side in SIDES for planned in cluster_secrets(flow, side)]


def cluster_secrets(flow: ResolvedFlow, side: Side) -> list[PlannedObject]:
    """Return the Secrets with the credentials of one of a flow's clusters."""
    secrets = []
    for use, values in config_secrets(flow.cluster(side)).items():
        if values:
            role, name = ObjectRole(f"{side}-{use}"), flow.own_secret(side, use)
            secret = flow_object(flow, role, "v1", "Secret", name, type="Opaque")
            secrets.append(replace(secret, secret_values={key: value.config for key, value in values.items()}))
    return secrets


def mounts(flow: ResolvedFlow, sides: Iterable[Side]) -> Manifest:
    """Return the part of the workers' template that mounts the files for the connections to these clusters."""
    volumes = []
    paths = []
    for side in sides:
        for purpose, reference in _files(flow, side).items():
            name = volume_name(flow, side, purpose)
            items = [{"key": reference.key, "path": reference.key}]
            volumes.append({"name": name, "secret": {"secretName": reference.secret, "items": items}})
            paths.append({"name": name, "mountPath": f"{_MOUNT_ROOT}/{name}"})
    return {"pod": {"volumes": volumes}, "connectContainer": {"volumeMounts": paths}} if volumes else {}


def rolling_annotations(ends: Iterable[tuple[ResolvedFlow, Side]]) -> Manifest:
    """Return the part of the workers' template that rolls them when `credentialsRevision` of a cluster is raised.

    The operator rolls workers itself if a password or a client certificate changes, but not if a Secret changes that a
    login of the type `custom` names. Source: Strimzi ReconcilerUtils.authTlsHash.
    """
    revisions = {
        flow.alias(side): flow.cluster(side).credentials_revision for flow, side in ends if _is_custom(flow, side)
    }
    told = ",".join(f"{alias}={revision}" for alias, revision in revisions.items() if revision)
    return {"pod": {"metadata": {"annotations": {REVISIONS: told}}}} if told else {}


def _is_custom(flow: ResolvedFlow, side: Side) -> bool:
    """Return whether the operator gets a login as `custom`; under `v1` this includes OAuth logins."""
    login = flow.cluster(side).authentication
    by_oauth = isinstance(login, clusters.OAuthAuthentication)
    return isinstance(login, clusters.CustomAuthentication) or (by_oauth and flow.api is StrimziApi.V1)


def volume_name(flow: ResolvedFlow, side: Side, purpose: str) -> str:
    """Return the name of a volume; mirrors of one KafkaMirrorMaker2 share pods, so theirs contain the mirror's part."""
    return "-".join((side, purpose, flow.expanded.part) if flow.expanded.shared else (side, purpose))


def mounted_path(flow: ResolvedFlow, side: Side, purpose: FilePurpose) -> str:
    """Return the path of a worker's file for a cluster's connection; "" if it needs none."""
    reference = _files(flow, side).get(purpose)
    return f"{_MOUNT_ROOT}/{volume_name(flow, side, purpose)}/{reference.key}" if reference else ""


def _files(flow: ResolvedFlow, side: Side) -> dict[FilePurpose, clusters.SecretKey]:
    """Return the Secret keys that a cluster's connection needs as files."""
    cluster = flow.cluster(side)
    trust = cluster.tls.trust if cluster.tls else None
    files: dict[FilePurpose, clusters.SecretKey] = {}
    if isinstance(trust, clusters.KeystoreTrust):
        files["truststore"] = clusters.SecretKey(secret=trust.secret, key=trust.key)
    if isinstance(cluster.authentication, clusters.OAuthAuthentication) and cluster.authentication.trust is not None:
        own_secret = flow.own_secret(side)
        files["token-trust"] = secret_key(cluster.authentication.trust, own_secret, TOKEN_TRUST_KEY)
    return files
