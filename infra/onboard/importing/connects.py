"""A KafkaConnect with its mirror connectors -> one flow with one or several source connectors."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from components.kafka.connectors import ConnectorRole
from components.topology.clusters import is_label
from infra.onboard.importing.flows import Imported, flow_of, role_of
from infra.onboard.importing.left_out import LeftOut
from infra.onboard.importing.reading import ReadObject

_Replication: TypeAlias = dict[str, Any]
#: Keys that each of several source connectors may have, with the value that an absent one means.
_OF_EACH: Mapping[str, Any] = {"topicsExclude": [], "startFrom": "earliest", "transforms": {}}
#: Keys that are compared differently, or not at all: only the first source connector replicates heartbeats.
_APART = frozenset({"topics", "connectors", "replicateHeartbeats", "offsetSyncs", *_OF_EACH})


def imported_flow(
    name: str, connect: ReadObject, connectors: Sequence[ReadObject], config_maps: Sequence[ReadObject], kafka: str
) -> Imported | LeftOut:
    """Return the flow of a KafkaConnect and its mirror connectors, or why there is none."""
    sources = [each for each in connectors if role_of(each) == "source"]
    others: dict[ConnectorRole, ReadObject] = {}
    for each in connectors:
        role = role_of(each)
        if role is None or role == "source":
            continue
        if role in others:
            why = f"`{others[role].name}` and `{each.name}` are both its {role} connectors."
            remedy = "give each flow its own KafkaConnect, then import both."
            return connect.left_out("", "several-flows-on-one-connect", why, remedy)
        others[role] = each
    if not sources:
        names = ", ".join(f"`{each.name}`" for each in connectors)
        why = f"It runs {names}, but no MirrorSourceConnector, so it replicates no records."
        return connect.left_out("", "no-source-connector", why, "also import its source connector.")
    if len(sources) == 1:
        return flow_of(name, connect, {"source": sources[0], **others}, config_maps, kafka)
    alone = {
        each.name: flow_of(name, connect, {"source": each}, config_maps, kafka)
        for each in sorted(sources, key=_replicates_no_heartbeats)
    }
    if differing := _differing(list(alone.values())):
        why = (
            f"Its source connectors differ in {', '.join(f'`{key}`' for key in differing)}, which must be the same "
            "within one flow."
        )
        remedy = "make them equal, or give each flow its own KafkaConnect, then import both."
        return connect.left_out("", "several-flows-on-one-connect", why, remedy)
    by_name = {each.name: each for each in sources}
    first = _with_all_topics(by_name[next(iter(alone))], list(alone.values()))
    whole = flow_of(name, connect, {"source": first, **others}, config_maps, kafka)
    return _divided(whole, alone, [connect, *(by_name[each] for each in alone), *others.values()])


def _replicates_no_heartbeats(source: ReadObject) -> bool:
    config = source.spec.get("config") or {}
    return str(config.get("heartbeats.replication.enabled", True)).lower() == "false"


def _differing(made: Sequence[Imported]) -> list[str]:
    """Return the keys in which the flows of single source connectors differ although one flow must share them."""
    found = [_shared(each) for each in made]
    return sorted({key for each in found for key in {*each, *found[0]} if each.get(key) != found[0].get(key)})


def _shared(made: Imported) -> _Replication:
    kept = {key: value for key, value in made.replication.items() if key not in _APART}
    syncs = {key: value for key, value in made.replication.get("offsetSyncs", {}).items() if key != "lagMax"}
    return {**kept, "offsetSyncs": syncs, "clusters": made.clusters}


def _with_all_topics(first: ReadObject, made: Sequence[Imported]) -> ReadObject:
    """Return the first source connector as if it replicated the topics of all, which is how the checkpoint connector
    sees it.
    """
    config = dict(first.spec.get("config") or {})
    config["topics"] = ",".join(dict.fromkeys(topic for each in made for topic in each.replication.get("topics", ())))
    if not _equal(made, "topicsExclude"):
        config.pop("topics.exclude", None)
    return replace(first, body={**first.body, "spec": {**first.spec, "config": config}})


def _equal(made: Sequence[Imported], key: str) -> bool:
    values = [each.replication.get(key, _OF_EACH[key]) for each in made]
    return all(each == values[0] for each in values)


def _divided(whole: Imported, alone: Mapping[str, Imported], read: list[ReadObject]) -> Imported:
    """Return the flow of all source connectors; `alone` has that of each, by the name of its KafkaConnector."""
    made = list(alone.values())
    own = [key for key in _OF_EACH if not _equal(made, key)]
    parts = {each: _part_name(each, index) for index, each in enumerate(alone)}
    sources = {parts[each]: _part(one.replication, own, made) for each, one in alone.items()}
    flow = {key: value for key, value in whole.replication.items() if key != "topics" and key not in own}
    flow["connectors"] = {key: value for key, value in flow["connectors"].items() if key != "source"}
    flow["connectors"]["sources"] = sources
    left_out = list(dict.fromkeys([*whole.left_out, *(each for one in made for each in one.left_out)]))
    needed = {key: what for one in (whole, *made) for key, what in one.needed.items()}
    return replace(whole, replication=flow, read=read, left_out=left_out, needed=needed, parts=parts)


def _part(alone: _Replication, own: Sequence[str], made: Sequence[Imported]) -> _Replication:
    part = {"topics": alone.get("topics", [])}
    part |= {key: alone.get(key, _OF_EACH[key]) for key in own}
    lags = [each.replication.get("offsetSyncs", {}).get("lagMax") for each in made]
    lag = alone.get("offsetSyncs", {}).get("lagMax")
    if any(each != lags[0] for each in lags) and lag is not None:
        part["offsetSyncs"] = {"lagMax": lag}
    return {**part, **alone["connectors"]["source"]}


def _part_name(connector: str, index: int) -> str:
    return connector if is_label(connector) else f"{re.sub('[^a-z0-9]+', '-', connector)[:50].strip('-')}-{index + 1}"
