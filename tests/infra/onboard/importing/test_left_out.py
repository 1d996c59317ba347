"""What an import must not lose or change silently.

Each row edits a resource that the project renders exactly as it is: without an edit the import ends with 0 and says
that neither records nor offsets change.
"""

from pathlib import Path

import pytest

from tests.infra.onboard.importing.resources import FLOW, MIRROR, NONE, OLD_MIRROR, edited, run, twice


@pytest.mark.parametrize("text", [FLOW, MIRROR, OLD_MIRROR], ids=["flow", "mirrors", "older mirrors"])
def test_a_resource_that_the_project_renders_identically_is_taken_over_completely(tmp_path: Path, text: str) -> None:
    code, output, _ = run(tmp_path, text)
    assert (code, NONE in output, "Not taken over" in output) == (0, True, False)


@pytest.mark.parametrize("leftover", ["connectCluster: west", "target: {alias: west, groupId: mm2}", "target: west"])
def test_workers_keep_their_group_whatever_field_of_another_kind_is_left_in_them(tmp_path: Path, leftover: str) -> None:
    """In another group the connectors have no offsets, so they would copy every record again."""
    _, _, written = run(tmp_path / "plain", FLOW)
    read = edited(FLOW, ("  groupId: workers", f"  groupId: workers\n  {leftover}"))
    assert run(tmp_path / "leftover", read)[2] == written


def test_a_spec_that_is_no_mapping_is_reported(tmp_path: Path) -> None:
    output = run(tmp_path, "{apiVersion: kafka.strimzi.io/v1, kind: KafkaConnect, metadata: {name: a}, spec: 5}")[1]
    assert "KafkaConnect default/a, spec. It is not a mapping" in output


def test_a_topology_with_mistakes_also_names_the_source_before_the_target(tmp_path: Path) -> None:
    logging = "replicas: 1\n  logging: {type: external, valueFrom: {configMapKeyRef: {name: '', key: a}}}"
    written = run(tmp_path, edited(MIRROR, ("replicas: 1", logging)))[2]
    assert "name: ''" in written or "configMap: ''" in written
    assert written.index("source: east") < written.index("target: west")


@pytest.mark.parametrize(
    ("rack", "placeholder"),
    [
        ("{topologyKey: zone}", "${strimzidir:/opt/kafka/init:rack.id}"),
        ("{type: environment-variable, envVarName: RACK}", "${strimzienv:RACK}"),
    ],
)
def test_the_rack_that_a_rendered_connector_reads_is_taken_over(tmp_path: Path, rack: str, placeholder: str) -> None:
    named = edited(FLOW, ("replicas: 1", f"replicas: 1\n  rack: {rack}"))
    topics = "    topics: orders,payments\n"
    output = run(tmp_path, edited(named, (topics, f"{topics}    consumer.client.rack: '{placeholder}'\n")))[1]
    assert "provider-not-known" not in output
    assert "consumer.client.rack" not in output


JAAS = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="u" password="${secret:kafka/p:k}";'
OWN_LOGIN = {
    "bootstrap.servers": "west:9092",
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "SCRAM-SHA-512",
    "sasl.jaas.config": JAAS,
    "ssl.truststore.type": "PEM",
    "ssl.truststore.certificates": "${secret:kafka/ca:ca.crt}",
}
OF_WORKERS = {"sasl.jaas.config": "${file:/tmp/strimzi-connect.properties:sasl.jaas.config}"}


def with_logins(trust: str = "certificate: ca.crt", **own: str) -> str:
    """Return a flow whose workers and connectors each have a login to the target; `own` has those of the connectors."""
    login = (
        f"tls: {{trustedCertificates: [{{secretName: ca, {trust}}}]}}\n"
        "  authentication: {type: scram-sha-512, username: u, passwordSecret: {secretName: p, password: k}}"
    )
    connect, *connectors = FLOW.split("---")
    providers = (
        "config.providers: secret\n"
        "    config.providers.secret.class: io.strimzi.kafka.KubernetesSecretConfigProvider\n    key.converter"
    )
    connect = edited(connect, ("replicas: 1", f"replicas: 1\n  {login}"), ("key.converter", providers))
    properties = "\n    ".join(f"target.cluster.{key}: {value}" for key, value in (OWN_LOGIN | own).items())
    address = "target.cluster.bootstrap.servers: west:9092"
    return "---".join([connect, *(edited(connector, (address, properties)) for connector in connectors)])


LOST = {
    "a policy without a value": (
        edited(MIRROR, ("{tasksMax: 2}", "{tasksMax: 2, config: {replication.policy.class: null}}")),
        "null-value: read.yaml, KafkaMirrorMaker2 kafka/mm2, spec.mirrors.0.sourceConnector.config.replication.policy."
        "class. It is `null`, so it is taken as not set, and Kafka's default applies.",
    ),
    "a build with a login": (
        edited(
            FLOW,
            (
                "replicas: 1",
                "replicas: 1\n  build: {output: {type: docker, image: c}, plugins: [{name: policy, artifacts: "
                "[{type: jar, url: 'https://me:hunter2@example.com/policy.jar'}]}]}",
            ),
        ),
        "plain-text-credential: read.yaml, KafkaConnect kafka/workers, spec.build. It holds a credential in plain text",
    ),
    "plugins with a login": (
        edited(
            FLOW,
            (
                "replicas: 1",
                "replicas: 1\n  plugins: [{name: policy, artifacts: [{type: image, reference: "
                "'https://me:hunter2@registry.example.com/policy:1'}]}]",
            ),
        ),
        "plain-text-credential: read.yaml, KafkaConnect kafka/workers, spec.plugins. It holds a credential",
    ),
    "a build of a KafkaMirrorMaker2": (
        edited(MIRROR, ("replicas: 1", "replicas: 1\n  build: {output: {type: docker, image: c}, plugins: []}")),
        "field-not-known: read.yaml, KafkaMirrorMaker2 kafka/mm2, spec.build. Kubernetes drops it",
    ),
    "a resource without workers": (
        edited(FLOW, ("replicas: 1", "replicas: 0")),
        "no-workers: read.yaml, KafkaConnect kafka/workers, spec.replicas. It is 0, so nothing runs.",
    ),
    "mirrors without workers": (
        edited(OLD_MIRROR, ("replicas: 1", "replicas: 0")),
        "no-workers: read.yaml, KafkaMirrorMaker2 kafka/mm2, spec.replicas. It is 0, so nothing runs.",
    ),
    "another target, beside a login of the workers' file": (
        with_logins(**OF_WORKERS, **{"bootstrap.servers": "north:9092"}),
        "source, spec.config.target.cluster. It gives the target another `bootstrapServers` than its workers have.",
    ),
    "another protocol, beside a login of the workers' file": (
        with_logins(**OF_WORKERS, **{"security.protocol": "SASL_PLAINTEXT"}),
        "spec.config.target.cluster.security.protocol. A topology has one login for the target, that of the workers, "
        "which have `SASL_SSL`.",
    ),
    "another certificate, beside a login of the workers' file": (
        with_logins(**OF_WORKERS, **{"ssl.truststore.certificates": "${secret:kafka/other:ca.crt}"}),
        "source, spec.config.target.cluster. It gives the target another `tls` than its workers have.",
    ),
    "a login in a file that nothing else names": (
        with_logins(**{"sasl.jaas.config": "${file:/opt/logins.properties:jaas}"}),
        "target.cluster.sasl.jaas.config. A topology has one login for the target, that of the workers, and this value "
        "cannot be compared with it.",
    ),
    "a pattern of a token server's certificates": (
        edited(
            MIRROR,
            (
                "groupId: mm2",
                "groupId: mm2\n    authentication: {type: oauth, clientId: a, tokenEndpointUri: 'https://a', "
                "clientSecret: {secretName: s, key: k}, tlsTrustedCertificates: [{secretName: a, pattern: '*.crt'}]}",
            ),
        ),
        "tlsTrustedCertificates. It trusts every key of a Secret that matches a pattern, and the topology names one",
    ),
    "another class with the same simple name": (
        edited(FLOW, ("org.apache.kafka.connect.mirror.MirrorSource", "com.acme.MirrorSource")),
        "other-connector: read.yaml, KafkaConnector kafka/source. Its class is `com.acme.MirrorSourceConnector`",
    ),
    "an object that the operator does not act on": (
        edited(
            MIRROR, ("namespace: kafka", 'namespace: kafka, annotations: {strimzi.io/pause-reconciliation: "true"}')
        ),
        "reconciliation-paused: read.yaml, KafkaMirrorMaker2 kafka/mm2, metadata.annotations.strimzi.io/pause-rec",
    ),
    "a list of exclusions in place of Kafka's own": (
        edited(MIRROR, ("topicsPattern: orders", "topicsPattern: orders\n      topicsExcludePattern: orders-old")),
        "It replaces Kafka's own exclusions, and lacks `mm2.*\\.internal`",
    ),
    "a separator that no topology can express": (
        edited(FLOW, ("topics: orders,payments\n", "topics: orders,payments\n    replication.policy.separator: ''\n")),
        "separator-empty: read.yaml, KafkaConnector kafka/source, spec.config.replication.policy.separator",
    ),
    "connectors that the operator ignores": (
        edited(FLOW, ('strimzi.io/use-connector-resources: "true"', 'strimzi.io/use-connector-resources: "false"')),
        "connectors-not-managed: ",
    ),
    "the same resource with other content": (
        twice(MIRROR, ("topicsPattern: orders", "topicsPattern: payments")),
        "read-twice: read.yaml, KafkaMirrorMaker2 kafka/mm2. read.yaml has the same object with different content",
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
    "a login of workers that the topology cannot express": (
        edited(FLOW, ("replicas: 1", "replicas: 1\n  authentication: {type: kerberos}")),
        "! workers: deploying it would change 1 value that connectors depend on; what that does to records or offsets",
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
        "! workers: deploying it would change 1 value that connectors depend on; what that does to records or offsets",
    ),
    "an interval that stops a task": (
        edited(FLOW, ("groups: shop", "groups: shop\n    emit.checkpoints.interval.seconds: -1")),
        "Its value is '-1', and `intervals.emitCheckpointsSeconds` of a flow takes only whole numbers from 0.",
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
    "a misspelt selection of topics": (
        edited(MIRROR, ("topicsPattern: orders", "topicPattern: orders")),
        "spec.mirrors.0.topicPattern. No mirror has it, and without `topicsPattern` every topic is replicated. "
        "Remedy: did you mean `topicsPattern`?",
    ),
    "one of two resources, which has no source connector": (
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
def test_a_loss_that_may_matter_is_reported_and_exits_with_1(tmp_path: Path, text: str, words: str) -> None:
    code, output, _ = run(tmp_path, text)
    assert words in output.replace(str(tmp_path) + "/", "")
    assert code == 1


@pytest.mark.parametrize(
    ("text", "trust"),
    [
        pytest.param(with_logins(), "key: ca.crt", id="the same Secrets"),
        pytest.param(
            with_logins("pattern: '*.crt'", **{"ssl.truststore.certificates": "${secret:kafka/ca:all.crt}"}),
            "pattern: '*.crt' key: all.crt",
            id="a pattern for the workers, and a key for the connectors",
        ),
    ],
)
def test_a_login_that_workers_and_connectors_share_is_taken_over_completely(
    tmp_path: Path, text: str, trust: str
) -> None:
    code, output, written = run(tmp_path, text)
    assert (code, NONE in output, "Not taken over" in output) == (0, True, False)
    assert f"trust: secret: ca {trust}" in " ".join(written.split())


def test_a_login_of_the_workers_file_is_that_of_the_workers(tmp_path: Path) -> None:
    _, output, _ = run(tmp_path, with_logins(**OF_WORKERS))
    assert "Not taken over" not in output


WITHOUT_EFFECT = {
    "a heartbeat connector, which v1 does not have": (
        edited(MIRROR, ("checkpointConnector: {}", "checkpointConnector: {}\n      heartbeatConnector: {}")),
        "without-effect: read.yaml, KafkaMirrorMaker2 kafka/mm2, spec.mirrors.0.heartbeatConnector. The API `v1` does",
    ),
    "a pause, which v1 does not have either": (
        edited(FLOW, ("tasksMax: 2", "tasksMax: 2\n  pause: true")),
        "without-effect: read.yaml, KafkaConnector kafka/source, spec.pause",
    ),
    "a cluster that no mirror uses": (
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
        "labels.app.kubernetes.io/part-of. Every object of this project has its own value here.",
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
def test_a_setting_without_an_effect_is_reported_and_exits_with_0(tmp_path: Path, text: str, words: str) -> None:
    code, output, _ = run(tmp_path, text)
    assert words in output.replace(str(tmp_path) + "/", "")
    assert (code, NONE in output) == (0, True)


def test_a_credential_in_a_config_map_is_neither_written_nor_printed(tmp_path: Path) -> None:
    text = edited(
        FLOW,
        (
            "  config:\n    key.conv",
            "  config:\n    config.providers: cm\n    config.providers.cm.class: "
            "io.strimzi.kafka.KubernetesConfigMapConfigProvider\n    key.conv",
        ),
        (
            "topics: orders,payments\n",
            "topics: orders,payments\n    source.consumer.client.rack: ${cm:kafka/other:password}\n",
        ),
    )
    text += (
        "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: other, namespace: kafka}\ndata: {password: hunter2}\n"
    )
    _, output, written = run(tmp_path, text)
    assert "hunter2" not in output + written
    assert "${cfmap:kafka/other:password}" in written


@pytest.mark.parametrize(
    ("given", "reported"),
    [
        ("replication.policy.class: org.apache.kafka.connect.mirror.IdentityReplicationPolicy", True),
        ("replication.policy.separator: _", True),
        ("offset-syncs.topic.location: target", True),
        ("offset-syncs.topic.location: source", False),
    ],
)
def test_a_checkpoint_connector_that_lacks_a_setting_of_the_source_connector_is_reported(
    tmp_path: Path, given: str, reported: bool
) -> None:
    """It would look for other remote topics or other offset syncs, and translate nothing without reporting an error."""
    source = "sourceConnector: {tasksMax: 2"
    code, output, _ = run(tmp_path, edited(MIRROR, (f"{source}}}", f"{source}, config: {{{given}}}}}")))
    name = given.partition(":")[0]
    assert (
        f"checkpointConnector.config.{name}. It is not set, so this connector has Kafka's default" in output
    ) == reported
    assert code == (1 if reported else 0)


def test_a_checkpoint_connector_that_sets_the_default_agrees_with_the_source_connector(tmp_path: Path) -> None:
    config = "config: {offset-syncs.topic.location: source}"
    _, output, _ = run(tmp_path, edited(MIRROR, ("checkpointConnector: {}", f"checkpointConnector: {{{config}}}")))
    assert "connectors-disagree" not in output
