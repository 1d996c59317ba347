"""The Kubernetes side of a replication: its namespace, quota, and the Connect workers that run its connectors.

Frozen pydantic models, camelCase in YAML. Imports `clusters` only.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, with_config
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict

from components.clusters import DataKey, Model, NonNegativeInt, PositiveInt, Properties

#: A fragment of a Kubernetes object that is passed through as it is written.
JsonObject = Mapping[str, Any]

#: Source: k8s.io/apimachinery/pkg/api/resource, Quantity; none of what is counted here may be negative.
_QUANTITY = re.compile(r"([0-9]+(\.[0-9]*)?|\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)?")


def _quantity(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, str | int | float) or not _QUANTITY.fullmatch(str(value)):
        raise PydanticCustomError(
            "quantity",
            "Input should be a quantity",
            {"expected": "a quantity of Kubernetes, such as `500m`, `4`, `2Gi`"},
        )
    # Strimzi's definitions take whole numbers and text, no fractions.
    return str(value) if isinstance(value, float) else value


Quantity = Annotated[str | int | float, BeforeValidator(_quantity)]


class NamespaceChoice(Model):
    """Namespace of a replication's objects; `name` is `mirror-<replication>` unless given."""

    name: str | None = None
    create: bool = True


class Quota(Model):
    """ResourceQuota of a namespace, and LimitRange for containers that say nothing themselves."""

    hard: Mapping[str, Quantity] = Field(description="ResourceQuota `hard`, such as `limits.memory: 8Gi`, `pods: 4`.")
    default_limits: Mapping[str, Quantity] = Field(default_factory=dict, description="LimitRange default limits.")
    default_requests: Mapping[str, Quantity] = Field(default_factory=dict, description="LimitRange default requests.")


class InlineLogging(Model):
    """Log levels by logger. Source: Strimzi InlineLogging."""

    type: Literal["inline"]
    loggers: Mapping[str, str]


class ExternalLogging(Model):
    """A logging configuration kept in a ConfigMap of the replication's namespace. Source: Strimzi ExternalLogging."""

    type: Literal["external"]
    config_map: str = Field(min_length=1)
    key: DataKey


Logging = Annotated[InlineLogging | ExternalLogging, Field(discriminator="type")]


class JmxMetrics(Model):
    """Metrics by the JMX exporter, whose rules a ConfigMap holds. Source: Strimzi JmxPrometheusExporterMetrics."""

    type: Literal["jmxPrometheusExporter"]
    config_map: str = Field(min_length=1)
    key: DataKey


class ReporterMetrics(Model):
    """Metrics by Strimzi's own reporter. Source: StrimziMetricsReporter."""

    type: Literal["strimziMetricsReporter"]
    allow_list: tuple[str, ...] = Field(default=(), description="Patterns of metric names; all without any.")


Metrics = Annotated[JmxMetrics | ReporterMetrics, Field(discriminator="type")]


class Probe(Model):
    """Readiness or liveness probe of a worker. Source: Strimzi Probe."""

    initial_delay_seconds: NonNegativeInt | None = None
    timeout_seconds: PositiveInt | None = None
    period_seconds: PositiveInt | None = None
    success_threshold: PositiveInt | None = None
    failure_threshold: PositiveInt | None = None


class Rack(Model):
    """Rack awareness of the workers' consumers. Source: KIP-392, Strimzi Rack."""

    topology_key: str = Field(min_length=1)


class Tracing(Model):
    """Distributed tracing of the workers. Source: Strimzi OpenTelemetryTracing."""

    type: Literal["opentelemetry"]


@with_config(ConfigDict(extra="forbid"))
class Resources(TypedDict, total=False):
    """What a worker's container is given. Source: Kubernetes ResourceRequirements."""

    limits: Mapping[str, Quantity]
    requests: Mapping[str, Quantity]
    claims: list[JsonObject]


#: Source: Strimzi JvmOptions.
JvmOptions = Mapping[Literal["-Xmx", "-Xms", "-XX", "gcLoggingEnabled", "javaSystemProperties"], Any]


@with_config(ConfigDict(extra="allow"))
class PodTemplate(TypedDict, total=False):
    """The workers' pods; further fields are Strimzi's. Source: Strimzi PodTemplate."""

    volumes: list[JsonObject]
    imagePullSecrets: list[JsonObject]


@with_config(ConfigDict(extra="allow"))
class ContainerTemplate(TypedDict, total=False):
    """A container of the workers' pods; further fields are Strimzi's. Source: Strimzi ContainerTemplate."""

    env: list[JsonObject]
    volumeMounts: list[JsonObject]


@with_config(ConfigDict(extra="forbid"))
class Template(TypedDict, total=False):
    """What the operator makes of the workers. Source: Strimzi KafkaConnectTemplate of either API version."""

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


class ConnectCluster(Model):
    """The Kafka Connect cluster of a replication: it depends on the target cluster."""

    replicas: PositiveInt = 3
    version: str | None = Field(
        default=None,
        pattern=r"^\d+\.\d+\.\d+",
        description="Kafka version, such as 4.2.0; the operator's default unless given.",
    )
    image: str | None = None
    image_pull_secret: str | None = Field(default=None, description="Secret with the registry's credentials.")
    resources: Resources | None = Field(default=None, description="Kubernetes resource requests and limits.")
    jvm_options: JvmOptions | None = Field(default=None, description="Strimzi jvmOptions, such as -Xmx.")
    config: Properties = Field(default_factory=dict, description="Further worker properties.")
    logging: Logging | None = None
    metrics: Metrics | None = None
    readiness_probe: Probe | None = None
    liveness_probe: Probe | None = None
    rack: Rack | None = None
    tracing: Tracing | None = None
    template: Template | None = Field(default=None, description="Strimzi template, such as pod and connectContainer.")
