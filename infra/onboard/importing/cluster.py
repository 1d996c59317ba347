"""Reads what runs in a cluster. It only lists and gets."""

import re
from collections.abc import Iterator

from kafka_replication.components.changes.deployment_state import worker_cluster
from kafka_replication.components.render.secrets import CONFIG_MAP_PROVIDER
from kafka_replication.infra.kubernetes.access import asking_kubernetes, connected
from kafka_replication.infra.kubernetes.api import ApiError, KubernetesApi, Object, Reference
from kafka_replication.infra.onboard.importing.values import providers_of, texts_in
from kafka_replication.infra.stack.settings import KubernetesAccess

_KINDS = ("KafkaMirrorMaker2", "KafkaConnect", "KafkaConnector")
_NEW, _OLD = "kafka.strimzi.io/v1", "kafka.strimzi.io/v1beta2"
#: The field that an object has if it was written or converted for the API `v1`.
_OF_V1 = {"KafkaMirrorMaker2": "target", "KafkaConnect": "groupId"}
_PLACEHOLDER = re.compile(r"\$\{([\w-]+):(?:([^/:}]+)/)?([^/:}]+):[^}]*\}")
_WHY = "The command reads what runs there, and changes nothing."
_CONTEXT = "name a context of your kubeconfig, as `kubectl config get-contexts` lists them, or set KUBECONFIG."
_PERMISSION = (
    "let the context's user list kafkamirrormaker2s, kafkaconnects and kafkaconnectors, or name a namespace where it "
    "may do so with `--namespace`."
)


def objects_of(context: str, namespace: str | None) -> list[Object]:
    """Return a namespace's Strimzi objects, or all, and what ConfigMaps they read. Raises CannotRunError."""
    where = f"context `{context}`"
    access = KubernetesAccess(context=context)
    with connected(access, where, _CONTEXT) as api, asking_kubernetes(where, _WHY, _PERMISSION):
        objects = [body for kind in _KINDS for body in _of_kind(api, kind, namespace)]
        return [*objects, *config_maps_of(api, objects)]


def _of_kind(api: KubernetesApi, kind: str, namespace: str | None) -> Iterator[Object]:
    """Yield each object in the version for which it was written: the other lacks some of its fields."""
    new, old = (_listed(api, version, kind, namespace) for version in (_NEW, _OLD))
    for place in sorted({*new, *old}):
        written = _OF_V1.get(kind)
        as_new = place in new and (place not in old or written is None or written in new[place].get("spec", {}))
        yield new[place] if as_new else old[place]


def _listed(api: KubernetesApi, version: str, kind: str, namespace: str | None) -> dict[tuple[str, str], Object]:
    bodies = api.list_if_served(version, kind, namespace=namespace)
    return {(body["metadata"]["namespace"], body["metadata"]["name"]): body for body in bodies}


def config_maps_of(api: KubernetesApi, objects: list[Object]) -> Iterator[Object]:
    """Yield the ConfigMaps that placeholders name, as far as the user may read them."""
    configs = [worker_cluster(body.get("spec") or {}).get("config") or {} for body in objects]
    aliases = {
        alias for config in configs for alias, ours in providers_of(config).items() if ours == CONFIG_MAP_PROVIDER
    }
    wanted = {
        (place[1] or body["metadata"]["namespace"], place[2])
        for body in objects
        for text in texts_in(body.get("spec"))
        for place in map(re.Match.groups, _PLACEHOLDER.finditer(text))
        if place[0] in aliases
    }
    for namespace, name in sorted(wanted):
        try:
            config_map = api.get(Reference("v1", "ConfigMap", namespace, name))
        except ApiError as error:
            if not error.forbidden:
                raise
            # The import then reports which selection is not known without this ConfigMap.
            continue
        if config_map is not None:
            yield {"apiVersion": "v1", "kind": "ConfigMap", **config_map}
