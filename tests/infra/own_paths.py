"""A folder of a test's own: no test may touch the stack that a developer runs beside it."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folders of the test's own for what a stack owns and for what is built; returns the first."""
    monkeypatch.setenv("REPLICATE_LOCAL", str(tmp_path / "local"))
    monkeypatch.setenv("REPLICATE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "local"
