"""Sets of jars. Maven resolves each from one pom into its own folder."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from components.contract.problems import CannotRunError
from infra.machine import paths, versions
from infra.machine.jdk import Jdk
from infra.machine.paths import pinned_folder, unfinished
from infra.machine.steps import run_step

MAVEN_REMEDY = "install Apache Maven (your system's package `maven`) so that `mvn` is on PATH"
COPY_DEPENDENCIES = (
    f"org.apache.maven.plugins:maven-dependency-plugin:{versions.MAVEN_DEPENDENCY_PLUGIN}:copy-dependencies"
)


@dataclass(frozen=True)
class JarSet:
    """The jars of one class path: their pom, and what they are for."""

    name: str
    pom: Path
    purpose: str

    @property
    def directory(self) -> Path:
        """The folder that holds the jars and nothing else."""
        return pinned_folder(f"jars-{self.name}", [self.pom], COPY_DEPENDENCIES)


CONNECT = JarSet("connect", paths.SOURCES / "maven/connect/pom.xml", "Kafka, Connect and MirrorMaker 2")
KAFKA_3_9 = JarSet("kafka-3.9", paths.SOURCES / "maven/kafka-3.9/pom.xml", "Connect and MirrorMaker 2 of Kafka 3.9")
KAFKA_4_3 = JarSet("kafka-4.3", paths.SOURCES / "maven/kafka-4.3/pom.xml", "Connect and MirrorMaker 2 of Kafka 4.3")
CONFIG_PROVIDER = JarSet("config-provider", paths.SOURCES / "maven/config-provider/pom.xml", "config providers")
METRICS = JarSet("metrics", paths.SOURCES / "maven/metrics/pom.xml", "the reporters of workers' metrics")
CRD_GENERATOR = JarSet("crds", paths.SOURCES / "maven/crds/pom.xml", "Strimzi's API and its CRD generator")
CRD_GENERATOR_V1BETA2 = JarSet(
    "crds-v1beta2",
    paths.SOURCES / "maven/crds-v1beta2/pom.xml",
    "the API and CRD generator of the last Strimzi before v1",
)
SPARK = JarSet("spark", paths.PACKAGES / "spark/pom.xml", "Spark's Kafka source")


def ensure_jars(jars: JarSet, jdk: Jdk, console: Console) -> Path:
    """The folder with the jars, which are first fetched if it does not exist.

    Raises CannotRunError if Maven is missing or cannot resolve the set.
    """
    if jars.directory.is_dir():
        return jars.directory
    mvn = shutil.which("mvn")
    if mvn is None:
        raise CannotRunError(
            "maven-missing",
            f"the jars of {jars.purpose} are not on this machine, and `mvn`, which fetches them, is not on PATH",
            str(jars.directory),
            "Maven resolves and verifies them.",
            MAVEN_REMEDY,
        )
    fresh = unfinished(jars.directory)
    shutil.rmtree(fresh, ignore_errors=True)
    run_step(
        console,
        f"fetch jars: {jars.purpose}",
        [mvn, "-B", "-f", jars.pom, COPY_DEPENDENCIES, f"-DoutputDirectory={fresh}", "-DincludeScope=runtime"],
        # JAVA_HOME may name any JDK; Maven runs on the same one as our other JVMs.
        env={**os.environ, "JAVA_HOME": str(jdk.home)},
        remedy="see Maven's lines below; Maven's central repository or your mirror of it must be reachable",
    )
    fresh.replace(jars.directory)
    return jars.directory
