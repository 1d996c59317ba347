"""Clusters: the operator's version, what workers trust of the target, complete logins, and readable, distinct
addresses.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from itertools import combinations

from kafka_replication.components.checks.property_values import is_open_credential, open_credential
from kafka_replication.components.contract.problems import Problem, Severity, warning
from kafka_replication.components.flows.expansion import expand
from kafka_replication.components.flows.operators import OPERATORS, strimzi
from kafka_replication.components.kafka.connections import (
    LOGIN_CLASSES,
    LOGIN_MODULES,
    Server,
    entries,
    is_ip6,
    jaas_problem,
    login_classes,
    refuses_empty_entries,
    servers,
)
from kafka_replication.components.topology import clusters
from kafka_replication.components.topology.model import Topology

#: The oldest operator whose resource definitions the rendered objects are tested against.
OLDEST_STRIMZI = "0.45"
#: Source: Strimzi KafkaClientAuthenticationCustom.ALLOWED_PREFIXES.
_CUSTOM_PREFIXES = ("sasl.", "ssl.keystore.")
_GUESSED = "Whoever can read the connection can guess passwords offline from what SCRAM sends."
#: What a login reveals on a connection that is not encrypted. Source: RFC 4616, RFC 5802 (9), RFC 7628 (4).
_READABLE = {
    "plain": "PLAIN sends the password itself, so whoever can read the connection has it.",
    "scram-sha-256": _GUESSED,
    "scram-sha-512": _GUESSED,
    "oauth": "The token is sent in plain text, so whoever can read the connection can use it.",
}


def check_operator(topology: Topology) -> Problem | None:
    """Return the problem of an operator for which nothing that is rendered was judged, or None."""
    operator = strimzi(topology.strimzi).version
    if operator is None or operator in OPERATORS:
        return None
    judged = ", ".join(f"{major}.{minor}" for major, minor in OPERATORS)
    remedy = (
        "set `strimzi: v1` for what every operator of that API takes, or use a release of this project that knows it."
    )
    if operator < min(OPERATORS):
        remedy = f"upgrade the operator and set `strimzi: '{OLDEST_STRIMZI}'` or later."
    return Problem(
        "strimzi",
        "unsupported-strimzi",
        f"Strimzi {topology.strimzi} is not supported",
        f"What is rendered was judged by the resource definitions of {judged}, and of no other operator.",
        remedy,
    )


def check_clusters(topology: Topology) -> Iterator[Problem]:
    """Every cluster can be connected to, and workers can trust their target."""
    for alias, cluster in topology.clusters.items():
        yield from check_logins(alias, cluster)
    for alias in sorted({flow.settings.target for flow in expand(topology)} & set(topology.clusters)):
        tls = topology.clusters[alias].tls
        if tls is not None and isinstance(tls.trust, clusters.KeystoreTrust):
            yield Problem(
                f"clusters.{alias}.tls.trust.format",
                "keystore-trust-on-target",
                f"the trust of the target `{alias}` is a {tls.trust.format} file",
                "The workers connect to the target by KafkaConnect's trustedCertificates, which accept only PEM.",
                "set `trust: {secret: NAME, key: ca.crt}` with the certificate authority as PEM.",
            )


def check_logins(alias: str, cluster: clusters.Cluster) -> Iterator[Problem]:
    """A cluster's logins are complete: the connectors', the validation job's and the keeper's."""
    where = f"clusters.{alias}"
    authentication = cluster.authentication
    keeper = cluster.keeper.authentication if cluster.keeper is not None else None
    for key, login in {"authentication": authentication, "keeper.authentication": keeper}.items():
        if not isinstance(login, clusters.TlsAuthentication) or cluster.tls is not None:
            continue
        yield Problem(
            f"{where}.{key}",
            "certificate-without-tls",
            "the cluster has a client certificate but no `tls`",
            "Without TLS the client never presents its certificate, and the broker sees an anonymous client.",
            "add `tls: {}` or `tls: {trust: …}`.",
        )
    if cluster.tls is None and authentication is not None and authentication.type in _READABLE:
        yield warning(
            f"{where}.authentication",
            "login-without-tls",
            f"the login by {authentication.type} has no `tls`",
            f"{_READABLE[authentication.type]} Records are also readable there.",
            "add `tls: {trust: {secret: NAME, key: ca.crt}}`, or `tls: {}` if a public authority signed the brokers' "
            "certificates.",
        )
    if isinstance(authentication, clusters.OAuthAuthentication):
        yield from _check_oauth(f"{where}.authentication", authentication)
    if isinstance(authentication, clusters.CustomAuthentication):
        yield from _check_custom(f"{where}.authentication.config", authentication.config)
        if authentication.sasl:
            yield from _check_jaas(f"{where}.authentication.config", authentication.config)
    yield from _check_text(f"{where}.authentication", authentication)
    if cluster.validation is not None:
        yield from _check_text(f"{where}.validation.authentication", cluster.validation.authentication)
    yield from _check_text(f"{where}.keeper.authentication", keeper)
    yield from _check_validation(where, cluster)


def _check_text(where: str, authentication: clusters.Authentication | None) -> Iterator[Problem]:
    """Text in quotation marks in a login module's options does not contain a character that ends them."""
    quoted: Mapping[str, str | None] = {}
    if isinstance(authentication, clusters.PlainAuthentication | clusters.ScramAuthentication):
        quoted = {"username": authentication.username}
    elif isinstance(authentication, clusters.OAuthAuthentication):
        quoted = {
            "clientId": authentication.client_id,
            "tokenEndpointUri": authentication.token_endpoint_uri,
            "scope": authentication.scope,
            "audience": authentication.audience,
        }
    for key, value in quoted.items():
        if set(value or "") & set('"\\'):
            yield Problem(
                f"{where}.{key}",
                "username-breaks-jaas",
                f"`{key}` contains a quotation mark or a backslash",
                "sasl.jaas.config puts the text in quotation marks, and its parser would end the text at this "
                "character.",
                f"use a `{key}` without these characters.",
            )


def _check_oauth(where: str, login: clusters.OAuthAuthentication) -> Iterator[Problem]:
    """A login has a token or can request one. Source: AuthenticationUtils.validateClientAuthenticationOAuth."""
    needed = {
        "tokenEndpointUri": login.token_endpoint_uri,
        "clientId": login.client_id,
        "clientSecret` or `refreshToken": login.client_secret or login.refresh_token,
    }
    missing = [key for key, value in needed.items() if value is None]
    if login.access_token is None and missing:
        yield Problem(
            where,
            "oauth-incomplete",
            f"`{'`, `'.join(missing)}` and `accessToken` are missing",
            "A client either has an access token or requests one from the token endpoint with its own credentials.",
            f"set `{'`, `'.join(missing)}`, or `accessToken`.",
        )


def _check_custom(where: str, config: Mapping[str, str]) -> Iterator[Problem]:
    """A custom login has only properties that Strimzi passes on, and no plain-text credential."""
    for key, value in config.items():
        if not key.startswith(_CUSTOM_PREFIXES):
            yield Problem(
                f"{where}.{key}",
                "custom-property-ignored",
                f"`{key}` is not a property of a login",
                f"Strimzi accepts only properties that begin with `{'` or `'.join(_CUSTOM_PREFIXES)}` here. It drops "
                "others and only logs that.",
                "remove it; set the cluster's `tls` for its trust, and `connect.config` for properties of the workers.",
            )
        elif is_open_credential(key, value):
            yield open_credential(f"{where}.{key}", key, "set it to a placeholder such as `${secret:NAME:KEY}`.")
    mechanism = config.get("sasl.mechanism", "GSSAPI")
    for name, key in login_classes(config).items():
        if name not in LOGIN_CLASSES:
            yield warning(
                f"{where}.{key}",
                "login-class-not-known",
                f"the checks do not know the class `{name}`",
                f"Nothing here can tell whether it logs in by `{mechanism}`, whether the workers' image has it, and "
                "which other options it needs.",
                "set `connect.image` to an image that has it. Only the state of the connectors shows whether it logs "
                "in.",
            )
        elif mechanism not in LOGIN_CLASSES[name] and "${" not in mechanism and "sasl.mechanism" in config:
            known = "` or `".join(LOGIN_CLASSES[name])
            yield warning(
                f"{where}.{key}",
                "login-class-of-other-mechanism",
                f"`{name}` logs in by `{known}`, but `sasl.mechanism` is `{mechanism}`",
                "Unless another login of the worker loads the class for this mechanism, no client can be created.",
                f"set `sasl.mechanism: {LOGIN_CLASSES[name][-1]}`, or name the class for `{mechanism}`.",
            )


def _check_jaas(where: str, config: Mapping[str, str]) -> Iterator[Problem]:
    """Kafka can parse a login by SASL, and it says by which mechanism; without one, Kafka takes GSSAPI."""
    wrong: dict[str, tuple[str, str]] = {}
    if what := jaas_problem(config.get("sasl.jaas.config", "")):
        line = f"write the class, `required`, its options and `;`, such as `{LOGIN_MODULES['PLAIN']} required …;`"
        wrong["sasl.jaas.config"] = what, f"{line}. If the login is not by SASL, set `sasl: false`."
    known = [LOGIN_CLASSES[name] for name in login_classes(config) if name in LOGIN_CLASSES]
    others = [mechanisms for mechanisms in known if "GSSAPI" not in mechanisms]
    if others and "sasl.mechanism" not in config:
        wrong["sasl.mechanism"] = "is missing", f"set `sasl.mechanism: {others[0][-1]}`."
    for key, (what, remedy) in wrong.items():
        place = f"{where}.{key}" if key in config else where
        why = "Kafka cannot create a client with this login, so the connectors fail when they start."
        yield Problem(place, "custom-login-incomplete", f"`{key}` {what}", why, remedy)


def _check_validation(where: str, cluster: clusters.Cluster) -> Iterator[Problem]:
    given = cluster.validation
    job_cannot_use = isinstance(cluster.authentication, clusters.OAuthAuthentication | clusters.CustomAuthentication)
    missing = {
        "authentication": job_cannot_use and (given is None or given.authentication is None),
        "trust": cluster.tls is not None
        and isinstance(cluster.tls.trust, clusters.SecretPattern)
        and cluster.tls.trust.key is None
        and (given is None or given.trust is None),
    }
    for key, needed in missing.items():
        if needed:
            yield warning(
                f"{where}.validation.{key}",
                "validation-needs-credentials",
                f"the validation job has no `{key}` for this cluster",
                "The job logs in by PLAIN, SCRAM or a client certificate, and reads trusted certificates from one "
                "key of a Secret. It cannot use the connectors' login here, so it refuses to start.",
                f"set `{where}.validation.{key}`, or do not validate flows with this cluster.",
            )


_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def check_addresses(topology: Topology, values: Mapping[str, str]) -> Iterator[Problem]:
    """Check every address; `values` holds the addresses that the stack's configuration has, by key."""
    known: dict[str, set[tuple[str, int]]] = {}
    modern = [flow.settings for flow in expand(topology) if refuses_empty_entries(flow.kafka)]
    strict = {alias for settings in modern for alias in (settings.source, settings.target)}
    for alias, cluster in topology.clusters.items():
        given = cluster.bootstrap_servers
        address = values.get(given.config) if isinstance(given, clusters.ConfigValue) else given
        if address is None:
            continue
        read = servers(address)
        known[alias] = {(server.host, server.port) for server in read.values() if server is not None}
        yield from _check_form(_where(alias, cluster), read)
        yield from _check_entries(_where(alias, cluster), address, strict=alias in strict)
    yield from _check_different(topology, known)


def _where(alias: str, cluster: clusters.Cluster) -> str:
    given = cluster.bootstrap_servers
    key = f" (configuration key {given.config})" if isinstance(given, clusters.ConfigValue) else ""
    return f"clusters.{alias}.bootstrapServers{key}"


def _check_form(where: str, read: Mapping[str, Server | None]) -> Iterator[Problem]:
    if not read:
        yield _bad_address(where, "the address is empty", "write `HOST:PORT`.")
    for text, server in read.items():
        if server is None:
            yield _mistake(where, text)
        elif server.scheme:
            yield warning(
                where,
                "scheme-in-address",
                f"`{text}` begins with `{server.scheme}`",
                "Kafka's clients ignore it. Only `tls` and `authentication` decide whether a connection is encrypted "
                "and how it logs in.",
                f"write `{text.removeprefix(server.scheme)}`.",
            )
        elif server.host in _LOOPBACK and "(configuration key" not in where:
            yield warning(
                where,
                "address-of-the-worker",
                f"`{text}` is the local machine",
                "In a Kubernetes cluster that means the worker's own pod, which runs no broker.",
                "write the address by which pods reach the broker.",
            )


def _mistake(where: str, text: str) -> Problem:
    plain = text.partition("://")[2] or text
    if "@" in plain:
        # The part before the host may be a password.
        host = plain.rpartition("@")[2]
        return Problem(
            where,
            "login-in-address",
            f"a user is named before `{host}`",
            "Kafka's clients refuse such an address. They log in as `authentication` says.",
            f"write `{host}`, and set `authentication` of the cluster.",
        )
    if "$" in plain or "{{" in plain:
        remedy = "set `bootstrapServers: {config: KEY}`, and KEY in the configuration of each stack."
        return _bad_address(where, f"`{text}` contains a variable, which nothing replaces", remedy)
    if divider := re.search(r"[;\s]+", plain):
        parts = ",".join(part for part in re.split(r"[;\s]+", plain) if part)
        separator = f"`{divider[0].strip()}`" if divider[0].strip() else "a blank"
        servers = parts if all(re.fullmatch(r".+:\d+", part) for part in parts.split(",")) else "HOST:PORT,HOST:PORT"
        return _bad_address(where, f"`{text}` has {separator} in it", f"separate servers by commas: `{servers}`.")
    if is_ip6(plain):
        return Problem(
            where,
            "bad-address",
            f"`{text}` is an IPv6 address without brackets",
            "Kafka's clients take what follows the last colon as the port.",
            "put the address in brackets, followed by the port, as in `[2001:db8::1]:9093`.",
        )
    host = re.sub(r"[:/].*$", "", plain)
    remedy = f"write `{host}:PORT` with the port of the listener, such as `{host}:9093`."
    if re.search(r":\d", plain):
        return _bad_address(where, f"`{text}` is not a host and a port from 1 to 65535", remedy)
    return _bad_address(where, f"`{text}` has no port", remedy)


def _check_entries(where: str, address: str, *, strict: bool) -> Iterator[Problem]:
    """No entry is empty, and none is repeated."""
    given = entries(address)
    if "" in given and any(given):
        yield Problem(
            where,
            "bad-address",
            "an entry of the address is empty",
            "Kafka's clients refuse it from 4.2 on, so neither workers nor connectors would start."
            if strict
            else "Kafka's clients refuse it from 4.2 on.",
            "remove the comma that has no address before or after it.",
            Severity.ERROR if strict else Severity.WARNING,
        )
    for text in sorted({text for text in given if text and "@" not in text and given.count(text) > 1}):
        yield warning(
            where,
            "listed-twice",
            f"`{text}` is in the address more than once",
            "Clients use it only once. If another server was meant, it is missing.",
            "remove the repetition, or correct it if another server was meant.",
        )


def _bad_address(where: str, what: str, remedy: str) -> Problem:
    why = "Kafka's clients refuse it, so neither workers nor connectors would start."
    return Problem(where, "bad-address", what, why, remedy)


def _check_different(topology: Topology, known: Mapping[str, set[tuple[str, int]]]) -> Iterator[Problem]:
    """An address means one cluster in a region, and to a region's workers; in another region it may mean another."""
    flows = [flow for flow in expand(topology) if {flow.settings.source, flow.settings.target} <= set(known)]
    sides = [(flow.settings.source, flow.settings.target) for flow in flows]
    met: dict[str, set[str]] = {}
    for source, target in sides:
        met.setdefault(topology.clusters[target].region, set()).update((source, target))
        met.setdefault(topology.clusters[source].region, set()).add(source)
    same = sorted(
        {
            pair
            for together in met.values()
            for pair in combinations(sorted(together), 2)
            if known[pair[0]] & known[pair[1]]
        }
    )
    one = {alias: alias for alias in known}
    for first, second in same:
        one[second] = one[first]
    for first, second in same:
        host, port = min(known[first] & known[second])
        between = (first, second) in sides or (second, first) in sides
        ring = _returns(first, second, sides, one) or _returns(second, first, sides, one)
        yield Problem(
            _where(second, topology.clusters[second]),
            "same-cluster",
            f"`{second}` has the same address as `{first}`: {host}:{port}",
            "A flow between them would replicate a cluster into itself, endlessly."
            if between
            else "Flows lead from one to the other, so records return to this cluster. Whether that ends cannot be "
            "checked while it has two names."
            if ring
            else "The checks take it for two clusters, so they find neither a topic that flows of both replicate twice "
            "nor a loop.",
            "correct one of the two addresses, or use one alias for both.",
            Severity.ERROR if between or ring else Severity.WARNING,
        )


def _returns(first: str, second: str, sides: Collection[tuple[str, str]], one: Mapping[str, str]) -> bool:
    """Return whether flows lead from one alias to the other, if clusters with the same address are `one`."""
    reached = {target for source, target in sides if source == first}
    clusters = [*{one[alias] for alias in reached}]
    for cluster in clusters:
        targets = {target for source, target in sides if one[source] == cluster}
        reached |= targets
        clusters += {one[alias] for alias in targets} - {*clusters}
    return second in reached
