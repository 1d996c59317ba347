"""Turns a KafkaMirrorMaker2 into a `mirrorMaker2`, or into a `flow` for each of its mirrors."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kafka_replication.components.checks.properties import owned_remedy, refused_properties
from kafka_replication.components.kafka.connectors import ConnectorRole
from kafka_replication.components.kafka.plugins import below
from kafka_replication.components.kafka.replication_policy import SIDES, Side
from kafka_replication.components.properties.definitions import Owner, nearest
from kafka_replication.components.topology.clusters import is_label
from kafka_replication.infra.onboard.importing.flows import TASKS, Imported, Names, differing_keys, note_other_login
from kafka_replication.infra.onboard.importing.left_out import LeftOut
from kafka_replication.infra.onboard.importing.logins import Logins, operator_properties
from kafka_replication.infra.onboard.importing.reading import Notes, ReadObject
from kafka_replication.infra.onboard.importing.settings import flow_keys, keys_of
from kafka_replication.infra.onboard.importing.strimzi_fields import CLUSTER, MIRROR, SELECTIONS
from kafka_replication.infra.onboard.importing.values import Placeholders
from kafka_replication.infra.onboard.importing.workers import CONVERTERS, connect_of, connector_keys

_OF_EACH_SOURCE = frozenset({"topics", "topicsExclude", "groups", "groupsExclude", "transforms", "connectors"})
#: Properties that only workers read.
_OF_WORKERS = ("config.storage.", "offset.storage.", "status.storage.", "group.id", "offset.flush.")

Part = Mapping[str, Any]


def normal_mirrors(read: ReadObject) -> tuple[Part, list[tuple[int, Part, Part]]] | LeftOut:
    """Return the target and each mirror with its place and source, in either API version, or why that fails."""
    spec = read.spec
    mirrors = [mirror for mirror in spec.get("mirrors") or [] if isinstance(mirror, Mapping)]
    if not mirrors:
        return read.left_out("spec.mirrors", "no-mirrors", "It replicates nothing.", "delete it.")
    silent = [index for index, mirror in enumerate(mirrors) if mirror.get("sourceConnector") is None]
    if silent:
        why = "It has no `sourceConnector`, so it replicates no records."
        return read.left_out(f"spec.mirrors.{silent[0]}", "no-source-connector", why, "add `sourceConnector: {}`.")
    return ends_of_mirrors(read)


def ends_of_mirrors(read: ReadObject) -> tuple[Part, list[tuple[int, Part, Part]]] | LeftOut:
    """Return the same, including mirrors without a source connector or no mirrors; or why the operator refuses it."""
    spec = read.spec
    mirrors = [mirror for mirror in spec.get("mirrors") or [] if isinstance(mirror, Mapping)]
    if "target" in spec:
        return spec["target"], [(index, mirror, mirror.get("source") or {}) for index, mirror in enumerate(mirrors)]
    by_alias = {str(cluster.get("alias")): cluster for cluster in spec.get("clusters") or []}
    target = str(spec.get("connectCluster"))
    for index, mirror in enumerate(mirrors):
        if mirror.get("targetCluster") != target:
            targets = {str(other.get("targetCluster")) for other in mirrors}
            which = " the source of this mirror" if target == mirror.get("sourceCluster") else f" `{target}`"
            if target not in by_alias:
                which += ", which is the alias of no cluster"
            why = (
                f"Its target is `{mirror.get('targetCluster')}`, but `connectCluster` is{which}. The operator refuses "
                "the whole resource, so nothing of it runs."
            )
            remedy = "give each target its own KafkaMirrorMaker2, then import both."
            if len(targets) == 1 and targets <= by_alias.keys():
                remedy = f"set `connectCluster: {mirror.get('targetCluster')}`."
            return read.left_out(f"spec.mirrors.{index}.targetCluster", "target-elsewhere", why, remedy)
    missing = [
        alias for alias in (target, *(str(mirror.get("sourceCluster")) for mirror in mirrors)) if alias not in by_alias
    ]
    if missing:
        why = f"No cluster has the alias `{missing[0]}`. The operator refuses the whole resource."
        return read.left_out("spec.clusters", "unknown-alias", why, "add the cluster, or correct the alias.")
    return by_alias[target], [
        (index, mirror, by_alias[str(mirror["sourceCluster"])]) for index, mirror in enumerate(mirrors)
    ]


def imported_mirror_maker2(name: str, read: ReadObject, kafka: str) -> Imported | LeftOut:
    """Return the replication of a KafkaMirrorMaker2, or why there is none."""
    normal = normal_mirrors(read)
    if isinstance(normal, LeftOut):
        return normal
    target, mirrors = normal
    made = Imported(name, read.api, {}, {}, [read], wanted=read.name)
    notes = Notes(read, made.left_out, "spec")
    alias = str(target.get("alias"))
    config = dict(target.get("config") or {})
    placeholders = Placeholders.of(read.namespace, config)
    made.clusters[alias] = _cluster(target, {}, "target", placeholders, _at(notes, target), made)
    config = {key: value for key, value in config.items() if not _connects(str(key))}
    flows = {}
    for index, mirror, source in mirrors:
        of, of_mirror = str(source.get("alias")), notes.below(f"mirrors.{index}")
        if of in flows:
            why = f"Two mirrors have the source `{of}`; the operator gives their connectors the same names."
            return read.left_out(of_mirror.path, "mirror-twice", why, "merge the two mirrors into one.")
        of_connector = mirror["sourceConnector"].get("config") or {}
        made.clusters[of] = _cluster(source, of_connector, "source", placeholders, _at(notes, source, index), made)
        _compare_with_cluster(mirror, source, "source", placeholders, of_mirror)
        _compare_with_cluster(mirror, target, "target", placeholders, of_mirror)
        flows[of] = _mirror(mirror, source, config, kafka, of_mirror, _at(notes, source, index))
    shared = [{key: value for key, value in flow.items() if key not in _OF_EACH_SOURCE} for flow in flows.values()]
    for own, (_, mirror, _) in zip(shared, mirrors, strict=True):
        for role in [role for role in TASKS if f"{role}Connector" not in mirror]:
            _adopt(own, keys_of(role), shared)
    if differing := differing_keys(shared):
        why = f"Its mirrors differ in {differing}, which all sources of a replication share."
        return read.left_out("spec.mirrors", "mirrors-differ", why, "make them equal, or divide the resource in two.")
    _note_unused(notes, made.clusters)
    sources = {of: {key: flow[key] for key in flow if key in _OF_EACH_SOURCE} for of, flow in flows.items()}
    ends: dict[str, Any] = {"target": alias, "sources": sources}
    if len(sources) == 1:
        ((first, keys),) = sources.items()
        ends = {"source": first, "target": alias, **keys}
    made.replication |= {"kind": "mirrorMaker2"} | ends | shared[0]
    made.replication["namespace"] = {"name": read.namespace, "create": False}
    of_object = replace(notes, path="")
    made.replication["connect"] = connect_of(of_object, config, name, kafka, _at(notes, target).path)
    return made


def _adopt(own: dict[str, Any], keys: Iterable[str], flows: Iterable[Mapping[str, Any]]) -> None:
    """Set the keys of a connector that a mirror lacks as another mirror has them."""
    for top, _, inner in (key.partition(".") for key in keys):
        for other in (flow[top] for flow in flows if top in flow):
            if not inner:
                own.setdefault(top, other)
            elif inner in other:
                own[top] = {inner: other[inner], **own.get(top, {})}


def _note_unused(notes: Notes, used: Mapping[str, Part]) -> None:
    """Note the clusters that no mirror names, and the selections that no connector reads."""
    spec = notes.read.spec
    for index, cluster in enumerate(spec.get("clusters") or [] if "target" not in spec else []):
        if str(cluster.get("alias")) not in used:
            notes(f"clusters.{index}", "without-effect", "No mirror has this cluster.", "remove it.")
    for index, mirror in enumerate(spec.get("mirrors") or []):
        for name, (_, roles) in SELECTIONS.items():
            if name in mirror and not any(f"{role}Connector" in mirror for role in roles):
                why = f"Only the {roles[0]} connector reads it, and this mirror has none."
                remedy = f"remove it, or add `{roles[0]}Connector: {{}}`."
                notes(f"mirrors.{index}.{name}", "without-effect", why, remedy)


def _at(notes: Notes, cluster: Part, index: int | None = None) -> Notes:
    """Return the notes on the target, or on the source of a mirror, at its path in the API version of the file."""
    clusters = notes.read.spec.get("clusters") or []
    if "target" in notes.read.spec:
        return notes.below("target" if index is None else f"mirrors.{index}.source")
    return notes.below(f"clusters.{clusters.index(cluster)}")


def _connects(key: str) -> bool:
    """Return whether a client property belongs to the address or login of a cluster."""
    return owned_remedy(f"source.cluster.{key}") is not None


def _cluster(
    given: Part, connector: Part, side: Side, placeholders: Placeholders, notes: Notes, made: Imported
) -> dict[str, Any]:
    """Return a cluster with the login that its fields, its `config` or that of a source connector have."""
    for key in sorted(given.keys() - CLUSTER.keys()):
        notes(key, "field-not-known", "The topology has no such key.", "remove it.")
    login = _login(given, connector, side, placeholders)
    return Logins(str(given.get("alias")), notes, made.needed, placeholders.text).of_both(given, login)


def _login(cluster: Part, connector: Part, side: Side, placeholders: Placeholders) -> dict[str, str]:
    """Return the connection to a cluster by the properties of its `config` and of a connector's, which wins."""
    given = (cluster.get("config") or {}) | below(f"{side}.cluster.", connector)
    return {key: placeholders.text(value) for key, value in given.items() if _connects(key) and key != "alias"}


def _compare_with_cluster(mirror: Part, cluster: Part, side: Side, placeholders: Placeholders, notes: Notes) -> None:
    """Note where connectors connect otherwise than the cluster of the topology, which has the source's login of the
    source connector."""
    configs = {role: (mirror.get(f"{role}Connector") or {}).get("config") or {} for role in TASKS}
    derived = operator_properties(cluster)
    shared = derived | _login(cluster, configs["source"] if side == "source" else {}, side, placeholders)
    for role in (role for role in TASKS if mirror.get(f"{role}Connector") is not None):
        own = derived | _login(cluster, configs[role], side, placeholders)
        note_other_login(own, shared, side, notes.below(f"{role}Connector"))


def _mirror(mirror: Part, source: Part, workers: Part, kafka: str, notes: Notes, of_source: Notes) -> dict[str, Any]:
    """Return the keys of one mirror; `workers` is the configuration of the workers."""
    own = dict(effective_configs(mirror, source, Placeholders.of(notes.read.namespace, workers)))
    own = {role: {key: value for key, value in config.items() if not _is_login(key)} for role, config in own.items()}
    by_role = {role: notes.below(f"{role}Connector") for role in TASKS}
    for key in _dropped(source):
        why = "It is a property of workers, and the workers belong to the target."
        of_source(f"config.{key}", "without-effect", why, "remove it.")
    _leave_passed_on(own, mirror, source, kafka, of_source)
    for key in sorted(mirror.keys() - MIRROR.keys()):
        near = f"{key}Pattern" if f"{key}Pattern" in SELECTIONS else nearest(key, MIRROR.keys() - mirror.keys())
        why = "No mirror has it."
        if near == "topicsPattern":
            why = "No mirror has it, and without `topicsPattern` every topic is replicated."
        if key == "config":
            of_mirror = "The API server removes it, so none of its properties has an effect."
            remedy = "move each property to the connector that reads it, such as `sourceConnector.config`."
            notes(key, "field-not-known", of_mirror, remedy)
            continue
        notes(key, "field-not-known", why, f"did you mean `{near}`?" if near else "remove it.")
    keys = flow_keys(own, workers, CONVERTERS["KafkaMirrorMaker2"], kafka, by_role)
    if not keys.pop("replicateHeartbeats", True):
        why = "A `mirrorMaker2` always replicates heartbeats; only a `flow` has a key for it."
        remedy = "none is needed, unless heartbeats from further upstream are unwanted."
        by_role["source"]("config.heartbeats.replication.enabled", "no-key", why, remedy)
    connectors: dict[str, Any] = {
        role: connector_keys(mirror[f"{role}Connector"], own[role], by_role[role], tasks)
        if role in own
        else {"enabled": False}
        for role, tasks in TASKS.items()
    }
    return {**keys, "connectors": connectors}


def _is_login(key: str) -> bool:
    """Return whether a connector's property belongs to the login of a cluster, which `_cluster` returns."""
    prefix, _, name = key.partition(".cluster.")
    return prefix in SIDES and name != "alias" and _connects(name)


def _leave_passed_on(
    own: Mapping[ConnectorRole, dict[str, str]], mirror: Part, source: Part, kafka: str, notes: Notes
) -> None:
    """Take the source's properties out of the connectors that do not read them; note those that none of them reads."""
    for key in source.get("config") or {}:
        name = f"source.cluster.{key}"
        refused = {}
        for role, config in own.items():
            is_passed_on = name in config and name not in (mirror[f"{role}Connector"].get("config") or {})
            if is_passed_on and (found := refused_properties(Owner(role), {name: config[name]}, kafka)):
                refused[role] = found[name]
                del config[name]
        if refused and not any(name in config for config in own.values()):
            problem = refused.get("source", next(iter(refused.values())))
            notes.refused(f"config.{key}", problem)


def effective_configs(
    mirror: Part, source: Part, placeholders: Placeholders
) -> Iterator[tuple[ConnectorRole, dict[str, str]]]:
    """Yield the configuration of each connector as the operator writes it, without addresses and logins."""
    passed = {str(key): value for key, value in (source.get("config") or {}).items() if key not in _dropped(source)}
    for role in TASKS:
        given = mirror.get(f"{role}Connector")
        if given is None:
            continue
        config = {f"source.cluster.{key}": placeholders.text(value) for key, value in passed.items()}
        config |= {str(key): placeholders.text(value) for key, value in (given.get("config") or {}).items()}
        for field, (name, roles) in SELECTIONS.items():
            if role in roles and mirror.get(field) is not None:
                config[name] = str(mirror[field])
        yield role, config


def selections_of(mirror: Part) -> dict[str, str]:
    """Return the selections of a mirror, in the fields that every API version has."""
    newer = {name: field for field, (name, _) in SELECTIONS.items()}
    given = {name: str(mirror[field]) for field, (name, _) in SELECTIONS.items() if mirror.get(field) is not None}
    return {newer[name]: value for name, value in given.items()}


def _dropped(source: Part) -> Sequence[str]:
    return sorted(key for key in source.get("config") or {} if str(key).startswith(_OF_WORKERS))


#: Keys that name workers: a flow has its own workers, beside those that it takes over from.
_WORKER_NAMES = frozenset({"name", "groupId", "storageTopics"})


def as_flows(imported: Imported, names: Names) -> Iterator[Imported]:
    """Yield a flow for each mirror of an imported KafkaMirrorMaker2, on workers of its own."""
    (read,) = imported.read
    normal = ends_of_mirrors(read)
    mirrors = normal[1] if isinstance(normal, tuple) else []
    shared = {key: value for key, value in imported.replication.items() if key not in ("kind", "sources")}
    shared["connect"] = {key: value for key, value in shared["connect"].items() if key not in _WORKER_NAMES}
    sources = imported.replication.get("sources")
    wanted = {} if sources is None else {alias: f"{imported.name}-from-{alias}" for alias in sources}
    # An alias that gives a valid name keeps that name, even if another alias comes first.
    taken = {
        alias: names.free(name) for alias, name in sorted(wanted.items(), key=lambda entry: not is_label(entry[1]))
    }
    for index, _, source in mirrors:
        alias = str(source.get("alias"))
        yield replace(
            imported,
            name=taken.get(alias, imported.name),
            wanted=wanted.get(alias, imported.wanted),
            replication={"kind": "flow", **shared, **({"source": alias, **sources[alias]} if sources else {})},
            clusters={end: imported.clusters[end] for end in (alias, shared["target"])},
            left_out=imported.left_out if index == 0 else [],
            mirror_index=index,
        )
