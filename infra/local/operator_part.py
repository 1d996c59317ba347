"""The stand-in for Strimzi's operator as a part of the stack: a process of ours that starts Connect workers itself."""

import sys

from pydantic import TypeAdapter, ValidationError

from infra.local import paths, processes
from infra.local.errors import LocalStackError
from infra.local.parts import Launch, Part, Site, plain_environment
from infra.local.processes import ProcessRecord


class WorkerRecord(ProcessRecord):
    """What the stack reads of a worker in the operator's list: its process, its REST port, whether it ever served."""

    port: int
    served: bool = False


_LIST = TypeAdapter(list[WorkerRecord])


def workers() -> list[WorkerRecord]:
    """The Connect workers that the operator wrote down, whether they run or not."""
    file = paths.OPERATOR / "workers.json"
    try:
        return _LIST.validate_json(file.read_bytes())
    except FileNotFoundError:
        return []
    except ValidationError as error:
        raise LocalStackError(
            f"the operator's list of workers, {file}, cannot be read",
            "end the Connect workers that still run by hand, and remove the file",
        ) from error


def stop_workers(grace_seconds: float = 15.0) -> int:
    """End the workers that outlived the operator; how many ran."""
    return processes.stop_all(workers(), grace_seconds)


def _prepare(site: Site) -> Launch:
    return Launch(
        (
            sys.executable,
            *("-m", "infra.local.operator"),
            *("--kubeconfig", paths.KUBECONFIG),
            *("--state-dir", paths.OPERATOR),
            *("--jdk", site.artifacts.jdk.home),
            *("--connect-lib", site.artifacts.connect_lib),
            *("--config-provider-lib", site.artifacts.config_provider_lib),
        ),
        plain_environment(PYTHONPATH=str(paths.ROOT), PYTHONUNBUFFERED="1"),
    )


def _probe(_: Site) -> None:
    """That the process runs is all that can be asked; whether it does its work shows in the resources' status."""


OPERATOR = Part("operator", _prepare, _probe, grace_seconds=40)
