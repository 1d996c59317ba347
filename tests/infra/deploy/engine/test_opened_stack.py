"""How often an opened stack calls Pulumi: each call is a process."""

from pathlib import Path

import pytest

from kafka_replication.infra.deploy.engine.deployment import open_stack
from kafka_replication.infra.stack.settings import read_settings
from tests.repository import STACKS

PULUMI = """#!/bin/sh
echo "$@" >> {log}
case "$*" in *version*) echo v3.272.0 ;; *) echo {{}} ;; esac
"""


@pytest.mark.process
@pytest.mark.parametrize(("configured", "asked"), [(True, 0), (False, 2)], ids=["to deploy", "to read its state"])
def test_pulumi_is_asked_for_outputs_only_when_a_stack_is_opened_to_read_its_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, configured: bool, asked: int
) -> None:
    """After each deployment the Automation API reads them, and shows the secrets among them."""
    program, log = tmp_path / "pulumi", tmp_path / "log"
    program.write_text(PULUMI.format(log=log))
    program.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("PULUMI_BACKEND_URL", f"file://{tmp_path}")
    with open_stack(read_settings("prod-us-west-2", STACKS), create=False, configured=configured) as stack:
        assert stack.outputs() == {}
    assert log.read_text().count(" stack output ") == asked
