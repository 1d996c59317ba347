"""The commands of the local stack: a failure has its own exit code, and each help text has an example."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.commands.app import main
from kafka_replication.infra.commands.local import local
from kafka_replication.infra.local import paths, stack
from kafka_replication.infra.local.stack import PartStatus

RUNNING = PartStatus(
    name="etcd",
    running=True,
    ready=True,
    pid=42,
    ports=(20001, 20002),
    memory_bytes=54 * 1024 * 1024,
    log=Path("/logs/etcd.log"),
)
DOWN = PartStatus(
    name="kafka-useast", running=False, ready=False, pid=None, ports=(20003,), memory_bytes=None, log=None
)


@pytest.mark.parametrize("command", ["up", "down", "status", "traffic"])
def test_every_command_has_help_with_an_example(command: str) -> None:
    result = CliRunner().invoke(local, [command, "--help"])
    assert result.exit_code == 0
    assert f"Example: replicate local {command}" in result.output.replace("`", "")


@pytest.mark.parametrize(
    ("parts", "code"),
    [pytest.param([RUNNING], 0, id="everything runs"), pytest.param([RUNNING, DOWN], 1, id="a part is down")],
)
def test_the_exit_code_of_status_says_whether_everything_runs(
    parts: list[PartStatus], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stack, "status", lambda: parts)
    assert CliRunner().invoke(local, ["status"]).exit_code == code
    assert CliRunner().invoke(local, ["status", "--json"]).exit_code == code


def test_status_as_json_lists_every_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack, "status", lambda: [RUNNING, DOWN])
    assert json.loads(CliRunner().invoke(local, ["status", "--json"]).stdout) == {
        "parts": [
            {
                "name": "etcd",
                "running": True,
                "ready": True,
                "pid": 42,
                "ports": [20001, 20002],
                "memoryBytes": 54 * 1024 * 1024,
                "log": "/logs/etcd.log",
            },
            {
                "name": "kafka-useast",
                "running": False,
                "ready": False,
                "pid": None,
                "ports": [20003],
                "memoryBytes": None,
                "log": None,
            },
        ],
        "kubeconfig": str(paths.kubeconfig()),
    }


def error_of(command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """The error that `replicate local` prints when it cannot run, which ends it with exit code 2."""
    monkeypatch.setattr("sys.argv", ["replicate", "local", command])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    return capsys.readouterr().err


def test_a_command_that_cannot_run_prints_the_reason_and_the_remedy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: object, **__: object) -> None:
        raise CannotRunError(
            "jdk-missing", "no JDK", "PATH", "Kafka needs one.", "install one", "JDKs that were found:\n  [none]"
        )

    monkeypatch.setattr(stack, "up", fail)
    assert error_of("up", monkeypatch, capsys).splitlines() == [
        "✗ jdk-missing: no JDK, at PATH. Kafka needs one. Remedy: install one",
        "JDKs that were found:",
        "  [none]",
    ]


def test_traffic_without_a_running_stack_says_which_command_starts_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    error = error_of("traffic", monkeypatch, capsys)
    assert "the local stack is not running (down: kube-apiserver, kafka-useast, kafka-uswest)" in error
    assert "replicate local up" in error


def test_traffic_to_an_unknown_region_names_the_known_regions() -> None:
    result = CliRunner().invoke(local, ["traffic", "--region", "eu"])
    assert result.exit_code == 2
    assert "useast, uswest" in result.output


def test_down_with_nothing_running_is_no_error() -> None:
    assert CliRunner().invoke(local, ["down"]).exit_code == 0
