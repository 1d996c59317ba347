"""Gives each test its own folders, so that it cannot touch the stack that a developer runs at the same time."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the test its own folders for a stack's files and for build results; returns the first."""
    monkeypatch.setenv("REPLICATE_LOCAL", str(tmp_path / "local"))
    monkeypatch.setenv("REPLICATE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "local"
