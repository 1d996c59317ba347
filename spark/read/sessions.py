"""Spark's JVM and session: those of spark-submit, or the job's own, with the reason why one did not start or ended."""

import os
import re
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any, TypeAlias

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.contract.spark_conf import DRIVER_HEAP
from kafka_replication.spark.read.waiting import wait_until

#: The JVM's message when Spark refuses a setting. A JVM that is too old prints something else.
_REFUSAL = re.compile(
    r'Exception in thread "main" '
    r"(?:org\.apache\.spark\.[\w.]+|java\.lang\.(?:IllegalArgument|NumberFormat)Exception): (.+)"
)
#: Lines in Spark's log that say Kubernetes refuses a pod, or that executor pods end.
_ABOUT_PODS = re.compile(
    r"\.KubernetesClientException: .* Message: (.+?)\. Received status|ERROR ExecutorPodsLifecycleManager: (.+)"
)
_STDERR = 2
#: An object in Spark's JVM, as py4j shows it.
JavaObject: TypeAlias = Any
#: How the JVM begins each warning about modules, which Spark's launcher chooses. Spark's own log begins with a time.
_WARNING = "WARNING: "

#: What Spark's log of this process said about executor pods, oldest first.
log_of_pods: list[str] = []


def _start_jvm(settings: Mapping[str, str]) -> None:
    """Start the JVM with the session's settings, unless this process has one already."""
    if SparkContext._gateway is not None:
        return
    read_end, write_end = os.pipe()
    refusals: list[str] = []
    relay = Thread(target=_relay, args=(read_end, refusals), name="spark-stderr", daemon=True)
    relay.start()
    try:
        gateway = _launched(settings, write_end)
    except PySparkException:
        # It ends with the JVM.
        relay.join()
        if refusals:
            why = "Spark's JVM ended before a session began."
            raise refused(refusals[0], settings.get("spark.master", ""), why) from None
        raise
    SparkContext._ensure_initialized(gateway=gateway)


def _launched(settings: Mapping[str, str], stderr: int) -> Any:
    try:
        return launch_gateway(SparkConf().setAll(list(settings.items())), {"stderr": stderr})  # type: ignore[no-untyped-call]
    finally:
        os.close(stderr)


def refused(what: str, master: str, why: str) -> CannotRunError:
    remedy = "correct --master, --driver-memory or --spark-conf, or what the stack file says of them."
    return CannotRunError("spark-refused", what, f"Spark master {master}", why, remedy)


def _relay(read_end: int, refusals: list[str]) -> None:
    """Copy the JVM's stderr without its warnings until it ends; `refusals` gets the reasons why Spark ended it."""
    with os.fdopen(read_end, errors="replace") as lines:
        for line in lines:
            if refusal := _REFUSAL.match(line):
                refusals.append(refusal[1].strip())
            if about := _ABOUT_PODS.search(line):
                log_of_pods.append(about[1] or about[2])
            if not line.startswith(_WARNING):
                os.write(_STDERR, line.encode())


#: As long as a node may take to start, and to pull the image.
JOIN_SECONDS = 300.0
_NO_POD = "Kubernetes shows the job no executor pod, because there is none or the job could not list pods"


def await_executors(spark: SparkSession, conf: Mapping[str, str], deadline_seconds: float = JOIN_SECONDS) -> None:
    """Return once an executor has joined; raises CannotRunError if none does before the deadline.

    `conf` is the session's. If Spark is to start executors as tasks need them, there is nothing to wait for.
    """
    dynamic = conf.get("spark.dynamicAllocation.enabled", "false").strip().lower() == "true"
    if dynamic and "spark.executor.instances" not in conf:
        return
    context = spark.sparkContext

    def joined() -> bool:
        # The driver counts as one of them.
        return int(context._jsc.sc().getExecutorMemoryStatus().size()) > 1

    if not wait_until(joined, deadline_seconds):
        reasons = dict.fromkeys(_reasons(_pods(_namespace(conf), str(context.applicationId))))
        raise _executors_missing("; ".join(reasons or log_of_pods[-1:]) or _NO_POD, conf)


def _executors_missing(why: str, conf: Mapping[str, str]) -> CannotRunError:
    return CannotRunError(
        "executors-missing",
        f"Spark has no executor: {why}",
        f"namespace {_namespace(conf)}",
        "Without an executor, Spark cannot run any task.",
        "see the log of the job. If the namespace has no room, raise its quota, or ask for fewer or smaller executors "
        "in `inCluster.executors` of the stack file; if they end at once, build the image from this version.",
    )


def lost_executors(conf: Mapping[str, str]) -> CannotRunError:
    """Return the error of a session that Spark ended, or did not start, after `log_of_pods` said why."""
    # The first refusal by Kubernetes says more than Spark's last message, which only counts failures.
    return _executors_missing("; ".join(dict.fromkeys((log_of_pods[0], log_of_pods[-1]))), conf)


def _namespace(conf: Mapping[str, str]) -> str:
    return conf.get("spark.kubernetes.namespace", "default")


def _pods(namespace: str, application: str) -> Sequence[Mapping[str, Any]]:
    """Return the session's executor pods; none if Kubernetes does not answer."""
    from kubernetes import client
    from urllib3.exceptions import HTTPError

    from kafka_replication.spark.read.kubernetes import TIMEOUT_SECONDS, api_client

    try:
        access = api_client(None)
        answer = client.CoreV1Api(access).list_namespaced_pod(
            namespace,
            # In cluster mode the driver also has the selector.
            label_selector=f"spark-app-selector={application},spark-role=executor",
            _request_timeout=TIMEOUT_SECONDS,
        )
        pods: Sequence[Mapping[str, Any]] = access.sanitize_for_serialization(answer.items)  # type: ignore[no-untyped-call]
    except (client.ApiException, HTTPError, CannotRunError):
        return ()
    return pods


def _reasons(pods: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield why pods do not run, as their status says."""
    for pod in pods:
        status = pod.get("status") or {}
        unscheduled = [
            condition
            for condition in status.get("conditions") or ()
            if condition.get("type") == "PodScheduled" and condition.get("status") == "False"
        ]
        containers = status.get("containerStatuses") or ()
        states = [state for container in containers for state in (container.get("state") or {}).values()]
        said = [*unscheduled, *(state for state in states if state and "reason" in state)]
        yield from (f"{about.get('reason', '')} {about.get('message', '')}".strip() for about in said)
        if not said:
            yield f"a pod is {status.get('phase', 'Pending')}"


SPARK = Path(__file__).resolve().parent.parent
JARS_VARIABLE = "REPLICATE_SPARK_JARS"
_KAFKA_SOURCE_JAR = "spark-sql-kafka-0-10_*.jar"
_SHUFFLE = "spark.sql.shuffle.partitions"
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_COLLECTOR = "-XX:+UseParallelGC"
#: The second compiler compiles only what runs per record. By default it also compiles much of what Spark's start and
#: planning run some thousand times, which takes longer than a million records. A call of a cipher decrypts thousands of
#: bytes, and only the second compiler uses the processor's instructions for that, so it compiles ciphers sooner.
_COMPILER = (
    "-XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=20000 "
    "-XX:Tier4CompileThreshold=100000 -XX:Tier4BackEdgeThreshold=400000 -XX:CompileCommand=quiet "
    "-XX:CompileCommand=CompileThresholdScaling,com.sun.crypto.provider.*::*,0.1"
)
_ARCHIVE = re.compile(r"-XX:SharedArchiveFile=(\S+)")
_begun: "Future[None] | None" = None


@dataclass(frozen=True)
class SessionOptions:
    """Where Spark runs, by default on the jars in $REPLICATE_SPARK_JARS; `conf` overrides the job's own settings."""

    master: str = "local[*]"
    jars_dir: Path | None = None
    driver_memory: str = DRIVER_HEAP
    conf: Mapping[str, str] = field(default_factory=dict)

    @property
    def local(self) -> bool:
        """Return whether driver and executors are one process."""
        return re.fullmatch(r"local(\[.*\])?", self.master) is not None

    @property
    def executor_pods(self) -> bool:
        """Return whether the session itself starts its executors, as pods."""
        return self.master.startswith("k8s://")

    def jars(self) -> tuple[Path, ...]:
        """Return the jars that let Spark read Kafka; raises CannotRunError when the folder lacks them."""
        folder = self.jars_dir or Path(os.environ.get(JARS_VARIABLE) or SPARK.parent / ".local" / "lib" / "spark")
        if not list(folder.glob(_KAFKA_SOURCE_JAR)):
            what = f"no {_KAFKA_SOURCE_JAR}"
            why = "Spark needs it to read Kafka."
            remedy = f"run `mvn -B -q -f spark/pom.xml dependency:copy-dependencies -DoutputDirectory={folder}`."
            raise CannotRunError("spark-jars-missing", what, str(folder), why, remedy)
        return tuple(sorted(folder.glob("*.jar")))


class Spark:
    """Spark's JVM, and the session in it, which starts when it is first asked for.

    If starting it raises a CannotRunError, every later request raises the same error, because a start may take minutes.
    """

    def __init__(self, start: Callable[[], SparkSession], session: SparkSession | None = None) -> None:
        self._start = start
        self._session = session
        self._failure: CannotRunError | None = None

    @property
    def jvm(self) -> JavaObject:
        return SparkContext._jvm

    @property
    def gateway(self) -> JavaObject:
        return SparkContext._gateway

    @property
    def running(self) -> bool:
        return self._session is not None

    @property
    def session(self) -> SparkSession:
        if self._failure is not None:
            raise self._failure
        if self._session is None:
            try:
                self._session = self._start()
            except CannotRunError as error:
                self._failure = error
                raise
        return self._session


def begin_jvm(options: SessionOptions) -> None:
    """Start the JVM for these options in a thread. Code that needs it waits for it, or gets its error."""
    global _begun
    if _submitted():
        return
    future: Future[None] = Future()
    _begun = future

    def start() -> None:
        try:
            _start_own_jvm(options)
        except BaseException as error:  # noqa: BLE001  # it is raised where the JVM is needed
            future.set_exception(error)
        else:
            future.set_result(None)

    # Nobody waits for it if the job ends before it needs a JVM.
    threading.Thread(target=start, name="jvm", daemon=True).start()


@contextmanager
def spark_jvm(options: SessionOptions, starting: Callable[[], None] = lambda: None) -> Iterator[Spark]:
    """Provide the JVM that is running, or a new one. A session that starts in it is stopped at the end.

    The session starts at once under spark-submit, if executors already wait for it, or if the JVM archives its classes
    for the next one, which may need those of Spark. Otherwise it starts when it is first needed: executor pods, for
    example, might be started for nothing. `starting` is called before it starts.
    """
    running = SparkSession.getActiveSession()
    if running is not None:
        # Its creator stops it.
        yield Spark(lambda: running, running)
        return

    def start() -> SparkSession:
        starting()
        return started.enter_context(session(options))

    archive = _ARCHIVE.search(os.environ.get("SPARK_SUBMIT_OPTS", ""))
    writes_archive = options.local and archive is not None and not Path(archive[1]).exists()
    with ExitStack() as started:
        spark = Spark(start)
        if _submitted() or not (options.local or options.executor_pods) or writes_archive:
            _ = spark.session
        else:
            _await_own_jvm(options)
        yield spark


@contextmanager
def session(options: SessionOptions) -> Iterator[SparkSession]:
    """Provide a new session, stopped at the end. Under spark-submit, that decides on master, jars and memory."""
    submitted = _submitted()
    builder = SparkSession.builder.appName("replication-validation")
    for key, value in settings_of(options, submitted=submitted).items():
        builder = builder.config(key, value)
    if not submitted:
        _await_own_jvm(options)
    try:
        with _needs_java(), _own_interrupts():
            spark = builder.getOrCreate()
    except Py4JJavaError as error:
        what = str(error.java_exception.getMessage()).splitlines()[0]
        if options.executor_pods and log_of_pods:
            raise lost_executors(options.conf) from None
        raise refused(what, options.master, "Spark's JVM runs, but no session starts in it.") from None
    try:
        if not spark.sparkContext.getConf().contains(_SHUFFLE):
            spark.conf.set(_SHUFFLE, str(max(2, spark.sparkContext.defaultParallelism)))
        if options.executor_pods:
            await_executors(spark, dict(spark.sparkContext.getConf().getAll()))
        yield spark
    finally:
        spark.stop()


def _submitted() -> bool:
    return "PYSPARK_GATEWAY_PORT" in os.environ


def _await_own_jvm(options: SessionOptions) -> None:
    if _begun is None:
        _start_own_jvm(options)
    else:
        _begun.result()


def _start_own_jvm(options: SessionOptions) -> None:
    if options.local:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    with _needs_java():
        _start_jvm(settings_of(options, submitted=False))


@contextmanager
def _needs_java() -> Iterator[None]:
    """If Java is missing or too old, PySpark only says that its launcher exited."""
    try:
        yield
    except (PySparkException, OSError) as error:
        raise CannotRunError(
            "spark-not-started",
            f"{type(error).__name__}: {str(error).splitlines()[0]}",
            f"JAVA_HOME={os.environ.get('JAVA_HOME', 'not set')}",
            "Spark runs in a JVM of version 17 or later.",
            "set JAVA_HOME to a full JDK of version 17 or later.",
        ) from error


@contextmanager
def _own_interrupts() -> Iterator[None]:
    """Preserve what this process does at Ctrl-C: PySpark's handler prints a trace for each waiting call."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def settings_of(options: SessionOptions, *, submitted: bool) -> dict[str, str]:
    """Return all settings of the session. Under spark-submit, master, memory and jars are spark-submit's."""
    own = {} if submitted else _own_jvm(options)
    settings = {**_EVERYWHERE, **own, **options.conf}
    if _JAVA_OPTIONS in own and _JAVA_OPTIONS in options.conf:
        # The user chooses the collector: the JVM does not start with two.
        settings[_JAVA_OPTIONS] = f"{own[_JAVA_OPTIONS].removesuffix(_COLLECTOR)}{options.conf[_JAVA_OPTIONS]}"
    return settings


_EVERYWHERE = {
    "spark.sql.session.timeZone": "UTC",
    # Otherwise each function of a column asks the JVM half a dozen times, to say in errors which line called it.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # Kafka must be a V2 source: the V1 relation converts each record to a Row and back.
    "spark.sql.sources.useV1SourceList": "avro,csv,json,orc,parquet,text",
    # The code that Spark generates for both sides is then the same text, and is compiled once.
    "spark.sql.codegen.useIdInClassName": "false",
    # Logins and keys are reader options: Spark must redact them in plans, logs and event logs.
    "spark.redaction.regex": r"(?i)secret|password|token|access[.]?key|jaas|keystore|truststore",
}


def _own_jvm(options: SessionOptions) -> dict[str, str]:
    jars = options.jars()
    log4j = SPARK / "log4j2.properties"
    settings = {
        "spark.master": options.master,
        "spark.driver.memory": options.driver_memory,
        # Only throughput matters and the heap is small: the parallel collector uses less CPU than G1.
        _JAVA_OPTIONS: f"-Dlog4j2.configurationFile=file:{log4j} {_COMPILER} {_COLLECTOR}",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if options.local:
        settings |= {
            # On the class path from the start, so that the admin client and Spark's reader load the same classes.
            "spark.driver.extraClassPath": os.pathsep.join(str(jar) for jar in jars),
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            # With a handful of partitions on one machine, adaptive planning costs more than it saves.
            "spark.sql.adaptive.enabled": "false",
        }
    else:
        settings["spark.jars"] = ",".join(str(jar) for jar in jars)
    return settings
