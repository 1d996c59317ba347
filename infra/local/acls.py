"""Gives Kafka users what they may do. Which ACLs a flow needs is not decided here but in components/specs/acls.py."""

from collections.abc import Iterable
from concurrent.futures import Future

from confluent_kafka import KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # its stubs do not re-export them
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from components.specs.acls import CLUSTER_NAME, Acl
from infra.local.endpoints import Region
from infra.local.errors import LocalStackError
from infra.local.users import ADMIN, APP, VALIDATOR

DEADLINE_SECONDS = 20.0


def apply_acls(region: Region, acls: Iterable[Acl]) -> None:
    """Create those of `acls` that are meant for the region; those that exist already stay as they are.

    Raises LocalStackError if the region refuses one.
    """
    wanted = [binding for acl in acls if acl.cluster == region.alias for binding in bindings(acl)]
    if not wanted:
        return
    admin = AdminClient(region.client_config(ADMIN))
    for binding, future in admin.create_acls(wanted, request_timeout=DEADLINE_SECONDS).items():
        _finish(future, f"create {_told(binding)} on {region.alias}")


def standing_acls(alias: str) -> tuple[Acl, ...]:
    """What the users beside the flows may do: the validation job reads everything, the traffic's clients also write."""
    validator, app = f"User:{VALIDATOR}", f"User:{APP}"
    return (
        Acl(alias, validator, "topic", "literal", "*", ("READ", "DESCRIBE", "DESCRIBE_CONFIGS")),
        Acl(alias, validator, "group", "literal", "*", ("DESCRIBE",)),
        # To see the flows' ACLs, and whether the brokers let everyone use what has none.
        Acl(alias, validator, "cluster", "literal", CLUSTER_NAME, ("DESCRIBE", "DESCRIBE_CONFIGS")),
        Acl(alias, app, "topic", "literal", "*", ("READ", "WRITE", "CREATE", "DESCRIBE", "DELETE")),
        Acl(alias, app, "group", "literal", "*", ("READ", "DESCRIBE")),
    )


def bindings(acl: Acl) -> list[AclBinding]:
    """The ACL as Kafka keeps it: one binding an operation, allowed from any host."""
    pattern = ResourcePatternType[acl.pattern.upper()]
    # librdkafka's word for the cluster is that of the brokers' resource.
    resource = ResourceType["BROKER" if acl.resource == "cluster" else acl.resource.upper()]
    return [
        AclBinding(resource, acl.name, pattern, acl.principal, "*", AclOperation[operation], AclPermissionType.ALLOW)
        for operation in acl.operations
    ]


def _told(binding: AclBinding) -> str:
    operation, resource = AclOperation(binding.operation), ResourceType(binding.restype)
    return f"the ACL {operation.name} on {resource.name} {binding.name} for {binding.principal}"


def _finish(future: "Future[object]", what: str) -> None:
    try:
        future.result(DEADLINE_SECONDS)
    except (KafkaException, TimeoutError) as error:
        raise LocalStackError(
            f"could not {what}: {error}", "see that the region runs (`replicate local status`) and run it again"
        ) from error
