"""`replicate import` of what Connect's REST API answers about its connectors."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from kafka_replication.infra.commands.app import app
from tests.infra.onboard.importing.resources import FLOW, MIRROR, NONE

CONNECT, _, REST_OF_FLOW = FLOW.partition("\n---\n")
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
WORKERS = f"""
bootstrap.servers=west:9092
group.id=mirror-workers
config.storage.topic=mirror-configs
offset.storage.topic=mirror-offsets
status.storage.topic=mirror-status
key.converter={BYTES}
value.converter={BYTES}
header.converter={BYTES}
offset.flush.interval.ms=5000
sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="hunter2";
listeners=http://:8083
plugin.path=/opt/plugins
"""
SOURCE = {
    "name": "source",
    "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
    "tasks.max": "2",
    "source.cluster.alias": "east",
    "source.cluster.bootstrap.servers": "east:9092",
    "target.cluster.alias": "west",
    "target.cluster.bootstrap.servers": "west:9092",
    "topics": "orders,payments",
}
SINK = {"name": "sink", "connector.class": "org.example.Sink", "connection.password": "hunter2"}
FORMS: dict[str, Any] = {
    "all, with info": {"source": {"info": {"name": "source", "config": SOURCE, "tasks": [], "type": "source"}}},
    "one": {"name": "source", "config": SOURCE, "tasks": [], "type": "source"},
    "a list of them": [{"name": "source", "config": SOURCE}],
    "one configuration": SOURCE,
    "a list of configurations": [SOURCE],
}


def run(folder: Path, answer: Any, **files: str) -> tuple[int, str, dict[str, Any]]:
    """Exit code, output without folding, and the only replication."""
    (folder / "in").mkdir(parents=True, exist_ok=True)
    (folder / "in" / "connectors.json").write_text(json.dumps(answer))
    for name, text in files.items():
        (folder / "in" / name.replace("_", ".")).write_text(text)
    out = folder / "out"
    result = CliRunner().invoke(app, ["import", str(folder / "in"), "--out", str(out)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    written = [each for each in out.rglob("*") if each.is_file()]
    assert not [each for each in written if "hunter2" in each.read_text()]
    assert "hunter2" not in result.output
    topologies = [yaml.safe_load(each.read_text()) for each in written if each.parent.name == "topologies"]
    replications = [replication for topology in topologies for replication in topology["replications"].values()]
    return result.exit_code, " ".join(result.output.split()), replications[0] if replications else {}


@pytest.mark.parametrize("answer", FORMS.values(), ids=FORMS)
def test_every_form_of_answer_leads_to_the_same_flow(tmp_path: Path, answer: Any) -> None:
    code, output, flow = run(tmp_path, answer, workers_properties=WORKERS)
    assert "state-not-said: " in output
    assert "Remedy: import the answer of `GET /connectors?expand=info&expand=status`." in output
    assert (flow["source"], flow["target"], flow["topics"]) == ("east", "west", ["orders", "payments"])
    assert flow["connectors"]["source"]["name"] == "source"
    assert flow["connect"]["groupId"] == "mirror-workers"
    assert flow["connect"]["storageTopics"]["offsets"] == "mirror-offsets"
    assert flow["connect"]["config"] == {"offset.flush.interval.ms": "5000"}
    assert (code, NONE in output) == (1, True)
    assert "workers.properties, listeners, plugin.path. The operator sets it for its workers." in output


def test_without_the_workers_properties_the_loss_of_offsets_is_reported(tmp_path: Path) -> None:
    code, output, flow = run(tmp_path, SOURCE)
    assert code == 1
    assert "workers-not-said: " in output
    assert "deploying it would change records or offsets" in output
    assert "groupId" not in flow.get("connect", {})


def test_connectors_without_a_kafkaconnector_belong_to_the_kafkaconnect_that_was_read(tmp_path: Path) -> None:
    code, output, flow = run(tmp_path, [SOURCE, SINK], connect_yaml=CONNECT)
    assert flow["connect"]["groupId"] == "workers"
    assert "connector-without-object: " in output
    assert "Remedy: write a KafkaConnector for it before you deploy." in output
    assert "connectors-not-managed" not in output
    assert (code, NONE in output) == (1, True)


def test_a_connector_that_has_a_kafkaconnector_is_read_from_that_object(tmp_path: Path) -> None:
    code, output, flow = run(tmp_path, SOURCE, flow_yaml=FLOW)
    assert "The object from which the operator creates this connector was also read." in output
    assert (code, flow["groups"]) == (0, ["shop"])


def test_a_connector_of_a_kafkamirrormaker2_is_read_from_that_resource(tmp_path: Path) -> None:
    answer = {**SOURCE, "name": "east->west.MirrorSourceConnector"}
    code, output, flow = run(tmp_path, answer, mm2_yaml=MIRROR)
    assert (code, flow["kind"]) == (1, "mirrorMaker2")
    assert "stays-as-it-is" in output


def test_a_connector_with_a_name_that_no_kafkaconnector_can_have_loses_its_offsets(tmp_path: Path) -> None:
    code, output, flow = run(tmp_path, {**SOURCE, "name": "Mirror_Source"}, workers_properties=WORKERS)
    assert "offsets-not-carried: " in output
    assert "under the name `Mirror_Source`, which no KafkaConnector can have" in output
    assert (code, "name" in flow["connectors"]["source"]) == (1, False)


def with_state(state: str, **config: str) -> dict[str, Any]:
    """What Connect answers with `expand=info&expand=status`."""
    return {"source": {"info": {"config": SOURCE | config}, "status": {"connector": {"state": state}}}}


@pytest.mark.parametrize(("state", "declared"), [("PAUSED", "paused"), ("STOPPED", "stopped"), ("FAILED", None)])
def test_a_connector_keeps_its_state(tmp_path: Path, state: str, declared: str | None) -> None:
    code, output, flow = run(tmp_path, with_state(state), workers_properties=WORKERS)
    assert (code, flow["connectors"]["source"].get("state")) == (0, declared)
    assert "state-not-said" not in output


@pytest.mark.parametrize("known", [{}, with_state("RUNNING")], ids=["alone", "beside another"])
def test_a_connector_without_a_configuration_is_named(tmp_path: Path, known: dict[str, Any]) -> None:
    answer = {**known, "checkpoint": {"status": {"connector": {"state": "RUNNING"}}}}
    code, output, _ = run(tmp_path, answer, flow_yaml=FLOW)
    expected = (
        "connectors.json, connector checkpoint. The answer has its status, but not its configuration. Remedy: import"
    )
    assert (code, expected in output) == (1, True)


def test_a_bearer_token_in_a_header_is_a_credential(tmp_path: Path) -> None:
    literal = {"transforms": "h", "transforms.h.type": "H", "transforms.h.value.literal": "Bearer hunter2"}
    output = run(tmp_path, with_state("RUNNING", **literal), workers_properties=WORKERS)[1]
    assert "transforms.h.value.literal. It holds a credential in plain text, which is not written." in output


def test_a_mistake_is_named_without_the_value_that_may_be_a_credential(tmp_path: Path) -> None:
    (tmp_path / "connectors.json").write_text(json.dumps(with_state("RUNNING", **{"custom.pat": "opaque"})))
    result = CliRunner().invoke(app, ["import", str(tmp_path / "connectors.json"), "--out", str(tmp_path / "out")])
    assert "custom.pat. Kafka 4.2 has no such property for source connectors" in result.output
    assert "opaque" not in result.output


def test_json_that_is_not_an_answer_about_connectors_is_left_out(tmp_path: Path) -> None:
    code, output, _ = run(tmp_path, {"version": "4.2.0", "commit": "a"}, flow_yaml=FLOW)
    assert "no-object: " in output
    assert code == 1


def test_a_misspelt_worker_property_is_named_with_the_right_one(tmp_path: Path) -> None:
    workers = f"{WORKERS}offset.storage.replicaton.factor=3\n"
    code, output, _ = run(tmp_path, SOURCE, connect_properties=workers)
    assert "Connect's workers do not read it. Remedy: did you mean `offset.storage.replication.factor`?" in output
    assert code == 1


def test_workers_that_reach_the_target_by_another_protocol_than_the_connector_are_named(tmp_path: Path) -> None:
    workers = f"{WORKERS}security.protocol=SASL_SSL\n"
    assert "by SASL_SSL, but connector `source` by PLAINTEXT." in run(tmp_path, SOURCE, workers_properties=workers)[1]


LOGIN = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": 'a.Module required username="a" password="hunter2";',
}


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        pytest.param({}, [], id="the same login"),
        pytest.param({"sasl.jaas.config": "a.Module required;"}, ["sasl.jaas.config"], id="another password"),
        pytest.param({"ssl.truststore.location": "/ca.jks"}, ["ssl.truststore.location"], id="a truststore"),
    ],
)
def test_what_only_the_workers_have_for_the_target_is_named(
    changed: dict[str, str], named: list[str], tmp_path: Path
) -> None:
    login = "".join(f"{key}={value}\n" for key, value in (LOGIN | changed).items())
    connector = SOURCE | {f"target.cluster.{key}": value for key, value in LOGIN.items()}
    _, output, _ = run(tmp_path, connector, workers_properties=WORKERS.partition("sasl.jaas")[0] + login)
    words = "The workers reach the target with it, but connector `source` has another value or none."
    assert [key for key in LOGIN | changed if f"workers.properties, {key}. {words}" in output] == named


def test_a_login_that_workers_do_not_read_is_named_as_without_effect(tmp_path: Path) -> None:
    output = run(tmp_path, SOURCE, workers_properties=WORKERS)[1]
    assert "sasl.jaas.config. With `security.protocol=PLAINTEXT` the workers do not read it." in output
