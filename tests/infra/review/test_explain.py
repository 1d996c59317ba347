"""`replicate explain`: each property with the layer that set it. It needs no cluster, credentials or Pulumi."""

import json
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.commands import app as cli
from kafka_replication.infra.review.explain import (
    Explanation,
    Reader,
    as_json,
    explanation,
    print_explanation,
    print_property,
)
from kafka_replication.infra.stack.settings import read_settings
from tests.builders import a_cluster, a_flow, a_topology
from tests.infra.stacks import write_stack
from tests.repository import ROOT


def explained(folder: Path, name: str | None = None, *, defaults: bool = False, **flow: Any) -> Explanation:
    settings = read_settings("test", write_stack(folder, a_topology(a_flow(**flow))))
    return explanation(settings, "orders", name, defaults=defaults)


def reader(explained: Explanation, connector: str, client: str = "") -> Reader:
    (found,) = [each for each in explained.readers if (each.connector, each.client) == (connector, client)]
    return found


def effective(reader: Reader, name: str) -> tuple[str, str, str]:
    """Value, layer and key of a property that a connector or client reads."""
    (found,) = [each for each in reader.properties if each.name == name]
    return str(found.effective.value), found.effective.layer, found.effective.key


def test_every_connector_each_of_its_clients_and_the_workers_are_listed(tmp_path: Path) -> None:
    found = [(each.connector, each.client) for each in explained(tmp_path).readers]
    assert found == [
        ("orders-source", ""),
        ("orders-source", "source-consumer"),
        ("orders-source", "source-admin"),
        ("orders-source", "target-admin"),
        ("orders-source", "offset-syncs-producer"),
        ("orders-source", "data-producer"),
        ("orders-checkpoint", ""),
        ("orders-checkpoint", "source-admin"),
        ("orders-checkpoint", "target-admin"),
        ("orders-checkpoint", "offset-syncs-consumer"),
        ("orders-checkpoint", "checkpoints-consumer"),
        ("orders-checkpoint", "data-producer"),
        ("orders-heartbeat", ""),
        ("orders-heartbeat", "target-admin"),
        ("orders-heartbeat", "data-producer"),
        ("workers", ""),
    ]


def test_workers_that_only_send_heartbeats_are_named_with_their_cluster(tmp_path: Path) -> None:
    settings = read_settings("test", write_stack(tmp_path, a_topology(a_flow(), strimzi="0.46")))
    found = explanation(settings, "orders")
    workers = reader(found, "workers `orders-heartbeats` of useast")
    assert effective(workers, "connector.client.config.override.policy")[0] == "All"
    (servers,) = [each.effective for each in workers.properties if each.name == "bootstrap.servers"]
    assert (servers.value, servers.why) == ("kafka.useast.example.com:9093", "clusters.useast.bootstrapServers")
    assert not [each.name for each in reader(found, "orders-heartbeat").properties if each.name.startswith("producer.")]


@pytest.mark.parametrize(
    ("where", "name", "wanted"),
    [
        pytest.param(
            ("orders-source", ""), "replication.factor", ("-1", "project default"), id="the project's default"
        ),
        pytest.param(("orders-source", ""), "offset.lag.max", ("100", "model"), id="a key of the flow"),
        pytest.param(("orders-source", ""), "admin.timeout.ms", ("5000", "connector"), id="the user's own"),
        pytest.param(("orders-source", "data-producer"), "linger.ms", ("20", "preset"), id="a preset, at its client"),
        pytest.param(("orders-source", "data-producer"), "acks", ("all", "Connect"), id="Connect's own"),
        pytest.param(
            ("orders-source", "data-producer"), "batch.size", ("1000", "connector"), id="the user over a preset"
        ),
        pytest.param(("orders-source", "data-producer"), "retries", ("9", "worker"), id="the workers' own"),
        pytest.param(
            ("orders-source", "source-consumer"), "max.poll.records", ("10000", "preset"), id="longer prefix wins"
        ),
        pytest.param(("orders-source", "source-consumer"), "enable.auto.commit", ("false", "MirrorMaker"), id="fixed"),
        pytest.param(("workers", ""), "offset.flush.interval.ms", ("1000", "worker"), id="a worker's property"),
    ],
)
def test_the_layer_that_set_a_property_is_named(
    where: tuple[str, str], name: str, wanted: tuple[str, str], tmp_path: Path
) -> None:
    config = {"admin.timeout.ms": 5000, "producer.override.batch.size": 1000, "consumer.max.poll.records": 7}
    found = explained(
        tmp_path,
        tuning={"preset": "throughput"},
        connectors={"source": {"config": config}},
        connect={"config": {"offset.flush.interval.ms": 1000, "producer.retries": 9}},
    )
    assert effective(reader(found, *where), name)[:2] == wanted


def test_a_client_property_is_shown_with_the_key_that_set_it(tmp_path: Path) -> None:
    found = explained(tmp_path, connectors={"source": {"config": {"consumer.max.poll.records": 7}}})
    assert effective(reader(found, "orders-source", "source-consumer"), "max.poll.records") == (
        "7",
        "connector",
        "consumer.max.poll.records",
    )


def test_one_property_is_shown_with_every_layer_from_lowest_to_highest(tmp_path: Path) -> None:
    config = {"consumer.max.poll.records": 7, "source.consumer.max.poll.records": 9}
    found = explained(
        tmp_path, "max.poll.records", tuning={"preset": "throughput"}, connectors={"source": {"config": config}}
    )
    (each,) = reader(found, "orders-source", "source-consumer").properties
    assert [(said.value, said.layer, said.key) for said in each.settings] == [
        ("500", "Kafka", ""),
        (7, "connector", "consumer.max.poll.records"),
        (10000, "preset", "source.consumer.max.poll.records"),
        (9, "connector", "source.consumer.max.poll.records"),
    ]
    assert each.definition is not None
    assert (each.definition.type.value, each.definition.default) == ("int", "500")
    assert each.definition.documentation


def test_a_prefixed_key_is_shown_for_its_connector_and_for_the_clients_that_read_it(tmp_path: Path) -> None:
    config = {"consumer.max.poll.records": 7}
    found = explained(tmp_path, "consumer.max.poll.records", connectors={"source": {"config": config}})
    assert [(each.connector, each.client) for each in found.readers] == [
        ("orders-source", ""),
        ("orders-source", "source-consumer"),
    ]


def test_kafkas_defaults_are_shown_only_on_request(tmp_path: Path) -> None:
    few, all_of_them = explained(tmp_path), explained(tmp_path, defaults=True)
    assert not [each for reader in few.readers for each in reader.properties if each.effective.layer == "Kafka"]
    assert effective(reader(all_of_them, "orders-source"), "refresh.topics.enabled")[:2] == ("true", "Kafka")
    assert effective(reader(all_of_them, "orders-source", "data-producer"), "batch.size")[:2] == ("16384", "Kafka")


def test_the_explained_values_are_the_rendered_values(tmp_path: Path) -> None:
    """Otherwise `explain` would describe a configuration other than the deployed one."""
    from kafka_replication.components.flows.resolved import resolve_flows
    from kafka_replication.components.render.kafka_connectors import connector_config

    settings = read_settings("test", write_stack(tmp_path, a_topology(a_flow(tuning={"preset": "latency"}))))
    (resolved,) = resolve_flows(settings.topology, None, {})
    found = {
        each.name: each.effective.value for each in reader(explanation(settings, "orders"), "orders-source").properties
    }
    rendered = connector_config(resolved, "source")
    assert set(found) == {*rendered, "name", "connector.class", "tasks.max"}
    assert {key: found[key] for key, value in rendered.items() if "${cfmap:" not in str(value)} == {
        key: value for key, value in rendered.items() if "${cfmap:" not in str(value)
    }


def test_a_credential_is_shown_as_a_reference_and_a_configured_address_by_its_key(tmp_path: Path) -> None:
    login = {"type": "plain", "username": "mirror", "password": {"config": "eastPassword"}}
    clusters = {
        "useast": a_cluster(bootstrapServers={"config": "east"}, authentication=login),
        "uswest": a_cluster("us-west-2"),
    }
    topology = a_topology(a_flow(), clusters=clusters)
    settings = read_settings("test", write_stack(tmp_path, topology, eastPassword={"secure": "hunter2"}))
    text = json.dumps(as_json(explanation(settings, "orders")))
    assert "hunter2" not in text
    assert "${secret:mirror-orders/orders-source-credentials:password}" in text
    assert "{config: east}" in text


@pytest.mark.parametrize(
    ("flow", "name", "remedy"),
    [
        pytest.param("order", None, "name `orders`.", id="a flow"),
        pytest.param("billing", None, "name one of these.", id="a flow without a similar name"),
        pytest.param("orders", "max.pol.records", "name `max.poll.records`.", id="a property"),
        pytest.param("orders", "source.consumer.max.pol.records", "name `max.poll.records`.", id="a prefixed property"),
    ],
)
def test_an_unknown_flow_or_property_is_answered_with_the_nearest_name(
    flow: str, name: str | None, remedy: str, tmp_path: Path
) -> None:
    settings = read_settings("test", write_stack(tmp_path))
    with pytest.raises(CannotRunError) as error:
        explanation(settings, flow, name)
    assert error.value.remedy == remedy


def test_the_connectors_of_a_mirror_maker_have_the_names_that_the_operator_gives_them(tmp_path: Path) -> None:
    mirror = {"kind": "mirrorMaker2", "source": "useast", "target": "uswest", "topics": ["orders"], "groups": ["g"]}
    settings = read_settings("test", write_stack(tmp_path, a_topology(mirror, "mirror")))
    names = {each.connector for each in explanation(settings, "mirror").readers}
    assert names == {
        "useast->uswest.MirrorSourceConnector",
        "useast->uswest.MirrorCheckpointConnector",
        "mirror-heartbeat",
        "workers",
    }


def test_a_field_of_a_rendered_object_is_explained_as_the_property_that_it_becomes(tmp_path: Path) -> None:
    """Otherwise `tasks.max` would be Kafka's default, although the KafkaConnector has `tasksMax`."""
    sources = {"fast": {"topics": ["orders"], "tasksMax": 6}, "bulk": {"topics": ["logs"]}}
    found = explained(tmp_path, topics=[], connectors={"sources": sources})
    (fast,) = [each for each in reader(found, "orders-source-fast").properties if each.name == "tasks.max"]
    assert (fast.effective.value, fast.effective.layer) == (6, "model")
    assert fast.effective.why == "replications.orders.connectors.sources.fast.tasksMax"
    assert effective(reader(found, "orders-source-bulk"), "tasks.max")[0] == "3"
    assert effective(reader(found, "orders-checkpoint"), "tasks.max")[0] == "1"
    assert effective(reader(found, "workers"), "group.id")[:2] == ("mirror-orders", "model")
    assert effective(reader(found, "workers"), "bootstrap.servers")[0] == "kafka.uswest.example.com:9093"


def test_a_pipe_gets_one_fact_per_line() -> None:
    answer = CliRunner().invoke(cli.app, ["explain", "local", "orders", "offset.lag.max"])
    assert answer.output.splitlines() == [
        "orders-source: offset.lag.max = 10 (model: replications.orders.offsetSyncs.lagMax)",
        "orders-source: offset.lag.max overrides 100 (Kafka: default of Kafka 4.3)",
        "orders-source: offset.lag.max: long, default 100. How out-of-sync a remote partition can be before it is "
        "resynced.",
    ]
    lines = CliRunner().invoke(cli.app, ["explain", "local", "orders"]).output.splitlines()
    assert "orders-source, its data-producer: acks = all (Connect: Connect sets it unless it is configured.)" in lines
    assert not [line for line in lines if " = " not in line]


@pytest.mark.parametrize("name", [None, "offset.lag.max"], ids=["all", "one property"])
def test_a_terminal_gets_tables_that_fit_its_width(name: str | None, tmp_path: Path) -> None:
    text = StringIO()
    console = Console(file=text, width=72, force_terminal=True, color_system=None)
    (print_explanation if name is None else print_property)(explained(tmp_path, name), console)
    assert "┃ property" in text.getvalue()
    assert max(len(line) for line in text.getvalue().splitlines()) == 72


def test_the_command_prints_json() -> None:
    answer = CliRunner().invoke(cli.app, ["explain", "local", "orders", "offset.lag.max", "--json"])
    (only,) = json.loads(answer.output)["places"]
    (lag,) = only["properties"]
    assert (only["connector"], lag["value"], lag["layer"], lag["why"]) == (
        "orders-source",
        "10",
        "model",
        "replications.orders.offsetSyncs.lagMax",
    )
    assert [said["value"] for said in lag["said"]] == ["100", "10"]


@pytest.mark.process
def test_explaining_loads_neither_pulumi_nor_spark() -> None:
    code = "import sys, kafka_replication.infra.review.explain; print({'pulumi', 'pyspark'} & set(sys.modules))"
    answer = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "set()"
