"""Secrets of our making: the credentials that the stack's configuration holds. Only keys are here, never values."""

from components.clusters import ConfigValue
from components.naming import Side, namespace_name, secret_name, validation_secret_name
from components.resolved import ResolvedFlow, config_secrets, validation_config_secrets
from components.specs.planned import PlannedObject, Role, manifest

_SIDES: tuple[Side, ...] = ("source", "target")
_CONNECTOR_ROLES = {"source": Role.SOURCE_CREDENTIALS, "target": Role.TARGET_CREDENTIALS}
_VALIDATION_ROLES = {"source": Role.SOURCE_VALIDATION, "target": Role.TARGET_VALIDATION}


def secret_objects(resolved: ResolvedFlow) -> list[PlannedObject]:
    """Secrets for the connectors and for the validation job, where the configuration holds their values."""
    return [planned for side in _SIDES for planned in cluster_secrets(resolved, side)]


def cluster_secrets(resolved: ResolvedFlow, side: Side) -> list[PlannedObject]:
    """Secrets with the credentials of one of a flow's clusters."""
    cluster, owner = resolved.cluster(side), resolved.secrets_owner(side)
    validation = validation_secret_name(owner, side)
    return [
        *_secret(resolved, _CONNECTOR_ROLES[side], secret_name(owner, side), config_secrets(cluster)),
        *_secret(resolved, _VALIDATION_ROLES[side], validation, validation_config_secrets(cluster)),
    ]


def _secret(resolved: ResolvedFlow, role: Role, name: str, values: dict[str, ConfigValue]) -> list[PlannedObject]:
    if not values:
        return []
    body = manifest("v1", "Secret", name, namespace_name(resolved.workers, resolved.flow), resolved.name, type="Opaque")
    return [PlannedObject(role, body, secret_values={key: value.config for key, value in values.items()})]
