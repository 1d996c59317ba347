"""Options of a worker's JVM: as a KafkaConnect asks, but small enough for many JVMs on one machine. Pure."""

import re
from collections.abc import Mapping
from typing import Any

HEAP_MIB = 256
LARGEST_HEAP_MIB = 512

_FIXED = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true")
"""For little memory and a quick start, which matter more here than throughput."""

_MIB = {"": 1 / 2**20, "k": 1 / 2**10, "m": 1.0, "g": 1024.0, "t": 2.0**20}


def jvm_arguments(options: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Arguments from spec.jvmOptions, and a sentence for each option that is ignored or capped."""
    notes: list[str] = []
    heap = HEAP_MIB
    if wanted := options.get("-Xmx"):
        heap = max(1, min(_mebibytes(wanted), LARGEST_HEAP_MIB))
        if _mebibytes(wanted) > LARGEST_HEAP_MIB:
            notes.append(f"jvmOptions -Xmx {wanted} is capped at {LARGEST_HEAP_MIB}m on one machine")
    notes += [
        f"jvmOptions {key} is ignored on one machine" for key in ("-XX", "-Xms", "gcLoggingEnabled") if options.get(key)
    ]
    properties = [f"-D{each['name']}={each['value']}" for each in options.get("javaSystemProperties") or []]
    return [f"-Xmx{heap}m", *_FIXED, *properties], notes


def _mebibytes(size: str) -> int:
    matched = re.fullmatch(r"(\d+)([kmgtKMGT]?)", size)
    return int(int(matched[1]) * _MIB[matched[2].lower()]) if matched else HEAP_MIB
