"""The JAAS login module of each SASL mechanism, and the login module options that are known not to be secret.

Source: the classes LoginModule of org.apache.kafka.common.security, JaasConfig of Kafka.
"""

import re
from collections.abc import Mapping

_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"

#: By the value of `sasl.mechanism`.
LOGIN_MODULES: Mapping[str, str] = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": _SCRAM,
    "SCRAM-SHA-512": _SCRAM,
    "OAUTHBEARER": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule",
}

_CONTROL_FLAG = re.compile(r"^(?:required|requisite|sufficient|optional)\b", re.IGNORECASE)
#: Source: PlainLoginModule, ScramLoginModule, OAuthBearerLoginModule; Krb5LoginModule of the JDK; ClientConfig of
#: strimzi-kafka-oauth.
_NOT_SECRET = (
    *("username", "tokenauth", "clientId", "scope"),
    *("useKeyTab", "keyTab", "principal", "storeKey", "useTicketCache", "ticketCache", "renewTGT", "doNotPrompt"),
    *("serviceName", "debug", "refreshKrb5Config", "isInitiator"),
    *("oauth.client.id", "oauth.token.endpoint.uri", "oauth.scope", "oauth.audience"),
    *("oauth.ssl.truststore.location", "oauth.ssl.truststore.type"),
)
_VALUE = r"""(?:"[^"]*"|'[^']*'|[^\s;"'=,]+)"""
_HARMLESS = re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, _NOT_SECRET))})\s*=\s*{_VALUE}(?=[\s;]|$)")
_REFERENCE = re.compile(r"""(?<![\w.-])[\w.-]+\s*=\s*(["']?)(?:\$\{[^}]*\})+\1(?=[\s;]|$)""")


def may_hold_secret(jaas: str) -> bool:
    """Whether a line for a login module has text other than its class, references, and options known not to be secret.

    A module ignores an option that it does not know, so a misspelt password is still a password.
    """
    options = " ".join(jaas.split(maxsplit=1)[1:])
    for known in (_CONTROL_FLAG, _REFERENCE, _HARMLESS):
        options = known.sub("", options)
    return options.strip(" \t\n;") != ""
