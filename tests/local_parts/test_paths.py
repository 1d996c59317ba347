"""A second stack beside the first. Without these tests and users would share one state, or build everything twice."""

import json
import os
import subprocess
import sys
from pathlib import Path

PRINT_PATHS = """
import json
from infra.local import paths
from infra.local.certificates import Authority
own = {name: str(getattr(paths, name)) for name in
       ("STATE_FILE", "LOCK_FILE", "LOGS", "DATA", "CERTIFICATES", "CONTROL_PLANE", "KUBECONFIG", "OPERATOR")}
own |= {"CA": str(Authority("useast").key)}
built = {name: str(getattr(paths, name)) for name in ("BIN", "LIB", "CRDS", "STAMPS")}
print(json.dumps({"own": own, "built": built}))
"""


def paths_with(replicate_local: str) -> dict[str, dict[str, str]]:
    """The paths in a process with that value of REPLICATE_LOCAL."""
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", PRINT_PATHS],
        env={**os.environ, "REPLICATE_LOCAL": replicate_local, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    answer: dict[str, dict[str, str]] = json.loads(done.stdout)
    return answer


def test_a_second_stack_shares_what_is_built_and_nothing_that_it_owns(tmp_path: Path) -> None:
    first, second = paths_with(""), paths_with(str(tmp_path))
    assert second["built"] == first["built"]
    assert set(second["own"].values()).isdisjoint(first["own"].values())
    assert all(Path(path).is_relative_to(tmp_path) for path in second["own"].values())
