"""Grants ACLs to Kafka users, and repeats requests to Kafka while a broker, leader or coordinator still starts."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # its stubs do not re-export them
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.render.flow_acls import Acl, validation_acls
from kafka_replication.infra.local.endpoints import ADMIN, APP, VALIDATOR, Region
from kafka_replication.infra.machine.waiting import DeadlineError, NotYetError, wait_for

T = TypeVar("T")
#: How long Kafka may take to answer one request, and how long a transient error may last.
REQUEST_SECONDS = DEADLINE_SECONDS = 60.0
#: Codes of errors that go away by themselves. A broker answers UNKNOWN_TOPIC_OR_PART for a topic that it has just
#: created. All of them are safe to repeat: a request with such an answer had no effect.
TRANSIENT = {
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NETWORK_EXCEPTION,
    KafkaError.NOT_CONTROLLER,
    KafkaError.NOT_COORDINATOR,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._WAIT_COORD,
}


def retried(call: Callable[[], T], deadline_seconds: float = DEADLINE_SECONDS) -> T:
    """Return the answer of `call`, repeated until the deadline while it raises a transient KafkaException."""
    seen: list[KafkaException] = []

    def probe() -> T:
        try:
            return call()
        except KafkaException as error:
            if error.args[0].code() not in TRANSIENT:
                raise
            seen.append(error)
            raise NotYetError(str(error)) from error

    try:
        return wait_for("Kafka", probe, deadline_seconds)
    except DeadlineError as late:
        raise seen[-1] from late


def retried_all(request: Callable[[], Mapping[Any, "Future[Any]"]]) -> None:
    """Wait for every answer to a request, which is repeated as a whole. Raises KafkaException and TimeoutError."""

    def call() -> None:
        for future in request().values():
            future.result(REQUEST_SECONDS)

    retried(call)


def apply_acls(region: Region, acls: Iterable[Acl]) -> None:
    """Create those of the ACLs that belong to the region; existing ones stay as they are. Raises CannotRunError."""
    wanted = [binding for acl in acls if acl.cluster == region.alias for binding in bindings(acl)]
    if not wanted:
        return
    admin = AdminClient(region.client_config(ADMIN))
    try:
        retried_all(lambda: admin.create_acls(wanted, request_timeout=REQUEST_SECONDS))
    except (KafkaException, TimeoutError) as error:
        what = f"could not create the ACLs {', '.join(map(_text, wanted))}: {error}"
        why = "Kafka refused one or did not answer in time."
        remedy = "check that the region is running (`replicate local status`) and try again"
        raise CannotRunError("kafka-refused", what, region.alias, why, remedy) from error


def standing_acls(alias: str) -> tuple[Acl, ...]:
    """Return the ACLs of users that belong to no flow: the validation job's and the traffic clients'."""
    app = f"User:{APP}"
    return (
        *validation_acls(alias, f"User:{VALIDATOR}"),
        Acl(alias, app, "topic", "literal", "*", ("READ", "WRITE", "CREATE", "DESCRIBE", "DELETE")),
        Acl(alias, app, "group", "literal", "*", ("READ", "DESCRIBE")),
    )


def bindings(acl: Acl) -> list[AclBinding]:
    """Return the ACL as Kafka stores it: one binding for each operation, allowed from any host."""
    pattern = ResourcePatternType[acl.pattern.upper()]
    # librdkafka calls the cluster resource BROKER.
    resource = ResourceType["BROKER" if acl.resource == "cluster" else acl.resource.upper()]
    return [
        AclBinding(resource, acl.name, pattern, acl.principal, "*", AclOperation[operation], AclPermissionType.ALLOW)
        for operation in acl.operations
    ]


def _text(binding: AclBinding) -> str:
    operation, resource = AclOperation(binding.operation), ResourceType(binding.restype)
    return f"{operation.name} on {resource.name} {binding.name} for {binding.principal}"
