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
    found: list[PlannedObject] = []
    for side in _SIDES:
        cluster = resolved.cluster(side)
        found += _secret(resolved, _CONNECTOR_ROLES[side], secret_name(resolved.name, side), config_secrets(cluster))
        name = validation_secret_name(resolved.name, side)
        found += _secret(resolved, _VALIDATION_ROLES[side], name, validation_config_secrets(cluster))
    return found


def _secret(resolved: ResolvedFlow, role: Role, name: str, values: dict[str, ConfigValue]) -> list[PlannedObject]:
    if not values:
        return []
    body = manifest("v1", "Secret", name, namespace_name(resolved.workers, resolved.flow), resolved.name, type="Opaque")
    return [PlannedObject(role, body, secret_values={key: value.config for key, value in values.items()})]
