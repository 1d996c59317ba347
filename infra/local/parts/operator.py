"""The stand-in for Strimzi's operator as a part of the stack. It runs Connect workers and Jobs as processes."""

import sys
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from components.contract.problems import CannotRunError
from infra.local import paths
from infra.local.parts.part import Launch, StackFacts, StackServer, plain_environment
from infra.local.parts.processes import ProcessRecord
from infra.machine import paths as machine_paths


class ListedWorker(ProcessRecord):
    """A worker in the operator's list: its process, its ports, and whether it has ever served."""

    port: int
    metrics_port: int | None = None
    served: bool = False

    @property
    def ports(self) -> tuple[int, ...]:
        """Return the port of its REST interface, and that of its metrics if it reports any."""
        return (self.port,) if self.metrics_port is None else (self.port, self.metrics_port)


_Record = TypeVar("_Record", bound=ProcessRecord)


def workers() -> list[ListedWorker]:
    """Return the Connect workers in the operator's list, running or not."""
    return _listed("workers.json", ListedWorker)


def pods() -> list[ProcessRecord]:
    """Return the pods of validation Jobs in the operator's list, running or not."""
    return _listed("pods.json", ProcessRecord)


def _listed(name: str, of: type[_Record]) -> list[_Record]:
    file = paths.operator() / name
    try:
        return TypeAdapter(list[of]).validate_json(file.read_bytes())  # type: ignore[valid-type]
    except FileNotFoundError:
        return []
    except ValidationError as error:
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
