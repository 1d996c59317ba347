"""The JAAS login module of each SASL mechanism. Source: the classes LoginModule of org.apache.kafka.common.security."""

from collections.abc import Mapping

_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"

#: By the value of `sasl.mechanism`.
LOGIN_MODULES: Mapping[str, str] = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": _SCRAM,
    "SCRAM-SHA-512": _SCRAM,
    "OAUTHBEARER": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule",
}
