"""Which versions of Spark are supported: `make matrix SPARK='4.2.0 4.3.0'` judges each.

Each gets an environment of the locked requirements with its PySpark, and a copy of this project whose connector for
Kafka is of the same version.
"""

import sys
import tempfile
from pathlib import Path

from kafka_replication.infra.machine.versions import KAFKA, SPARK
from tests.bench.matrix_kafka import copied
from tests.bench.matrix_python import installed, outcome

HEAD = ("Spark", "tests of the job that run Spark")
_TESTS = ("changed_headers", "few_records", "filtered", "local_frames")


def row(version: str) -> tuple[str, ...]:
    """The row of one version."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        installed(sys.executable, folder, f"pyspark=={version}")
        (libraries,) = folder.glob("venv/lib/python*/site-packages")
        (folder / "copy").mkdir()
        copied(KAFKA, folder / "copy", str(libraries))
        pom = folder / "copy" / "spark" / "pom.xml"
        assert pom.read_text().count(f"<version>{SPARK}<") == 1
        pom.write_text(pom.read_text().replace(f"<version>{SPARK}<", f"<version>{version}<"))
        python = folder / "copy" / ".venv" / "bin" / "python"
        return version, outcome(python, *(f"tests/spark/test_{test}.py" for test in _TESTS), marked="process")
