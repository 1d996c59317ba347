"""Where the processor time of a full comparison goes: the time of each thread, and for the threads that read records,
samples of the JVM's flight recorder."""

import json
import subprocess
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.bench.size_run import Bench
from tests.spark.scenes import Scene

#: How the names of threads begin, as Linux cuts them. The time of the tasks is divided by samples.
TASK = "Executor task"
THREADS: Mapping[str, Sequence[str]] = {
    "JVM: compilers": ("C1 Compiler", "C2 Compiler"),
    "JVM: garbage collection": ("GC Thread",),
}
OTHER_THREADS = "start of Python, JVM and Spark, planning, the other checks"
#: A sample counts for the first part that one of its frames belongs to, from the innermost frame outwards. Frames that
#: many parts call (Spark's memory access, Scala's collections) belong to none.
PARTS: Mapping[str, Sequence[str]] = {
    "TLS": ("sun/security/ssl", "com/sun/crypto", "javax/crypto", "org/apache/kafka/common/network/Ssl"),
    "Kafka: checksums": (
        "java/util/zip/CRC32",
        "org/apache/kafka/common/utils/Crc32C",
        "org/apache/kafka/common/utils/Checksums",
    ),
    "decompression": ("net/jpountz", "com/github/luben", "org/xerial", "java/util/zip"),
    "Kafka: records from bytes": (
        "org/apache/kafka/common/record",
        "org/apache/kafka/common/utils/ByteUtils",
        "org/apache/kafka/common/header",
        "org/apache/kafka/clients/consumer/internals/CompletedFetch",
        "org/apache/kafka/clients/consumer/ConsumerRecord",
    ),
    "Kafka: fetches": ("org/apache/kafka",),
    "Spark: rows from records": (
        "org/apache/spark/sql/kafka010",
        "org/apache/spark/sql/execution/datasources/v2",
        "org/apache/spark/sql/catalyst/InternalRow",
        "org/apache/spark/sql/catalyst/expressions/codegen/Unsafe",
        "org/apache/spark/sql/catalyst/expressions/GeneratedClass$SpecificUnsafeProjection",
        "org/apache/spark/util/UninterruptibleThread",
        "org/apache/spark/InterruptibleIterator",
    ),
    "digest": ("org/apache/spark/sql/catalyst/expressions/XX", "org/apache/spark/sql/catalyst/expressions/Cast"),
    "columns and sums": ("org/apache/spark/sql",),
    "loading classes, compiling queries": ("java/lang/ClassLoader", "jdk/internal/loader", "org/codehaus/janino"),
    "Spark: tasks and shuffle": ("org/apache/spark/executor", "org/apache/spark/scheduler", "org/apache/spark/shuffle"),
}
OTHER = "everything else"


def profiled(bench: Bench, scene: Scene) -> dict[str, float]:
    """The processor seconds of each part of a full validation."""
    with tempfile.TemporaryDirectory() as folder:
        option = f"-XX:StartFlightRecording=filename={folder}/%p.jfr,settings=profile -Xlog:jfr+startup=error"
        cost, _ = bench.judged(scene, variables={"JAVA_TOOL_OPTIONS": option})
        recording = max(Path(folder).glob("*.jfr"), key=lambda file: file.stat().st_size)
        jfr = str(bench.built.jdk.java.with_name("jfr"))
        command = [jfr, "print", "--json", "--stack-depth", "64", "--events", "jdk.ExecutionSample", str(recording)]
        answer = subprocess.run(command, capture_output=True, check=True)
    return seconds_by_part(cost.threads, json.loads(answer.stdout)["recording"]["events"])


def seconds_by_part(threads: Mapping[str, float], events: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Return the processor seconds of each part: those of the tasks' threads by their samples."""
    parts: defaultdict[str, float] = defaultdict(float)
    samples = Counter(part_of(_frames(event)) for event in events if _thread(event).startswith(TASK))
    for name, seconds in threads.items():
        if name.startswith(TASK):
            for part, count in samples.items():
                parts[part] += seconds * count / samples.total()
        else:
            parts[_part_of_thread(name)] += seconds
    return parts


def _part_of_thread(name: str) -> str:
    return next((part for part, names in THREADS.items() if name.startswith(tuple(names))), OTHER_THREADS)


def _thread(event: Mapping[str, Any]) -> str:
    return str((event["values"]["sampledThread"] or {}).get("javaName") or "")


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
