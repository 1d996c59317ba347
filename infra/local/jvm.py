"""The command line of each broker's JVM: a small heap, a quick start and one log format."""

from collections.abc import Sequence
from pathlib import Path

from infra.machine.jdk import Jdk

LOG_CONFIGURATION = Path(__file__).with_name("log4j2.properties")


def java_command(
    jdk: Jdk, class_path: Sequence[str | Path], main_class: str, *arguments: str | Path, heap_mib: int
) -> tuple[str | Path, ...]:
    """The command line. SerialGC and the first compiler tier halve the memory and the start time of an idle server."""
    return (
        jdk.java,
        f"-Xmx{heap_mib}m",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-XX:+ExitOnOutOfMemoryError",
        f"-Dlog4j2.configurationFile={LOG_CONFIGURATION}",
        "-cp",
        ":".join(map(str, class_path)),
        main_class,
        *arguments,
    )
