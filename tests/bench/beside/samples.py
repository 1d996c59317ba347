"""Where the processor time of a full comparison goes: samples of the JVM's flight recorder, by what they are for."""

import json
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.bench.size_run import Bench, Cost
from tests.spark.scenes import Scene

#: A sample counts for the first part that one of its frames belongs to, from the innermost frame outwards.
PARTS: Mapping[str, Sequence[str]] = {
    "TLS": ("sun/security/ssl", "com/sun/crypto", "javax/crypto", "org/apache/kafka/common/network/Ssl"),
    "decompression": ("net/jpountz", "com/github/luben", "org/xerial", "java/util/zip"),
    "Kafka: records from bytes": ("org/apache/kafka/common/record",),
    "Kafka: fetches": ("org/apache/kafka",),
    "Spark: rows from records": (
        "org/apache/spark/sql/kafka010",
        "org/apache/spark/sql/catalyst/expressions/codegen/Unsafe",
    ),
    "digest": ("org/apache/spark/sql/catalyst/expressions/XX", "org/apache/spark/sql/catalyst/expressions/Cast"),
    "columns and sums": ("org/apache/spark/sql",),
    "JVM's compilers and class loading": ("java/lang/ClassLoader", "jdk/internal/loader", "org/codehaus/janino"),
    "Spark: scheduling and the rest": ("org/apache/spark",),
}
OTHER = "everything else"


def profiled(bench: Bench, scene: Scene) -> tuple[Cost, Counter[str]]:
    """The cost of a full validation, and how many samples each part has."""
    with tempfile.TemporaryDirectory() as folder:
        option = f"-XX:StartFlightRecording=filename={folder}/%p.jfr,settings=profile -Xlog:jfr+startup=error"
        cost, _ = bench.judged(scene, variables={"JAVA_TOOL_OPTIONS": option})
        recording = max(Path(folder).glob("*.jfr"), key=lambda file: file.stat().st_size)
        jfr = bench.built.jdk.java.with_name("jfr")
        command = [
            str(jfr),
            "print",
            "--json",
            "--stack-depth",
            "64",
            "--events",
            "jdk.ExecutionSample",
            str(recording),
        ]
        answer = subprocess.run(command, capture_output=True, check=True)
    events = json.loads(answer.stdout)["recording"]["events"]
    return cost, Counter(part_of(_frames(event)) for event in events)


def _frames(event: Mapping[str, Any]) -> Iterable[str]:
    trace = event["values"]["stackTrace"] or {"frames": []}
    return (frame["method"]["type"]["name"].replace(".", "/") for frame in trace["frames"])


def part_of(frames: Iterable[str]) -> str:
    """Return the part that a sample counts for; frames are class names with slashes, the innermost first."""
    for frame in frames:
        for part, beginnings in PARTS.items():
            if frame.startswith(tuple(beginnings)):
                return part
    return OTHER
