"""The stand-in for Strimzi's operator as a part of the stack: a process of ours that starts Connect workers itself."""

import json
import sys

from infra.local import paths, processes
from infra.local.parts import Launch, Part, Site, plain_environment
from infra.local.processes import ProcessRecord

WORKERS_FILE = paths.OPERATOR / "workers.json"


def workers() -> list[ProcessRecord]:
    """The Connect workers that the operator wrote down, whether they run or not."""
    try:
        listed = json.loads(WORKERS_FILE.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    return [
        ProcessRecord(name=worker["name"], pid=worker["pid"], created=worker["created"], log=worker.get("log"))
        for worker in listed
    ]


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
        plain_environment(PYTHONPATH=str(paths.ROOT), PYTHONUNBUFFERED="1", JAVA_HOME=str(site.artifacts.jdk.home)),
    )


def _probe(_: Site) -> None:
    """That the process runs is all that can be asked; whether it does its work shows in the resources' status."""


OPERATOR = Part("operator", _prepare, _probe, grace_seconds=40)
