"""Runs the validation jobs of commands in the Spark session of the tests."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import pytest

from kafka_replication.infra.validate import run as validation
from kafka_replication.spark.command_line import entry


@contextmanager
def jobs_in_this_process() -> Iterator[None]:
    """`replicate validate` and `promote` run the job in the session of the tests, which costs a third of a JVM's start.

    A promotion in its own process runs the job as users do.
    """

    def run_job(command: Sequence[str], variables: Mapping[str, str]) -> int:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value)
            # The Kubernetes client read the variable when it was imported.
            found = ["--kubeconfig", variables["KUBECONFIG"]]
            return entry([*command[command.index(str(validation.JOB)) + 1 :], *found])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(validation, "run_job", run_job)
        yield
