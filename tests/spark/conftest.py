"""Fixtures that run the job for one flow, in the JVM that all tests share."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from kafka_replication.components.contract.parameters import FlowParameters
from kafka_replication.components.contract.report import Depth, FlowOutcome
from kafka_replication.infra.local.endpoints import Endpoints
from kafka_replication.spark.job import Options, check_flow
from kafka_replication.spark.read.credentials import resolver
from kafka_replication.spark.read.sessions import Spark
from tests.spark.outcomes import Check, CheckWhile, Doing
from tests.spark.ranges_read import Ranges, ranges_read
from tests.spark.scenes import passwords


@pytest.fixture
def logins(endpoints: Endpoints, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets the variables from which the job reads the passwords that a scene's parameters name."""
    for name, password in passwords(endpoints).items():
        monkeypatch.setenv(name, password)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Ranges:
    return ranges_read(monkeypatch)


@pytest.fixture(scope="module")
def check(spark: SparkSession, endpoints: Endpoints) -> Iterator[Check]:
    """The job for one flow, as the user `validator`."""
    options = Options(catch_up_seconds=2)
    with pytest.MonkeyPatch.context() as variables:
        for name, password in passwords(endpoints).items():
            variables.setenv(name, password)
        yield lambda flow, *others: check_flow(flow, Spark(lambda: spark), resolver(), options, (flow, *others))


@pytest.fixture(scope="module")
def check_quickly(check: Check, spark: SparkSession) -> Check:
    """`check` of the newest records only."""
    assert check
    options = Options(catch_up_seconds=2, depth=Depth.QUICK)
    return lambda flow, *others: check_flow(flow, Spark(lambda: spark), resolver(), options, (flow, *others))


@pytest.fixture
def check_while(check: Check, spark: SparkSession) -> CheckWhile:
    """`check` with a long catch-up time, and with something that happens while it runs."""
    assert check

    def run(flow: FlowParameters, step: str, doing: Doing) -> FlowOutcome:
        awaited = iter([doing])

        def progress(message: str) -> None:
            if step in message:
                next(awaited, lambda: None)()

        return check_flow(flow, Spark(lambda: spark), resolver(), Options(catch_up_seconds=60, progress=progress))

    return run
