"""Faults of whole flows: of their connectors, logins, permissions and clusters. Each is made and judged alone."""

import base64
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import psutil
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # not in its stubs
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from kubernetes import client

from infra.engine import deployment
from infra.local.endpoints import ADMIN, Region
from infra.local.state import load_state
from infra.local.traffic import create_topics, end_offsets
from infra.waiting import NotYetError, wait_for
from tests.bench.fault_world import Place, World, delete_topics, expect_ends
from tests.local.flows import ARRIVAL_SECONDS, READY_SECONDS
from tests.spark.scenes import CALL_SECONDS, Headers, produce

_HOIST = "org.apache.kafka.connect.transforms.HoistField$Value"
_FAILING = {"transforms": "hoist", "transforms.hoist.type": _HOIST, "transforms.hoist.field": "wrapped"}
_INSERT = "org.apache.kafka.connect.transforms.InsertHeader"
_ADDING = {
    "transforms": "add",
    "transforms.add.type": _INSERT,
    "transforms.add.header": "added",
    "transforms.add.value.literal": "null",
}
_STRIMZI = ("kafka.strimzi.io", "v1")
RECORDS = 100

Making = Callable[[World], AbstractContextManager[object]]


@dataclass(frozen=True)
class FlowFault:
    """A fault of a flow that lasts while the body of `making` runs, and what one finding must say of it."""

    name: str
    what: str
    flow: str
    codes: tuple[str, ...]
    words: tuple[str, ...]
    making: Making
    catch_up_seconds: float = 2


def connector_faults(world: World) -> Iterator[FlowFault]:
    """Each connector of each flow stopped alone, and all of a flow together, while nothing is owed and the other flows
    of the same direction run."""
    shapes = {
        "flow": ("orders",),
        "split": ("traffic-sales", "traffic-clicks", "traffic-logs"),
        "mirrorMaker2": ("stock",),
        "prefixlessPair": ("ledger-to-uswest", "ledger-to-useast"),
    }
    for shape, flows in shapes.items():
        for flow in flows:
            connectors = world.connectors(flow)
            for names in (connectors, *((each,) for each in connectors)):
                which = f"connector `{names[0]}` alone" if len(names) == 1 else f"every connector of `{flow}`"
                yield FlowFault(
                    f"stopped-{shape}-{'-'.join(names)}",
                    f"{shape}: {which} is stopped; nothing is owed, other flows go on",
                    flow,
                    ("connector-stopped",),
                    (*names, "is stopped", f"replicate resume local {flow}"),
                    partial(World.stopped, flow=flow, connectors=names),
                )


@contextmanager
def _edited(world: World, name: str, broken: Mapping[str, Any], topic: str = "") -> Iterator[None]:
    """A connector whose configuration somebody changes by hand; `topic` then gets records on the source."""
    mended = dict.fromkeys(broken)
    before = world.deployed.connector(name)["spec"]["config"]
    mended |= {key: before[key] for key in broken if key in before}
    world.deployed.edit_connector(name, {"config": broken})
    try:
        if topic:
            create_topics(world.east, {topic: 1})
            Place(world, topic.removeprefix("payments-")).write(world.east, range(RECORDS))
        yield
    finally:
        world.deployed.edit_connector(name, {"config": mended})
        if topic:
            delete_topics(world.east, [topic])
            delete_topics(world.west, [f"useast.{topic}"])
        deployment.wait_ready(world.deployed.settings, READY_SECONDS)


@contextmanager
def _adding_header(world: World) -> Iterator[None]:
    with _edited(world, "orders-source", _ADDING, "payments-header"):
        expect_ends(world.west, {"useast.payments-header": RECORDS})
        yield


@contextmanager
def _failing(world: World) -> Iterator[None]:
    with _edited(world, "orders-source", _FAILING, "payments-hoisted"):
        wait_for("a task to fail", lambda: _expect_failed(world, "orders-source"), ARRIVAL_SECONDS)
        yield


def _expect_failed(world: World, name: str) -> None:
    status = (world.deployed.connector(name).get("status") or {}).get("connectorStatus") or {}
    states = [task.get("state") for task in status.get("tasks") or []]
    if "FAILED" not in states:
        raise NotYetError(f"tasks {states}")


@contextmanager
def _new_group(world: World, edit: Mapping[str, Any], name: str) -> Iterator[None]:
    """A group that commits while the checkpoint connector has another configuration."""
    from tests.commits import commit

    place = Place(world, name)
    with _edited(world, "orders-checkpoint", edit, place.topic):
        expect_ends(world.west, {place.remote: RECORDS})
        commit(world.east, place.group, {(place.topic, 0): 60})
        yield


@contextmanager
def _deleted_connector(world: World, name: str) -> Iterator[None]:
    custom = client.CustomObjectsApi(world.deployed.api)
    place = (*_STRIMZI, "mirror-orders", "kafkaconnectors")
    live = world.deployed.connector(name)
    custom.delete_namespaced_custom_object(*place, name)
    wait_for("the connector to be deleted", lambda: _expect_deleted(world, name), ARRIVAL_SECONDS)
    try:
        yield
    finally:
        kept = {key: live["metadata"][key] for key in ("name", "namespace", "labels", "annotations")}
        custom.create_namespaced_custom_object(*place, {**live, "metadata": kept, "status": None})
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
def _second_connector(world: World) -> Iterator[None]:
    """Somebody replicates a topic of the flow with a connector of his own."""
    custom = client.CustomObjectsApi(world.deployed.api)
    place, name = (*_STRIMZI, "mirror-orders", "kafkaconnectors"), "orders-source-by-hand"
    own = Place(world, "second")
    create_topics(world.east, {own.topic: 1})
    own.write(world.east, range(RECORDS))
    live = world.deployed.connector("orders-source")
    labels = {"strimzi.io/cluster": live["metadata"]["labels"]["strimzi.io/cluster"]}
    config = {**live["spec"]["config"], "topics": own.topic, "emit.offset-syncs.enabled": False}
    spec = {**live["spec"], "config": {key: value for key, value in config.items() if "offset-syncs." not in key}}
    body = {"apiVersion": "/".join(_STRIMZI), "kind": "KafkaConnector", "spec": spec}
    custom.create_namespaced_custom_object(*place, {**body, "metadata": {"name": name, "labels": labels}})
    try:
        expect_ends(world.west, {own.remote: 2 * RECORDS})
        yield
    finally:
        custom.delete_namespaced_custom_object(*place, name)
        wait_for("it to be deleted", lambda: _expect_deleted(world, name), ARRIVAL_SECONDS)
        delete_topics(world.east, [own.topic])
        delete_topics(world.west, [own.remote])


@contextmanager
def _suspended(_: World, part: str) -> Iterator[None]:
    """A process that takes connections and answers nothing, as behind a broken network."""
    process = psutil.Process(load_state().parts[part].pid)
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


@contextmanager
def _wrong_password(world: World) -> Iterator[None]:
    (flow,) = (each for each in world.deployed.document["flows"] if each["name"] == "orders")
    place = flow["source"]["authentication"]["password"]["secret"]
    secret, key = place["name"], place["key"]
    core = client.CoreV1Api(world.deployed.api)
    before = (core.read_namespaced_secret(secret, "mirror-orders").data or {})[key]
    wrong = base64.b64encode(b"wrong").decode()
    core.patch_namespaced_secret(secret, "mirror-orders", {"data": {key: wrong}})
    try:
        yield
    finally:
        core.patch_namespaced_secret(secret, "mirror-orders", {"data": {key: before}})


def _acl(kind: str, pattern: str, name: str, operation: str, *, allow: bool, user: str) -> AclBinding:
    permission = AclPermissionType.ALLOW if allow else AclPermissionType.DENY
    pattern_type = ResourcePatternType[pattern]
    return AclBinding(ResourceType[kind], name, pattern_type, f"User:{user}", "*", AclOperation[operation], permission)


def _create(region: Region, binding: AclBinding) -> None:
    admin = AdminClient(region.client_config(ADMIN))
    for future in admin.create_acls([binding]).values():
        future.result(CALL_SECONDS)


def _delete(region: Region, each: AclBinding) -> None:
    wanted = AclBindingFilter(
        each.restype, each.name, each.resource_pattern_type, each.principal, each.host, each.operation,
        each.permission_type,
    )  # fmt: skip
    admin = AdminClient(region.client_config(ADMIN))
    for future in admin.delete_acls([wanted]).values():
        assert future.result(CALL_SECONDS), f"no such ACL: {each}"


@contextmanager
def _acl_changed(world: World, alias: str, binding: AclBinding, *, created: bool) -> Iterator[None]:
    """An ACL that somebody creates, or deletes."""
    region = world.deployed.endpoints.regions[alias]
    (_create if created else _delete)(region, binding)
    try:
        yield
    finally:
        (_delete if created else _create)(region, binding)


def _denied(alias: str, kind: str, name: str, operation: str) -> Making:
    binding = _acl(kind, "LITERAL", name, operation, allow=False, user="mirror")
    return lambda world: _acl_changed(world, alias, binding, created=True)


def _without(alias: str, kind: str, pattern: str, name: str, operation: str, user: str = "mirror") -> Making:
    binding = _acl(kind, pattern, name, operation, allow=True, user=user)
    return lambda world: _acl_changed(world, alias, binding, created=False)


@contextmanager
def _stopped_and(world: World, then: Callable[[World], None], undo: Callable[[World], None]) -> Iterator[None]:
    with world.stopped("orders", ["orders-source"]):
        then(world)
        yield
    undo(world)


def _behind(world: World) -> None:
    place = Place(world, "behind")
    create_topics(world.east, {place.topic: 1})
    place.write(world.east, range(RECORDS))


def _new_partitions(world: World) -> None:
    from confluent_kafka.admin import NewPartitions  # type: ignore[attr-defined]  # not in its stubs

    admin = AdminClient(world.east.client_config(ADMIN))
    known = len(end_offsets(world.east, ["payments-refunds"]))
    for future in admin.create_partitions([NewPartitions("payments-refunds", known + 1)]).values():
        future.result(CALL_SECONDS)
    Place(world, "refunds").write(world.east, range(10), partition=known)


def _remove(name: str) -> Callable[[World], None]:
    def undo(world: World) -> None:
        place = Place(world, name)
        delete_topics(world.east, [place.topic])
        delete_topics(world.west, [place.remote])

    return undo


@contextmanager
def _garbage(world: World, topic: str) -> Iterator[None]:
    no_headers: Headers = []
    produce(world.west, topic, 0, [(b"who knows", b"what", world.began_ms, no_headers)])
    yield


_TOO_LONG = "payments-" + "x" * 240


@contextmanager
def _too_long(world: World) -> Iterator[None]:
    create_topics(world.east, {_TOO_LONG: 1})
    produce(world.east, _TOO_LONG, 0, Place(world, "long").rows(range(10)))
    try:
        yield
    finally:
        delete_topics(world.east, [_TOO_LONG])


def _stopping(state: str, *connectors: str) -> Making:
    return lambda world: world.stopped("orders", connectors, state)


#: Those that may leave a trace come last.
FLOW_FAULTS: Sequence[FlowFault] = (
    FlowFault(
        "paused",
        "the source connector is paused",
        "orders",
        ("connector-stopped",),
        ("orders-source", "is paused", "replicate resume local orders"),
        _stopping("paused", "orders-source"),
    ),
    FlowFault(
        "behind-topic",
        "a new topic gets 100 records while the source connector is stopped",
        "orders",
        ("topic-not-replicated", "not-discovered-yet"),
        ("payments-behind",),
        lambda world: _stopped_and(world, _behind, _remove("behind")),
    ),
    FlowFault(
        "behind-partitions",
        "a topic gains a partition while the source connector is stopped",
        "orders",
        ("partitions-not-replicated", "not-discovered-yet"),
        ("payments-refunds has",),
        lambda world: _stopped_and(world, _new_partitions, lambda _: None),
    ),
    FlowFault(
        "failing-task",
        "somebody adds a transform that fails to the source connector",
        "orders",
        ("connector-failed",),
        ("orders-source", "task", "DataException"),
        _failing,
    ),
    FlowFault(
        "header-by-hand",
        "somebody adds a transform that inserts a header to the source connector",
        "orders",
        ("records-differ",),
        ("payments-header: 100 records of useast differ", "replicate diff"),
        _adding_header,
    ),
    FlowFault(
        "other-topics",
        "somebody gives the checkpoint connector another list of topics",
        "orders",
        ("checkpoint-missing",),
        ("checkout-unlisted on payments-unlisted-0",),
        lambda world: _new_group(world, {"topics": "something-else"}, "unlisted"),
    ),
    FlowFault(
        "other-groups",
        "somebody gives the checkpoint connector another list of groups",
        "orders",
        ("checkpoint-missing",),
        ("checkout-ungrouped on payments-ungrouped-0",),
        lambda world: _new_group(world, {"groups": "something-else"}, "ungrouped"),
    ),
    FlowFault(
        "deleted-connector",
        "somebody deletes the KafkaConnector of the checkpoints",
        "orders",
        ("connector-missing",),
        ("orders-checkpoint", "does not exist", "replicate up local"),
        lambda world: _deleted_connector(world, "orders-checkpoint"),
    ),
    FlowFault(
        "second-connector",
        "somebody replicates a topic with a second source connector",
        "orders",
        ("records-repeated",),
        ("payments-second: 100 records are duplicates", "two connectors"),
        _second_connector,
    ),
    FlowFault(
        "denied-write",
        "an ACL denies the connectors to write to a remote topic",
        "orders",
        ("acl-denied",),
        ("useast.orders", "WRITE"),
        _denied("uswest", "TOPIC", "useast.orders", "WRITE"),
    ),
    FlowFault(
        "no-read",
        "the connectors lose READ on a source topic",
        "orders",
        ("acl-missing",),
        ("orders", "READ", "replicate acls local"),
        _without("useast", "TOPIC", "LITERAL", "orders", "READ"),
    ),
    FlowFault(
        "no-groups",
        "the connectors lose DESCRIBE on the groups of the source",
        "orders",
        ("acl-missing",),
        ("checkout-", "DESCRIBE", "replicate acls local"),
        _without("useast", "GROUP", "PREFIXED", "checkout-", "DESCRIBE"),
    ),
    FlowFault(
        "acls-hidden",
        "the validation's user may not look at ACLs",
        "orders",
        ("acls-not-visible",),
        ("useast", "DESCRIBE"),
        _without("useast", "BROKER", "LITERAL", "kafka-cluster", "DESCRIBE", "validator"),
    ),
    FlowFault(
        "source-silent",
        "the source cluster does not answer",
        "orders",
        ("unreachable",),
        ("useast",),
        lambda world: _suspended(world, "kafka-useast"),
    ),
    FlowFault(
        "target-silent",
        "the target cluster does not answer",
        "orders",
        ("unreachable",),
        ("uswest",),
        lambda world: _suspended(world, "kafka-uswest"),
    ),
    FlowFault(
        "wrong-password",
        "the validation's password is wrong",
        "orders",
        ("login-refused",),
        ("useast",),
        _wrong_password,
    ),
    FlowFault(
        "garbage-checkpoints",
        "somebody writes something else to the checkpoints topic",
        "orders",
        ("checkpoint-undecodable",),
        ("1 records of useast.checkpoints.internal",),
        lambda world: _garbage(world, "useast.checkpoints.internal"),
    ),
    FlowFault(
        "garbage-heartbeats",
        "somebody writes something else to the heartbeats topic",
        "orders",
        ("heartbeat-undecodable",),
        ("1 records of",),
        lambda world: _garbage(world, "useast.heartbeats"),
    ),
    FlowFault(
        "name-too-long",
        "a topic whose remote name would have more than 249 characters",
        "orders",
        ("remote-name-too-long",),
        ("249",),
        _too_long,
    ),
)
