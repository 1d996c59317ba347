"""The operator's entry point: it reports what prevents it from starting, and then starts nothing."""

import fcntl
import json
from pathlib import Path

import pytest

from kafka_replication.infra.local.operator.__main__ import main
from kafka_replication.infra.machine.jdk import find_jdk


@pytest.fixture
def arguments(tmp_path: Path) -> list[str]:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(json.dumps({"clusters": []}))
    return [
        *("--jdk", str(find_jdk().home)),
        *("--connect-lib", str(tmp_path)),
        *("--config-provider-lib", str(tmp_path)),
        *("--metrics-lib", str(tmp_path)),
        *("--spark-lib", str(tmp_path)),
        *("--kubeconfig", str(kubeconfig)),
        *("--state-dir", str(tmp_path / "state")),
    ]


def test_a_second_operator_on_the_same_state_ends_at_once(
    arguments: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Two operators would start the workers of one KafkaConnect twice."""
    (tmp_path / "state").mkdir()
    with (tmp_path / "state" / "operator.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert main(arguments) == 2
    assert "another operator is using" in caplog.text


@pytest.mark.parametrize("ledger", ["workers.json", "pods.json"])
def test_a_damaged_ledger_is_named_without_its_content(
    arguments: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture, ledger: str
) -> None:
    """If the operator started with an empty ledger, nobody would manage the workers that already run."""
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / ledger).write_text('[{"pid": "content"}]')
    assert main(arguments) == 2
    assert f"{tmp_path / 'state' / ledger} cannot be read" in caplog.text
    assert "content" not in caplog.text
