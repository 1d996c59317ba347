"""The Secrets that workers and connectors read and that the stack does not create: asked for before it is deployed."""

from collections.abc import Iterator, Mapping, Sequence
from shlex import quote
from typing import Any

from components.contract.problems import CannotRunError
from components.flows.resolved import ResolvedFlow
from components.render.deployments import deployments
from components.render.planned_objects import PlannedObject
from components.render.secrets import keys_read
from infra.kubernetes.access import asking_kubernetes
from infra.kubernetes.api import ApiError, KubernetesApi, Object, Reference
from infra.stack.settings import KubernetesAccess

#: Fields of Strimzi's resources with the key in the Secret that `secretName` beside them names.
_KEYS = ("certificate", "key", "password")
#: The key of a Secret for pulling images.
_REGISTRIES = ".dockerconfigjson"
_WHY = "Workers do not start without them, and nothing is replicated."


def require_secrets(
    api: KubernetesApi, flows: Sequence[ResolvedFlow], users: Sequence[PlannedObject], access: KubernetesAccess
) -> Iterator[str]:
    """Yield a sentence about each Secret that this account may not see, then raise a CannotRunError with the commands
    that create the missing ones. `users` are the stack's KafkaUsers, whose Secrets the User Operator writes.
    """
    generated = {(user.manifest["metadata"]["namespace"], user.name) for user in users}
    absent: dict[tuple[str, str], set[str]] = {}
    said = []
    incomplete = False
    for (namespace, name), keys in sorted(_needed(flows).items()):
        target = Reference("v1", "Secret", namespace, name)
        live, seen = _get(api, target)
        if not seen:
            yield f"whether {target} exists is unknown: your account may not `get` it"
        elif live is None and (namespace, name) not in generated:
            absent[namespace, name] = keys
            said.append(f"{target} does not exist")
        elif live is not None and (lacking := keys - (live.get("data") or {}).keys()):
            incomplete = True
            said.append(f"{target} has no key {', '.join(f'`{key}`' for key in sorted(lacking))}")
    if not said:
        return
    namespaces = sorted({namespace for namespace, _ in absent})
    new = [name for name in namespaces if _get(api, Reference("v1", "Namespace", None, name)) == (None, True)]
    ours = [flow for flow in flows if flow.namespace in new and flow.settings.namespace.create]
    places = " and ".join(sorted({f"`{flow.expanded.where('namespace.create')}: false`" for flow in ours}))
    steps = [f"set {places}, because you create the namespace"] if places else []
    steps += ["run these commands with your own files"] if absent else []
    steps += ["add the missing keys"] if incomplete else []
    raise CannotRunError(
        "secret-missing",
        "; ".join(said),
        "the Kubernetes cluster of the stack",
        _WHY,
        f"{'; '.join(steps)}; then run `up` again. If something else creates the Secrets once the namespace exists, "
        "run `up --secrets-later`.",
        "\n".join(_commands(new, absent, access)),
    )


def _get(api: KubernetesApi, target: Reference) -> tuple[Object | None, bool]:
    """Return an object, and whether this account may see it."""
    try:
        with asking_kubernetes(str(target), _WHY, f"let your user `get` {target}."):
            return api.get(target), True
    except CannotRunError as error:
        if isinstance(error.__cause__, ApiError) and error.__cause__.forbidden:
            return None, False
        raise


def _commands(
    new: Sequence[str], absent: Mapping[tuple[str, str], set[str]], access: KubernetesAccess
) -> Iterator[str]:
    options = {"--kubeconfig": access.kubeconfig, "--context": access.context}
    kubectl = " ".join(["kubectl", *(f"{option} {quote(value)}" for option, value in options.items() if value)])
    for namespace in new:
        yield f"  {kubectl} create namespace {namespace}"
    for (namespace, name), keys in absent.items():
        files = " ".join(f"--from-file={key}=FILE" for key in sorted(keys)) or "--from-file=FOLDER"
        typed = f" --type=kubernetes.io/{_REGISTRIES[1:]}" if _REGISTRIES in keys else ""
        yield f"  {kubectl} --namespace {namespace} create secret generic {name}{typed} {files}"


def _needed(flows: Sequence[ResolvedFlow]) -> dict[tuple[str, str], set[str]]:
    """Return the keys by the namespace and name of each Secret; none if the topology gives a pattern of keys."""
    needed: dict[tuple[str, str], set[str]] = {}
    own: set[tuple[str, str]] = set()
    for deployment in deployments(flows):
        namespace = deployment.flows[0].namespace
        own |= {(namespace, planned.name) for planned in deployment.objects if planned.kind == "Secret"}
        for planned in deployment.objects:
            for secret, key in _named(planned.manifest, namespace):
                needed.setdefault(secret, set()).update({key} if key and "*" not in key else ())
    return {secret: keys for secret, keys in needed.items() if secret not in own}


def _named(value: Any, namespace: str) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield the Secrets that a part of an object names, each with a key."""
    if isinstance(value, str):
        for reference, key in keys_read(value, namespace):
            if reference.kind == "Secret":
                yield (reference.namespace, reference.name), key
        return
    if isinstance(value, Mapping) and not value.get("optional"):
        for name, keys in _of_pods(value):
            for key in keys or [""]:
                yield (namespace, name), key
    for inner in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from _named(inner, namespace)


def _of_pods(value: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield the Secrets that one part of an object names for pods, each with the keys that it reads."""
    if isinstance(name := value.get("secretName"), str):
        items = [item["key"] for item in value.get("items") or () if isinstance(item.get("key"), str)]
        yield name, items + [value[field] for field in _KEYS if isinstance(value.get(field), str)]
    reference = value.get("secretKeyRef")
    if isinstance(reference, Mapping) and not reference.get("optional"):
        yield reference["name"], [reference["key"]]
    for pulling in value.get("imagePullSecrets") or ():
        yield (pulling["name"] if isinstance(pulling, Mapping) else pulling), [_REGISTRIES]
