"""The validation job uses the Kubernetes cluster of its stack, whatever the current context is."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from kubernetes import config
from rich.console import Console

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.kubernetes.access import current_context
from kafka_replication.infra.stack.settings import KubernetesAccess, read_settings
from kafka_replication.infra.validate import run as validation
from kafka_replication.infra.validate.run import ValidationRun, kubernetes_variables, run_validation
from tests.builders import a_topology
from tests.infra.stacks import write_stack


def a_kubeconfig(folder: Path) -> Path:
    """A kubeconfig with the contexts `west`, which is current, and `east`."""
    clusters = [{"name": name, "cluster": {"server": f"https://{name}.example.com"}} for name in ("west", "east")]
    contexts = [{"name": name, "context": {"cluster": name, "user": "ann"}} for name in ("west", "east")]
    users = [{"name": "ann", "user": {"token": "none"}}]
    file = folder / "kubeconfig"
    file.write_text(
        yaml.safe_dump({"current-context": "west", "clusters": clusters, "contexts": contexts, "users": users})
    )
    return file


@pytest.mark.parametrize(
    ("context", "server"),
    [(None, "https://west.example.com"), ("east", "https://east.example.com")],
    ids=["the current context", "the stack's context"],
)
@pytest.mark.parametrize("by", ["stack", "environment"])
def test_the_job_publishes_to_the_cluster_of_its_stack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, context: str | None, server: str, by: str
) -> None:
    """A verdict in another region's cluster would promote a model that nobody has proven there."""
    kubeconfig = a_kubeconfig(tmp_path)
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    access = KubernetesAccess(str(kubeconfig) if by == "stack" else None, context)
    found = kubernetes_variables(access, tmp_path).get("KUBECONFIG", str(kubeconfig))
    client: Any = config.new_client_from_config(found)  # type: ignore[no-untyped-call]
    assert client.configuration.host == server


def test_the_current_context_is_printed_if_the_stack_names_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a user whose current context is another cluster would validate that one without noticing."""

    def stopped() -> None:
        raise CannotRunError("no-jdk", "there is none", "here", "Why.", "install one.")

    monkeypatch.setenv("KUBECONFIG", str(a_kubeconfig(tmp_path)))
    monkeypatch.setattr(validation, "find_jdk", stopped)
    settings = read_settings("test", write_stack(tmp_path))
    said = {}
    for context in (None, "east"):
        printed = StringIO()
        run = ValidationRun(replace(settings, context=context), tmp_path / "report.json", declared=True)
        with pytest.raises(CannotRunError, match="no-jdk"):
            run_validation(run, Console(file=printed, width=200))
        said[context] = printed.getvalue()
    assert said == {
        None: "! nothing names a Kubernetes context, so the current one of your kubeconfig is used: `west`\n",
        "east": "",
    }


def test_there_is_no_current_context_without_a_valid_kubeconfig(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "nothing"))
    assert current_context() is None
    (tmp_path / "nothing").write_text("- no mapping")
    assert current_context() is None


def test_a_second_validation_of_a_stack_says_that_another_runs_and_leaves_its_parameters_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first reads its document only once its JVM has started, and would otherwise validate that of the second."""
    monkeypatch.setenv("KUBECONFIG", str(a_kubeconfig(tmp_path)))
    monkeypatch.setattr(validation, "find_jdk", lambda: SimpleNamespace(home=tmp_path))
    monkeypatch.setattr("kafka_replication.infra.machine.toolchain.ensure_jars", lambda *_: tmp_path)
    monkeypatch.setattr(validation, "quick_start", lambda *_: {})
    monkeypatch.setattr(validation, "_about_connectors", lambda *_: [])
    for name in ("orders", "ledger"):
        (tmp_path / name).mkdir()
    first, second = (
        ValidationRun(
            replace(read_settings("test", write_stack(tmp_path / name, a_topology(name=name))), context="west"),
            tmp_path / "report.json",
            declared=True,
        )
        for name in ("orders", "ledger")
    )
    read: list[str] = []
    printed = StringIO()
    console = Console(file=printed, width=200)

    def job(command: Sequence[str], _: Mapping[str, str]) -> int:
        if not read:
            read.append("")
            assert run_validation(second, console) == 0
        parameters = Path(command[command.index("--parameters") + 1])
        read.append(json.loads(parameters.read_text())["flows"][0]["name"])
        return 0

    monkeypatch.setattr(validation, "run_job", job)
    assert run_validation(first, console) == 0
    assert read == ["", "ledger", "orders"]
    assert re.fullmatch(
        r"! another validation of stack test has been running since \d\d:\d\d:\d\dZ \(process \d+\); they share this "
        r"machine, so each takes longer\n",
        printed.getvalue(),
    )
