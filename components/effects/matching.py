"""Which topic of before is which topic of after: what goes on, where, and what starts or stops."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from components.effects.coverage import is_covered, matches
from components.effects.effect import is_literal
from components.effects.running import Connector, Deployed

_Key = tuple[str, str]


@dataclass(frozen=True)
class Continued:
    """Topics that one source connector read before and one reads after; often the same connector."""

    before: Connector
    after: Connector
    topics: tuple[str, ...]


@dataclass
class Matching:
    """Topics that go on, those that start and those that stop, by the connector that reads them."""

    continued: list[Continued] = field(default_factory=list)
    started: dict[int, tuple[Connector, list[str]]] = field(default_factory=dict)
    stopped: dict[int, tuple[Connector, list[str]]] = field(default_factory=dict)


def matched(before: Iterable[Deployed], after: Iterable[Deployed]) -> Matching:
    """Match the topics of all source connectors of a stack.

    A topic goes on where a connector between the same two clusters selects it: clusters are the same by alias, or else
    by a server of their address. A name goes on where a pattern selects it, and a pattern where others select all that
    it does.
    """
    old, new = _sources(before), _sources(after)
    by_ends_old, by_ends_new = _by_ends(old), _by_ends(new)
    found = Matching()
    pairs: dict[tuple[int, int], Continued] = {}

    def go_on(earlier: Connector, later: Connector, topic: str) -> None:
        known = pairs[key].topics if (key := (id(earlier), id(later))) in pairs else ()
        if not is_covered(topic, known):
            pairs[key] = Continued(earlier, later, (*known, topic))

    for later in new:
        for topic in _read(later):
            if (earlier := _selecting(topic, later, by_ends_old)) is not None:
                go_on(earlier, later, topic)
            elif not _is_divided(topic, later, by_ends_old):
                found.started.setdefault(id(later), (later, []))[1].append(topic)
    for earlier in old:
        for topic in _read(earlier):
            if (successor := _selecting(topic, earlier, by_ends_new)) is not None:
                go_on(earlier, successor, topic)
            elif not _is_divided(topic, earlier, by_ends_new):
                found.stopped.setdefault(id(earlier), (earlier, []))[1].append(topic)
    found.continued = list(pairs.values())
    return found


def _sources(deployments: Iterable[Deployed]) -> list[Connector]:
    return [each for deployment in deployments for each in deployment.connectors if each.role == "source"]


def _read(connector: Connector) -> list[str]:
    """Names and patterns of a connector without the names that it leaves out."""
    return [topic for topic in connector.topics if not (is_literal(topic) and excluded(topic, connector))]


def same_cluster(address: str, other: str) -> bool:
    """Whether two bootstrap addresses have a server in common."""
    return not _servers(address).isdisjoint(_servers(other))


def _servers(address: str) -> frozenset[str]:
    return frozenset(server.strip() for server in address.split(","))


def _ends(connector: Connector) -> list[_Key]:
    sources, targets = (
        (f"alias {alias}", *sorted(_servers(address)))
        for alias, address in (
            (connector.source_alias, connector.source_address),
            (connector.target_alias, connector.workers.target),
        )
    )
    return [(source, target) for source in sources for target in targets]


def _by_ends(connectors: Iterable[Connector]) -> Mapping[_Key, list[Connector]]:
    found: dict[_Key, list[Connector]] = {}
    for connector in connectors:
        for key in _ends(connector):
            found.setdefault(key, []).append(connector)
    return found


def _candidates(like: Connector, others: Mapping[_Key, list[Connector]]) -> list[Connector]:
    return list({id(each): each for key in _ends(like) for each in others.get(key, ())}.values())


def _selecting(topic: str, like: Connector, others: Mapping[_Key, list[Connector]]) -> Connector | None:
    """The connector of the other side that selects a topic: rather one that names it, then one of the same flow."""
    candidates = _candidates(like, others)
    naming = [each for each in candidates if topic in each.topics]
    own = [each for each in candidates if each.flow == like.flow]
    for some in (naming, own, candidates):
        if some is candidates and not is_literal(topic) and not _is_divided(topic, like, others):
            return None
        if holding := [each for each in some if _selects(each, topic, like)]:
            return min(holding, key=lambda each: _distance(each, like))
    return None


def _is_divided(topic: str, like: Connector, others: Mapping[_Key, list[Connector]]) -> bool:
    """Whether connectors of the other side together select all that a pattern does."""
    together = [each for connector in _candidates(like, others) for each in connector.topics]
    return not is_literal(topic) and is_covered(topic, together, like.names("topics.exclude"))


def _distance(connector: Connector, like: Connector) -> tuple[bool, bool, bool]:
    return (
        connector.flow != like.flow,
        connector.part != like.part,
        connector.source_alias != like.source_alias or connector.target_alias != like.target_alias,
    )


def _selects(connector: Connector, topic: str, like: Connector) -> bool:
    if is_literal(topic):
        return is_covered(topic, connector.topics) and not excluded(topic, connector)
    return is_covered(topic, connector.topics, like.names("topics.exclude"))


def excluded(topic: str, connector: Connector) -> bool:
    """Whether a connector leaves a topic out whatever it selects. Source: DefaultTopicFilter."""
    return any(matches(each, topic) for each in connector.names("topics.exclude"))
