"""How a stack runs the job in its cluster (`replication:validation: {inCluster: …}`), and Kubernetes' sizes."""

import re
from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from kafka_replication.components.contract.spark_conf import why_not_memory
from kafka_replication.components.topology.clusters import (
    Model,
    NonNegativeInt,
    PositiveInt,
    SecretName,
    optional,
    setting,
)
from kafka_replication.components.topology.workers import Quantity, quantity_value


def heap_bytes(heap: str) -> Decimal:
    """Return a size as Spark reads it: its units are powers of two, so its `g` is Kubernetes' `Gi`."""
    size = heap.lower().removesuffix("b")
    return quantity_value(f"{size[:-1]}{size[-1].upper()}i")


#: An image whose content cannot change. Source: distribution/reference.
IMAGE_BY_DIGEST = re.compile(r"[a-z0-9][\w.:/-]*@sha256:[0-9a-f]{64}")


class JobResources(Model):
    """Resources of the job's container."""

    requests: Mapping[str, Quantity] = setting(
        {"cpu": "500m", "memory": "2Gi"}, "What the pod requests; default: 500m CPU, 2Gi memory."
    )
    limits: Mapping[str, Quantity] = setting(
        {"memory": "2Gi"}, "What the pod may use at most; default: 2Gi memory. It must hold the heap and 384 MiB."
    )


def _heap(value: Any) -> Any:
    if not isinstance(value, str) or why_not_memory(value):
        raise PydanticCustomError(
            "heap", "Input should be a heap size", {"expected": "a number with its unit, such as `512m`, `4g`"}
        )
    return value


class Executors(Model):
    """Pods in which Spark reads and compares, besides the job's, which is the driver."""

    instances: PositiveInt = setting(2, "How many executors a run starts.")
    cores: PositiveInt = setting(1, "How many tasks an executor runs at the same time.")
    memory: Annotated[str, BeforeValidator(_heap)] = setting(
        "1g", "Heap of an executor; its pod gets a tenth more, at least 384 MiB."
    )
    cpu: Quantity | None = optional("CPU that an executor requests. Default: as many as `cores`.")


class ExporterResources(Model):
    """Resources of the exporter's container."""

    requests: Mapping[str, Quantity] = setting(
        {"cpu": "100m", "memory": "256Mi"}, "What the pod requests; default: 100m CPU, 256Mi memory."
    )
    limits: Mapping[str, Quantity] = setting(
        {"memory": "512Mi"}, "What the pod may use at most; default: 512Mi memory."
    )


class Exporter(Model):
    """A Deployment that runs `replicate exporter` for the stack, with the image of the job."""

    namespace: SecretName | None = optional(
        "Existing namespace of the pod. Default: `monitoring.namespace` of the topology."
    )
    every_seconds: PositiveInt = setting(60, "Seconds from the end of one look to the next.")
    worst: PositiveInt = setting(20, "How many partitions, and how many groups, of a flow get their own series.")
    keep: bool = setting(False, "Also keep positions on the target for a disaster, as `replicate keep` does.")
    resources: ExporterResources = Field(default=ExporterResources())


class JobHistory(Model):
    """How many finished runs of the schedule stay, with their logs."""

    successful: NonNegativeInt = setting(1, "How many scheduled runs that passed stay.")
    failed: NonNegativeInt = setting(3, "How many scheduled runs that did not pass stay.")


class Workload(StrEnum):
    """What runs the job after a deployment; between deployments its counterpart with a schedule does."""

    JOB = "Job"
    SPARK_APPLICATION = "SparkApplication"


class InCluster(Model):
    """What validates each flow after each deployment, and between deployments."""

    workload: Workload = setting(
        Workload.JOB, "What runs the job: `Job`, or `SparkApplication` for the Spark operator, which needs `executors`."
    )
    image: str = Field(description="The job's image, by digest: `NAME@sha256:…`.")
    image_pull_secret: SecretName | None = optional("Secret in the flow's namespace with the login of the registry.")
    schedule: str = setting("17 */6 * * *", "When the job runs between deployments.")
    time_zone: str = setting("Etc/UTC", "Time zone of the schedule.", min_length=1)
    resources: JobResources = Field(default=JobResources())
    deadline_seconds: PositiveInt = setting(3600, "How long one run may take; of a Job with its retries.")
    retries: NonNegativeInt = setting(1, "How often a run that does not pass is tried again.")
    ready_seconds: NonNegativeInt = setting(600, "How long the job waits for connectors before it judges them.")
    catch_up_seconds: NonNegativeInt = setting(30, "How long a target that is behind may take.")
    history: JobHistory = Field(default=JobHistory())
    executors: Executors | None = optional(
        "Executors as pods. Default: one process in the job's pod is driver and executor."
    )
    exporter: Exporter | None = optional("Also run `replicate exporter` for the stack, as a Deployment.")

    @property
    def keeps(self) -> bool:
        """Return whether the stack keeps positions."""
        return self.exporter is not None and self.exporter.keep
