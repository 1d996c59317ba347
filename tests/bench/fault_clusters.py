"""Faults of clusters: permissions, logins, silence, and foreign records in MirrorMaker's own topics."""

import base64
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event

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

from kafka_replication.components.contract.report import Verdict
from kafka_replication.infra.local.endpoints import ADMIN, Region
from kafka_replication.infra.local.traffic import create_topics
from tests.bench.fault_places import Place
from tests.bench.fault_rows import Fault, Making
from tests.bench.fault_stack import World
from tests.local.flows import suspended
from tests.spark.scenes import CALL_SECONDS, Headers, produce
from tests.topics import delete_topics

PASS, FAIL, ERROR = Verdict.PASS, Verdict.FAIL, Verdict.ERROR
_TOO_LONG = "payments-" + "x" * 240


def _suspended(part: str) -> Making:
    """Make a process accept connections and answer nothing, as if the network were broken."""

    @contextmanager
    def making(_: World, __: Place) -> Iterator[None]:
        with suspended(part):
            yield

    return making


@contextmanager
def _wrong_password(world: World, _: Place) -> Iterator[None]:
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


def acl(
    kind: str, pattern: str, name: str, operation: str, *, allow: bool, user: str = "mirror", host: str = "*"
) -> AclBinding:
    permission = AclPermissionType.ALLOW if allow else AclPermissionType.DENY
    pattern_type = ResourcePatternType[pattern]
    return AclBinding(ResourceType[kind], name, pattern_type, f"User:{user}", host, AclOperation[operation], permission)


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
def acl_changed(world: World, alias: str, binding: AclBinding, *, created: bool) -> Iterator[None]:
    """An ACL that somebody creates, or deletes."""
    region = world.deployed.endpoints.regions[alias]
    (_create if created else _delete)(region, binding)
    try:
        yield
    finally:
        (_delete if created else _create)(region, binding)


def denied(alias: str, kind: str, name: str, operation: str) -> Making:
    """An ACL that denies this to the connectors."""
    binding = acl(kind, "LITERAL", name, operation, allow=False)
    return lambda world, _: acl_changed(world, alias, binding, created=True)


def _without(alias: str, kind: str, pattern: str, name: str, operation: str, user: str = "mirror") -> Making:
    binding = acl(kind, pattern, name, operation, allow=True, user=user)
    return lambda world, _: acl_changed(world, alias, binding, created=False)


def _garbage(topic: str) -> Making:
    """Somebody repeatedly writes what MirrorMaker does not write. The records cannot be removed, and later validations
    read them. The job reads the newest heartbeats only, and all shapes together write more of them than one flow."""

    @contextmanager
    def making(world: World, _: Place) -> Iterator[None]:
        no_headers: Headers = []
        ended = Event()

        def write() -> None:
            done = False
            while not done:
                produce(world.west, topic, 0, [(b"who knows", b"what", world.began_ms, no_headers)])
                done = ended.wait(1)

        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(write)
            try:
                yield
            finally:
                ended.set()
        writing.result()

    return making


@contextmanager
def _too_long(world: World, place: Place) -> Iterator[None]:
    create_topics(world.east, {_TOO_LONG: 1})
    produce(world.east, _TOO_LONG, 0, place.rows(range(10)))
    try:
        yield
    finally:
        # Its tasks start again.
        with world.source_stopped("orders"):
            delete_topics(world.east, [_TOO_LONG])


CLUSTER_FAULTS = (
    Fault(
        "denied-write", "an ACL denies the connectors to write to a remote topic", FAIL,
        denied("uswest", "TOPIC", "useast.orders", "WRITE"), ("acl-denied",), ("useast.orders", "WRITE"),
    ),
    Fault(
        "no-read", "the connectors lose READ on a source topic", FAIL,
        _without("useast", "TOPIC", "LITERAL", "orders", "READ"),
        ("acl-missing",), ("orders", "READ", "--add --allow-principal User:mirror --operation Read --topic orders"),
    ),
    Fault(
        "no-groups", "the connectors lose DESCRIBE on the groups of the source", FAIL,
        _without("useast", "GROUP", "PREFIXED", "checkout-", "DESCRIBE"),
        ("acl-missing",), ("checkout-", "DESCRIBE", "--add --allow-principal User:mirror --operation Describe --group"),
    ),
    Fault(
        "acls-hidden", "the validation's user may not look at ACLs", ERROR,
        _without("useast", "BROKER", "LITERAL", "kafka-cluster", "DESCRIBE", "validator"),
        ("acls-not-visible",), ("useast", "DESCRIBE"),
    ),
    Fault("source-silent", "the source cluster does not answer", ERROR, _suspended("kafka-useast"),
          ("unreachable",), ("useast",)),
    Fault("target-silent", "the target cluster does not answer", ERROR, _suspended("kafka-uswest"),
          ("unreachable",), ("uswest",)),
    Fault("wrong-password", "the validation's password is wrong", ERROR, _wrong_password,
          ("login-refused",), ("useast",)),
    Fault(
        "name-too-long", "a topic whose remote name would have more than 249 characters", FAIL, _too_long,
        ("remote-name-too-long",), (_TOO_LONG, "249"), owns=True, only={"topics": (_TOO_LONG,)},
    ),
    Fault("garbage-checkpoints", "somebody writes something else to the checkpoints topic", ERROR,
          _garbage("useast.checkpoints.internal"), ("checkpoint-undecodable",), ("useast.checkpoints.internal",)),
    Fault("garbage-heartbeats", "somebody writes something else to the heartbeats topic", ERROR,
          _garbage("useast.heartbeats"), ("heartbeat-undecodable",), ("useast.heartbeats",)),
)  # fmt: skip
