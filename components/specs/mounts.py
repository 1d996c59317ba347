"""Secrets that workers must have as files: binary truststores, and certificates that a token endpoint is trusted by.

A login module's options stand on one line, so that PEM certificates cannot be given in them.
"""

from collections.abc import Iterable

from components.clusters import KeystoreTrust, OAuthAuthentication, SecretKey
from components.credentials import TOKEN_TRUST_KEY, secret_key
from components.naming import Side, secret_name
from components.resolved import ResolvedFlow
from components.specs.planned import Manifest

#: Directory below which Strimzi mounts additional volumes. Source: Strimzi AdditionalVolume.
_MOUNT_ROOT = "/mnt"


def truststore_path(resolved: ResolvedFlow, side: Side) -> str:
    """Path of a cluster's JKS or PKCS#12 truststore; empty when it has none."""
    return _path(resolved, side, "truststore")


def token_trust_path(resolved: ResolvedFlow, side: Side) -> str:
    """Path of the PEM certificates that a cluster's token endpoint is trusted by; empty when there are none."""
    return _path(resolved, side, "token-trust")


def mounts(resolved: ResolvedFlow, sides: Iterable[Side]) -> Manifest:
    """Part of the workers' template that mounts what the connections to these clusters need as files."""
    volumes = []
    paths = []
    for side in sides:
        for purpose, reference in _files(resolved, side).items():
            name = volume_name(resolved, side, purpose)
            items = [{"key": reference.key, "path": reference.key}]
            volumes.append({"name": name, "secret": {"secretName": reference.secret, "items": items}})
            paths.append({"name": name, "mountPath": f"{_MOUNT_ROOT}/{name}"})
    return {"pod": {"volumes": volumes}, "connectContainer": {"volumeMounts": paths}} if volumes else {}


def volume_name(resolved: ResolvedFlow, side: Side, purpose: str) -> str:
    """Name of a volume among those of the workers, which several mirrors of a KafkaMirrorMaker2 share."""
    return "-".join((side, purpose, resolved.named.part) if resolved.named.shared else (side, purpose))


def _path(resolved: ResolvedFlow, side: Side, purpose: str) -> str:
    reference = _files(resolved, side).get(purpose)
    return f"{_MOUNT_ROOT}/{volume_name(resolved, side, purpose)}/{reference.key}" if reference else ""


def _files(resolved: ResolvedFlow, side: Side) -> dict[str, SecretKey]:
    """Keys of Secrets that a cluster's connection needs as files, by purpose."""
    cluster = resolved.cluster(side)
    trust = cluster.tls.trust if cluster.tls else None
    files: dict[str, SecretKey] = {}
    if isinstance(trust, KeystoreTrust):
        files["truststore"] = SecretKey(secret=trust.secret, key=trust.key)
    if isinstance(cluster.authentication, OAuthAuthentication) and cluster.authentication.trust is not None:
        own = secret_name(resolved.secrets_owner(side), side)
        files["token-trust"] = secret_key(cluster.authentication.trust, own, TOKEN_TRUST_KEY)
    return files
