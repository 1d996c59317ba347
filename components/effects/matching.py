"""Which topic of before is which topic of after: what goes on, where, and what starts or stops."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

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
    by address. A pattern goes on where the very same pattern is; a name also where a pattern selects it.
    """
    old, new = _sources(before), _sources(after)
    found = Matching()
    pairs: dict[tuple[int, int], Continued] = {}
    by_ends_old, by_ends_new = _by_ends(old), _by_ends(new)
    for connector in new:
        for topic in _read(connector):
            earlier = _selecting(topic, connector, by_ends_old)
            if earlier is None:
                found.started.setdefault(id(connector), (connector, []))[1].append(topic)
            else:
                key = (id(earlier), id(connector))
                known = pairs[key].topics if key in pairs else ()
                pairs[key] = Continued(earlier, connector, (*known, topic))
    for connector in old:
        for topic in _read(connector):
            if _selecting(topic, connector, by_ends_new) is None:
                found.stopped.setdefault(id(connector), (connector, []))[1].append(topic)
    found.continued = list(pairs.values())
    return found


def _sources(deployments: Iterable[Deployed]) -> list[Connector]:
    return [each for deployment in deployments for each in deployment.connectors if each.role == "source"]


def _read(connector: Connector) -> list[str]:
    """Names and patterns of a connector without the names that it leaves out."""
    return [topic for topic in connector.topics if not (is_literal(topic) and excluded(topic, connector))]


def _ends(connector: Connector) -> list[_Key]:
    sources = (connector.source_alias, connector.source_address)
    targets = (connector.target_alias, connector.workers.target)
    return [(f"{i}:{source}", f"{j}:{target}") for i, source in enumerate(sources) for j, target in enumerate(targets)]


def _by_ends(connectors: Iterable[Connector]) -> Mapping[_Key, list[Connector]]:
    found: dict[_Key, list[Connector]] = {}
    for connector in connectors:
        for key in _ends(connector):
            found.setdefault(key, []).append(connector)
    return found


def _selecting(topic: str, like: Connector, others: Mapping[_Key, list[Connector]]) -> Connector | None:
    """The connector of the other side that selects a topic: rather the same one, then one of the same flow."""
    candidates = {id(each): each for key in _ends(like) for each in others.get(key, ())}
    holding = [each for each in candidates.values() if _selects(each, topic)]
    return min(holding, key=lambda each: _distance(each, like), default=None)


def _distance(connector: Connector, like: Connector) -> tuple[bool, bool, bool]:
    return (
        connector.flow != like.flow,
        connector.part != like.part,
        connector.source_alias != like.source_alias or connector.target_alias != like.target_alias,
    )


def _selects(connector: Connector, topic: str) -> bool:
    if not is_literal(topic):
        return topic in connector.topics
    return any(each == topic or _matches(each, topic) for each in connector.topics) and not excluded(topic, connector)


def excluded(topic: str, connector: Connector) -> bool:
    """Whether a connector leaves a topic out whatever it selects. Source: DefaultTopicFilter."""
    return any(_matches(each, topic) for each in connector.names("topics.exclude"))


def _matches(pattern: str, name: str) -> bool:
    try:
        return re.fullmatch(pattern, name) is not None
    except re.error:
        # A file that nobody checked may hold anything; such a connector would fail, and select nothing.
        return False
