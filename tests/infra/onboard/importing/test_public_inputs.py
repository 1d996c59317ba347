"""Mistakes as people publish them: the sentence that names the mistake, and none that is false."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from kafka_replication.infra.commands.app import app
from tests.infra.onboard.importing.resources import FLOW, MIRROR, NONE, OLD_MIRROR, edited, run, twice

STRIMZI_POLICY = "io.strimzi.kafka.connect.mirror.IdentityReplicationPolicy"
OWN_POLICY = ("{tasksMax: 2}", f"{{config: {{replication.policy.class: {STRIMZI_POLICY}}}}}")
BACK = (
    ("name: mm2", "name: back"),
    ("connectCluster: west", "connectCluster: east"),
    ("sourceCluster: east", "sourceCluster: west"),
    ("targetCluster: west", "targetCluster: east"),
)
LOGIN = "{security.protocol: SASL_SSL, sasl.mechanism: AWS_MSK_IAM, sasl.jaas.config: a.Module required;}"
OF_TARGET = (
    "    groupId: mm2\n",
    "    groupId: mm2\n    authentication: {type: custom, config: {sasl.jaas.config: '%s'}}\n",
)
PROVIDER = """\
    config:
      config.providers: mine
      config.providers.mine.class: io.strimzi.kafka.KubernetesSecretConfigProvider
"""
EAST = "{alias: east, bootstrapServers: 'east:9092'}"
OTHER_LOGIN = "{source.cluster.security.protocol: SASL_PLAINTEXT, source.cluster.sasl.mechanism: X}"
DEDICATED = """\
clusters = east, west
east.bootstrap.servers = east:9092
west.bootstrap.servers = west:9092
east->west.enabled = true
east->west.topics = orders
east->west.groups = .*
"""


def of_source(config: str) -> str:
    return edited(OLD_MIRROR, (EAST, f"{{alias: east, bootstrapServers: 'east:9092', config: {config}}}"))


def of_connector(config: str) -> str:
    return edited(OLD_MIRROR, ("{tasksMax: 2}", f"{{tasksMax: 2, config: {config}}}"))


#: What is read -> what is said, and what is not.
READ = {
    "a loop of Strimzi's own policy": (
        twice(edited(OLD_MIRROR, OWN_POLICY), *BACK),
        "error replication-loop",
        "policy-not-known",
    ),
    "a login in the configuration of a cluster": (of_source(LOGIN), f"mm2{NONE}", "owned-property"),
    "a login in the configuration of a connector": (
        of_connector(
            "{source.cluster.security.protocol: SASL_SSL, source.cluster.sasl.mechanism: X, "
            "source.cluster.sasl.jaas.config: a.Module required;}"
        ),
        "0 errors",
        "owned-property",
    ),
    "a property that no client takes from a cluster": (
        of_source("{request.timeout.ms: 60000}"),
        "property-without-effect: read.yaml, KafkaMirrorMaker2 kafka/mm2, spec.clusters.0.config.request.timeout.ms.",
        "1 error",
    ),
    "properties that the operator drops": (
        of_connector("{tasks.max: 4, topic.creation.enable: false}"),
        "dropped-by-operator: read.yaml, KafkaMirrorMaker2 kafka/mm2, spec.mirrors.0.sourceConnector.config.tasks.max.",
        "tasksMax: 4",
    ),
    "a resource of v1 without a required field": (
        edited(MIRROR, ("  replicas: 1\n", "")),
        "field-missing: read.yaml, KafkaMirrorMaker2 kafka/mm2, spec.replicas.",
        NONE,
    ),
    "a resource of a vendor's group": (
        edited(OLD_MIRROR, ("kafka.strimzi.io/v1beta2", "eventstreams.ibm.com/v1beta2")),
        "Its API group is `eventstreams.ibm.com`",
        "api-conversion",
    ),
    "a converter that wraps bytes": (
        of_connector("{value.converter: io.confluent.connect.avro.AvroConverter}"),
        "error converter-changes-bytes",
        NONE,
    ),
    "TLS with the JVM's authorities": (
        edited(OLD_MIRROR, (EAST, "{alias: east, bootstrapServers: 'east:9092', tls: {}}")),
        f"mm2{NONE}",
        "tls: not set",
    ),
    "a converter by its short name": (
        edited(FLOW, ("topics: orders,payments\n", "topics: orders,payments\n    key.converter: ByteArrayConverter\n")),
        f"workers{NONE}",
        "transforms-change",
    ),
    "a property that ByteArrayConverter does not read": (
        edited(
            FLOW,
            (
                "topics: orders,payments\n",
                "topics: orders,payments\n"
                "    value.converter: org.apache.kafka.connect.converters.ByteArrayConverter\n"
                "    value.converter.schemas.enable: false\n",
            ),
        ),
        "spec.config.value.converter.schemas.enable. ByteArrayConverter reads no property.",
        "transforms-change",
    ),
    "workers that belong to the source": (
        edited(OLD_MIRROR, ("connectCluster: west", "connectCluster: east")),
        "`connectCluster` is the source of this mirror. The operator refuses the whole resource, so nothing of it "
        "runs. Remedy: set `connectCluster: west`.",
        "its own KafkaMirrorMaker2",
    ),
    "workers of no cluster": (
        edited(OLD_MIRROR, ("connectCluster: west", "connectCluster: wst")),
        "`connectCluster` is `wst`, which is the alias of no cluster.",
        "its own KafkaMirrorMaker2",
    ),
    "a mirror with topics": (
        edited(OLD_MIRROR, ("topicsPattern", "topics")),
        "without `topicsPattern` every topic is replicated. Remedy: did you mean `topicsPattern`?",
        "Remedy: remove it",
    ),
    "a version before those that are supported": (
        edited(OLD_MIRROR, ("3.9.0", "3.7.0")),
        "no Strimzi of `v1beta2` that is supported here, 0.45 or later, has an image for Kafka 3.7.0",
        NONE + " ",
    ),
    "a repetition that the list divides": (
        edited(OLD_MIRROR, ("topicsPattern: orders", "topicsPattern: 'orders-[0-9]{2,3}'")),
        "the comma of a repetition such as `{2,3}` divides the list",
        "begins no repetition",
    ),
    "a setting of producers that only Connect's own topics get": (
        edited(FLOW, ("  config:\n    key.conv", "  config:\n    max.request.size: 8388608\n    key.conv")),
        "Remedy: set `producer.max.request.size`.",
        "1 error",
    ),
    "properties between a mirror and its connectors": (
        edited(OLD_MIRROR, ("groupsPattern: shop", "groupsPattern: shop\n      config: {tasks.max: 8}")),
        "The API server removes it, so none of its properties has an effect. Remedy: move each property to the",
        "remove it.",
    ),
    "mirrors of which one has a checkpoint connector": (
        edited(
            OLD_MIRROR,
            (EAST, f"{EAST}\n    - {{alias: south, bootstrapServers: 'south:9092'}}"),
            ("mirrors:", "mirrors:\n    - {sourceCluster: south, targetCluster: west, sourceConnector: {tasksMax: 2}}"),
        ),
        f"mm2{NONE}",
        "mirrors-differ",
    ),
    "exclusions that cover Kafka's own": (
        edited(
            OLD_MIRROR, ("groupsPattern", "topicsExcludePattern: '.*[-.]internal,.*[.]replica'\n      groupsPattern")
        ),
        f"mm2{NONE}",
        "not judged",
    ),
    "a custom login that reads a Secret by a provider of another name": (
        edited(
            MIRROR,
            (OF_TARGET[0], OF_TARGET[1] % 'a.Module required password="${mine:kafka/a:b}";' + PROVIDER),
        ),
        "mm2: deploying it would change 2 values that connectors depend on",
        "provider-not-known",
    ),
    "a custom login with a password": (
        edited(MIRROR, (OF_TARGET[0], OF_TARGET[1] % "a.Module required password=hunter2;")),
        "KafkaMirrorMaker2 kafka/mm2, spec.target.authentication.config.sasl.jaas.config. It holds a credential",
        "hunter2",
    ),
    "an old name beside its new name": (
        of_connector("{topics.exclude: a, topics.blacklist: b}"),
        "sourceConnector.config.topics.blacklist. `topics.exclude` overrides it.",
        "unknown-property",
    ),
    "a policy that only the source connector has": (
        of_connector("{replication.policy.class: org.apache.kafka.connect.mirror.IdentityReplicationPolicy}"),
        "none offsets of 1 group start being translated: `shop`. The connector now names topics as the source "
        "connector does (groups-start)",
        NONE,
    ),
    "a filter of groups on the source connector": (
        of_connector("{group.filter.class: com.example.Own}"),
        "spec.mirrors.0.sourceConnector.config.group.filter.class. Only the checkpoint connector reads it.",
        "groupFilterClass",
    ),
    "a filter of topics that only the source connector has": (
        of_connector("{topic.filter.class: com.example.Own}"),
        "connectors-differ: read.yaml, KafkaMirrorMaker2 kafka/mm2, "
        "spec.mirrors.0.checkpointConnector.config.topic.filter.class.",
        NONE,
    ),
    "offset syncs that the checkpoint connector misses": (
        of_connector("{emit.offset-syncs.enabled: false}"),
        "without offset syncs this connector translates no offsets. The topology leaves them on.",
        "checkpoint-without-offset-syncs",
    ),
    "a transform without a type": (
        of_connector("{transforms: route, transforms.route.topic: a}"),
        "spec.mirrors.0.sourceConnector.config.transforms.route. It or its predicate has no `type`",
        "1 error",
    ),
    "a login that only the checkpoint connector has": (
        edited(OLD_MIRROR, ("checkpointConnector: {}", f"checkpointConnector: {{config: {OTHER_LOGIN}}}")),
        "connectors-differ: read.yaml, KafkaMirrorMaker2 kafka/mm2, "
        "spec.mirrors.0.checkpointConnector.config.source.cluster.sasl.mechanism, spec",
        NONE,
    ),
    "a login of the source connector that the checkpoint connector lacks": (
        of_connector(OTHER_LOGIN),
        "connectors-differ: read.yaml, KafkaMirrorMaker2 kafka/mm2, "
        "spec.mirrors.0.checkpointConnector.config.source.cluster.sasl.mechanism, spec",
        NONE,
    ),
    "a login to the target that its workers do not have": (
        of_connector("{target.cluster.security.protocol: SSL}"),
        "spec.mirrors.0.sourceConnector.config.target.cluster.security.protocol.",
        "security.protocol: SSL",
    ),
    "a login to the target of a connector beside its workers": (
        edited(
            FLOW, ("topics: orders,payments\n", "topics: orders,payments\n    target.cluster.security.protocol: SSL\n")
        ),
        "spec.config.target.cluster. It gives the target another `tls` than its workers have.",
        NONE,
    ),
    "a converter of the workers, which checkpoints also have": (
        FLOW.replace("key.converter: org.apache.kafka.connect.converters.ByteArray", "key.converter: com.example."),
        "KafkaConnector kafka/checkpoint, spec.config.key.converter. Its workers have `com.example.Converter`.",
        NONE,
    ),
    "an alias that topics cannot have": (
        FLOW.replace("source.cluster.alias: east\n", "source.cluster.alias: ''\n"),
        "alias-not-usable: read.yaml, KafkaConnector kafka/source, spec.config.source.cluster.alias.",
        NONE,
    ),
}


@pytest.mark.parametrize(("text", "said", "unsaid"), READ.values(), ids=READ.keys())
def test_a_resource_is_answered_with_what_is_wrong_and_nothing_else(
    tmp_path: Path, text: str, said: str, unsaid: str
) -> None:
    _, output, topology = run(tmp_path, text)
    assert said in output.replace(f"{tmp_path}/", "")
    assert unsaid not in output + topology


PROPERTIES = {
    "one alias for both directions": (
        "west->east.enabled = true\nwest->east.topics = orders\nsource.cluster.alias = west\ntarget.cluster.alias =\n",
        "records go round in a loop between `east` and `west`",
    ),
    "an empty alias": ("source.cluster.alias =\nreplication.policy.separator =\n", "topics keep their names"),
    "an old name": ("groups.blacklist = test-.*\n", "Kafka reads it up to 3.9, and from 4.0 on nowhere."),
    "a misspelt old name": ("topic.blacklist = a-.*\n", "did you mean `topics.exclude`?"),
    "a property of workers": ("exactly.once.source.support = enabled\n", "set `west.exactly.once.source.support`"),
    "a pair of other clusters": (
        "a->b.sync.group.offsets.enabld = true\n",
        "names a cluster that is not in `clusters`",
    ),
    "groups that Kafka excludes": ("east->west.groups.exclude = __.*\n", "change records or offsets re-read"),
    "a password in a file of the workers": (
        "east.security.protocol = SASL_SSL\neast.sasl.mechanism = PLAIN\neast.sasl.jaas.config = org.apache.kafka"
        '.common.security.plain.PlainLoginModule required username=a password="${file:/a:b}";\n',
        "east.sasl.jaas.config. Its placeholder ${file:/a:b} needs a configuration provider",
    ),
    "a template": ("tasks.max = ${TASKS}\n", "The file is a template: nothing replaces the `${TASKS}` in it."),
    "an address that a provider knows": (
        "west.bootstrap.servers = ${env:WEST}\n",
        "heartbeats begin in east instead of west",
    ),
    "where heartbeats begin": ("", "heartbeats begin in east instead of west"),
    "a connector's property without its pair": (
        "source.cluster.bootstrap.servers = a:9092\n",
        "source.cluster.bootstrap.servers. MirrorMaker does not read it unless a cluster or a flow is named",
    ),
    "a property of the target, which heartbeats leave": (
        "west.ssl.protocol = TLSv1.3\n",
        "The heartbeat connector of a flow writes to the source, and gets no property of the target.",
    ),
    "a property of another client": ("east.consumer.max.request.size = 1\n", "property-without-effect: "),
}


@pytest.mark.parametrize(("more", "said"), PROPERTIES.values(), ids=PROPERTIES.keys())
def test_properties_of_a_dedicated_mirrormaker_are_answered(tmp_path: Path, more: str, said: str) -> None:
    assert said in imported(tmp_path, "mm2.properties", DEDICATED + more)


def test_clusters_after_a_blank_are_read(tmp_path: Path) -> None:
    assert "heartbeats begin in" in imported(tmp_path, "mm2.properties", DEDICATED.replace("clusters =", "clusters"))


APPLICATION = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\n"
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mm2}\ndata:\n  mm2.properties: |\n    "
CONNECTOR = """\
name = mirror
connector.class = org.apache.kafka.connect.mirror.MirrorSourceConnector
clusters = east, west
source.cluster.alias = east
source.cluster.bootstrap.servers = east:9092
target.cluster.alias = west
target.cluster.bootstrap.servers = west:9092
"""
FILES = {
    "broken JSON": ("a.json", '{"name": "a"\n "config": {}}', "Expecting ',' delimiter: line 2 column 2"),
    "a script": ("a.sh", "#!/bin/sh\ncurl -d '{\n\"a\": 1}'", "The file is a script, not YAML. Remedy: if it creates"),
    "a byte order mark": ("mm2.properties", f"\ufeff{DEDICATED}", "It begins with a byte order mark, which Java reads"),
    "names of connectors": ("a.json", '["a", "b"]', "It lists only the names of connectors. Remedy: import the answer"),
    "a template of properties": ("mm2.properties", "clusters = {{ a }}", "nothing replaces the `{{` in it"),
    "a template of another ending": ("mm2.j2", "clusters = {{ a }}, b", "nothing replaces the `{{` in it"),
    "another language": ("main.tf", "resource a b", "It is text, so it is not a Kubernetes object."),
    "an object that makes others": (
        "a.yaml",
        APPLICATION,
        "Remedy: import these objects, from the cluster or as `helm",
    ),
    "a connector of another operator": (
        "a.yaml",
        APPLICATION.replace("argoproj.io/v1alpha1", "platform.confluent.io/v1beta1").replace(
            "Application", "Connector"
        ),
        "Confluent's operator runs it.",
    ),
    "a standalone worker": ("a.properties", "offset.storage.file.filename = /a\n", "keeps offsets in a file"),
    "properties of one connector": ("a.properties", CONNECTOR, "✗ connect: deploying it would change"),
    "properties in a ConfigMap": (
        "mm2.yaml",
        CONFIG_MAP + DEDICATED.replace("\n", "\n    "),
        "ConfigMap default/mm2, data.mm2.properties. The file does not name MirrorMaker's Kafka version.",
    ),
}


@pytest.mark.parametrize(("name", "text", "said"), FILES.values(), ids=FILES.keys())
def test_a_file_is_read_as_what_it_is(tmp_path: Path, name: str, text: str, said: str) -> None:
    assert said in imported(tmp_path, name, text)


def test_properties_of_another_ending_are_named_in_a_folder(tmp_path: Path) -> None:
    assert "file-skipped: " in imported(tmp_path, "mm2.config", DEDICATED, folder=True)


@pytest.mark.parametrize(
    ("name", "command"), [("Chart.yaml", "helm template"), ("kustomization.yaml", "kustomize build")]
)
def test_a_folder_whose_objects_a_tool_prints_is_named_with_its_command(
    tmp_path: Path, name: str, command: str
) -> None:
    answer = imported(tmp_path, name, "resources: [a.yaml]\n", folder=True)
    assert f"`{command} {tmp_path}/read | replicate import - --out DIR`" in answer
    assert "no-object" not in answer


def imported(tmp_path: Path, name: str, text: str, *, folder: bool = False) -> str:
    (tmp_path / "read").mkdir()
    (tmp_path / "read" / name).write_text(text)
    read = tmp_path / "read" if folder else tmp_path / "read" / name
    result = CliRunner().invoke(app, ["import", str(read), "--out", str(tmp_path / "out")])
    return " ".join((result.output + str(result.exception)).split())
