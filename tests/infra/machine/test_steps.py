"""A long step ends, whatever its program does."""

import io
import os
from pathlib import Path

import psutil
import pytest
from rich.console import Console

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.machine import steps
from tests.repository import ROOT

pytestmark = pytest.mark.process

NETWORK = "check the network."
STALLS = "echo 'Downloading Kafka'; exec tail -f /dev/null"


def test_a_step_that_stalls_is_ended_with_its_last_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "STALLED_SECONDS", 5.0)
    monkeypatch.chdir(ROOT)
    console, command = Console(file=io.StringIO()), ["sh", "-c", STALLS]
    with pytest.raises(CannotRunError) as caught:
        steps.run_step(console, "fetching jars", command, env=os.environ, remedy=NETWORK, cwd=Path("infra"))
    assert caught.value.code == "step-stalled"
    assert caught.value.what == "fetching jars printed nothing for 5 s"
    assert caught.value.remedy == "run the command again; if it stalls again, check the network."
    assert "Downloading Kafka" in str(caught.value)
    assert "tail" not in [each.name() for each in psutil.Process().children()]
