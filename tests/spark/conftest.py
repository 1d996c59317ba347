"""One JVM for all frames of the tests."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from rich.console import Console

from infra.local import maven, paths
from infra.local.artifacts import COLD_BUILD_SECONDS
from infra.local.endpoints import Endpoints
from infra.local.jdk import find_jdk
from infra.local.locks import exclusive
from spark.credentials import resolver
from spark.job import Options, check_flow
from spark.parameters import FlowParameters
from spark.report import FlowOutcome
from spark.sessions import SessionOptions, session
from tests.spark.outcomes import Check, CheckWhile, Doing
from tests.spark.scenes import passwords


@pytest.fixture(scope="session")
def jars() -> Path:
    """The jars of spark/pom.xml, which a stack that starts beside these tests fetches, too."""
    console = Console(stderr=True)
    with exclusive(paths.BUILT / "build.lock", console, "building the local stack's parts", COLD_BUILD_SECONDS):
        return maven.ensure_jars(maven.SPARK, find_jdk(), console)


@pytest.fixture(scope="session")
def spark(jars: Path) -> Iterator[SparkSession]:
    """The job's own session on two cores."""
    os.environ["JAVA_HOME"] = str(find_jdk().home)
    with session(SessionOptions(master="local[2]", jars_dir=jars)) as running:
        yield running


@pytest.fixture
def check(spark: SparkSession, endpoints: Endpoints, monkeypatch: pytest.MonkeyPatch) -> Check:
    """The job for one flow in the tests' Spark session, as the user `validator`."""
    for name, password in passwords(endpoints).items():
        monkeypatch.setenv(name, password)
    options = Options(catch_up_seconds=2)
    return lambda flow, *others: check_flow(flow, spark, resolver(), options, (flow, *others))


@pytest.fixture
def check_while(check: Check, spark: SparkSession) -> CheckWhile:
    """`check`, patient, and with something that happens meanwhile."""
    assert check

    def run(flow: FlowParameters, step: str, doing: Doing) -> FlowOutcome:
        awaited = iter([doing])

        def progress(told: str) -> None:
            if step in told:
                next(awaited, lambda: None)()

        return check_flow(flow, spark, resolver(), Options(catch_up_seconds=60, progress=progress))

    return run
