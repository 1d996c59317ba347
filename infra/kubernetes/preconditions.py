"""What a deployment requires of the cluster, so that it does not stop half-way."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from shlex import quote
from typing import Any

from kafka_replication.components.contract.problems import CannotRunError, RefusedError
from kafka_replication.components.flows.operators import StrimziApi
from kafka_replication.components.flows.resolved import ResolvedFlow
from kafka_replication.components.render.api_versions import REQUIRED, WHY, lacks_fields_of_v1, refused_switch
from kafka_replication.components.render.deployments import deployments
from kafka_replication.components.render.kafka_connectors import ANNOTATION, waits_for_offsets
from kafka_replication.components.render.metrics import RULES_KEY
from kafka_replication.components.render.monitoring import API_VERSION
from kafka_replication.components.render.planned_objects import OURS, PART_OF, PlannedObject
from kafka_replication.components.render.secrets import REGISTRIES, named_secrets
from kafka_replication.components.render.validation_jobs import API_VERSION as SPARK_OPERATOR
from kafka_replication.components.topology.workers import ExternalLogging, JmxMetrics
from kafka_replication.infra.kubernetes.access import asking_kubernetes
from kafka_replication.infra.kubernetes.api import ApiError, KubernetesApi, Object, Reference, reference
from kafka_replication.infra.stack.settings import KubernetesAccess

_CONFIG_MAPS = (
    "The operator reads metrics rules and logging configuration from ConfigMaps, and creates no worker without them."
)
_CLUSTER = "the Kubernetes cluster of the stack"


def require_config_maps(api: KubernetesApi, flows: Sequence[ResolvedFlow]) -> None:
    """Raise a CannotRunError that names each ConfigMap that workers need and that does not exist.

    Source: Strimzi JmxPrometheusExporterModel.metricsJson, LoggingUtils.
    """
    missing = []
    for namespace, name, key in sorted({wanted for flow in flows for wanted in _wanted(flow)}):
        where = f"ConfigMap {namespace}/{name}"
        with asking_kubernetes(where, _CONFIG_MAPS, f"let your user `get` the {where}."):
            said = lacking(api.get(Reference("v1", "ConfigMap", namespace, name)), key)
        if said:
            missing.append(f"{where} {said}")
    if missing:
        raise CannotRunError(
            "config-map-missing",
            "; ".join(missing),
            _CLUSTER,
            _CONFIG_MAPS,
            "create it; the operator then continues by itself.",
        )


def _wanted(flow: ResolvedFlow) -> Iterator[tuple[str, str, str]]:
    """Yield the namespace, name and key of each ConfigMap."""
    connect = flow.settings.connect
    for given in (connect.metrics, connect.logging):
        if isinstance(given, JmxMetrics | ExternalLogging) and given.config_map is not None:
            yield flow.namespace, given.config_map, given.key or RULES_KEY


def lacking(config_map: Mapping[str, Any] | None, key: str) -> str:
    """Return what a ConfigMap lacks, empty if nothing."""
    if config_map is None:
        return f"does not exist; it needs the key `{key}`"
    return "" if key in (config_map.get("data") or {}) else f"has no key `{key}`"


def require_ready_for_v1(api: KubernetesApi, flows: Sequence[ResolvedFlow]) -> None:
    """Raise a CannotRunError that names the workers that this deployment cannot switch to `v1` in one step.

    The program also refuses them, but a deployment without a preview gets there only after it has changed other
    objects.
    """
    if not flows or flows[0].strimzi.written_as is not StrimziApi.V1:
        return
    namespaces = sorted({flow.namespace for flow in flows})
    ours = {(flow.namespace, flow.connect_name) for flow in flows}
    refused = []
    with asking_kubernetes("the workers of the stack", WHY, "let your user list KafkaConnects and KafkaMirrorMaker2s."):
        for kind in REQUIRED:
            for live in api.list_where_allowed(flows[0].strimzi.api_version, kind, namespaces, label_selector=OURS):
                metadata = live["metadata"]
                if (metadata["namespace"], metadata["name"]) in ours and lacks_fields_of_v1(live):
                    refused.append(str(reference(live)))
    if refused:
        raise refused_switch(", ".join(refused))


def condition(live: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """Return the condition of this type; empty without one."""
    conditions = (live.get("status") or {}).get("conditions") or []
    return next((entry for entry in conditions if entry["type"] == kind), {})


KINDS = ("PodMonitor", "PrometheusRule")
_MONITORING = "`monitoring` of the topology declares custom resources of the Prometheus operator."
_VALIDATION = "`inCluster.workload` of the stack file asks for custom resources of the Spark operator."


def require_prometheus_operator(api: KubernetesApi) -> None:
    """Raise a CannotRunError if the cluster does not have the kinds that `monitoring` of a topology asks for."""
    for kind in _missing(api, API_VERSION, KINDS, _MONITORING):
        raise CannotRunError(
            "prometheus-operator-missing",
            f"the Kubernetes cluster has no kind {kind}",
            _CLUSTER,
            _MONITORING,
            "install the Prometheus operator, or remove `monitoring`.",
        )


def require_spark_operator(api: KubernetesApi) -> None:
    """Raise a CannotRunError if the cluster does not have the kinds that `workload: SparkApplication` asks for."""
    for kind in _missing(api, SPARK_OPERATOR, ("SparkApplication", "ScheduledSparkApplication"), _VALIDATION):
        raise CannotRunError(
            "spark-operator-missing",
            f"the Kubernetes cluster has no kind {kind}",
            _CLUSTER,
            _VALIDATION,
            "install Kubeflow's Spark operator, 2.2 or later, or remove `workload`: then a Job and a CronJob validate.",
        )


def _missing(api: KubernetesApi, version: str, kinds: Iterable[str], why: str) -> Iterable[str]:
    for kind in kinds:
        with asking_kubernetes(f"kind {kind}", why, f"let your user list the kinds of {version}."):
            try:
                api.is_namespaced(version, kind)
            except ApiError as error:
                if not error.not_found:
                    raise
                yield kind


_UNFINISHED_MOVE = (
    "A deployment would start a flow without the offsets it waits for, and the flow would copy every record again."
)


def require_no_unfinished_move(api: KubernetesApi, stack: str, flows: Sequence[ResolvedFlow]) -> None:
    """Raise a RefusedError that names the connectors of these flows that still wait for offsets."""
    if not flows:
        return
    ours = {(flow.namespace, flow.name) for flow in flows}
    namespaces = sorted({namespace for namespace, _ in ours})
    with asking_kubernetes("the connectors of the stack", _UNFINISHED_MOVE, "let your user list KafkaConnectors."):
        version = flows[0].strimzi.api_version
        connectors = api.list_where_allowed(version, "KafkaConnector", namespaces, label_selector=OURS)
    waiting = [live for live in connectors if _flow_of(live["metadata"]) in ours and waits_for_offsets(live)]
    if waiting:
        mirror = str(waiting[0]["metadata"]["annotations"][ANNOTATION])
        raise RefusedError(
            "move-unfinished",
            f"{', '.join(str(reference(live)) for live in waiting)} waits for the offsets of {mirror}",
            f"stack {stack}",
            _UNFINISHED_MOVE,
            f"`replicate adopt {stack} --from {mirror.split()[-1]}` continues the move. To give it up, run "
            f"`replicate destroy {stack}`, and start the connectors of {mirror} again.",
        )


def _flow_of(metadata: Mapping[str, Any]) -> tuple[str, str]:
    return metadata["namespace"], metadata["labels"].get(PART_OF, "")


_SECRETS = "Workers do not start without them, and nothing is replicated."
_SECRETS_OF_JOBS = "Neither the validation job nor the exporter starts without them."


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
        _CLUSTER,
        _SECRETS if said.keys() & _needed(of_workers).keys() else _SECRETS_OF_JOBS,
        f"{'; '.join(steps)}; then run `up` again. If something else creates the Secrets once the namespace exists, "
        "run `up --secrets-later`.",
        "\n".join(_commands(new, absent, access)),
    )


def _get(api: KubernetesApi, target: Reference) -> tuple[Object | None, bool]:
    """Return an object, and whether this account may see it."""
    try:
        with asking_kubernetes(str(target), _SECRETS, f"let your user `get` {target}."):
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
