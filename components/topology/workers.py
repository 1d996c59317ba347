"""The Kubernetes side of a replication: its namespace, its quota, and the workers that run its connectors."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Discriminator, Field, Tag, with_config
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict

from kafka_replication.components.topology.clusters import (
    DataKey,
    Model,
    NonNegativeInt,
    OwnLabels,
    PositiveInt,
    Properties,
    ResourceName,
    SecretName,
    entries,
    optional,
    setting,
)

#: A fragment of a Kubernetes object that is passed on unchanged.
JsonObject = Mapping[str, Any]

#: Source: k8s.io/apimachinery/pkg/api/resource, Quantity; quantities here cannot be negative.
_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)?")
_UNITS = {
    **{unit: Decimal(1000) ** power for power, unit in enumerate("num", -3)},
    **{unit: Decimal(1000) ** power for power, unit in enumerate("kMGTPE", 1)},
    **{f"{unit}i": Decimal(1024) ** power for power, unit in enumerate("KMGTPE", 1)},
}


def _quantity(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, str | int | float) or not _QUANTITY.fullmatch(str(value)):
        raise PydanticCustomError(
            "quantity",
            "Input should be a quantity",
            {"expected": "a quantity of Kubernetes, such as `500m`, `4`, `2Gi`"},
        )
    # Strimzi's definitions accept whole numbers and text, but no fractions.
    return str(value) if isinstance(value, float) else value


def quantity_value(quantity: str | int | float) -> Decimal:
    """Return a quantity of Kubernetes as a number, such as bytes or cores. Raises ValueError if it is none."""
    match = _QUANTITY.fullmatch(str(quantity))
    if match is None:
        raise ValueError(f"{quantity} is no quantity")
    number, unit = match.groups()
    return Decimal(number) * _UNITS[unit] if unit in _UNITS else Decimal(f"{number}{unit or ''}")


Quantity = Annotated[str | int | float, BeforeValidator(_quantity)]


class NamespaceChoice(Model):
    """Kubernetes namespace of a replication's objects."""

    name: str | None = optional("Name of the namespace; default: `mirror-<replication>`.")
    create: bool = setting(True, "Create the namespace; otherwise it must exist.")
    labels: OwnLabels = entries("More labels of the namespace that the stack creates.")
    annotations: OwnLabels = entries("More annotations of the same namespace.")


class Quota(Model):
    """ResourceQuota of a namespace, and a LimitRange with defaults for containers."""

    hard: Mapping[str, Quantity] = Field(
        description="Limits of the whole namespace, such as `limits.memory: 8Gi` or `pods: 4`."
    )
    default_limits: Mapping[str, Quantity] = entries("Limits of containers that declare none.")
    default_requests: Mapping[str, Quantity] = entries("Requests of containers that declare none.")


ConfigMapName = Annotated[SecretName, Field(description="Name of the ConfigMap in the replication's namespace.")]
ConfigMapKey = Annotated[DataKey, Field(description="Key of the configuration in the ConfigMap.")]


class InlineLogging(Model):
    """Log levels by logger. Source: Strimzi InlineLogging."""

    type: Literal["inline"]
    loggers: Mapping[str, str] = Field(description="Log levels, by logger.")


class ExternalLogging(Model):
    """A logging configuration in a ConfigMap of the replication's namespace. Source: Strimzi ExternalLogging."""

    type: Literal["external"]
    config_map: ConfigMapName
    key: ConfigMapKey


Logging = Annotated[InlineLogging | ExternalLogging, Field(discriminator="type")]


class JmxMetrics(Model):
    """Metrics from the JMX exporter. Source: Strimzi JmxPrometheusExporterMetrics."""

    type: Literal["jmxPrometheusExporter"]
    config_map: ConfigMapName | None = optional("ConfigMap with rules of your own; default: ours.")
    key: ConfigMapKey | None = optional("Key of the rules; default: `rules.yaml`.")


class ReporterMetrics(Model):
    """Metrics from Strimzi's own reporter. Source: StrimziMetricsReporter."""

    type: Literal["strimziMetricsReporter"]
    allow_list: tuple[str, ...] = setting(
        (), "Patterns of the names to report; default: MirrorMaker's, Connect's and the JVM's."
    )


Metrics = Annotated[JmxMetrics | ReporterMetrics, Field(discriminator="type")]


class Probe(Model):
    """Readiness or liveness probe of a worker. Source: Strimzi Probe."""

    initial_delay_seconds: NonNegativeInt | None = optional("Time before the first probe.")
    timeout_seconds: PositiveInt | None = optional("Time after which a probe has failed.")
    period_seconds: PositiveInt | None = optional("Time between probes.")
    success_threshold: PositiveInt | None = optional("Successes in a row that count as one.")
    failure_threshold: PositiveInt | None = optional("Failures in a row that count as one.")


class LabelRack(Model):
    """The rack is the value of a node's label, such as its zone. Source: KIP-392, Strimzi TopologyLabelRack."""

    type: Literal["topology-label"] | None = optional("Always `topology-label`.")
    topology_key: str = Field(min_length=1, description="Node label that names the rack.")


class VariableRack(Model):
    """The rack is the value of a variable that `template.connectContainer.env` sets, from Strimzi 1.0 on.
    Source: Strimzi EnvironmentVariableRack.
    """

    type: Literal["environment-variable"]
    env_var_name: str = Field(min_length=1, description="Environment variable that names the rack.")


def _rack_kind(value: Any) -> str:
    given = value if isinstance(value, Mapping) else {}
    by_variable = given.get("type") == "environment-variable" or ("envVarName" in given and "topologyKey" not in given)
    return "variable" if by_variable or isinstance(value, VariableRack) else "label"


Rack = Annotated[
    Annotated[LabelRack, Tag("label")] | Annotated[VariableRack, Tag("variable")], Discriminator(_rack_kind)
]


class Tracing(Model):
    """Distributed tracing of the workers. Source: Strimzi OpenTelemetryTracing."""

    type: Literal["opentelemetry"] = Field(description="Always `opentelemetry`.")


@with_config(ConfigDict(extra="forbid"))
class Resources(TypedDict, total=False):
    """Resource requests and limits of a worker's container. Source: Kubernetes ResourceRequirements."""

    limits: Mapping[str, Quantity]
    requests: Mapping[str, Quantity]
    claims: list[JsonObject]


#: Source: Strimzi JvmOptions.
JvmOptions = Mapping[Literal["-Xmx", "-Xms", "-XX", "gcLoggingEnabled", "javaSystemProperties"], Any]


@with_config(ConfigDict(extra="allow"))
class PodTemplate(TypedDict, total=False):
    """The workers' pods; fields that are not listed are passed to Strimzi. Source: Strimzi PodTemplate."""

    volumes: list[JsonObject]
    imagePullSecrets: list[JsonObject]


@with_config(ConfigDict(extra="allow"))
class ContainerTemplate(TypedDict, total=False):
    """A container of the workers' pods; other fields are passed to Strimzi. Source: Strimzi ContainerTemplate."""

    env: list[JsonObject]
    volumeMounts: list[JsonObject]


@with_config(ConfigDict(extra="forbid"))
class Template(TypedDict, total=False):
    """Templates of the objects that the operator creates. Source: Strimzi KafkaConnectTemplate, both API versions."""

    deployment: JsonObject
    podSet: JsonObject
    pod: PodTemplate
    apiService: JsonObject
    headlessService: JsonObject
    connectContainer: ContainerTemplate
    initContainer: ContainerTemplate
    podDisruptionBudget: JsonObject
    serviceAccount: JsonObject
    clusterRoleBinding: JsonObject
    buildPod: JsonObject
    buildContainer: ContainerTemplate
    buildConfig: JsonObject
    buildServiceAccount: JsonObject
    jmxSecret: JsonObject


#: Source: LEGAL_CHARS and MAX_NAME_LENGTH in Kafka's org.apache.kafka.common.internals.Topic.
TopicName = Annotated[str, Field(pattern=r"^[a-zA-Z0-9._-]{1,249}$")]


class StorageTopics(Model):
    """Topics on the target in which the workers store connectors, how far these have read, and their state."""

    configs: TopicName | None = optional("Topic of the connectors' configuration.")
    offsets: TopicName | None = optional("Topic of the source offsets.")
    status: TopicName | None = optional("Topic of the connectors' state.")


class ConnectCluster(Model):
    """The Connect workers of a replication; set names only for workers that already run under others."""

    name: ResourceName | None = optional("Name of the KafkaConnect or KafkaMirrorMaker2; default: the replication's.")
    group_id: str | None = optional("Worker group; default: `mirror-<replication>`.", min_length=1)
    storage_topics: StorageTopics = setting(
        StorageTopics(), "Storage topics; default: `mirror-<replication>-<role>-internal`."
    )
    labels: OwnLabels = entries("More labels of the KafkaConnect or KafkaMirrorMaker2.")
    annotations: OwnLabels = entries("More annotations of the same resource.")
    replicas: PositiveInt = setting(3, "Number of workers.")
    version: str | None = optional(
        "Kafka version of the workers, such as 4.2.0; default: the operator's.", pattern=r"^\d+\.\d+\.\d+"
    )
    image: str | None = optional("Container image of the workers; default: the operator's.", pattern=r"^\S+$")
    image_pull_secret: str | None = optional("Secret with credentials for the image's registry.")
    build: JsonObject | None = optional("Plugins that the operator adds to an image, as in Strimzi's `spec.build`.")
    plugins: tuple[JsonObject, ...] | None = optional(
        "Plugins that workers mount from OCI artifacts, as in Strimzi's `spec.plugins`; from Strimzi 0.47 on."
    )
    resources: Resources | None = optional("Resource requests and limits of a worker.")
    jvm_options: JvmOptions | None = optional("Options of the JVM, such as `-Xmx`.")
    config: Properties = entries("More properties of the workers; `replicate check` refuses those that the model sets.")
    logging: Logging | None = optional("Log levels, or a ConfigMap with a configuration.")
    metrics: Metrics | None = optional("How the workers report metrics.")
    readiness_probe: Probe | None = optional("Readiness probe of the workers.")
    liveness_probe: Probe | None = optional("Liveness probe of the workers.")
    rack: Rack | None = optional("Rack awareness: consumers read from the nearest replica.")
    tracing: Tracing | None = optional("Distributed tracing of the workers.")
    template: Template | None = optional("Templates of the objects that the operator creates.")
