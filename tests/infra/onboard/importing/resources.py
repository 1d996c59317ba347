"""Resources that the project renders exactly as they are, and one call of `replicate import` with them."""

from pathlib import Path

from typer.testing import CliRunner

from kafka_replication.infra.commands.app import app

CASES = sorted((Path(__file__).parent / "cases").glob("*.yaml"))
FLOW = """
apiVersion: kafka.strimzi.io/v1
kind: KafkaConnect
metadata:
  name: workers
  namespace: kafka
  annotations: {strimzi.io/use-connector-resources: "true"}
spec:
  version: 4.2.0
  replicas: 1
  bootstrapServers: west:9092
  groupId: workers
  configStorageTopic: workers-configs
  offsetStorageTopic: workers-offsets
  statusStorageTopic: workers-status
  config:
    key.converter: org.apache.kafka.connect.converters.ByteArrayConverter
    value.converter: org.apache.kafka.connect.converters.ByteArrayConverter
    header.converter: org.apache.kafka.connect.converters.ByteArrayConverter
---
apiVersion: kafka.strimzi.io/v1
kind: KafkaConnector
metadata: {name: source, namespace: kafka, labels: {strimzi.io/cluster: workers}}
spec:
  class: org.apache.kafka.connect.mirror.MirrorSourceConnector
  tasksMax: 2
  config:
    source.cluster.alias: east
    source.cluster.bootstrap.servers: east:9092
    target.cluster.alias: west
    target.cluster.bootstrap.servers: west:9092
    topics: orders,payments
---
apiVersion: kafka.strimzi.io/v1
kind: KafkaConnector
metadata: {name: checkpoint, namespace: kafka, labels: {strimzi.io/cluster: workers}}
spec:
  class: org.apache.kafka.connect.mirror.MirrorCheckpointConnector
  tasksMax: 1
  config:
    source.cluster.alias: east
    source.cluster.bootstrap.servers: east:9092
    target.cluster.alias: west
    target.cluster.bootstrap.servers: west:9092
    topics: orders,payments # of the checkpoint connector
    groups: shop
"""
MIRROR = """
apiVersion: kafka.strimzi.io/v1
kind: KafkaMirrorMaker2
metadata: {name: mm2, namespace: kafka}
spec:
  version: 4.2.0
  replicas: 1
  target:
    alias: west
    bootstrapServers: west:9092
    groupId: mm2
    configStorageTopic: mm2-configs
    offsetStorageTopic: mm2-offsets
    statusStorageTopic: mm2-status
  mirrors:
    - source: {alias: east, bootstrapServers: 'east:9092'}
      topicsPattern: orders
      groupsPattern: shop
      sourceConnector: {tasksMax: 2}
      checkpointConnector: {}
"""
OLD_MIRROR = """
apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaMirrorMaker2
metadata: {name: mm2, namespace: kafka}
spec:
  version: 3.9.0
  replicas: 1
  connectCluster: west
  clusters:
    - {alias: east, bootstrapServers: 'east:9092'}
    - {alias: west, bootstrapServers: 'west:9092'}
  mirrors:
    - sourceCluster: east
      targetCluster: west
      topicsPattern: orders
      groupsPattern: shop
      sourceConnector: {tasksMax: 2}
      checkpointConnector: {}
"""
NONE = ": deploying it would change neither records nor offsets"


def run(folder: Path, text: str, *options: str) -> tuple[int, str, str]:
    """Exit code, output without folding, and the topologies that were written."""
    folder.mkdir(exist_ok=True)
    (folder / "read.yaml").write_text(text)
    result = CliRunner().invoke(app, ["import", str(folder / "read.yaml"), "--out", str(folder / "out"), *options])
    error = "" if result.exception is None or isinstance(result.exception, SystemExit) else str(result.exception)
    written = sorted((folder / "out").rglob("topologies/*.yaml"))
    return result.exit_code, " ".join((result.output + error).split()), "".join(each.read_text() for each in written)


def edited(text: str, *edits: tuple[str, str]) -> str:
    for before, after in edits:
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    return text


def twice(text: str, *edits: tuple[str, str]) -> str:
    return f"{text}\n---\n{edited(text, *edits)}"
