"""Faults of connectors: stopped, paused, failing, edited by hand, deleted, duplicated."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from confluent_kafka.admin import AdminClient, NewPartitions  # type: ignore[attr-defined]  # not in its stubs
from kubernetes import client

from kafka_replication.components.contract.report import Verdict
from kafka_replication.infra.deploy.engine import deployment
from kafka_replication.infra.local.endpoints import ADMIN
from kafka_replication.infra.local.traffic import create_topics
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from tests.bench.fault_places import RECORDS, Place, expect_ends
from tests.bench.fault_rows import Fault, Making, at
from tests.bench.fault_stack import World
from tests.local.flows import ARRIVAL_SECONDS, READY_SECONDS
from tests.spark.scenes import CALL_SECONDS

_KAFKA = "org.apache.kafka.connect.transforms"
FAILING = {
    "transforms": "hoist",
    "transforms.hoist.type": f"{_KAFKA}.HoistField$Value",
    "transforms.hoist.field": "wrapped",
}
_ADDING = {
    "transforms": "add",
    "transforms.add.type": f"{_KAFKA}.InsertHeader",
    "transforms.add.header": "added",
    "transforms.add.value.literal": "null",
}
_CONNECTORS = ("kafka.strimzi.io", "v1", "mirror-orders", "kafkaconnectors")
FAIL = Verdict.FAIL
#: The flows of each shape, with one topic that the job looks at.
_STOPPED = {
    "flow": {"orders": "payments-refunds"},
    "split": {"traffic-sales": "sales-stores", "traffic-clicks": "clicks", "traffic-logs": "logs-app"},
    "mirrorMaker2": {"stock": "stock-moves"},
    "prefixlessPair": {"ledger-to-uswest": "ledger", "ledger-to-useast": "ledger"},
}


def stopped_connectors(world: World) -> Iterator[Fault]:
    """Each connector of each flow is stopped alone, and all of a flow together, while no records are due and the other
    flows in the same direction run."""
    for shape, flows in _STOPPED.items():
        for flow, topic in flows.items():
            connectors = world.connectors(flow)
            for names in (connectors, *((each,) for each in connectors)):
                which = f"only `{names[0]}`" if len(names) == 1 else f"every connector of `{flow}`"
                yield Fault(
                    f"stopped-{flow}-{'all' if len(names) > 1 else names[0]}",
                    f"{shape}: {which} is stopped; no records are due, and other flows in this direction run",
                    FAIL,
                    _stopping(flow, *names),
                    ("connector-stopped",),
                    (names[0], "is stopped by", f"replicate resume local {flow}"),
                    flow=flow,
                    shape=shape,
                    only={"topics": (topic,)},
                )


def _stopping(flow: str, *names: str, state: str = "stopped") -> Making:
    return lambda world, _: world.stopped(flow, names, state)


@contextmanager
def _edited(world: World, place: Place, name: str, broken: Mapping[str, Any]) -> Iterator[None]:
    """A connector whose configuration is changed by hand, and a topic whose records are produced afterwards."""
    before = world.deployed.connector(name)["spec"]["config"]
    mended = {**dict.fromkeys(broken), **{key: before[key] for key in broken if key in before}}
    world.deployed.edit_connector(name, {"config": broken})
    try:
        create_topics(world.east, {place.topic: 1})
        place.write(world.east, range(RECORDS))
        yield
    finally:
        world.deployed.edit_connector(name, {"config": mended})
        deployment.wait_ready(world.deployed.settings, READY_SECONDS)


@contextmanager
def _adding_header(world: World, place: Place) -> Iterator[None]:
    with _edited(world, place, "orders-source", _ADDING):
        expect_ends(world.west, {place.remote: RECORDS})
        yield


@contextmanager
def _failing(world: World, place: Place) -> Iterator[None]:
    with _edited(world, place, "orders-source", FAILING):
        wait_for("a task to fail", lambda: _expect_failed(world, "orders-source"), ARRIVAL_SECONDS)
        yield


def _expect_failed(world: World, name: str) -> None:
    status = (world.deployed.connector(name).get("status") or {}).get("connectorStatus") or {}
    states = [task.get("state") for task in status.get("tasks") or []]
    if "FAILED" not in states:
        raise NotYetError(f"tasks {states}")


def _new_group(edit: Mapping[str, Any]) -> Making:
    """A group that commits while the checkpoint connector has another configuration."""

    @contextmanager
    def making(world: World, place: Place) -> Iterator[None]:
        with _edited(world, place, "orders-checkpoint", edit):
            expect_ends(world.west, {place.remote: RECORDS})
            place.commit(60)
            yield

    return making


@contextmanager
def _deleted(world: World, _: Place) -> Iterator[None]:
    name = "orders-checkpoint"
    custom = client.CustomObjectsApi(world.deployed.api)
    live = world.deployed.connector(name)
    custom.delete_namespaced_custom_object(*_CONNECTORS, name)
    wait_for("the connector to be deleted", lambda: _expect_deleted(world, name), ARRIVAL_SECONDS)
    try:
        yield
    finally:
        kept = {key: live["metadata"].get(key) for key in ("name", "namespace", "labels", "annotations")}
        body = {key: value for key, value in live.items() if key != "status"}
        custom.create_namespaced_custom_object(*_CONNECTORS, {**body, "metadata": kept})
        deployment.wait_ready(world.deployed.settings, READY_SECONDS)


def _expect_deleted(world: World, name: str) -> None:
    try:
        world.deployed.connector(name)
    except client.ApiException as error:
        if error.status == 404:
            return
        raise
    raise NotYetError(f"{name} exists")


@contextmanager
def _doubled(world: World, place: Place) -> Iterator[None]:
    """Somebody replicates a topic of the flow with another connector."""
    custom = client.CustomObjectsApi(world.deployed.api)
    name = "orders-source-by-hand"
    create_topics(world.east, {place.topic: 1})
    place.write(world.east, range(RECORDS))
    live = world.deployed.connector("orders-source")
    labels = {"strimzi.io/cluster": live["metadata"]["labels"]["strimzi.io/cluster"]}
    config = {key: value for key, value in live["spec"]["config"].items() if "offset-syncs" not in key}
    spec = {**live["spec"], "config": {**config, "topics": place.topic, "emit.offset-syncs.enabled": False}}
    body = {"apiVersion": live["apiVersion"], "kind": live["kind"], "spec": spec}
    custom.create_namespaced_custom_object(*_CONNECTORS, {**body, "metadata": {"name": name, "labels": labels}})
    try:
        expect_ends(world.west, {place.remote: 2 * RECORDS})
        yield
    finally:
        custom.delete_namespaced_custom_object(*_CONNECTORS, name)
        wait_for("it to be deleted", lambda: _expect_deleted(world, name), ARRIVAL_SECONDS)


def _without_source(make: Callable[[World, Place], None]) -> Making:
    """A change that the source connector would replicate, while it is stopped."""

    @contextmanager
    def making(world: World, place: Place) -> Iterator[None]:
        with world.source_stopped(place.flow):
            make(world, place)
            yield

    return making


def _behind(world: World, place: Place) -> None:
    create_topics(world.east, {place.topic: 1})
    place.write(world.east, range(RECORDS))


def _more(world: World, place: Place) -> None:
    admin = AdminClient(world.east.client_config(ADMIN))
    for future in admin.create_partitions([NewPartitions(place.topic, 2)]).values():
        future.result(CALL_SECONDS)
    place.write(world.east, range(10), partition=1)


def _owed(world: World, place: Place) -> None:
    place.write(world.east, range(RECORDS, 2 * RECORDS))


CONNECTOR_FAULTS = (
    Fault(
        "paused", "flow: the source connector is paused", FAIL, _stopping("orders", "orders-source", state="paused"),
        ("connector-stopped",), ("orders-source", "is paused by", "replicate resume local orders"),
    ),
    Fault(
        "owed", "100 records are produced while the source connector is stopped", FAIL, _without_source(_owed),
        ("not-replicated-yet", "connector-stopped"), ("100 records",), prepares=True,
    ),
    Fault(
        "behind-topic", "a new topic gets 100 records while the source connector is stopped", FAIL,
        _without_source(_behind), ("topic-not-replicated",), ("{topic}",), owns=True,
    ),
    Fault(
        "behind-partition", "a topic gains a partition while the source connector is stopped", FAIL,
        _without_source(_more), ("partitions-not-replicated",), ("{remote}",), prepares=True,
    ),
    Fault(
        "failing-task", "somebody adds a transform that fails to the source connector", FAIL, _failing,
        ("connector-failed",), ("orders-source", "task", "DataException"), owns=True,
    ),
    Fault(
        "header-by-hand", "somebody adds a transform that inserts a header to the source connector", FAIL,
        _adding_header, ("records-differ",), at("100 records of useast differ"), owns=True,
    ),
    Fault(
        "other-topics", "somebody gives the checkpoint connector another list of topics", FAIL,
        _new_group({"topics": "something-else"}), ("checkpoint-missing",), ("{group}", "{topic}-0"), owns=True,
    ),
    Fault(
        "other-groups", "somebody gives the checkpoint connector another list of groups", FAIL,
        _new_group({"groups": "something-else"}), ("checkpoint-missing",), ("{group}", "{topic}-0"), owns=True,
    ),
    Fault(
        "deleted-connector", "somebody deletes the KafkaConnector of the checkpoints", FAIL, _deleted,
        ("connector-missing",), ("orders-checkpoint", "replicate up local"),
    ),
    Fault(
        "second-connector", "somebody replicates a topic with a second source connector", FAIL, _doubled,
        ("records-repeated",), at("100 records are duplicates"), owns=True,
    ),
)  # fmt: skip
