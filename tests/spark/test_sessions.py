"""The settings of the job's Spark session: those of the user take precedence."""

import argparse
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_replication.infra.machine.jdk import find_jdk
from kafka_replication.spark.arguments import conf_pair
from kafka_replication.spark.read.sessions import JARS_VARIABLE, SessionOptions, settings_of
from tests.repository import ROOT

pytestmark = pytest.mark.process

_ASK = """
import os
from kafka_replication.components.contract.problems import CannotRunError
from pyspark import SparkContext
from kafka_replication.spark.read.sessions import SessionOptions, session, spark_jvm
conf = {"spark.sql.shuffle.partitions": "7", "spark.driver.extraJavaOptions": "-XX:+UseSerialGC"}
for master, more in (("local[2]", {"spark.executor.memory": "lots"}), ("local-cluster[2,1,512]", {})):
    try:
        with session(SessionOptions(master, None, "512m", {**conf, **more})):
            pass
    except CannotRunError as error:
        print(error)
def started():
    return SparkContext._active_spark_context is not None
with spark_jvm(SessionOptions("local[2]", None, "512m", conf), lambda: print("starting")) as spark:
    heap = spark.jvm.java.lang.Runtime.getRuntime().maxMemory() // 2**20
    print(started())
    print(spark.session.conf.get("spark.sql.shuffle.partitions"), heap)
os.environ["SPARK_SUBMIT_OPTS"] = "-XX:SharedArchiveFile=/nowhere/classes.jsa"
before = started()
with spark_jvm(SessionOptions("local[2]", None, "512m")):
    print(before, started())
"""


def test_the_users_settings_apply_and_what_spark_refuses_is_reported(jars: Path) -> None:
    """Runs in a process of its own: in this one, the job would find the session of the other tests."""
    variables = {**os.environ, JARS_VARIABLE: str(jars), "JAVA_HOME": str(find_jdk().home)}
    variables["SPARK_SUBMIT_OPTS"] = "-XX:TieredStopAtLevel=1"
    command = [sys.executable, "-c", _ASK]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600, cwd=ROOT, env=variables)
    assert answer.returncode == 0, answer.stderr
    before, refused, *lazily, kept = answer.stdout.splitlines()
    assert before.startswith("spark-refused: Executor memory must be a positive number, at Spark master local[2]. ")
    assert refused.startswith(
        "spark-refused: Asked to launch cluster with 512 MiB/worker but requested 1024 MiB/executor, at Spark master "
        "local-cluster[2,1,512]. "
    )
    assert lazily[:2] == ["False", "starting"], "the session starts before it is asked for"
    assert kept == "False True", "the JVM would keep classes without those of Spark"
    partitions, heap = map(int, lazily[2].split())
    assert partitions == 7
    assert 480 < heap <= 512


_ASK_EARLY = """
from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.spark.read.sessions import SessionOptions, begin_jvm, spark_jvm
options = SessionOptions("local[2]", None, "512m", {"spark.executor.memory": "lots"})
begin_jvm(options)
try:
    with spark_jvm(options):
        pass
except CannotRunError as error:
    print(error)
"""


def test_a_jvm_that_is_started_early_and_fails_raises_its_error_when_it_is_needed(jars: Path) -> None:
    """Otherwise the thread would print a trace, and the job would start a second JVM."""
    variables = {**os.environ, JARS_VARIABLE: str(jars), "JAVA_HOME": str(find_jdk().home)}
    command = [sys.executable, "-c", _ASK_EARLY]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600, cwd=ROOT, env=variables)
    assert "Traceback" not in answer.stderr
    assert answer.stderr.count("Exception in thread") == 1, "there were two JVMs"
    assert answer.stdout.startswith(
        "spark-refused: Executor memory must be a positive number, at Spark master local[2]. "
    )


def options(jars: Path, master: str = "local[*]", **conf: str) -> SessionOptions:
    (jars / "spark-sql-kafka-0-10_2.13.jar").touch()
    return SessionOptions(master, jars, "4g", conf)


_ASK_PODS = """
from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.spark.read.sessions import log_of_pods
from kafka_replication.spark.read.sessions import SessionOptions, session, spark_jvm
conf = {"spark.kubernetes.container.image": "one", "spark.kubernetes.namespace": "mirror-orders"}
with spark_jvm(SessionOptions("k8s://https://127.0.0.1:1", None, "512m", conf)) as spark:
    print(spark.running, spark.jvm.java.lang.Math.max(1, 2))
    failures = []
    for _ in range(2):
        try:
            spark.session
        except CannotRunError as error:
            failures.append(error)
    print(failures[0] is failures[1], failures[0])
log_of_pods += ["pods is forbidden"]
try:
    with session(SessionOptions("k8s://https://127.0.0.1:1", None, "512m", conf)):
        pass
except CannotRunError as error:
    print(error)
"""


def test_executor_pods_are_requested_only_when_a_task_needs_them(jars: Path) -> None:
    """If there are none, they are not requested a second time: each check would wait for them again."""
    variables = {**os.environ, JARS_VARIABLE: str(jars), "JAVA_HOME": str(find_jdk().home)}
    command = [sys.executable, "-c", _ASK_PODS]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600, cwd=ROOT, env=variables)
    assert answer.returncode == 0, answer.stderr
    before, failure, missing = answer.stdout.splitlines()
    assert before == "False 2"
    assert failure.startswith("True spark-refused: ")
    assert "at Spark master k8s://https://127.0.0.1:1. " in failure
    assert missing.startswith(
        "executors-missing: Spark has no executor: pods is forbidden, at namespace mirror-orders. "
    )


def test_the_users_settings_override_the_jobs(tmp_path: Path) -> None:
    conf = {"spark.sql.adaptive.enabled": "true", "spark.ui.enabled": "true"}
    settings = settings_of(options(tmp_path, **conf), submitted=False)
    assert settings.items() >= {*conf.items(), ("spark.driver.memory", "4g"), ("spark.master", "local[*]")}


def test_the_user_may_choose_the_garbage_collector_and_keeps_the_jobs_log_settings(tmp_path: Path) -> None:
    given = {"spark.driver.extraJavaOptions": "-XX:+UseZGC"}
    settings = settings_of(options(tmp_path, **given), submitted=False)
    own = settings["spark.driver.extraJavaOptions"]
    assert own.startswith("-Dlog4j2.configurationFile=file:")
    assert own.endswith(" -XX:+UseZGC")
    assert "Parallel" not in own


def test_workers_get_the_jars_and_reach_the_driver(tmp_path: Path) -> None:
    """Bound to the loopback address, the driver would wait for workers that never answer."""
    settings = settings_of(options(tmp_path, "spark://spark.example.com:7077"), submitted=False)
    assert "spark-sql-kafka" in settings["spark.jars"]
    assert not {"spark.driver.host", "spark.driver.bindAddress"} & settings.keys()


def test_under_spark_submit_the_job_sets_only_settings_of_the_session(tmp_path: Path) -> None:
    conf = {"spark.sql.shuffle.partitions": "400"}
    settings = settings_of(options(tmp_path, **conf), submitted=True)
    assert settings["spark.sql.shuffle.partitions"] == "400"
    assert not {"spark.master", "spark.driver.memory", "spark.jars"} & settings.keys()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("spark.executor.memory", "spark.executor.memory is not KEY=VALUE"),
        ("executor.memory=4g", "executor.memory cannot be set: Spark ignores a key"),
        ("spark.driver.memory=4g", "use `--driver-memory`"),
        ("spark.redaction.regex=x", "spark.redaction.regex cannot be set: the job sets it itself"),
    ],
)
def test_a_setting_that_the_job_cannot_use_is_refused(given: str, said: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=said):
        conf_pair(given)


def test_a_value_may_hold_an_equals_sign() -> None:
    assert conf_pair("spark.executor.extraJavaOptions=-Da=b") == ("spark.executor.extraJavaOptions", "-Da=b")
