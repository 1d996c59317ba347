"""One JVM for all frames of the tests."""

import os
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession
from rich.console import Console

from infra.local import maven
from infra.local.endpoints import Endpoints
from infra.local.jdk import find_jdk
from spark.credentials import resolver
from spark.job import Options, check_flow
from spark.sessions import SessionOptions, session
from tests.spark.outcomes import Check
from tests.spark.scenes import passwords


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The job's own session on two cores, with the jars of spark/pom.xml."""
    jdk = find_jdk()
    jars = maven.ensure_jars(maven.SPARK, jdk, Console(stderr=True))
    os.environ["JAVA_HOME"] = str(jdk.home)
    with session(SessionOptions(master="local[2]", jars_dir=jars)) as running:
        yield running


@pytest.fixture
def check(spark: SparkSession, endpoints: Endpoints, monkeypatch: pytest.MonkeyPatch) -> Check:
    """The job for one flow in the tests' Spark session, as the user `validator`."""
    for name, password in passwords(endpoints).items():
        monkeypatch.setenv(name, password)
    options = Options(catch_up_seconds=2)
    return lambda flow, *others: check_flow(flow, spark, resolver(), options, (flow, *others))
