"""Promotions of two regions on the local stack, as processes that are killed or interrupted at a given point."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
import yaml
from rich.console import Console

from kafka_replication.components.contract.problems import ReplicationError
from kafka_replication.infra.deploy.promotion.rule.plan import required_plan
from kafka_replication.infra.deploy.promotion.run.promotion import Promotion, PromotionRequest, promote
from kafka_replication.infra.kubernetes.api import KubernetesApi, reference
from kafka_replication.infra.stack.settings import StackSettings, read_settings
from kafka_replication.infra.validate.run import JOB, ValidationRun, run_validation
from tests.repository import ROOT

FIRST, SECOND = "local-useast", "local-uswest"
FLOW = "relay-to-useast"
SOURCE = f"{FLOW}-source"
NAMESPACE = "promotion-evidence"
CATCH_UP_SECONDS = 60
PROGRAM = """
import signal, sys
from pathlib import Path
from tests.local.promoting import Regions
from tests.repository import ROOT
# A test run in the background of a shell ignores it.
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(Regions(Path(sys.argv[1])).promote(sys.argv[2]))
"""


@dataclass(frozen=True)
class Regions:
    """Two stacks of one topology in a folder of their own."""

    stacks: Path

    def settings(self, stack: str) -> StackSettings:
        return read_settings(stack, self.stacks)

    def plan(self, soak_minutes: float) -> None:
        waves = [{"stacks": [FIRST], "soakMinutes": soak_minutes}, {"stacks": [SECOND]}]
        plan = {"evidenceNamespace": NAMESPACE, "environments": [{"name": "local", "waves": waves}]}
        (self.stacks / "promotion.yaml").write_text(yaml.safe_dump(plan))

    def promote(self, to: str) -> int:
        request = PromotionRequest(self.stacks, to, "tester", catch_up_seconds=CATCH_UP_SECONDS)
        return promote(Promotion(required_plan(self.stacks), request, Console(highlight=False), lambda _: None))

    def refused(self) -> dict[str, str]:
        """The problems, by code, for which the promotion to the second region is refused."""
        with pytest.raises(ReplicationError) as caught:
            self.promote(SECOND)
        return {problem.code: str(problem) for problem in caught.value.problems}

    def validate(self, folder: Path, catch_up_seconds: float) -> int:
        """Exit code of `replicate validate --publish` of the first region."""
        report = folder / "report.json"
        run = ValidationRun(self.settings(FIRST), report, publish=True, catch_up_seconds=catch_up_seconds)
        return run_validation(run, Console())


def killed_at(marker: str, stacks: Path) -> str:
    """What a promotion printed up to the marker; there it is killed, together with the job that it may have started."""
    command = [sys.executable, "-c", PROGRAM, str(stacks), FIRST]
    printed = ""
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            printed += line
            if marker in line:
                orphans = _job_of(psutil.Process(process.pid))
                process.send_signal(signal.SIGKILL)
                for each in orphans:
                    each.kill()
                break
    return printed


def _job_of(promotion: psutil.Process) -> list[psutil.Process]:
    """The validation job that a promotion runs, and its JVM, which would otherwise keep running."""
    jobs = [each for each in promotion.children() if str(JOB) in each.cmdline()]
    return [each for job in jobs for each in (job, *job.children(recursive=True))]


class Hold:
    """A webhook that does not answer."""

    def __init__(self, silent: socket.socket) -> None:
        self._silent = silent
        self._asking: list[socket.socket] = []

    def asked(self) -> None:
        """Wait until the API server asks."""
        self._asking.append(self._silent.accept()[0])

    def release(self) -> None:
        """Hang up: the API server goes on without an answer."""
        for each in (self._silent, *self._asking):
            each.close()


@contextmanager
def held(api: KubernetesApi, plural: str) -> Iterator[Hold]:
    """The API server creates no object of this kind until the hold is released, or for 30 seconds."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        group = "kafka.strimzi.io"
        creation = {"apiGroups": [group], "apiVersions": ["*"], "operations": ["CREATE"], "resources": [plural]}
        webhook = {
            "name": f"{plural}.tests.example",
            "clientConfig": {"url": f"https://127.0.0.1:{silent.getsockname()[1]}/"},
            "rules": [creation],
            "failurePolicy": "Ignore",
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "timeoutSeconds": 30,
        }
        hook = {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": f"hold-{plural}"},
            "webhooks": [webhook],
        }
        api.create(hook)
        hold = Hold(silent)
        try:
            yield hold
        finally:
            hold.release()
            api.delete(reference(hook))


def interrupted_at(marker: str, stacks: Path, on_interrupt: Callable[[], None]) -> tuple[int, str]:
    """Exit code and output of a promotion that gets Ctrl-C from its terminal once it prints the marker.

    `on_interrupt` is called when the engine reports that it received the Ctrl-C.
    """
    command = [sys.executable, "-c", PROGRAM, str(stacks), FIRST]
    printed = ""
    with subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        bufsize=1,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if marker in line and marker not in printed:
                os.killpg(process.pid, signal.SIGINT)
            if "^C received" in line:
                on_interrupt()
            printed += line
    return process.returncode, printed
