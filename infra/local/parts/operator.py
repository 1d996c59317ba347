"""The stand-in for Strimzi's operator as a part of the stack. It runs Connect workers and Jobs as processes."""

import os
import sys

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.local import paths
from kafka_replication.infra.local.operator.ledger import (
    PODS,
    WORKERS,
    DamagedLedgerError,
    Ledger,
    PodRecord,
    Record,
    WorkerRecord,
)
from kafka_replication.infra.local.parts.part import Launch, StackFacts, StackServer, plain_environment


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
    except DamagedLedgerError as error:
        what = f"the operator's list of {file.stem} cannot be read"
        why = "It names the processes that have to be stopped."
        remedy = f"stop the {file.stem} that are still running by hand, and delete the file"
        raise CannotRunError("state-damaged", what, str(file), why, remedy) from error


def reconciliation_seconds() -> float:
    """Return how often the operator looks at a connector whose resource does not change: at least every few seconds, or
    as seldom as `REPLICATE_LOCAL_RECONCILIATION_SECONDS` says. The real operator does so every 120 s.
    """
    return float(os.environ.get("REPLICATE_LOCAL_RECONCILIATION_SECONDS", "0"))


def _prepare(site: StackFacts) -> Launch:
    return Launch(
        (
            sys.executable,
            *("-m", "kafka_replication.infra.local.operator"),
            *("--kubeconfig", paths.kubeconfig()),
            *("--state-dir", paths.operator()),
            *("--jdk", site.artifacts.jdk.home),
            *("--connect-lib", site.artifacts.connect_lib),
            *("--config-provider-lib", site.artifacts.config_provider_lib),
            *("--metrics-lib", site.artifacts.metrics_lib),
            *("--spark-lib", site.artifacts.spark_lib),
            *("--reconciliation-seconds", str(reconciliation_seconds())),
        ),
        plain_environment(PYTHONUNBUFFERED="1"),
    )


OPERATOR = StackServer("operator", _prepare, grace_seconds=75)
