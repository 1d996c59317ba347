"""One JVM for all frames of the tests."""

import os
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession
from rich.console import Console

from infra.local import maven
from infra.local.jdk import find_jdk
from spark.sessions import SessionOptions, session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The job's own session on two cores, with the jars of spark/pom.xml."""
    jdk = find_jdk()
    jars = maven.ensure_jars(maven.SPARK, jdk, Console(stderr=True))
    os.environ["JAVA_HOME"] = str(jdk.home)
    with session(SessionOptions(master="local[2]", jars_dir=jars)) as running:
        yield running
