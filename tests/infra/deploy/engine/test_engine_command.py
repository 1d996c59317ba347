"""A Ctrl-C while Pulumi's engine runs reaches it once, and the engine ends by itself after saving its state."""

import os
import signal
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest
from pulumi import automation

from kafka_replication.infra.deploy.engine.command import EngineCommand

pytestmark = pytest.mark.process

ENGINE = """#!{python}
import os, signal, sys
if sys.argv[-1] == "version":
    sys.exit(print("v3.0.0"))
told = []
# A signal that arrives before sigwait is called is not lost.
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
print("session", os.getsid(0), flush=True)
print("error: from the start", file=sys.stderr, flush=True)
if sys.argv[-1] == "fails":
    sys.exit(255)
if sys.argv[-1] in ("up", "up-at-once"):
    print("creating", flush=True)
    while len(told) < (2 if sys.argv[-1] == "up-at-once" else 1):
        signal.sigwait([signal.SIGINT])
        told.append("^C")
        print("heard", flush=True)
    print("the state is saved", *told, flush=True)
"""


@pytest.fixture
def engine(tmp_path: Path) -> EngineCommand:
    file = tmp_path / "bin" / "pulumi"
    file.parent.mkdir()
    file.write_text(ENGINE.format(python=sys.executable))
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return EngineCommand(root=str(tmp_path), skip_version_check=True)


def test_output_is_passed_on_line_by_line_and_returned_whole(engine: EngineCommand, tmp_path: Path) -> None:
    said: list[str] = []
    result = engine.run(["stack", "ls"], str(tmp_path), {}, said.append, said.append)
    assert set(said) == {result.stdout, result.stderr}
    assert (result.code, result.stderr) == (0, "error: from the start")


def test_a_failure_raises_the_automation_apis_own_error(engine: EngineCommand, tmp_path: Path) -> None:
    with pytest.raises(automation.CommandError, match="from the start"):
        engine.run(["fails"], str(tmp_path), {})


@pytest.mark.usefixtures("heeded")
def test_a_second_ctrl_c_reaches_the_engine_too(engine: EngineCommand, tmp_path: Path) -> None:
    """It makes the engine end at once, even if it waits for an object."""
    said: list[str] = []

    def hear(line: str) -> None:
        said.append(line)
        if said[-2:] == ["creating", "heard"] or line == "creating":
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        engine.run(["up-at-once"], str(tmp_path), {}, hear)
    assert said[-1] == "the state is saved ^C ^C"


class InterruptedStart(subprocess.Popen[str]):
    def __init__(self, *given: Any, **options: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        super().__init__(*given, **options)


class InterruptedReaders(ThreadPoolExecutor):
    def submit(self, *given: Any, **options: Any) -> Any:
        reading = super().submit(*given, **options)
        os.kill(os.getpid(), signal.SIGINT)
        return reading


@pytest.mark.usefixtures("heeded")
@pytest.mark.parametrize(
    ("place", "interrupted"),
    [
        pytest.param("subprocess.Popen", InterruptedStart, id="before it runs"),
        pytest.param("ThreadPoolExecutor", InterruptedReaders, id="before it is waited for"),
    ],
)
def test_a_ctrl_c_ends_an_engine_that_is_starting(
    engine: EngineCommand, tmp_path: Path, place: str, interrupted: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"kafka_replication.infra.deploy.engine.command.{place}", interrupted)
    with pytest.raises(KeyboardInterrupt):
        engine.run(["up-at-once"], str(tmp_path), {})
    assert "pulumi" not in [each.name() for each in psutil.Process().children()]


@pytest.mark.usefixtures("heeded")
def test_the_program_waits_until_an_interrupted_engine_has_ended(engine: EngineCommand, tmp_path: Path) -> None:
    said: list[str] = []

    def hear(line: str) -> None:
        said.append(line)
        if line == "creating":
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        engine.run(["up"], str(tmp_path), {}, hear)
    assert said[-1] == "the state is saved ^C"
    assert said[0] != f"session {os.getsid(0)}", "the terminal would interrupt it as well"
