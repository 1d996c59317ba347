"""Which input properties may hold a secret. Those that may are neither written nor printed."""

import functools
import re

from components.checks.property_values import is_open_credential
from components.kafka.connections import may_hold_secret
from components.properties.definitions import Owner, definitions, supported_versions

_JAAS = "sasl.jaas.config"
#: The part of a key that concerns a login, after any client prefixes.
_LOGIN = re.compile(r"(?:^|\.)((?:sasl|ssl\.(?:keystore|truststore|key))\..+)$", re.IGNORECASE)
_REFERENCE = re.compile(r"\$\{[^}]*\}")
_OWNERS = (Owner.CLUSTER, Owner.CONSUMER, Owner.PRODUCER, Owner.ADMIN, Owner.WORKER)


def may_be_secret(key: str, value: object) -> bool:
    """Whether a value is, contains or may contain a secret: options of login modules that are not known to be harmless,
    and logins' properties that Kafka does not define, such as a misspelt `ssl.keystore.pasword`.
    """
    text = str(value)
    if is_open_credential(key, text):
        return True
    if key.endswith(_JAAS):
        return may_hold_secret(text)
    login = _LOGIN.search(key)
    return login is not None and login[1] not in _defined() and _REFERENCE.sub("", text).strip(" \"'") != ""


@functools.cache
def _defined() -> frozenset[str]:
    return frozenset(
        name for version in supported_versions() for owner in _OWNERS for name in definitions(version, owner)
    )
