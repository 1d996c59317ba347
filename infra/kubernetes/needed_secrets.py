"""The Secrets that workers and connectors read and that the stack does not create: asked for before it is deployed."""

from collections.abc import Iterator, Mapping, Sequence
from shlex import quote

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.flows.resolved import ResolvedFlow
from kafka_replication.components.render.deployments import deployments
from kafka_replication.components.render.planned_objects import PlannedObject
from kafka_replication.components.render.secrets import REGISTRIES, named_secrets
from kafka_replication.infra.kubernetes.access import asking_kubernetes
from kafka_replication.infra.kubernetes.api import ApiError, KubernetesApi, Object, Reference
from kafka_replication.infra.stack.settings import KubernetesAccess

_WHY = "Workers do not start without them, and nothing is replicated."
_WHY_JOBS = "Neither the validation job nor the exporter starts without them."


def require_secrets(
    api: KubernetesApi,
    flows: Sequence[ResolvedFlow],
    users: Sequence[PlannedObject],
    access: KubernetesAccess,
    jobs: Sequence[PlannedObject] = (),
) -> Iterator[str]:
    """Yield a sentence about each Secret that this account may not see, then raise a CannotRunError with the commands
    that create the missing ones. `users` are the stack's KafkaUsers, whose Secrets the User Operator writes; `jobs` are
    the objects with pods of the image.
    """
    generated = {(user.manifest["metadata"]["namespace"], user.name) for user in users}
    absent: dict[tuple[str, str], set[str]] = {}
    said: dict[tuple[str, str], str] = {}
    of_workers = [planned for deployment in deployments(flows) for planned in deployment.objects]
    for (namespace, name), keys in sorted(_needed([*of_workers, *jobs]).items()):
        target = Reference("v1", "Secret", namespace, name)
        live, seen = _get(api, target)
        if not seen:
            yield f"whether {target} exists is unknown: your account may not `get` it"
        elif live is None and (namespace, name) not in generated:
            absent[namespace, name] = keys
            said[namespace, name] = f"{target} does not exist"
        elif live is not None and (lacking := keys - (live.get("data") or {}).keys()):
            said[namespace, name] = f"{target} has no key {', '.join(f'`{key}`' for key in sorted(lacking))}"
    if not said:
        return
    namespaces = sorted({namespace for namespace, _ in absent})
    new = [name for name in namespaces if _get(api, Reference("v1", "Namespace", None, name)) == (None, True)]
    ours = [flow for flow in flows if flow.namespace in new and flow.settings.namespace.create]
    places = " and ".join(sorted({f"`{flow.expanded.where('namespace.create')}: false`" for flow in ours}))
    steps = [f"set {places}, because you create the namespace"] if places else []
    steps += ["run these commands with your own files"] if absent else []
    steps += ["add the missing keys"] if said.keys() - absent.keys() else []
    raise CannotRunError(
        "secret-missing",
        "; ".join(said.values()),
        "the Kubernetes cluster of the stack",
        _WHY if said.keys() & _needed(of_workers).keys() else _WHY_JOBS,
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
        typed = f" --type=kubernetes.io/{REGISTRIES[1:]}" if REGISTRIES in keys else ""
        yield f"  {kubectl} --namespace {namespace} create secret generic {name}{typed} {files}"


def _needed(objects: Sequence[PlannedObject]) -> dict[tuple[str, str], set[str]]:
    """Return the keys by the namespace and name of each Secret; none if the topology gives a pattern of keys."""
    needed: dict[tuple[str, str], set[str]] = {}
    for planned in objects:
        for secret, key in named_secrets(planned.manifest, planned.manifest["metadata"].get("namespace", "")):
            needed.setdefault(secret, set()).update({key} if key and "*" not in key else ())
    own = {(planned.manifest["metadata"]["namespace"], planned.name) for planned in objects if planned.kind == "Secret"}
    return {secret: keys for secret, keys in needed.items() if secret not in own}
