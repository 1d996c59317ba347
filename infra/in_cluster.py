"""The validation job in the stack's cluster, as the key `replication:validation` of a stack file asks for it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from components.contract.problems import Problem, ReplicationError, Severity
from components.flows.expansion import ExpandedFlow, expand
from components.flows.naming import validation_run_name
from components.flows.resolved import ResolvedFlow
from components.properties.definitions import nearest
from components.render.executor_pods import executor_settings
from components.render.planned_objects import PlannedObject
from components.render.validation_jobs import validation_objects
from components.topology.in_cluster import IMAGE_BY_DIGEST, InCluster
from components.topology.parsing import parse_model
from infra.job_settings import IN_CLUSTER, WHERE, spark_problems, spark_settings
from infra.schedules import known_time_zones, why_no_schedule
from infra.settings import StackSettings

_WHERE = f"{WHERE}.{IN_CLUSTER}"
#: Kubernetes appends the time of a run to the name of a CronJob. Source: ValidateCronJobCreate.
_LONGEST_CRON_JOB = 52
#: The heap of the job's driver without a setting, in spark/sessions.py, and what its JVM and Python need beside it.
_HEAP, _BESIDE_HEAP = "1g", 384 * 1024**2
#: An executor ends at once if its JVM has less than 450 MiB, one and a half times what Spark keeps for itself. Of a
#: heap of 450 MiB it has 400 to 450, as its collector wants; of this one at least 455. Source: UnifiedMemoryManager.
_SMALLEST_EXECUTOR = 512 * 1024**2
#: What sets for executors what Spark calls so. The job sets the others itself.
_KEYS_OF_EXECUTORS = {
    "spark.executor.instances": "executors.instances",
    "spark.executor.cores": "executors.cores",
    "spark.executor.memory": "executors.memory",
    "spark.kubernetes.executor.request.cores": "executors.cpu",
    "spark.kubernetes.container.image": "image",
}
_SIZE = re.compile(r"([0-9.]+)(.*)")
_UNITS = {
    "": 1.0,
    "m": 0.001,
    **{unit: 1000.0**power for power, unit in enumerate("kMGTPE", 1)},
    **{f"{unit}i": 1024.0**power for power, unit in enumerate("KMGTPE", 1)},
}


def in_cluster(validation: object) -> InCluster | None:
    """How the value of `replication:validation` asks for the job in the cluster; None if it does not.

    Raises ReplicationError for another form than `in_cluster_problems` accepts.
    """
    asked = validation.get(IN_CLUSTER) if isinstance(validation, Mapping) else None
    return None if asked is None else parse_model(InCluster, asked)


def spark_of_the_job(validation: object) -> Sequence[str]:
    """The job's arguments about Spark. Its pod is the driver, and `inCluster` says where the executors are."""
    return replace(spark_settings(validation), master=None).arguments


def stack_validation(settings: StackSettings, flows: Sequence[ResolvedFlow]) -> tuple[PlannedObject, ...]:
    """The objects that validate a stack's flows in its cluster; none if its file does not ask for them."""
    asked, spark = in_cluster(settings.validation), spark_of_the_job(settings.validation)
    return validation_objects(flows, settings.stack, asked, spark)


def in_cluster_problems(settings: StackSettings) -> Iterator[Problem]:
    """What is wrong with a stack's `inCluster`; nothing if its file does not ask for it."""
    validation = settings.validation
    if not isinstance(validation, Mapping) or IN_CLUSTER not in validation:
        return
    given = validation[IN_CLUSTER]
    if not isinstance(given, Mapping):
        yield Problem(
            _WHERE,
            "wrong-type",
            f"`{IN_CLUSTER}` is {'empty' if given is None else repr(given)}",
            "It must be a mapping.",
            f"write `{IN_CLUSTER}: {{image: NAME@sha256:DIGEST}}`.",
        )
        return
    try:
        asked = parse_model(InCluster, given)
    except ReplicationError as error:
        yield from (replace(each, where=f"{_WHERE}.{each.where}") for each in error.problems)
        return
    yield from _image(asked)
    yield from _when(asked)
    yield from _requests(asked)
    yield from _executors(asked)
    if not any(spark_problems(validation)):
        spark = spark_settings(validation)
        yield from _memory(asked, spark.driver_memory or _HEAP)
        yield from _replaced_settings(asked, spark.conf)
    for flow in expand(settings.topology):
        yield from _name(flow)


def _image(asked: InCluster) -> Iterator[Problem]:
    if not IMAGE_BY_DIGEST.fullmatch(asked.image):
        yield Problem(
            f"{_WHERE}.image",
            "image-without-digest",
            f"the image is `{asked.image}`",
            "A tag can be moved to another image, and the job has the credentials of both clusters: nobody would know "
            "what judged a flow.",
            "write `NAME@sha256:DIGEST`; `docker buildx imagetools inspect NAME:TAG` prints the digest.",
        )


def _when(asked: InCluster) -> Iterator[Problem]:
    if why := why_no_schedule(asked.schedule):
        yield Problem(
            f"{_WHERE}.schedule",
            "not-accepted",
            f"`schedule` is `{asked.schedule}`",
            f"Kubernetes refuses the CronJob: {why}.",
            "write it like `17 */6 * * *`, which is minute 17 of every sixth hour.",
        )
    zones = known_time_zones()
    if zones and asked.time_zone not in zones:
        # The others are abbreviations, and the nearest one is another zone.
        near = nearest(asked.time_zone, [each for each in zones if "/" in each])
        yield Problem(
            f"{_WHERE}.timeZone",
            "not-accepted",
            f"`timeZone` is `{asked.time_zone}`",
            "Kubernetes refuses a CronJob whose time zone the IANA database does not have.",
            f"did you mean `{near}`?" if near else "name it like `Etc/UTC` or `Europe/Berlin`.",
        )
    if asked.deadline_seconds <= asked.ready_seconds:
        yield Problem(
            f"{_WHERE}.deadlineSeconds",
            "deadline-before-verdict",
            f"a run ends after {asked.deadline_seconds} s, and may wait {asked.ready_seconds} s for the connectors",
            "A run that Kubernetes ends publishes no verdict, so nobody would learn that the connectors do not run.",
            f"set `deadlineSeconds` to more than {asked.ready_seconds}, or lower `readySeconds`.",
            Severity.WARNING,
        )


def _requests(asked: InCluster) -> Iterator[Problem]:
    limits = asked.resources.limits
    for name, request in asked.resources.requests.items():
        if name in limits and _bytes(str(request)) > _bytes(str(limits[name])):
            yield Problem(
                f"{_WHERE}.resources.requests.{name}",
                "request-exceeds-limit",
                f"the request is {request}, and the limit is {limits[name]}",
                "Kubernetes refuses such a pod. A part of `resources` that the stack file leaves out has its default.",
                f"set `resources.limits.{name}` to {request} or more, or lower the request.",
            )


def _memory(asked: InCluster, heap: str) -> Iterator[Problem]:
    limit = asked.resources.limits.get("memory")
    needed = _heap_bytes(heap) + _BESIDE_HEAP
    if limit is not None and _bytes(str(limit)) < needed:
        yield Problem(
            f"{_WHERE}.resources.limits.memory",
            "job-exceeds-its-memory",
            f"the limit is {limit}, and the heap of the job's driver is {heap}",
            "Python and the JVM need about 384 MiB besides the heap; Kubernetes kills a job that exceeds its limit.",
            f"set the limit to {-(-int(needed) // 1024**2)}Mi or more, or lower `spark.driverMemory`.",
        )


def _executors(asked: InCluster) -> Iterator[Problem]:
    if asked.executors is not None and _heap_bytes(asked.executors.memory) < _SMALLEST_EXECUTOR:
        yield Problem(
            f"{_WHERE}.executors.memory",
            "out-of-range",
            f"`memory` is {asked.executors.memory}",
            "Its JVM keeps a part for itself, and an executor with less than 450 MiB left ends at once.",
            "set it to `512m` or more.",
        )


def _replaced_settings(asked: InCluster, conf: Mapping[str, str]) -> Iterator[Problem]:
    settings = {} if asked.executors is None else executor_settings("", asked.image, asked.executors)
    for key in (each for each in conf if each in settings):
        own = _KEYS_OF_EXECUTORS.get(key)
        yield Problem(
            f"{WHERE}.spark.conf",
            "bad-spark-setting",
            f"`{key}` is `{conf[key]}`, and `{IN_CLUSTER}.executors` replaces it",
            "The job in the cluster would run with another value than this one.",
            f"remove it; use `{IN_CLUSTER}.{own}`." if own else "remove it: the job sets it itself.",
        )


def _heap_bytes(heap: str) -> float:
    """A size as Spark reads it: its units are powers of two, so its `g` is Kubernetes' `Gi`."""
    size = heap.lower().removesuffix("b")
    return _bytes(f"{size[:-1]}{size[-1].upper()}i")


def _bytes(quantity: str) -> float:
    """A quantity of Kubernetes as a number, such as bytes or cores."""
    number, unit = _SIZE.fullmatch(quantity).groups()  # type: ignore[union-attr]
    return float(number) * _UNITS[unit] if unit in _UNITS else float(quantity)


def _name(flow: ExpandedFlow) -> Iterator[Problem]:
    name = validation_run_name(flow.name)
    if len(name) > _LONGEST_CRON_JOB:
        yield Problem(
            _WHERE,
            "job-name-too-long",
            f"`{name}` has {len(name)} characters",
            f"The name of a CronJob may have at most {_LONGEST_CRON_JOB}.",
            f"shorten the name of replication `{flow.replication}` by at least {len(name) - _LONGEST_CRON_JOB}, or "
            f"remove `{IN_CLUSTER}`.",
        )
