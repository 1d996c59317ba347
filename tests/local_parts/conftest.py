"""No test of this folder may touch the stack that a developer runs beside it."""

from pathlib import Path

import pytest

from infra.local import paths

FILES = {
    "STATE_FILE": "state.json",
    "LOCK_FILE": "lock",
    "LOGS": "logs",
    "DATA": "data",
    "CERTIFICATES": "certificates",
    "CONTROL_PLANE": "control-plane",
    "KUBECONFIG": "control-plane/admin.kubeconfig",
    "OPERATOR": "operator",
    "PULUMI": "pulumi",
    "VALIDATION": "validation",
    "BIN": "bin",
    "LIB": "lib",
    "CRDS": "crds",
    "STAMPS": "stamps",
}


@pytest.fixture(autouse=True)
def own_stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the test's own in place of `.local`, for what a stack owns and for what is built."""
    local = tmp_path / "local"
    for name, file in FILES.items():
        monkeypatch.setattr(paths, name, local / file)
    monkeypatch.setattr(paths, "LOCAL", local)
    monkeypatch.setattr(paths, "BUILT", local)
    return local
