"""What an import must not lose or change in silence, and what it must not report as a change.

Each row edits one of two resources that the project renders exactly as they are: without an edit the import ends with 0
and says that neither records nor offsets change.
"""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from infra.commands.app import app

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


@pytest.mark.parametrize("text", [FLOW, MIRROR, OLD_MIRROR], ids=["flow", "mirrors", "older mirrors"])
def test_what_the_project_renders_alike_is_taken_over_whole(tmp_path: Path, text: str) -> None:
    code, output, _ = run(tmp_path, text)
    assert (code, NONE in output, "Not taken over" in output) == (0, True, False)


LOST = {
    "a class of somebody else with the same name": (
        edited(FLOW, ("org.apache.kafka.connect.mirror.MirrorSource", "com.acme.MirrorSource")),
        "other-connector: read.yaml, KafkaConnector kafka/source. Its class is `com.acme.MirrorSourceConnector`",
    ),
    "connectors that the operator ignores": (
        edited(FLOW, ('strimzi.io/use-connector-resources: "true"', 'strimzi.io/use-connector-resources: "false"')),
        "connectors-not-managed: ",
    ),
    "the same resource with other content": (
        twice(MIRROR, ("topicsPattern: orders", "topicsPattern: payments")),
        "read-twice: read.yaml, KafkaMirrorMaker2 kafka/mm2. read.yaml has the same object with other content",
    ),
    "a key that is given twice": (
        edited(MIRROR, ("topicsPattern: orders", "topicsPattern: orders\n      topicsPattern: payments")),
        "duplicate-key: read.yaml, line 18. `topicsPattern` is given twice in one mapping",
    ),
    "workers' fields on a KafkaMirrorMaker2": (
        edited(MIRROR, ("replicas: 1", "replicas: 1\n  config: {producer.linger.ms: 5}")),
        "field-not-known: read.yaml, KafkaMirrorMaker2 kafka/mm2, spec.config",
    ),
    "clusters beside a target": (
        edited(MIRROR, ("replicas: 1", "replicas: 1\n  clusters: [{alias: a, bootstrapServers: 'a:1'}]")),
        "field-not-known: read.yaml, KafkaMirrorMaker2 kafka/mm2, spec.clusters",
    ),
    "a field of automatic restarts": (
        edited(FLOW, ("tasksMax: 2", "tasksMax: 2\n  autoRestart: {maxRestarts: 5, maxBackoffMinutes: 10}")),
        "field-not-known: read.yaml, KafkaConnector kafka/source, spec.autoRestart.maxBackoffMinutes",
    ),
    "a login of workers that the topology cannot say": (
        edited(FLOW, ("replicas: 1", "replicas: 1\n  authentication: {type: kerberos}")),
        "! workers: deploying it is not known to lose or repeat records, but would change 1 value that connectors",
    ),
    "a credential of workers in plain text": (
        edited(FLOW, ("  config:\n    key.conv", "  config:\n    producer.ssl.key.password: hunter2\n    key.conv")),
        "config.producer.ssl.key.password: (a credential) -> not set",
    ),
    "files and variables from elsewhere": (
        edited(
            FLOW.replace("kafka.strimzi.io/v1", "kafka.strimzi.io/v1beta2"),
            ("replicas: 1", "replicas: 1\n  externalConfiguration: {env: [{name: A, value: b}]}"),
        ),
        "! workers: deploying it is not known to lose or repeat records, but would change 1 value that connectors",
    ),
    "an interval that stops a task": (
        edited(FLOW, ("groups: shop", "groups: shop\n    emit.checkpoints.interval.seconds: -1")),
        "Its value is '-1', and `intervals.emitCheckpointsSeconds` of a flow takes whole numbers from 0 only.",
    ),
    "topics in a ConfigMap that was not read": (
        edited(
            FLOW,
            ("  config:\n    key.conv", "  config:\n    config.providers: cm\n    key.conv"),
            (
                "key.converter:",
                "config.providers.cm.class: io.strimzi.kafka.KubernetesConfigMapConfigProvider\n    key.converter:",
            ),
            ("topics: orders,payments\n", "topics: ${cm:kafka/shop:topics}\n"),
        ),
        "config-map-not-read: read.yaml, KafkaConnector kafka/source, spec.config.topics. ${cfmap:kafka/shop:topics}",
    ),
    "a password in an annotation": (
        edited(MIRROR, ("namespace: kafka", "namespace: kafka, annotations: {note: 'password=hunter2'}")),
        "plain-text-credential: read.yaml, KafkaMirrorMaker2 kafka/mm2, metadata.annotations.note.",
    ),
    "a list where text belongs": (
        edited(MIRROR, ("topicsPattern: orders", "topicsPattern: [orders]")),
        "wrong-form: read.yaml, KafkaMirrorMaker2 kafka/mm2, spec.mirrors.0.topicsPattern",
    ),
    "one of two resources": (
        edited(MIRROR, ("name: mm2,", "name: other,")).replace("sourceConnector: {tasksMax: 2}", "") + "---" + FLOW,
        "no-source-connector: read.yaml, KafkaMirrorMaker2 kafka/other",
    ),
    "a metrics reporter's value": (
        edited(
            FLOW,
            ("replicas: 1", "replicas: 1\n  metricsConfig: {type: strimziMetricsReporter, values: {listener: 'a'}}"),
        ),
        "field-not-known: read.yaml, KafkaConnect kafka/workers, spec.metricsConfig.values.listener",
    ),
    "metrics without a ConfigMap": (
        edited(FLOW, ("replicas: 1", "replicas: 1\n  metricsConfig: {type: jmxPrometheusExporter}")),
        "field-missing: read.yaml, KafkaConnect kafka/workers, spec.metricsConfig",
    ),
    "a second certificate of a token server": (
        edited(
            MIRROR,
            (
                "groupId: mm2",
                "groupId: mm2\n    authentication: {type: oauth, clientId: a, tokenEndpointUri: 'https://a', "
                "clientSecret: {secretName: s, key: k}, tlsTrustedCertificates: "
                "[{secretName: a, certificate: c}, {secretName: b, certificate: c}]}",
            ),
        ),
        "spec.target.authentication.tlsTrustedCertificates. 2 Secrets are trusted",
    ),
    "a template in a name": (
        twice(MIRROR, ("name: mm2,", 'name: "{{ .Release.Name }}-mm2",')),
        "not-a-name: read.yaml, KafkaMirrorMaker2 kafka/{{ .Release.Name }}-mm2, metadata.name",
    ),
    "MirrorMaker 1": (
        f"{MIRROR}---\n{{apiVersion: kafka.strimzi.io/v1beta2, kind: KafkaMirrorMaker, metadata: {{name: old}}}}\n",
        "mirror-maker-1: read.yaml, KafkaMirrorMaker old. It is MirrorMaker 1, which Strimzi removed in 0.46.",
    ),
}


@pytest.mark.parametrize(("text", "words"), LOST.values(), ids=LOST.keys())
def test_what_may_matter_is_named_and_ends_with_1(tmp_path: Path, text: str, words: str) -> None:
    code, output, _ = run(tmp_path, text)
    assert words in output.replace(str(tmp_path) + "/", "")
    assert code == 1


WITHOUT_EFFECT = {
    "a heartbeat connector, which v1 does not have": (
        edited(MIRROR, ("checkpointConnector: {}", "checkpointConnector: {}\n      heartbeatConnector: {}")),
        "without-effect: read.yaml, KafkaMirrorMaker2 kafka/mm2, spec.mirrors.0.heartbeatConnector. The API `v1` does",
    ),
    "a pause, which v1 has not either": (
        edited(FLOW, ("tasksMax: 2", "tasksMax: 2\n  pause: true")),
        "without-effect: read.yaml, KafkaConnector kafka/source, spec.pause",
    ),
    "a cluster that no mirror has": (
        edited(OLD_MIRROR, ("  mirrors:", "    - {alias: north, bootstrapServers: 'north:1'}\n  mirrors:")),
        "without-effect: read.yaml, KafkaMirrorMaker2 kafka/mm2, spec.clusters.2. No mirror has this cluster.",
    ),
    "groups that no connector reads": (
        edited(MIRROR, ("      checkpointConnector: {}\n", "")),
        "spec.mirrors.0.groupsPattern. Only the checkpoint connector reads it, and this mirror has none.",
    ),
    "a connector without workers": (
        f"{MIRROR}---{FLOW.split('---')[1].replace(', labels: {strimzi.io/cluster: workers}', '')}",
        "without-effect: read.yaml, KafkaConnector kafka/source. It has no label `strimzi.io/cluster`",
    ),
    "a restart that was asked for": (
        edited(FLOW, ("{name: source,", "{name: source, annotations: {strimzi.io/restart: 'true'},")),
        "operation-once: read.yaml, KafkaConnector kafka/source, metadata.annotations.strimzi.io/restart",
    ),
    "a label that the project sets, too": (
        edited(MIRROR, ("namespace: kafka", "namespace: kafka, labels: {app.kubernetes.io/part-of: shop}")),
        "labels.app.kubernetes.io/part-of. Every object of this project has a value of its own here.",
    ),
    "ConfigMaps that nothing names": (
        MIRROR
        + "".join(
            f"---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: kube-system}}}}\n"
            for name in ("coredns", "kube-root-ca.crt")
        ),
        "stays-as-it-is: read.yaml, 2 ConfigMaps. Nothing that was imported names them. Remedy: none is needed.",
    ),
}


@pytest.mark.parametrize(("text", "words"), WITHOUT_EFFECT.values(), ids=WITHOUT_EFFECT.keys())
def test_what_has_no_effect_is_named_and_ends_with_0(tmp_path: Path, text: str, words: str) -> None:
    code, output, _ = run(tmp_path, text)
    assert words in output.replace(str(tmp_path) + "/", "")
    assert (code, NONE in output) == (0, True)


ALIKE = {
    "the same resource twice": twice(MIRROR),
    "transforms with blanks between them": edited(
        FLOW,
        (
            "topics: orders,payments\n",
            "topics: orders,payments\n    transforms: a, b\n"
            "    transforms.a.type: org.apache.kafka.connect.transforms.DropHeaders\n    transforms.a.headers: x\n"
            "    transforms.b.type: org.apache.kafka.connect.transforms.DropHeaders\n    transforms.b.headers: y\n",
        ),
    ),
    "topics in another order": edited(FLOW, ("orders,payments # of", "payments,orders # of")),
    "headers of checkpoints, which have none": edited(
        FLOW,
        ("    header.converter: org.apache.kafka.connect.converters.ByteArrayConverter\n", ""),
        (
            "topics: orders,payments\n",
            "topics: orders,payments\n    header.converter: org.apache.kafka.connect.converters.ByteArrayConverter\n",
        ),
    ),
    "the start that is the default": edited(
        FLOW,
        ("topics: orders,payments\n", "topics: orders,payments\n    source.consumer.auto.offset.reset: earliest\n"),
    ),
    "two names of one property": edited(
        FLOW,
        (
            "topics: orders,payments\n",
            "topics: orders,payments\n    consumer.auto.offset.reset: latest\n"
            "    source.consumer.auto.offset.reset: earliest\n",
        ),
    ),
    "Kafka 4.1, whose definitions are those of 3.9": edited(MIRROR, ("version: 4.2.0", "version: 4.1.0")),
    "exactly-once in capital letters": edited(
        FLOW,
        ("  config:\n    key.conv", "  config:\n    exactly.once.source.support: ENABLED\n    key.conv"),
        (
            "topics: orders,payments\n",
            "topics: orders,payments\n    exactly.once.support: required\n"
            "    consumer.isolation.level: read_committed\n",
        ),
    ),
    "Kafka 4.0, too": edited(MIRROR, ("version: 4.2.0", "version: 4.0.1")),
}


@pytest.mark.parametrize("text", ALIKE.values(), ids=ALIKE.keys())
def test_what_differs_in_form_only_is_no_difference(tmp_path: Path, text: str) -> None:
    code, output, _ = run(tmp_path, text)
    assert "differs connector" not in output
    assert (code, NONE in output) == (0, True)


def test_labels_of_one_tool_are_one_line(tmp_path: Path) -> None:
    labels = "labels: {app.kubernetes.io/instance: a, helm.sh/chart: b}"
    code, output, _ = run(tmp_path, edited(MIRROR, ("namespace: kafka", f"namespace: kafka, {labels}")))
    assert "metadata.labels.app.kubernetes.io/instance, metadata.labels.helm.sh/chart. It says which tool" in output
    assert (code, output.count("label-of-a-tool")) == (0, 1)


def test_the_next_steps_are_commands_that_work(tmp_path: Path) -> None:
    """A project with a mistake cannot be rendered."""
    assert "replicate render prod --out rendered/prod replicate runbook prod" in run(tmp_path, MIRROR)[1]
    wrong = run(tmp_path / "wrong", edited(MIRROR, ("orders", "'['")))[1]
    assert wrong.endswith("replicate check")


def test_the_older_name_of_a_property_is_its_newer_one_until_kafka_4(tmp_path: Path) -> None:
    excluded = ".*[\\-\\.]internal,.*\\.replica,__.*,secret"
    mirror = edited(
        OLD_MIRROR, ("{tasksMax: 2}", f"{{tasksMax: 2, config: {{topics.blacklist: '{excluded}'}}}}")
    ).replace("checkpointConnector: {}", f"checkpointConnector: {{config: {{topics.blacklist: '{excluded}'}}}}")
    code, output, topology = run(tmp_path, mirror)
    assert (code, NONE in output) == (0, True)
    assert "topicsExclude:\n    - secret\n" in topology


def test_the_newer_of_two_exclusions_wins(tmp_path: Path) -> None:
    both = "topicsPattern: orders\n      topicsExcludePattern: new\n      topicsBlacklistPattern: old"
    topology = run(tmp_path, edited(OLD_MIRROR, ("topicsPattern: orders", both)))[2]
    assert "topicsExclude:\n    - new\n" in topology
    assert "old" not in topology


def test_automatic_restarts_are_on_if_the_field_is_there(tmp_path: Path) -> None:
    topology = run(tmp_path, edited(FLOW, ("tasksMax: 2", "tasksMax: 2\n  autoRestart: {}")))[2]
    assert "autoRestart" not in topology.partition("  source:\n        name")[2].partition("checkpoint:")[0]


def test_a_password_in_an_address_is_not_written(tmp_path: Path) -> None:
    sink = (
        "transforms: a\n    transforms.a.type: com.acme.A\n    transforms.a.registry.url: https://me:hunter2@registry"
    )
    code, output, topology = run(
        tmp_path, edited(FLOW, ("topics: orders,payments\n", f"topics: orders,payments\n    {sink}\n"))
    )
    assert "plain-text-credential" in output
    assert "hunter2" not in output + topology
    assert code == 1


def test_aliases_that_look_alike_get_different_keys(tmp_path: Path) -> None:
    """Two clusters must not read the same address from the configuration of a stack."""
    flows = [FLOW.replace("east:9092", "${env:ONE}").replace(": east", ": us-east")]
    flows += [FLOW.replace("east:9092", "${env:TWO}").replace(": east", ": us_east")]
    flows[1] = re.sub(r"namespace: kafka", "namespace: other", flows[1])
    output = run(tmp_path, "---".join(flows))[1]
    set_keys = re.findall(r"--stack (\S+) replication:(\S+) VALUE # the bootstrap servers of cluster `(\S+)`", output)
    assert len({(stack, key) for stack, key, _ in set_keys}) == 2
    assert [alias for *_, alias in set_keys] == ["us-east", "us_east"]


def test_a_connector_that_the_project_replaces_is_one_line(tmp_path: Path) -> None:
    mirror = edited(OLD_MIRROR, ("checkpointConnector: {}", "checkpointConnector: {}\n      heartbeatConnector: {}"))
    _, output, _ = run(tmp_path, mirror, "--strimzi", "1.2")
    assert "differs connector east->west.MirrorHeartbeatConnector is removed" in output
    assert "differs connector mm2-heartbeat is added" in output
    assert "not set -> not set" not in output


def test_a_placeholder_is_printed_as_it_is(tmp_path: Path) -> None:
    """`:key:` is no picture of a key."""
    property_of = "topics: orders,payments\n    producer.override.linger.ms: ${vault:a:key:b}\n"
    assert "${vault:a:key:b}" in run(tmp_path, edited(FLOW, ("topics: orders,payments\n", property_of)))[1]


@pytest.mark.parametrize(
    ("option", "value"), [("--environment", "../x"), ("--environment", ""), ("--namespace", "A B"), ("--region", " ")]
)
def test_a_name_that_no_file_or_object_can_have_is_refused(tmp_path: Path, option: str, value: str) -> None:
    code, output, _ = run(tmp_path, MIRROR, option, value)
    assert code != 0
    assert "bad-name" in output
    assert not (tmp_path / "out").exists()
