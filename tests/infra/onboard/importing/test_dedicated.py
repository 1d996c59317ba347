"""`replicate import` of a dedicated MirrorMaker's `mm2.properties`."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from kafka_replication.infra.commands.app import app
from kafka_replication.infra.stack.yaml_files import shown

FILE = r"""
clusters = east, west
east.bootstrap.servers = east:9093
west.bootstrap.servers = west:9092
east.security.protocol = SASL_SSL
east.sasl.mechanism = SCRAM-SHA-512
east.sasl.jaas.config = org.apache.kafka.common.security.scram.ScramLoginModule required \
    username="mirror" password="hunter2";
east->west.enabled = true
east->west.topics = orders, payments-.*
east->west.groups = checkout-.*
east->west.sync.group.offsets.enabled = true
east->west.topics.exclude = orders-old
tasks.max = 4
replication.factor = 3
replication.policy.class = org.apache.kafka.connect.mirror.IdentityReplicationPolicy
sync.topic.acls.enabled = false
refresh.topics.interval.seconds = 30
emit.checkpoints.interval.seconds = 20
west.producer.compression.type = zstd
east.consumer.max.poll.records = 2000
"""


def run(folder: Path, text: str, *options: str) -> tuple[int, str, dict[str, Any]]:
    """Exit code, output without folding, and the topology."""
    folder.mkdir(exist_ok=True)
    (folder / "mm2.properties").write_text(text)
    read, out = str(folder / "mm2.properties"), folder / "out"
    result = CliRunner().invoke(app, ["import", read, "--out", str(out), "--strimzi", "1.2", *options])
    error = "" if result.exception is None or isinstance(result.exception, SystemExit) else str(result.exception)
    written = out / "stacks" / "topologies" / "prod.yaml"
    topology = yaml.safe_load(written.read_text()) if written.exists() else {}
    everything = "".join(each.read_text() for each in folder.rglob("*") if each.is_file() and each.parent != folder)
    assert "hunter2" not in result.output + error + everything
    return result.exit_code, " ".join((result.output + error).split()), topology


def test_the_flow_has_every_setting_of_the_file(tmp_path: Path) -> None:
    _, output, topology = run(tmp_path, FILE, "--namespace", "kafka")
    login = {"type": "scram-sha-512", "username": "mirror", "password": {"config": "eastPassword"}}
    assert topology["clusters"] == {
        "east": {"region": "imported", "bootstrapServers": "east:9093", "tls": {}, "authentication": login},
        "west": {"region": "imported", "bootstrapServers": "west:9092"},
    }
    consumer = {"source.consumer.max.poll.records": 2000}
    assert topology["replications"] == {
        "east-west": {
            "kind": "flow",
            "source": "east",
            "target": "west",
            "namespace": {"name": "kafka", "create": False},
            "policy": "identity",
            "topics": ["orders", "payments-.*"],
            "topicsExclude": ["orders-old"],
            "groups": ["checkout-.*"],
            "intervals": {"refreshTopicsSeconds": 30, "emitCheckpointsSeconds": 20},
            "connect": {"config": {"producer.compression.type": "zstd"}},
            "connectors": {
                "source": {
                    "tasksMax": 4,
                    "config": {**consumer, "replication.factor": 3, "offset-syncs.topic.replication.factor": 3},
                },
                "checkpoint": {"tasksMax": 4, "config": {**consumer, "checkpoints.topic.replication.factor": 3}},
                "heartbeat": {"config": {"heartbeats.topic.replication.factor": 3}},
            },
        }
    }
    assert "pulumi config set --stack prod --secret replication:eastPassword VALUE" in output


def test_offsets_that_the_new_connectors_cannot_find_are_reported(tmp_path: Path) -> None:
    code, output, _ = run(tmp_path, FILE)
    assert code == 1
    assert "offsets-not-carried: " in output
    assert "keeps the offsets of `east->west` in `mm2-offsets.east.internal`" in output
    assert "deploying it would change records or offsets" in output


def test_the_properties_of_the_file_are_compared_with_the_rendered_properties(tmp_path: Path) -> None:
    """Apart from its name and login, a source connector differs only in the exclusion of our own topics."""
    _, output, _ = run(tmp_path, FILE)
    differing = [each.split(":")[0] for each in output.split("differs connector east-west-source: ")[1:]]
    assert differing == ["name", "source.cluster.sasl.jaas.config", "topics.exclude"]


def test_the_storage_topics_of_new_workers_are_not_reported_as_excluded(tmp_path: Path) -> None:
    text = FILE.replace("orders, payments-.*", ".*").replace("east->west.topics.exclude = orders-old", "")
    output = run(tmp_path, text)[1]
    assert "worker-group-changes" in output
    assert "exclusions-added" not in output


UNREAD = {
    "listeners = http://:8083": "listeners. Only the REST server",
    "consumer.fetch.max.bytes = 1": "consumer.fetch.max.bytes. MirrorMaker does not read it unless a cluster",
    "west.group.id = mine": "west.group.id. `group.id` belongs to the workers",
    "east.replication.factor = 1": "east.replication.factor. MirrorMaker passes it on as a property of the cluster",
    "east->west.source.cluster.sasl.mechanism = PLAIN": (
        "east.sasl.mechanism. `east->west.source.cluster.sasl.mechanism` overrides it."
    ),
    "east->west.source.consumer.max.poll.records = 1": (
        "east.consumer.max.poll.records. `east->west.source.consumer.max.poll.records` overrides it."
    ),
    "east->south.enabled = true": "east->south.enabled. It names a cluster that is not in `clusters`",
    "east->west.source.cluster.nothing = 1": "east->west.source.cluster.nothing. None of the three connectors",
    "west->east.enabled = true\\u0020": "Its `enabled` is `true `; because of the blank MirrorMaker reads it as false",
    "west->east.topics = .*": "west->east, west->east.topics. It is not enabled, so it replicates nothing.",
    "tasks.max = 5": "duplicate-key: ",
    "west.security.protocol = SSL\nwest.ssl.keystore.location = /a.jks": "keystore-file: ",
    "west.security.protocol = SASL_SSL\nwest.sasl.jaas.config = a required keyTab=/a;": "The key table is a file",
    "east.sasl.kerberos.kinit.cmd = kinit": "connection-property: ",
}


@pytest.mark.parametrize(("line", "words"), UNREAD.items(), ids=[each.split(" ")[0] for each in UNREAD])
def test_a_property_that_the_topology_does_not_express_is_listed(tmp_path: Path, line: str, words: str) -> None:
    assert words in run(tmp_path, f"{FILE}\n{line}\n")[1]


def test_both_directions_become_two_flows_of_one_topology(tmp_path: Path) -> None:
    text = f"{FILE}\nwest->east.enabled = true\nwest->east.topics = returns\n"
    topology = run(tmp_path, text.replace(".IdentityReplicationPolicy", ".DefaultReplicationPolicy"))[2]
    assert {key: each["topics"] for key, each in topology["replications"].items()} == {
        "east-west": ["orders", "payments-.*"],
        "west-east": ["returns"],
    }
    assert list(topology["clusters"]) == ["east", "west"]


def test_a_file_without_an_enabled_flow_is_refused(tmp_path: Path) -> None:
    code, output, topology = run(tmp_path, FILE.replace("east->west.enabled = true", ""))
    assert (code, topology) == (1, {})
    assert "nothing-enabled: " in output


def test_properties_on_standard_input_are_recognized(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["import", "-", "--out", str(tmp_path / "out")], input=FILE)
    assert result.exit_code == 1
    assert (tmp_path / "out" / "stacks" / "topologies" / "prod.yaml").exists()


def test_a_properties_file_of_another_program_is_refused(tmp_path: Path) -> None:
    code, output, _ = run(tmp_path, "log4j.rootLogger = INFO\n")
    assert code != 0
    assert "It has neither the `clusters` of a dedicated MirrorMaker" in output


def test_custom_logins_of_aliases_that_differ_only_in_case_have_separate_keys(tmp_path: Path) -> None:
    text = "clusters = East, east\nEast->east.enabled = true\n"
    for alias in ("East", "east"):
        text += f"{alias}.bootstrap.servers = {alias}:9093\n{alias}.security.protocol = SASL_SSL\n"
        text += f"{alias}.sasl.mechanism = MINE\n"
        text += f'{alias}.sasl.jaas.config = org.example.Login required password="hunter2";\n'
    clusters = run(tmp_path, text)[2]["clusters"]
    logins = [clusters[alias]["authentication"]["config"]["sasl.jaas.config"] for alias in ("East", "east")]
    assert logins == ["${secret:east-login:East.SaslJaasConfig}", "${secret:east-login:SaslJaasConfig}"]


def test_a_file_that_java_refuses_is_refused(tmp_path: Path) -> None:
    code, output, topology = run(tmp_path, FILE.replace("orders-old", r"orders\u00zz"))
    assert (code, topology) == (1, {})
    line = FILE.splitlines().index("east->west.topics.exclude = orders-old") + 1
    assert (
        rf"invalid-properties: {tmp_path}/mm2.properties, line {line}. A `\u` in it has no four hexadecimal digits "
        r"after it, so Java refuses the whole file. Remedy: correct it; a backslash itself is written as `\\`."
    ) in output


@pytest.mark.parametrize(
    "text", [r"east->west.topics = a\\u00zz", r"# \u00zz"], ids=["an escaped backslash", "comment"]
)
def test_a_backslash_and_a_comment_that_java_accepts_are_accepted(tmp_path: Path, text: str) -> None:
    assert run(tmp_path, f"{FILE}\n{text}\n")[2]["replications"]


LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule required"


@pytest.mark.parametrize("option", ["pasword", "pass", "pw", "key", "user,pw", "username=a,pw"])
def test_an_unknown_option_of_a_login_is_treated_as_a_credential(tmp_path: Path, option: str) -> None:
    """A misspelt password is a password."""
    text = FILE.replace('password="hunter2"', f'{option}="hunter2"')
    code, output, topology = run(tmp_path, f"{text}\nwest.producer.sasl.jaas.config = {LOGIN} {option}=hunter2 ;\n")
    login = topology["clusters"]["east"]["authentication"]
    assert login["config"]["sasl.jaas.config"] == "${secret:east-login:SaslJaasConfig}"
    assert output.count("plain-text-credential: ") == 2
    assert code == 1


@pytest.mark.parametrize(
    "key", ["ssl.keystore.pass", "ssl.keystore.pw", "ssl.truststore.pswd", "ssl.key.passord", "sasl.secrt"]
)
def test_an_unknown_property_of_a_login_is_treated_as_a_credential(tmp_path: Path, key: str) -> None:
    places = ("east->west.producer.override.", "west.producer.", "east->west.source.consumer.", "east->west.")
    code, output, _ = run(tmp_path, FILE + "".join(f"{place}{key} = hunter2\n" for place in places))
    assert f"plain-text-credential: {shown(tmp_path / 'mm2.properties')}" in output
    assert code == 1


@pytest.mark.parametrize(
    "line",
    [
        'com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true keyTab="/a" principal="m@A";',
        'software.amazon.msk.auth.iam.IAMLoginModule required awsRoleArn="arn:aws:iam::1:role/a" awsDebugCreds=false;',
    ],
    ids=["Kerberos", "IAM"],
)
def test_known_options_of_a_login_are_taken_over(tmp_path: Path, line: str) -> None:
    text = FILE.replace("SCRAM-SHA-512", "GSSAPI").replace(
        FILE[FILE.index("org.apache.kafka.common.security") : FILE.index("east->west.enabled")], line + "\n"
    )
    login = run(tmp_path, text)[2]["clusters"]["east"]["authentication"]
    assert login["config"]["sasl.jaas.config"] == line


MISSPELT = {
    "east->west.enable = true": "did you mean `east->west.enabled`?",
    "east->west.Enabled = true": "did you mean `east->west.enabled`?",
    "east->west.source.cluster.sasl.mechansim = PLAIN": "did you mean `east->west.source.cluster.sasl.mechanism`?",
    "east.sasl.mechansim = PLAIN": "did you mean `east.sasl.mechanism`?",
    "offset.storage.replicaton.factor = 2": "did you mean `offset.storage.replication.factor`?",
    "refresh.topics.interval.second = 3": "did you mean `refresh.topics.interval.seconds`?",
}


@pytest.mark.parametrize(("line", "words"), MISSPELT.items(), ids=[each.split(" ")[0] for each in MISSPELT])
def test_a_misspelt_key_is_named_with_the_right_one(tmp_path: Path, line: str, words: str) -> None:
    text = FILE.replace("east->west.enabled = true", "") if "nabled" in words else FILE
    code, output, _ = run(tmp_path, f"{text}\n{line}\n")
    assert f"has no effect. Remedy: {words}" in output or f"{line.split()[0]}. It is not enabled" in output
    assert f"Remedy: {words}" in output
    assert code == 1


def test_a_tasks_max_that_is_not_a_number_is_refused(tmp_path: Path) -> None:
    _, output, topology = run(tmp_path, FILE.replace("tasks.max = 4", "tasks.max = eight"))
    assert "not-a-number: `tasks.max` is `eight`, not a whole number from 1, at " in output
    assert topology == {}


def test_offset_syncs_at_neither_end_are_refused(tmp_path: Path) -> None:
    code, output, topology = run(tmp_path, f"{FILE}offset-syncs.topic.location = east\n")
    assert (code, topology["replications"]["east-west"]["offsetSyncs"]["location"]) == (1, "east")
    assert "not-accepted: `location` is 'east'" in output


@pytest.mark.parametrize("content", [FILE.encode("utf-16"), b"\x00\xff\x80"], ids=["UTF-16", "binary"])
def test_a_file_that_is_not_text_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "mm2.properties").write_bytes(content)
    result = CliRunner().invoke(app, ["import", str(tmp_path / "mm2.properties"), "--out", str(tmp_path / "out")])
    assert "It is not text in UTF-8." in str(result.exception)


def test_an_empty_device_has_nothing_to_import(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["import", "/dev/null", "--out", str(tmp_path / "out")])
    assert "nothing-to-import: " in str(result.exception)
