"""Bootstrap addresses: clients can read them, and no two clusters that meet in a region share one."""

import re
from collections.abc import Iterator, Mapping
from itertools import combinations

from components.contract.problems import Problem, Severity
from components.flows.expansion import ExpandedFlow, expand
from components.kafka.addresses import Server, entries, is_ip6, refuses_empty_entries, servers
from components.topology.clusters import Cluster, ConfigValue
from components.topology.model import Topology

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def check_addresses(topology: Topology, values: Mapping[str, str]) -> Iterator[Problem]:
    """Check every address; `values` holds the addresses that the stack's configuration has, by key."""
    known: dict[str, set[tuple[str, int]]] = {}
    modern = [flow.settings for flow in expand(topology) if refuses_empty_entries(flow.kafka)]
    strict = {alias for settings in modern for alias in (settings.source, settings.target)}
    for alias, cluster in topology.clusters.items():
        address = _address(cluster, values)
        if address is None:
            continue
        read = servers(address)
        known[alias] = {(each.host, each.port) for each in read.values() if each is not None}
        yield from _check_form(_where(alias, cluster), read)
        yield from _check_entries(_where(alias, cluster), address, strict=alias in strict)
    yield from _check_different(topology, known)


def _address(cluster: Cluster, values: Mapping[str, str]) -> str | None:
    given = cluster.bootstrap_servers
    return values.get(given.config) if isinstance(given, ConfigValue) else given


def _where(alias: str, cluster: Cluster) -> str:
    given = cluster.bootstrap_servers
    key = f" (configuration key {given.config})" if isinstance(given, ConfigValue) else ""
    return f"clusters.{alias}.bootstrapServers{key}"


def _check_form(where: str, read: Mapping[str, Server | None]) -> Iterator[Problem]:
    if not read:
        yield _bad_address(where, "the address is empty", "write `HOST:PORT`.")
    for text, server in read.items():
        if server is None:
            yield _mistake(where, text)
        elif server.scheme:
            yield Problem(
                where,
                "scheme-in-address",
                f"`{text}` begins with `{server.scheme}`",
                "Kafka's clients ignore it. Only `tls` and `authentication` decide whether a connection is encrypted "
                "and how it logs in.",
                f"write `{text.removeprefix(server.scheme)}`.",
                Severity.WARNING,
            )
        elif server.host in _LOOPBACK and "(configuration key" not in where:
            yield Problem(
                where,
                "address-of-the-worker",
                f"`{text}` is the local machine",
                "In a Kubernetes cluster that means the worker's own pod, which runs no broker.",
                "write the address by which pods reach the broker.",
                Severity.WARNING,
            )


def _mistake(where: str, text: str) -> Problem:
    """The problem of a server that clients refuse."""
    plain = text.partition("://")[2] or text
    if "@" in plain:
        return _login(where, plain)
    if "$" in plain or "{{" in plain:
        remedy = "set `bootstrapServers: {config: KEY}`, and KEY in the configuration of each stack."
        return _bad_address(where, f"`{text}` contains a variable, which nothing replaces", remedy)
    if divider := re.search(r"[;\s]+", plain):
        parts = ",".join(part for part in re.split(r"[;\s]+", plain) if part)
        said = f"`{divider[0].strip()}`" if divider[0].strip() else "a blank"
        return _bad_address(where, f"`{text}` has {said} in it", f"separate servers by commas: `{parts}`.")
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


def _login(where: str, text: str) -> Problem:
    """The problem of a user in an address; the part before the host may be a password."""
    host = text.rpartition("@")[2]
    return Problem(
        where,
        "login-in-address",
        f"a user is named before `{host}`",
        "Kafka's clients refuse such an address. They log in as `authentication` says.",
        f"write `{host}`, and set `authentication` of the cluster.",
    )


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
        yield Problem(
            where,
            "listed-twice",
            f"`{text}` is in the address more than once",
            "Clients use it only once. If another server was meant, it is missing.",
            "remove the repetition, or correct it if another server was meant.",
            Severity.WARNING,
        )


def _bad_address(where: str, what: str, remedy: str) -> Problem:
    why = "Kafka's clients refuse it, so neither workers nor connectors would start."
    return Problem(where, "bad-address", what, why, remedy)


def _check_different(topology: Topology, known: Mapping[str, set[tuple[str, int]]]) -> Iterator[Problem]:
    """Workers run beside their target, so one address means one cluster to a region's workers. Workers of another
    region may reach another cluster by the same address, such as that of a Kubernetes Service.
    """
    flows = [flow for flow in expand(topology) if {flow.settings.source, flow.settings.target} <= set(known)]
    met: dict[str, list[ExpandedFlow]] = {}
    for flow in flows:
        met.setdefault(topology.clusters[flow.settings.target].region, []).append(flow)
    connected = {frozenset((flow.settings.source, flow.settings.target)) for flow in flows}
    reported: set[tuple[str, str]] = set()
    for together in met.values():
        aliases = sorted({alias for flow in together for alias in (flow.settings.source, flow.settings.target)})
        reported |= {pair for pair in combinations(aliases, 2) if known[pair[0]] & known[pair[1]]}
    for first, second in sorted(reported):
        host, port = min(known[first] & known[second])
        between = frozenset((first, second)) in connected
        yield Problem(
            _where(second, topology.clusters[second]),
            "same-cluster",
            f"`{second}` has the same address as `{first}`: {host}:{port}",
            "A flow between them would replicate a cluster into itself, endlessly."
            if between
            else "The workers that connect to both would replicate every topic of that cluster twice.",
            "correct one of the two addresses, or use one alias for both.",
            Severity.ERROR if between else Severity.WARNING,
        )
