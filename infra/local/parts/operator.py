"""The stand-in for Strimzi's operator as a part of the stack. It runs Connect workers and Jobs as processes."""

import sys

from components.contract.problems import CannotRunError
from infra.local import paths
from infra.local.operator.ledger import PODS, WORKERS, Ledger, PodRecord, Record, WorkerRecord
from infra.local.parts.part import Launch, StackFacts, StackServer, plain_environment
from infra.machine import paths as machine_paths


def workers() -> list[WorkerRecord]:
    """Return the Connect workers that the operator has started, running or not."""
    return _records(WORKERS, WorkerRecord)


def pods() -> list[PodRecord]:
    """Return the pods of validation Jobs that the operator has started, running or not."""
    return _records(PODS, PodRecord)


def _records(name: str, kind: type[Record]) -> list[Record]:
    file = paths.operator() / name
    try:
        return Ledger(file, kind).all()
    except ValueError as error:
        raise CannotRunError(
            "state-damaged",
            f"the operator's list of {file.stem} cannot be read",
            str(file),
            "It names the processes that have to be stopped.",
            f"stop the {file.stem} that are still running by hand, and delete the file",
        ) from error


def _prepare(site: StackFacts) -> Launch:
    return Launch(
        (
            sys.executable,
            *("-m", "infra.local.operator"),
            *("--kubeconfig", paths.kubeconfig()),
            *("--state-dir", paths.operator()),
            *("--jdk", site.artifacts.jdk.home),
            *("--connect-lib", site.artifacts.connect_lib),
            *("--config-provider-lib", site.artifacts.config_provider_lib),
            *("--metrics-lib", site.artifacts.metrics_lib),
            *("--spark-lib", site.artifacts.spark_lib),
        ),
        plain_environment(PYTHONPATH=str(machine_paths.PACKAGES), PYTHONUNBUFFERED="1"),
    )


def _probe(_: StackFacts) -> None:
    """The operator has no endpoint to ask: it is ready once its process runs."""


OPERATOR = StackServer("operator", _prepare, _probe, grace_seconds=75)
