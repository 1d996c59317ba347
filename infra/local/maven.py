"""Sets of jars, each resolved by Maven from one pom into a directory of its own."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from infra.local import paths, stamps, versions
from infra.local.errors import LocalStackError
from infra.local.jdk import Jdk
from infra.local.steps import run_step

MAVEN_REMEDY = "install Apache Maven (your system's package `maven`) so that `mvn` is on PATH"
COPY_DEPENDENCIES = (
    f"org.apache.maven.plugins:maven-dependency-plugin:{versions.MAVEN_DEPENDENCY_PLUGIN}:copy-dependencies"
)


@dataclass(frozen=True)
class JarSet:
    """Jars that belong on one class path, the pom that names them and what they are for."""

    name: str
    pom: Path
    purpose: str

    @property
    def directory(self) -> Path:
        """Where the jars lie, and nothing else."""
        return paths.LIB / self.name


CONNECT = JarSet("connect", paths.SOURCES / "maven/connect/pom.xml", "Kafka, Connect and MirrorMaker 2")
KAFKA_3_9 = JarSet("kafka-3.9", paths.SOURCES / "maven/kafka-3.9/pom.xml", "Connect and MirrorMaker 2 of Kafka 3.9")
KAFKA_4_3 = JarSet("kafka-4.3", paths.SOURCES / "maven/kafka-4.3/pom.xml", "Connect and MirrorMaker 2 of Kafka 4.3")
CONFIG_PROVIDER = JarSet("config-provider", paths.SOURCES / "maven/config-provider/pom.xml", "config providers")
CRD_GENERATOR = JarSet("crds", paths.SOURCES / "maven/crds/pom.xml", "Strimzi's API and its CRD generator")
CRD_GENERATOR_V1BETA2 = JarSet(
    "crds-v1beta2", paths.SOURCES / "maven/crds-v1beta2/pom.xml", "the same of the last Strimzi before v1"
)
SPARK = JarSet("spark", paths.ROOT / "spark/pom.xml", "Spark's Kafka source")


def ensure_jars(jars: JarSet, jdk: Jdk, console: Console) -> Path:
    """The directory of the set's jars, resolved if its pom changed since.

    Raises LocalStackError if Maven is missing or cannot resolve the set.
    """
    wanted = stamps.digest([jars.pom], COPY_DEPENDENCIES)
    if stamps.is_current(f"maven-{jars.name}", wanted, [jars.directory]):
        return jars.directory
    mvn = shutil.which("mvn")
    if mvn is None:
        raise LocalStackError(
            f"the jars of {jars.purpose} have to be fetched, and `mvn` was not found on PATH", MAVEN_REMEDY
        )
    stamps.forget(f"maven-{jars.name}")
    fresh = jars.directory.with_name(f".{jars.name}.fetching")
    shutil.rmtree(fresh, ignore_errors=True)
    run_step(
        console,
        f"fetch jars: {jars.purpose}",
        [mvn, "-B", "-q", "-f", jars.pom, COPY_DEPENDENCIES, f"-DoutputDirectory={fresh}", "-DincludeScope=runtime"],
        # The machine's JAVA_HOME may be anything; Maven runs on the JDK that everything else of ours runs on.
        env={**os.environ, "JAVA_HOME": str(jdk.home)},
        remedy="see Maven's lines above; Maven's central repository or your mirror of it must be reachable",
    )
    # Replaced whole: a jar of the old version beside the new one would win or lose by chance.
    shutil.rmtree(jars.directory, ignore_errors=True)
    fresh.replace(jars.directory)
    stamps.record(f"maven-{jars.name}", wanted)
    return jars.directory
