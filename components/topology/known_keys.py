"""The keys that a model accepts at a place of its file, and what to write instead of one that it does not."""

import difflib
import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kafka_replication.components.topology.clusters import Model

#: Property of a connector that derives from the topology -> the path of our key in a flow.
OF_CONNECTORS: Mapping[str, str] = {
    "sync.group.offsets.enabled": "syncGroupOffsets",
    "sync.topic.acls.enabled": "syncTopicAcls",
    "offset.lag.max": "offsetSyncs.lagMax",
    "refresh.topics.interval.seconds": "intervals.refreshTopicsSeconds",
    "refresh.groups.interval.seconds": "intervals.refreshGroupsSeconds",
    "emit.checkpoints.interval.seconds": "intervals.emitCheckpointsSeconds",
    "emit.heartbeats.interval.seconds": "intervals.emitHeartbeatsSeconds",
    "sync.group.offsets.interval.seconds": "intervals.syncGroupOffsetsSeconds",
}
#: Their key -> the path of ours, relative to where our key is accepted.
OURS: Mapping[str, str] = {
    "topicsPattern": "topics",
    "topicsExcludePattern": "topicsExclude",
    "topicsBlacklistPattern": "topicsExclude",
    "groupsPattern": "groups",
    "groupsExcludePattern": "groupsExclude",
    "groupsBlacklistPattern": "groupsExclude",
    "mirrors": "replications",
    "sourceCluster": "source",
    "targetCluster": "target",
    "connectCluster": "target",
    "sourceConnector": "connectors.source",
    "checkpointConnector": "connectors.checkpoint",
    "heartbeatConnector": "connectors.heartbeat",
    "tasksMax": "connectors.source.tasksMax",
    "tasks.max": "connectors.source.tasksMax",
    "trustedCertificates": "trust",
    "secretName": "secret",
    "certificateAndKey": "secret",
    "passwordSecret": "password",
    "security.protocol": "tls",
    "sasl.mechanism": "authentication.type",
    "sasl.jaas.config": "authentication",
    "replication.policy.class": "policy",
    "replication.policy.separator": "separator",
    "exactly.once.source.support": "exactlyOnce",
    "offset-syncs.topic.location": "offsetSyncs.location",
    "emit.heartbeats.enabled": "connectors.heartbeat.enabled",
    "emit.checkpoints.enabled": "connectors.checkpoint.enabled",
    **OF_CONNECTORS,
    "config": "connectors.source.config",
}

#: Those whose value has the same form as ours.
OF_SAME_FORM = frozenset({"mirrors", "sourceCluster", "targetCluster", "connectCluster", "secretName"})

_NO_OFFSETS = "A pair translates no offsets, so it has no groups and no checkpoint connector."
_ONE_SOURCE = "Only a `flow` and a part of a `split` can have several source connectors in one direction."
_ONE_NAMESPACE = "Only a pair has this key, because it has two namespaces."

#: The kind of a replication and the path of a key that other kinds have -> why it lacks the key, and the remedy.
OF_OTHER_KINDS: Mapping[tuple[str, str], tuple[str, str]] = {
    ("prefixlessPair", "namespace"): (
        "A pair has two namespaces, `mirror-PAIR-to-CLUSTER` beside each cluster, and their names are fixed.",
        "remove it; if these namespaces already exist, set `createNamespaces: false`.",
    ),
    ("flow", "createNamespaces"): (_ONE_NAMESPACE, "set `namespace.create`."),
    ("mirrorMaker2", "createNamespaces"): (_ONE_NAMESPACE, "set `namespace.create`."),
    ("prefixlessPair", "groupsExclude"): (_NO_OFFSETS, "remove it."),
    ("prefixlessPair", "connectors.checkpoint"): (_NO_OFFSETS, "remove it."),
    ("prefixlessPair", "connectors.sources"): (
        _ONE_SOURCE,
        "write all topics under `topics`, and the connectors' other settings under `connectors.source`.",
    ),
}


Path = tuple[str | int, ...]
#: Below this similarity, an unknown key would be taken for a key that it resembles only by chance.
_SIMILAR_ENOUGH = 0.7
#: A replication is two keys deep in a topology: `replications.NAME`.
_ENTRY = 2
_Node = Mapping[str, Any]
#: Prefixes of the keys that other tools reserve for users' anchors.
_FOR_ANCHORS = ("x-", ".", "_")


@dataclass(frozen=True)
class UnknownKey:
    """Why a key is not accepted and what to do. `meant` is the key that was most likely meant, if there is one."""

    why: str
    remedy: str
    meant: str = ""


def unknown_key(model: type[Model], path: Path, data: object) -> UnknownKey:
    """Explain why the model does not accept the key at the end of a path."""
    schema = _schema(model)
    *parents, key = path
    mapping = value_at(data, parents)
    beside = {str(other) for other in mapping} - {str(key)} if isinstance(mapping, Mapping) else set()
    forms = _forms(schema, parents, data)
    chosen = [form for form in forms if key not in _keys(form) and _is_chosen(form, mapping)]
    accepted = sorted({key for form in _closest(chosen, beside) for key in _keys(form)})
    kind = str(value_at(data, [*path[:_ENTRY], "kind"]))
    if explained := OF_OTHER_KINDS.get((kind, ".".join(map(str, path[_ENTRY:])))):
        return UnknownKey(*explained)
    without_effect = "It would have no effect."
    ours = OURS.get(str(key), "")
    if ours in beside:
        return UnknownKey(without_effect, f"remove it; `{ours}` is set already.")
    if ours.partition(".")[0] in accepted:
        return UnknownKey(without_effect, f"did you mean `{ours}`?", ours if str(key) in OF_SAME_FORM else "")
    before, colon, after = str(key).partition(":")
    if colon and after and before in accepted:
        return UnknownKey("YAML ends a key at a colon and a space.", f"write `{before}: …`, with a space.")
    if meant := _nearest(str(key), [candidate for candidate in accepted if candidate not in beside]):
        return UnknownKey(without_effect, f"did you mean `{meant}`?", meant)
    if elsewhere := [form for form in forms if key in _keys(form)]:
        return _of_another_form(str(key), elsewhere, beside)
    below = {outer: [child for form in chosen for child in _children(schema, form, outer)] for outer in accepted}
    if inner := [outer for outer, children in below.items() if any(key in _keys(child) for child in children)]:
        return UnknownKey(without_effect, f"did you mean `{inner[0]}.{key}`?")
    accepts = f"accepted keys: {', '.join(accepted)}."
    if not parents and str(key).startswith(_FOR_ANCHORS):
        return UnknownKey(
            without_effect, f"define the anchor where it is first used, as in `KEY: &NAME VALUE`; {accepts}"
        )
    return UnknownKey(without_effect, f"remove it; {accepts}")


@functools.cache
def _schema(model: type[Model]) -> _Node:
    return model.model_json_schema()


def _of_another_form(key: str, forms: list[_Node], beside: set[str]) -> UnknownKey:
    """Explain a key that is accepted only together with keys other than the given ones."""
    if tags := [f"{name}: {values[0]}" for name, values in map(_selector, forms) if name]:
        kinds = " or ".join(f"`{tag}`" for tag in tags)
        fitting = [f"`{tag}`" for tag, form in zip(tags, forms, strict=True) if beside <= set(_keys(form))]
        instead = f", or set {' or '.join(fitting)}" if fitting else ""
        return UnknownKey(f"It is a key of {kinds}, and would have no effect here.", f"remove it{instead}.")
    if others := _listed(beside - set(_keys(forms[0]))):
        return UnknownKey(f"It cannot be combined with {others}.", f"remove either `{key}` or {others}.")
    missing = _listed(set(forms[0].get("required", ())) - beside - {key})
    return UnknownKey(f"It has an effect only together with {missing}.", f"remove it, or add {missing}.")


def _listed(keys: set[str]) -> str:
    return ", ".join(f"`{key}`" for key in sorted(keys))


def _nearest(key: str, accepted: list[str]) -> str:
    """Return the accepted key that a key resembles, ignoring case and separators; "" if there is none."""
    plain = {_plain(name): name for name in accepted}
    near = difflib.get_close_matches(_plain(key), plain, n=1, cutoff=_SIMILAR_ENOUGH)
    return plain[near[0]] if near else ""


def _plain(key: str) -> str:
    return key.lower().replace("_", "").replace("-", "")


def leaves(data: object, path: str) -> Iterator[tuple[str, object]]:
    """Yield the values in the data that are neither mappings nor lists, each after its dotted path."""
    if not isinstance(data, Mapping | list | tuple):
        yield path, data
        return
    for key, below in data.items() if isinstance(data, Mapping) else enumerate(data):
        yield from leaves(below, f"{path}.{key}")


def value_at(data: object, path: Iterable[str | int]) -> object:
    """Return the value at a path of the file; None if there is none."""
    for part in path:
        if isinstance(data, Mapping):
            data = data.get(part)
        else:
            data = data[part] if isinstance(data, list) and isinstance(part, int) and part < len(data) else None
    return data


def _keys(form: _Node) -> list[str]:
    return list(form.get("properties", {}))


def _closest(forms: list[_Node], beside: set[str]) -> list[_Node]:
    """Return the forms that accept most of the keys that are also given."""
    most = max((len(beside & set(_keys(form))) for form in forms), default=0)
    return [form for form in forms if len(beside & set(_keys(form))) == most]


def _selector(form: _Node) -> tuple[str, list[str]]:
    """Return the key that selects a form among its alternatives, with the values that do."""
    for name in ("kind", "type"):
        wanted = form.get("properties", {}).get(name, {})
        # A key that may be left out is a choice between its value and null.
        wanted = wanted.get("anyOf", [wanted])[0]
        if values := [wanted["const"]] if "const" in wanted else wanted.get("enum"):
            return name, list(values)
    return "", []


def _is_chosen(form: _Node, value: object) -> bool:
    """Return whether a value selects this form, or selects none."""
    name, values = _selector(form)
    return not isinstance(value, Mapping) or name not in value or value[name] in values


def _forms(schema: _Node, path: list[str | int], data: object) -> list[_Node]:
    """Return every form that the model accepts at a path, following only the forms that the file selects on the way."""
    forms: list[_Node] = [schema]
    here: Any = data
    for part in path:
        selected = [form for form in forms if _is_chosen(form, here)]
        forms = [child for form in selected for child in _children(schema, form, part)]
        here = value_at(here, [part])
    return forms


def _children(schema: _Node, form: _Node, part: str | int) -> list[_Node]:
    if isinstance(part, int):
        child = form.get("items")
    else:
        of_any_name = [form.get("additionalProperties"), *form.get("patternProperties", {}).values()]
        child = next((node for node in (form.get("properties", {}).get(part), *of_any_name) if node), None)
    return _alternatives(schema, child) if isinstance(child, Mapping) else []


def _alternatives(schema: _Node, node: _Node) -> list[_Node]:
    if "$ref" in node:
        return _alternatives(schema, schema["$defs"][node["$ref"].rsplit("/", 1)[-1]])
    branches = node.get("anyOf") or node.get("oneOf") or node.get("allOf")
    return [form for branch in branches for form in _alternatives(schema, branch)] if branches else [node]
