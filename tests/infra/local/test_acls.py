"""ACLs for Kafka's client. Without these tests only a running region would find a word that Kafka does not know."""

from typing import Literal

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # its stubs do not re-export them
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from kafka_replication.components.render.flow_acls import Acl
from kafka_replication.infra.local.acls import bindings, standing_acls


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        pytest.param("literal", ResourcePatternType.LITERAL, id="a whole name"),
        pytest.param("prefixed", ResourcePatternType.PREFIXED, id="the beginning of names"),
    ],
)
def test_each_operation_becomes_its_own_acl_binding(
    pattern: Literal["literal", "prefixed"], expected: ResourcePatternType
) -> None:
    acl = Acl("useast", "User:mirror", "topic", pattern, "orders", ("READ", "DESCRIBE_CONFIGS"))
    made = bindings(acl)
    assert [AclOperation(each.operation) for each in made] == [AclOperation.READ, AclOperation.DESCRIBE_CONFIGS]
    assert {(each.restype, each.name, each.resource_pattern_type) for each in made} == {
        (ResourceType.TOPIC, "orders", expected)
    }
    assert {(each.principal, each.host, each.permission_type) for each in made} == {
        ("User:mirror", "*", AclPermissionType.ALLOW)
    }


def test_only_the_validator_and_the_app_have_standing_acls() -> None:
    assert {acl.principal for acl in standing_acls("useast")} == {"User:validator", "User:app"}
    assert {acl.cluster for acl in standing_acls("useast")} == {"useast"}


def test_the_validation_job_may_change_nothing() -> None:
    acls = [acl for acl in standing_acls("useast") if acl.principal == "User:validator"]
    assert {operation for acl in acls for operation in acl.operations} == {"READ", "DESCRIBE", "DESCRIBE_CONFIGS"}
