"""Bootstrap addresses: clients can read them, and no two clusters that meet in a region have one in common."""

import re
from collections.abc import Iterator, Mapping
from itertools import combinations

from components.contract.problems import Problem, Severity
from components.flows.expansion import ExpandedFlow, expand
from components.kafka.addresses import Server, servers
from components.topology.clusters import Cluster, ConfigValue
from components.topology.model import Topology


def check_addresses(topology: Topology, values: Mapping[str, str]) -> Iterator[Problem]:
    """Check every address; `values` holds the addresses that the stack's configuration has, by key."""
    known: dict[str, set[tuple[str, int]]] = {}
    for alias, cluster in topology.clusters.items():
        address = _address(cluster, values)
        if address is None:
            continue
        read = servers(address)
        known[alias] = {(each.host, each.port) for each in read.values() if each is not None}
        yield from _check_form(_where(alias, cluster), read)
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
            host = re.sub(r"^\w+://|[:/].*$", "", text)
            port = re.search(r":\d", text.partition("://")[2] or text)
            what = f"`{text}` is not a host and a port from 1 to 65535" if port else f"`{text}` has no port"
            yield _bad_address(
                where, what, f"write `{host}:PORT` with the port of the listener, such as `{host}:9093`."
            )
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


def _bad_address(where: str, what: str, remedy: str) -> Problem:
    why = "Kafka's clients refuse it, so neither workers nor connectors would start."
    return Problem(where, "bad-address", what, why, remedy)


def _check_different(topology: Topology, known: Mapping[str, set[tuple[str, int]]]) -> Iterator[Problem]:
    """Workers run beside their target, so what a region's workers reach by one address is one cluster.

    Workers of another region may reach another cluster by the same address, such as that of a Kubernetes Service.
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
