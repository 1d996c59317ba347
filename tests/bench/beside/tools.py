"""The tools that are compared: what each costs, and what it says of a flow."""

import json
import os
import shlex
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from confluent_kafka.admin import AdminClient

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.local.endpoints import Region
from tests.bench.size_run import Bench, Cost, measured
from tests.spark.scenes import CALL_SECONDS, Scene

Tool = Callable[[Bench, Scene], tuple[Cost, str]]
_JOIN = "tests.bench.beside.plain_join"
_COUNT = "tests.bench.beside.only_count"
_USER = "app"


def proof(bench: Bench, scene: Scene) -> tuple[Cost, str]:
    """Run this project's full validation, which also judges groups, heartbeats' absence and rights."""
    cost, _ = bench.judged(scene)
    codes = [note["code"] for check in cost.flow["checks"] for note in check["findings"]]
    named = ", ".join(f"`{code}`" for code in Counter(codes))
    return cost, f"{cost.flow['verdict']}{': ' if named else ''}{named}"


def plain_join(bench: Bench, scene: Scene) -> tuple[Cost, str]:
    """Run a plain PySpark program that joins both topics on partition and offset."""
    jars = ",".join(map(str, sorted(bench.built.spark_lib.glob("*.jar"))))
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        sides = (("source", scene.source, scene.name), ("target", scene.target, scene.remote(scene.name)))
        document = {side: {"topic": topic, "options": _spark_options(region)} for side, region, topic in sides}
        file.write(json.dumps(document))
        file.flush()
        variables = {**os.environ, "JAVA_HOME": str(bench.built.jdk.home), "SPARK_LOCAL_IP": "127.0.0.1"}
        cost, printed, said = measured([sys.executable, "-m", _JOIN, jars, file.name], variables)
    if not printed.startswith("{"):
        raise _ended("the join", scene, "\n".join(said))
    counts = json.loads(printed)
    different = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
    return cost, different or "equal"


def _spark_options(region: Region) -> Mapping[str, str]:
    user = region.users[_USER]
    login = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    return {
        "kafka.bootstrap.servers": region.bootstrap_servers,
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.jaas.config": f'{login} username="{user.name}" password="{user.password}";',
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.location": str(region.ca_file),
    }


def only_count(bench: Bench, scene: Scene) -> Cost:
    """Read both sides as the job does, and only count the records."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(scene.parameters().model_dump_json(by_alias=True, exclude_none=True))
        file.flush()
        command = [sys.executable, "-m", _COUNT, str(bench.built.spark_lib), file.name]
        cost, printed, said = measured(command, bench.environment(scene))
    if not printed.strip().isdigit():
        raise _ended("the count", scene, "\n".join(said))
    return cost


def piped_hash(_: Bench, scene: Scene) -> tuple[Cost, str]:
    """Pipe each partition of both topics from kcat into sha256sum."""
    if shutil.which("kcat") is None:
        raise CannotRunError(
            "no-kcat", "kcat is not on the PATH", "python -m tests.bench.beside", "One of the tools is kcat.",
            "install it, or leave it out with `--tools proof join`",
        )  # fmt: skip
    admin = AdminClient(scene.source.client_config(_USER))
    partitions = range(len(admin.list_topics(scene.name, CALL_SECONDS).topics[scene.name].partitions))
    with tempfile.TemporaryDirectory() as folder:
        lines = []
        for side, region, topic in (
            ("source", scene.source, scene.name),
            ("target", scene.target, scene.remote(scene.name)),
        ):
            settings = Path(folder) / side
            settings.write_text("".join(f"{name}={value}\n" for name, value in region.client_config(_USER).items()))
            # %K and %S are lengths, so that a byte cannot move from the key to the value unseen.
            read = f"kcat -F {settings} -C -q -e -o beginning -t {shlex.quote(topic)} -f '%K %k %S %s %T %h\\n'"
            lines += [f"echo $({read} -p {partition} | sha256sum || echo failed)" for partition in partitions]
        cost, printed, said = measured(["bash", "-c", "set -o pipefail; " + "; ".join(lines)], os.environ)
    sums = printed.split("\n")[: 2 * len(partitions)]
    if any(len(each.split()) != 2 for each in sums):
        raise _ended("kcat", scene, "\n".join(said) or printed)
    differ = [str(at) for at in partitions if sums[at] != sums[at + len(partitions)]]
    return cost, f"partition {', '.join(differ)} differs" if differ else "equal"


def _ended(what: str, scene: Scene, said: str) -> CannotRunError:
    return CannotRunError(
        "no-answer", f"{what} gave no answer", scene.name, "Its row would mean nothing.", "read its log", said[-4_000:]
    )


TOOLS: Mapping[str, Tool] = {"proof": proof, "join": plain_join, "hash": piped_hash}
NAMES = {
    "proof": "`replicate validate`",
    "join": "PySpark: full outer join on partition and offset",
    "hash": "`kcat` into `sha256sum`, by partition",
}
