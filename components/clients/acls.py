"""Reads the ACLs and SCRAM users of one Kafka cluster."""

from collections.abc import Collection
from typing import Any

from confluent_kafka import KafkaError
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # not re-exported by its stubs
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ConfigResource,
    ResourcePatternType,
    ResourceType,
    ScramMechanism,
)

from kafka_replication.components.clients.admin import ClusterAdmin
from kafka_replication.components.kafka.acls import AclEntry

_AUTHORIZER = "authorizer.class.name"
_ANY: Any = None  # The client's stubs do not know that this means every name.


class AclAdmin(ClusterAdmin):
    """Reads the cluster's ACLs. A login without DESCRIBE on the cluster is refused."""

    def acls(self, principals: Collection[str]) -> list[AclEntry]:
        """Return every ACL that names one of `principals`; needs DESCRIBE on the cluster."""
        return [entry for principal in sorted(principals) for entry in self._acls(principal=principal)]

    def topic_acls(self, pattern: ResourcePatternType = ResourcePatternType.LITERAL) -> list[AclEntry]:
        """Return every ACL of one topic by its name, or by another pattern; needs DESCRIBE on the cluster."""
        return self._acls(ResourceType.TOPIC, pattern=pattern)

    def every_acl(self) -> list[AclEntry]:
        """Return every ACL; needs DESCRIBE on the cluster."""
        return self._acls()

    def scram_mechanisms(self) -> dict[str, frozenset[str]]:
        """Return the mechanisms of each user's SCRAM credentials; needs DESCRIBE on the cluster."""
        if AclOperation.DESCRIBE not in (self._described_cluster().authorized_operations or ()):
            # librdkafka ends the process if a broker refuses this question (confluent-kafka 2.16).
            refused = KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED)
            raise self._errors.error("SCRAM users could not be asked", refused)
        asked: Any = self._admin.describe_user_scram_credentials(request_timeout=self._seconds)
        users = self._result("SCRAM users", asked)
        return {
            name: frozenset(
                ScramMechanism(info.mechanism).name.replace("_", "-") for info in described.scram_credential_infos
            )
            for name, described in users.items()
        }

    def has_acl(self, resource: str, name: str) -> bool:
        """Return whether any ACL applies to the resource, by its name, a prefix or a wildcard."""
        return bool(self._acls(ResourceType[resource], name, ResourcePatternType.MATCH))

    def may_change_acls(self) -> bool:
        """Return whether the user has the right to change ACLs."""
        return AclOperation.ALTER in (self._described_cluster().authorized_operations or ())

    def _acls(
        self,
        resource: ResourceType = ResourceType.ANY,
        name: str = _ANY,
        pattern: ResourcePatternType = ResourcePatternType.ANY,
        principal: str = _ANY,
    ) -> list[AclEntry]:
        wanted = AclBindingFilter(resource, name, pattern, principal, _ANY, AclOperation.ANY, AclPermissionType.ANY)
        asked = self._admin.describe_acls(wanted, request_timeout=self._seconds)
        bindings = self._result("ACLs", asked)
        if not bindings:
            self._require_acls_are_shown()
        return [_acl_entry(binding) for binding in bindings]

    def _require_acls_are_shown(self) -> None:
        """Raise the refusal that librdkafka drops: a user without DESCRIBE, or of a cluster without an authorizer, gets
        an empty list.
        """
        cluster = self._described_cluster()
        rights = cluster.authorized_operations or ()
        reason = None
        if AclOperation.DESCRIBE not in rights:
            reason = KafkaError.CLUSTER_AUTHORIZATION_FAILED
        elif AclOperation.DESCRIBE_CONFIGS in rights:
            broker = str(cluster.nodes[0].id)
            authorizer = self._configs(ConfigResource.Type.BROKER, [broker])[broker].get(_AUTHORIZER)
            if authorizer is not None and not authorizer.value:
                reason = KafkaError.SECURITY_DISABLED
        if reason is not None:
            raise self._errors.error("ACLs could not be asked", KafkaError(reason))


def _acl_entry(binding: AclBinding) -> AclEntry:
    return AclEntry(
        binding.principal,
        ResourceType(binding.restype).name,
        ResourcePatternType(binding.resource_pattern_type).name,
        binding.name,
        AclOperation(binding.operation).name,
        AclPermissionType(binding.permission_type).name,
        binding.host,
    )
