"""How Kafka's clients read bootstrap addresses and login modules.

Source: ConfigDef.Type.LIST, ClientUtils.parseAndValidateAddresses, Utils.getHost and Utils.getPort; the classes
LoginModule of org.apache.kafka.common.security, JaasConfig.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

_SERVER = re.compile(
    r"(?P<scheme>[0-9a-zA-Z\-%._]*://)?(?:\[(?P<ip6>[0-9a-zA-Z%._:]+)\]|(?P<name>[0-9a-zA-Z\-%._]+)):(?P<port>[0-9]+)"
)
_HIGHEST_PORT = 2**16 - 1
#: The first version whose clients refuse an empty entry. Source: ConfigDef.ValidList.anyNonDuplicateValues.
_NO_EMPTY_ENTRY_SINCE = (4, 2)


@dataclass(frozen=True)
class Server:
    """One server of a bootstrap address. Clients accept a scheme such as `SASL_SSL://`, and ignore it."""

    host: str
    port: int
    scheme: str = ""


def server(text: str) -> Server | None:
    """Read one server of an address; None if clients refuse it or cannot connect to it, such as port 0. Clients take
    everything after the last colon as the port, so an IPv6 address needs brackets: `[::1]:9092`.
    """
    match = _SERVER.fullmatch(text)
    if match is None or not 0 < int(match["port"]) <= _HIGHEST_PORT:
        return None
    return Server((match["ip6"] or match["name"]).lower(), int(match["port"]), match["scheme"] or "")


def servers(address: str) -> dict[str, Server | None]:
    """Read a bootstrap address: each of its servers by its text, with None for one that clients refuse."""
    return {text: server(text) for text in entries(address) if text}


def entries(address: str) -> list[str]:
    """Return the entries of a bootstrap address, also empty and repeated ones. Source: ConfigDef.parseType."""
    return [text.strip() for text in address.split(",")]


def refuses_empty_entries(kafka: str) -> bool:
    """Return whether clients of a version such as `4.2` refuse `a:1,`; all of them use a repeated entry once."""
    major, minor = kafka.split(".")[:2]
    return (int(major), int(minor)) >= _NO_EMPTY_ENTRY_SINCE


def is_ip6(text: str) -> bool:
    """Return whether a text without brackets is an IPv6 address, perhaps with a port at its end."""
    return text.count(":") > 1 and set(text) <= set("0123456789abcdefABCDEF:.")


_KAFKA_SECURITY = "org.apache.kafka.common.security."
_SCRAM = f"{_KAFKA_SECURITY}scram.ScramLoginModule"

#: By the value of `sasl.mechanism`.
LOGIN_MODULES: Mapping[str, str] = {
    "PLAIN": f"{_KAFKA_SECURITY}plain.PlainLoginModule",
    "SCRAM-SHA-256": _SCRAM,
    "SCRAM-SHA-512": _SCRAM,
    "OAUTHBEARER": f"{_KAFKA_SECURITY}oauthbearer.OAuthBearerLoginModule",
}


def login_module(mechanism: str, **options: str) -> str:
    """Return the value of `sasl.jaas.config` for a login by a mechanism."""
    quoted = "".join(f' {key}="{value}"' for key, value in options.items())
    return f"{LOGIN_MODULES[mechanism]} required{quoted};"


_OAUTH, _IAM = f"{_KAFKA_SECURITY}oauthbearer.", "software.amazon.msk.auth.iam."
#: Well-known login modules and callback handlers -> the mechanisms for which they log in. Source: the classes, and the
#: guides of their vendors; the one without a package is Azure's sample for Event Hubs.
LOGIN_CLASSES: Mapping[str, tuple[str, ...]] = {
    LOGIN_MODULES["PLAIN"]: ("PLAIN",),
    _SCRAM: ("SCRAM-SHA-256", "SCRAM-SHA-512"),
    **dict.fromkeys(
        (f"com.{vendor}.security.auth.module.Krb5LoginModule" for vendor in ("sun", "ibm")),
        ("GSSAPI",),
    ),
    f"{_KAFKA_SECURITY}authenticator.SaslClientCallbackHandler": ("GSSAPI", *LOGIN_MODULES),
    **dict.fromkeys((f"{_IAM}IAMLoginModule", f"{_IAM}IAMClientCallbackHandler"), ("AWS_MSK_IAM",)),
    **dict.fromkeys(
        (
            *(LOGIN_MODULES["OAUTHBEARER"], f"{_OAUTH}OAuthBearerLoginCallbackHandler"),
            f"{_OAUTH}secured.OAuthBearerLoginCallbackHandler",
            f"{_OAUTH}internals.unsecured.OAuthBearerUnsecuredLoginCallbackHandler",
            "io.strimzi.kafka.oauth.client.JaasClientOauthLoginCallbackHandler",
            f"{_IAM}IAMOAuthBearerLoginCallbackHandler",
            "com.google.cloud.hosted.kafka.auth.GcpLoginCallbackHandler",
            "io.confluent.kafka.clients.plugins.auth.token.TokenUserLoginCallbackHandler",
            "CustomAuthenticateCallbackHandler",
        ),
        ("OAUTHBEARER",),
    ),
}
_ANY = (0, 0)


class MissingSince(NamedTuple):
    """The first version of Strimzi, and of Kafka, whose image does not have a class, and what replaces it."""

    strimzi: tuple[int, int] = _ANY
    kafka: tuple[int, int] = _ANY
    instead: str = ""


#: Well-known classes that Strimzi's images do not have. Source: strimzi-kafka-operator, docker-images/artifacts and
#: pull request 10923; kafka-clients 3.9 and 4.0.
NOT_IN_IMAGES: Mapping[str, MissingSince] = {
    "io.strimzi.kafka.connect.mirror.IdentityReplicationPolicy": MissingSince((0, 46), _ANY, "remove `policyClass`"),
    "com.amazonaws.kafka.samples.CustomMM2ReplicationPolicy": MissingSince(instead="remove `policyClass`"),
    f"{_OAUTH}secured.OAuthBearerLoginCallbackHandler": MissingSince(
        _ANY, (4, 0), f"set it to `{_OAUTH}OAuthBearerLoginCallbackHandler`"
    ),
    **dict.fromkeys(
        (f"org.apache.kafka.clients.producer.{name}Partitioner" for name in ("internals.Default", "UniformSticky")),
        MissingSince(kafka=(4, 0), instead="remove it"),
    ),
    **{
        name: MissingSince()
        for name in LOGIN_CLASSES
        if not name.startswith(("org.apache.", "com.sun.", "io.strimzi."))
    },
}


def login_classes(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the classes that client properties name for a login, each with its property; references are left out."""
    keys = ("sasl.jaas.config", "sasl.login.callback.handler.class", "sasl.client.callback.handler.class")
    named = {(properties.get(key, "").split() or [""])[0].rstrip(";"): key for key in keys}
    return {name: key for name, key in named.items() if name and "${" not in name}


_CONTROL_FLAG = re.compile(r"^(?:required|requisite|sufficient|optional)\b", re.IGNORECASE)
#: Source: PlainLoginModule, ScramLoginModule, OAuthBearerLoginModule; Krb5LoginModule of the JDK; ClientConfig of
#: strimzi-kafka-oauth; MSKCredentialProvider of aws-msk-iam-auth.
_NOT_SECRET = (
    *("username", "tokenauth", "clientId", "scope"),
    *("useKeyTab", "keyTab", "principal", "storeKey", "useTicketCache", "ticketCache", "renewTGT", "doNotPrompt"),
    *("serviceName", "debug", "refreshKrb5Config", "isInitiator"),
    *("oauth.client.id", "oauth.token.endpoint.uri", "oauth.scope", "oauth.audience"),
    *("oauth.ssl.truststore.location", "oauth.ssl.truststore.type"),
    *("awsProfileName", "awsRoleArn", "awsRoleSessionName", "awsStsRegion", "awsDebugCreds"),
    *("awsMaxRetries", "awsMaxBackOffTimeMs"),
)
_VALUE = r"""(?:"[^"]*"|'[^']*'|[^\s;"'=,]+)"""
_HARMLESS = re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, _NOT_SECRET))})\s*=\s*{_VALUE}(?=[\s;]|$)")
_REFERENCE = re.compile(r"""(?<![\w.-])[\w.-]+\s*=\s*(["']?)(?:\$\{[^}]*\})+\1(?=[\s;]|$)""")
#: Nothing but references, as where a Secret holds the whole line.
_REFERENCE_ALONE = re.compile(r"(\$\{[^}]*\})*")


def may_hold_secret(jaas: str) -> bool:
    """Return whether a line for a login module has text other than its class, references, and options known not to be
    secret.

    A module ignores an option that it does not know, so a misspelt password is still a password.
    """
    module, *rest = jaas.split(maxsplit=1) or [""]
    if not rest and "." not in module and not module.endswith("LoginModule"):
        return _REFERENCE_ALONE.fullmatch(module) is None
    options = " ".join(rest)
    for known in (_CONTROL_FLAG, _REFERENCE, _HARMLESS):
        options = known.sub("", options)
    return options.strip(" \t\n;") != ""


def jaas_problem(jaas: str) -> str:
    """Return what keeps Kafka from parsing a line for a login module; "" if nothing does, or only a Secret shows it.

    Source: JaasContext.loadClientContext, JaasConfig.
    """
    words = jaas.split()
    flag = words[1] if len(words) > 1 else ""
    if not words:
        return "is missing"
    if not _CONTROL_FLAG.match(flag) and not words[0].startswith("${") and not flag.startswith("${"):
        return "has no control flag after the class"
    return "" if words[-1].endswith(";") or words[-1].startswith("${") else "does not end with `;`"
