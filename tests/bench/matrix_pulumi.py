"""Which versions of Pulumi's packages are supported: `make matrix PULUMI='3.254.0/4.21.0'` judges a pair of each.

Given are the versions of `pulumi` and `pulumi-kubernetes`. The engine is always the one of the local stack: another one
would take a Go build of its own.
"""

import sys
import tempfile
from pathlib import Path

from kafka_replication.infra.machine.versions import KAFKA, PULUMI_ENGINE
from tests.bench.matrix_kafka import copied, proven
from tests.bench.matrix_python import installed, outcome

HEAD = ("`pulumi`", "`pulumi-kubernetes`", "quick tests of the components", "the demo's flow", "engine")


def row(pair: str) -> tuple[str, ...]:
    """The row of one pair."""
    sdk, _, kubernetes = pair.partition("/")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = installed(sys.executable, folder, f"pulumi=={sdk}", f"pulumi-kubernetes=={kubernetes}")
        (libraries,) = folder.glob("venv/lib/python*/site-packages")
        (folder / "copy").mkdir()
        copied(KAFKA, folder / "copy", str(libraries))
        return sdk, kubernetes, outcome(python, "tests/components"), proven(folder / "copy"), PULUMI_ENGINE
