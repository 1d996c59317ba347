"""Where the validation job runs, as the key `replication:validation` of a stack file asks for it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from zoneinfo import available_timezones

import yaml

from kafka_replication.components.contract.problems import Problem, ReplicationError, warning
from kafka_replication.components.contract.spark_conf import (
    DRIVER_HEAP,
    SparkSettings,
    why_not_conf,
    why_not_master,
    why_not_memory,
)
from kafka_replication.components.flows.expansion import ExpandedFlow, expand
from kafka_replication.components.flows.naming import role_name, validation_run_name
from kafka_replication.components.flows.resolved import ResolvedFlow, bootstrap_address
from kafka_replication.components.kafka.replication_policy import SIDES
from kafka_replication.components.properties.definitions import nearest
from kafka_replication.components.properties.values import value_text
from kafka_replication.components.render.deployments import deployments
from kafka_replication.components.render.exporter import exporter_name, exporter_objects
from kafka_replication.components.render.job_pods import executor_settings
from kafka_replication.components.render.kafka_users import kafka_user_objects
from kafka_replication.components.render.monitoring import monitoring_objects
from kafka_replication.components.render.planned_objects import PlannedObject
from kafka_replication.components.render.validation_jobs import validation_objects
from kafka_replication.components.topology.clusters import LABEL_LENGTH, ConfigValue
from kafka_replication.components.topology.in_cluster import (
    IMAGE_BY_DIGEST,
    Exporter,
    ExporterResources,
    InCluster,
    JobResources,
    Workload,
    heap_bytes,
)
from kafka_replication.components.topology.parsing import parse_model
from kafka_replication.components.topology.workers import quantity_value
from kafka_replication.infra.stack.settings import DEPLOY, PROJECT, VALIDATION, StackSettings

IN_CLUSTER = "inCluster"
WHERE = f"config.replication:{VALIDATION}"
_FORM = "write `{spark: {master: …, driverMemory: …, conf: {KEY: VALUE}}}`; each of them may be left out."
_TOP_FORM = f"write `spark: {{…}}`, `{IN_CLUSTER}: {{image: NAME@sha256:DIGEST}}`, or both."
_NO_EFFECT = "The validation job would not start, or would run in the wrong place."


def spark_settings(value: object) -> SparkSettings:
    """Return the settings in a stack file's `replication:validation`, which must have no `spark_problems`."""
    spark = (value.get("spark") if isinstance(value, Mapping) else None) or {}
    return SparkSettings(
        spark.get("master"),
        spark.get("driverMemory"),
        {str(key): value_text(setting) for key, setting in (spark.get("conf") or {}).items()},
    )


def spark_problems(value: object) -> Iterator[Problem]:
    """Yield what is wrong with the value of `replication:validation`; nothing if the stack file has none."""
    if value is None:
        return
    yield from _wrong_keys(value, "", {"spark", IN_CLUSTER}, _TOP_FORM)
    spark = value.get("spark") if isinstance(value, Mapping) else None
    if spark is None:
        return
    yield from _wrong_keys(spark, ".spark", {"master", "driverMemory", "conf"}, _FORM)
    if not isinstance(spark, Mapping):
        return
    for key, why_not in (("master", why_not_master), ("driverMemory", why_not_memory)):
        given = spark.get(key)
        if given is not None and (why := why_not(given) if isinstance(given, str) else "it must be text"):
            yield _problem(f".spark.{key}", f"`{given}` is not a value of `{key}`: {why}", f"correct `{key}`.")
    yield from _wrong_conf(spark.get("conf"))


def _wrong_keys(value: object, where: str, known: set[str], form: str) -> Iterator[Problem]:
    if not isinstance(value, Mapping):
        yield _problem(where, f"`{value}` is not a mapping", form)
        return
    for key in sorted(str(key) for key in value.keys() - known):
        near = nearest(key, known)
        yield _problem(f"{where}.{key}", f"`{key}` is not a key here", f"did you mean `{near}`?" if near else form)


def _wrong_conf(conf: object) -> Iterator[Problem]:
    if conf is None:
        return
    if not isinstance(conf, Mapping):
        yield _problem(".spark.conf", f"`{conf}` is not a mapping", "write it as `{spark.executor.memory: 4g}`.")
        return
    for key, value in conf.items():
        if refused := why_not_conf(str(key)):
            yield _problem(".spark.conf", f"`{key}` cannot be set: {refused[0]}", refused[1])
        elif not isinstance(value, str | int | float):
            yield _problem(".spark.conf", f"the value of `{key}` is neither text nor a number", "write one value.")


def _problem(where: str, what: str, remedy: str) -> Problem:
    return Problem(WHERE + where, "bad-spark-setting", what, _NO_EFFECT, remedy)


#: Source: robfig/cron ParseStandard, which the API server calls.
NAMED = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_EVERY = re.compile(r"@every (\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
#: Each field with its smallest and largest value, and the names of values.
_FIELDS: tuple[tuple[str, int, int, dict[str, int]], ...] = (
    ("minute", 0, 59, {}),
    ("hour", 0, 23, {}),
    ("day of the month", 1, 31, {}),
    ("month", 1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    ("day of the week", 0, 6, {name: number for number, name in enumerate(_DAYS)}),
)
_RANGE = re.compile(r"(?P<all>[*?])|(?P<first>\w+)(-(?P<last>\w+))?")


def why_no_schedule(schedule: str) -> str | None:
    """Return why Kubernetes refuses a schedule, as a clause; None if it accepts it."""
    if "TZ=" in schedule:
        return "the time zone has its own key"
    if _EVERY.fullmatch(schedule):
        return None
    if schedule.startswith("@"):
        return None if schedule in NAMED else f"the named schedules are {', '.join(f'`{name}`' for name in NAMED)}"
    fields = schedule.split()
    if len(fields) != len(_FIELDS):
        return f"it has {len(fields)} fields instead of five: {', '.join(name for name, *_ in _FIELDS)}"
    for given, (name, least, most, names) in zip(fields, _FIELDS, strict=True):
        for part in filter(None, given.split(",")):
            if why := _why_no_part(part, least, most, names):
                return f"`{given}` is not a valid {name}: {why}"
    return None


def _why_no_part(part: str, least: int, most: int, names: dict[str, int]) -> str | None:
    span, slash, step = part.partition("/")
    if slash and not (step.isdecimal() and int(step) > 0):
        return "a step must be a whole number from 1"
    match = _RANGE.fullmatch(span)
    if match is None:
        return f"`{span}` is neither a value nor a range"
    if match["all"]:
        return None
    texts = [text for text in (match["first"], match["last"]) if text is not None]
    ends = [int(text) if text.isdecimal() else names.get(text.lower(), -1) for text in texts]
    if any(not least <= end <= most for end in ends):
        return f"values are {least} to {most}{', or names of three letters' if names else ''}"
    return "the range ends before it begins" if ends[0] > ends[-1] else None


_WHERE = f"{WHERE}.{IN_CLUSTER}"
#: The longest name that leaves room for the time that a run appends: minutes for a CronJob, nanoseconds for the other.
#: Source: ValidateCronJobCreate; Spark operator, internal/controller/scheduledsparkapplication/controller.go.
_LONGEST_NAMES = {Workload.JOB: ("CronJob", 52), Workload.SPARK_APPLICATION: ("ScheduledSparkApplication", 43)}
#: The memory that the driver's JVM and Python need besides the heap.
_BESIDE_HEAP = 384 * 1024**2
#: An executor ends at once if its JVM sees less than 450 MiB, which is 1.5 times what Spark reserves. Depending on the
#: collector, a JVM sees 400 to 450 of a heap of 450 MiB, and at least 455 of this one. Source: UnifiedMemoryManager.
_SMALLEST_EXECUTOR = 512 * 1024**2
#: The consequence of an invalid schedule or time zone.
_REFUSALS = {
    Workload.JOB: "Kubernetes refuses the CronJob",
    Workload.SPARK_APPLICATION: "The Spark operator never runs the ScheduledSparkApplication",
}
#: A setting of Spark -> the key of `inCluster` that replaces it for executors. The job sets the others itself.
_KEYS_OF_EXECUTORS = {
    "spark.executor.instances": "executors.instances",
    "spark.executor.cores": "executors.cores",
    "spark.executor.memory": "executors.memory",
    "spark.kubernetes.executor.request.cores": "executors.cpu",
    "spark.kubernetes.container.image": "image",
}
#: A setting of Spark -> the key of `inCluster` that replaces it for a SparkApplication.
_KEYS_OF_APPLICATION = {
    "spark.driver.memoryOverhead": "resources.limits.memory",
    "spark.kubernetes.driver.request.cores": "resources.requests.cpu",
    "spark.kubernetes.driver.limit.cores": "resources.limits.cpu",
    "spark.kubernetes.driver.container.image": "image",
    "spark.kubernetes.executor.container.image": "image",
    "spark.kubernetes.container.image.pullSecrets": "imagePullSecret",
}
#: Settings that the Spark operator or spark-submit makes. The operator's webhook refuses those about API access.
_OF_THE_SUBMISSION = re.compile(
    r"spark\.(kubernetes\.(authenticate\..*|driver\.master|(driver|executor)\.podTemplate(File|ContainerName)"
    r"|memoryOverheadFactor|submission\..*|submitInDriver)|submit\.(deployMode|pyFiles)|app\.(id|name))"
)


def in_cluster(validation: object) -> InCluster | None:
    """Return what the stack file asks for in the cluster, if anything. Raises ReplicationError for a wrong form."""
    asked = validation.get(IN_CLUSTER) if isinstance(validation, Mapping) else None
    return None if asked is None else parse_model(InCluster, asked)


def spark_of_the_job(validation: object) -> SparkSettings:
    """Return the job's settings of Spark. Its pod is the driver, and `inCluster` says where the executors are."""
    return replace(spark_settings(validation), master=None)


def stack_validation(settings: StackSettings, flows: Sequence[ResolvedFlow]) -> tuple[PlannedObject, ...]:
    """Return the objects that validate a stack's flows in its cluster; none if its file does not ask for them."""
    asked, spark = in_cluster(settings.validation), spark_of_the_job(settings.validation)
    return validation_objects(flows, settings.stack, asked, spark)


def stack_users(settings: StackSettings) -> tuple[PlannedObject, ...]:
    """Return the KafkaUsers that a stack declares, and Secrets of given passwords."""
    asked = in_cluster(settings.validation)
    keeper = asked is not None and asked.keeps
    return kafka_user_objects(settings.topology, settings.region, keeper=keeper)


def stack_exporter(settings: StackSettings, flows: Sequence[ResolvedFlow]) -> tuple[PlannedObject, ...]:
    """Return the objects that run `replicate exporter` for a stack; none if its file does not ask for it."""
    asked, topology = in_cluster(settings.validation), settings.topology
    if asked is None or asked.exporter is None:
        return ()
    others = (
        *(planned for deployment in deployments(flows) for planned in deployment.objects),
        *stack_users(settings),
        *monitoring_objects(topology, settings.stack, settings.region),
        *stack_validation(settings, flows),
    )
    return exporter_objects(settings.stack, flows, asked, topology.monitoring, _project(settings, flows), others)


def _project(settings: StackSettings, flows: Sequence[ResolvedFlow]) -> dict[str, str]:
    """Return the files that the exporter reads. From these files the same files follow, so that it sees no drift.

    Its access to Kubernetes is its pod's, and Secrets have the credentials. It cannot decrypt an address.
    """
    known = {key: settings.values[key] for key in ("topology", "region", DEPLOY) if key in settings.values}
    for alias, address in (
        (flow.alias(side), bootstrap_address(flow.cluster(side))) for flow in flows for side in SIDES
    ):
        if isinstance(value := settings.topology.clusters[alias].bootstrap_servers, ConfigValue):
            known[value.config] = address
    config = {f"{PROJECT}:{key}": value for key, value in {**known, VALIDATION: settings.validation}.items()}
    return {
        "Pulumi.yaml": f"name: {PROJECT}\nruntime: python\n",
        f"Pulumi.{settings.stack}.yaml": yaml.safe_dump({"config": config}),
        f"topologies/{settings.topology_file.name}": settings.topology_file.read_text(),
    }


def in_cluster_problems(settings: StackSettings) -> Iterator[Problem]:
    """Yield what is wrong with a stack's `inCluster`; nothing if its file does not ask for it."""
    validation = settings.validation
    if not isinstance(validation, Mapping) or IN_CLUSTER not in validation:
        return
    given = validation[IN_CLUSTER]
    if not isinstance(given, Mapping):
        what, why = f"`{IN_CLUSTER}` is {'empty' if given is None else repr(given)}", "It must be a mapping."
        yield Problem(_WHERE, "wrong-type", what, why, f"write `{IN_CLUSTER}: {{image: NAME@sha256:DIGEST}}`.")
        return
    try:
        asked = parse_model(InCluster, given)
    except ReplicationError as error:
        yield from (replace(problem, where=f"{_WHERE}.{problem.where}") for problem in error.problems)
        return
    yield from _image(asked)
    yield from _when(asked)
    yield from _requests("resources", asked.resources, asked.workload)
    yield from _executors(asked)
    if asked.workload is Workload.SPARK_APPLICATION:
        yield from _application(asked)
    if not any(spark_problems(validation)):
        spark = spark_settings(validation)
        yield from _memory(asked, spark.driver_memory or DRIVER_HEAP)
        yield from _replaced_settings(asked, spark.conf)
    for flow in expand(settings.topology):
        yield from _name(flow, asked.workload)
    if asked.exporter is not None:
        yield from _exporter(settings, asked.exporter)


def _image(asked: InCluster) -> Iterator[Problem]:
    if not IMAGE_BY_DIGEST.fullmatch(asked.image):
        why = (
            "A tag can be moved to another image, and the job has the credentials of both clusters. Nobody would know "
            "which image judged a flow."
        )
        remedy = "write `NAME@sha256:DIGEST`; `docker buildx imagetools inspect NAME:TAG` prints the digest."
        yield Problem(f"{_WHERE}.image", "image-without-digest", f"the image is `{asked.image}`", why, remedy)


def _when(asked: InCluster) -> Iterator[Problem]:
    if why := why_no_schedule(asked.schedule):
        what = f"`schedule` is `{asked.schedule}`"
        remedy = "write it like `17 */6 * * *`, which is minute 17 of every sixth hour."
        yield Problem(f"{_WHERE}.schedule", "not-accepted", what, f"{_REFUSALS[asked.workload]}: {why}.", remedy)
    # Kubernetes has a database of its own, and this machine may have none.
    zones = available_timezones()
    if zones and asked.time_zone not in zones:
        # The others are abbreviations, and the most similar one would be another zone.
        near = nearest(asked.time_zone, [zone for zone in zones if "/" in zone])
        yield Problem(
            f"{_WHERE}.timeZone",
            "not-accepted",
            f"`timeZone` is `{asked.time_zone}`",
            f"{_REFUSALS[asked.workload]}: the IANA database has no such time zone.",
            f"did you mean `{near}`?" if near else "name it like `Etc/UTC` or `Europe/Berlin`.",
        )
    if asked.deadline_seconds <= asked.ready_seconds:
        what = f"a run ends after {asked.deadline_seconds} s, and may wait {asked.ready_seconds} s for the connectors"
        why = "A run that Kubernetes ends publishes no verdict, so nobody would learn that the connectors do not run."
        remedy = f"set `deadlineSeconds` to more than {asked.ready_seconds}, or lower `readySeconds`."
        yield warning(f"{_WHERE}.deadlineSeconds", "deadline-before-verdict", what, why, remedy)


def _requests(where: str, asked: JobResources | ExporterResources, workload: Workload) -> Iterator[Problem]:
    limits = asked.limits
    for name, request in asked.requests.items():
        if name == "memory" and workload is Workload.SPARK_APPLICATION:
            # `_application` compares it, because Spark uses the limit as the request.
            continue
        if name in limits and quantity_value(request) > quantity_value(limits[name]):
            what = f"the request is {request}, and the limit is {limits[name]}"
            why = "Kubernetes refuses such a pod. A part of `resources` that the stack file leaves out has its default."
            remedy = f"set `{where}.limits.{name}` to {request} or more, or lower the request."
            yield Problem(f"{_WHERE}.{where}.requests.{name}", "request-exceeds-limit", what, why, remedy)


def _memory(asked: InCluster, heap: str) -> Iterator[Problem]:
    limit = asked.resources.limits.get("memory")
    needed = heap_bytes(heap) + _BESIDE_HEAP
    if limit is not None and quantity_value(limit) < needed:
        what = f"the limit is {limit}, and the heap of the job's driver is {heap}"
        why = "Python and the JVM need about 384 MiB besides the heap; Kubernetes kills a job that exceeds its limit."
        remedy = f"set the limit to {-(-int(needed) // 1024**2)}Mi or more, or lower `spark.driverMemory`."
        yield Problem(f"{_WHERE}.resources.limits.memory", "job-exceeds-its-memory", what, why, remedy)


def _executors(asked: InCluster) -> Iterator[Problem]:
    if asked.executors is not None and heap_bytes(asked.executors.memory) < _SMALLEST_EXECUTOR:
        what = f"`memory` is {asked.executors.memory}"
        why = "Its JVM keeps a part for itself, and an executor with less than 450 MiB left exits at once."
        yield Problem(f"{_WHERE}.executors.memory", "out-of-range", what, why, "set it to `512m` or more.")


def _application(asked: InCluster) -> Iterator[Problem]:
    """Yield the problems of settings that a SparkApplication cannot express."""
    requests, limits = asked.resources.requests, asked.resources.limits
    if asked.executors is None:
        what = "`executors` is missing, and `workload` is `SparkApplication`"
        why = "The driver of a SparkApplication needs executors, which run in their own pods."
        remedy = f"write `executors: {{}}`, or remove `workload`: a {Workload.JOB} needs none."
        yield Problem(f"{_WHERE}.executors", "missing-key", what, why, remedy)
    if "memory" not in limits:
        what = "`limits` has no `memory`, and `workload` is `SparkApplication`"
        why = "Spark gives the driver's pod a memory limit, and the heap must fit into it."
        remedy = "set `resources.limits.memory`, such as `2Gi`."
        yield Problem(f"{_WHERE}.resources.limits", "missing-key", what, why, remedy)
        return
    # A missing request equals the limit.
    request = requests.get("memory") if "requests" in asked.resources.model_fields_set else None
    if request is not None and quantity_value(request) != quantity_value(limits["memory"]):
        what = f"the request is {request}, the limit is {limits['memory']}, and `workload` is `SparkApplication`"
        why, remedy = "Spark uses the driver's memory limit as its request.", f"set it to {limits['memory']}."
        yield Problem(f"{_WHERE}.resources.requests.memory", "not-accepted", what, why, remedy)


def _replaced_settings(asked: InCluster, conf: Mapping[str, str]) -> Iterator[Problem]:
    settings = {} if asked.executors is None else executor_settings("", asked.image, asked.executors)
    by = f"`{IN_CLUSTER}.executors` replaces it"
    replaced = dict.fromkeys((key for key in conf if key in settings), by)
    if asked.workload is Workload.SPARK_APPLICATION:
        by = f"`{IN_CLUSTER}.workload` replaces it"
        own_keys = (key for key in conf if key in _KEYS_OF_APPLICATION or _OF_THE_SUBMISSION.fullmatch(key))
        replaced |= dict.fromkeys((key for key in own_keys if key not in replaced), by)
    for key, how in replaced.items():
        own = _KEYS_OF_EXECUTORS.get(key) or _KEYS_OF_APPLICATION.get(key)
        why = "The job in the cluster would use another value."
        remedy = f"remove it; use `{IN_CLUSTER}.{own}`." if own else "remove it: the job sets it itself."
        yield Problem(f"{WHERE}.spark.conf", "bad-spark-setting", f"`{key}` is `{conf[key]}`, and {how}", why, remedy)


def _name(flow: ExpandedFlow, workload: Workload) -> Iterator[Problem]:
    name = validation_run_name(flow.name)
    scheduled, longest = _LONGEST_NAMES[workload]
    if len(name) > longest:
        why = f"The name of a {scheduled} may have at most {longest}."
        remedy = (
            f"shorten the name of replication `{flow.replication}` by at least {len(name) - longest}, or remove "
            f"`{IN_CLUSTER}`."
        )
        yield Problem(_WHERE, "job-name-too-long", f"`{name}` has {len(name)} characters", why, remedy)
    if workload is Workload.SPARK_APPLICATION and not name[0].isalpha():
        what = f"`workload` is `{workload}`, and the name of replication `{flow.replication}` begins with a digit"
        why = "The Spark operator names a Service after it, and the name of a Service begins with a letter."
        yield Problem(f"{_WHERE}.workload", "not-accepted", what, why, "rename the replication, or remove `workload`.")


def _exporter(settings: StackSettings, asked: Exporter) -> Iterator[Problem]:
    where, monitoring, name = f"{_WHERE}.exporter", settings.topology.monitoring, exporter_name(settings.stack)
    yield from _requests("exporter.resources", asked.resources, Workload.JOB)
    if asked.namespace is None and monitoring is None:
        what, why = "the exporter has no namespace", "The topology has no `monitoring`, whose namespace is the default."
        yield Problem(f"{where}.namespace", "missing-key", what, why, "set it to an existing namespace.")
    if monitoring is not None and not monitoring.exporter:
        what, why = "the exporter runs, and `monitoring.exporter` is false", "No alert and no panel reads its series."
        remedy = "set `monitoring.exporter: true` in the topology."
        yield warning(where, "exporter-unread", what, why, remedy)
    if len(name) > LABEL_LENGTH:
        why = f"It becomes a Kubernetes name or label, which may have at most {LABEL_LENGTH}."
        remedy = f"shorten the stack's name by at least {len(name) - LABEL_LENGTH}, or remove `exporter`."
        yield Problem(where, "name-too-long", f"`{name}` has {len(name)} characters", why, remedy)
    for flow in expand(settings.topology):
        if name in {validation_run_name(flow.name), role_name(flow.workers)}:
            what = f"its Role would be `{name}`, as is one of replication `{flow.replication}`"
            why = "Both would be the same object, so Kubernetes would keep only the one that is written last."
            yield Problem(where, "resource-name-shared", what, why, "rename the replication or the stack.")
