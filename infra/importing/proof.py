"""Whether the topology renders what was read: effects on replication, and every property that differs."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from components.changes.all_effects import all_effects
from components.changes.deployed_objects import deployment_state
from components.changes.deployment_state import DeployedConnector, DeployedWorkers, DeploymentState
from components.changes.effect import Effect, Severity
from components.checks.property_values import is_open_credential
from components.kafka.replication_policy import SIDES
from components.properties.definitions import Owner, definitions
from components.properties.values import value_text
from components.render.connections import FILE_PROVIDER, WORKER_FILE
from components.render.deployments import Deployment
from components.render.planned_objects import PART_OF, Manifest
from components.render.references import CONFIG_MAP_PROVIDER, SECRET_PROVIDER
from infra.importing.flows import Imported
from infra.importing.mirrors import effective_configs, normal_mirrors
from infra.importing.placeholders import Placeholders
from infra.importing.workers import CONVERTERS, group_name

_OURS = {each: each for each in (CONFIG_MAP_PROVIDER, SECRET_PROVIDER, FILE_PROVIDER)}
_LISTS = frozenset({"topics", "topics.exclude", "groups", "groups.exclude"})
_OPTION = re.compile(r"""([\w.]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s;"']+))""")
_SOURCE_CONSUMER = ("auto.offset.reset", "isolation.level")
_PREDICATE = re.compile(r"(transforms\.[^.]+)\.predicate")
_CONNECTOR = "connector "
_GROUP = ("groupId", "configStorageTopic", "offsetStorageTopic", "statusStorageTopic")


@dataclass(frozen=True)
class Difference:
    """A field or property that the rendered object has otherwise than the one that was read; "" if it has none."""

    obj: str
    key: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.obj}: {self.key}: {_shown(self.key, self.before)} -> {_shown(self.key, self.after)}"


@dataclass(frozen=True)
class Proof:
    """What deploying an imported replication would change."""

    name: str
    effects: tuple[Effect, ...]
    differences: tuple[Difference, ...]

    @property
    def changes_records(self) -> bool:
        """Whether records or offsets would be copied twice, skipped or left behind."""
        return any(each.severity in {Severity.DATA, Severity.RE_READ} for each in self.effects)

    @property
    def properties(self) -> int:
        """How many properties of connectors differ. Only without any is it certain that records go on as they are."""
        return sum(each.obj.startswith(_CONNECTOR) for each in self.differences)


def prove(imported: Imported, deployment: Deployment, placeholders: Placeholders) -> Proof:
    """Compare what was read with what the topology renders for it."""
    kafka = deployment.flows[0].expanded.kafka
    ours = {each.key: each.manifest for each in deployment.objects}
    theirs = _read_objects(imported, placeholders)
    flows = {flow.settings.source: flow.name for flow in deployment.flows}
    sides, specs = [], []
    for objects, resolving in ((theirs, placeholders), (ours, replace(placeholders, providers=_OURS))):
        own = {each["metadata"]["name"]: each["spec"] for each in objects.values() if each["kind"] in CONVERTERS}
        specs.append(own)
        sides.append(_effective(deployment_state(imported.name, objects, flows), own, resolving, kafka))
    of = {flow.name: flow.expanded for flow in deployment.flows}
    effects = all_effects(sides[:1], sides[1:], lambda flow, key: of[flow].where(key) if flow in of else key)
    return Proof(imported.name, effects, tuple(sorted(_differences(sides, specs), key=str)))


def _read_objects(imported: Imported, placeholders: Placeholders) -> dict[str, Manifest]:
    """Return the objects as rendering would name them, without what has another form in another version."""
    objects: dict[str, Manifest] = {}
    for read in imported.read:
        body = {**read.body, "spec": {**read.spec}}
        metadata = dict(body["metadata"])
        body["metadata"] = {**metadata, "labels": {**(metadata.get("labels") or {}), PART_OF: imported.name}}
        if read.kind == "KafkaMirrorMaker2":
            body["spec"]["mirrors"] = list(_mirrors(read, placeholders))
            objects["mirror-maker2"] = body
        elif read.kind == "KafkaConnect":
            body["spec"]["config"] = read.spec.get("config") or {}
            objects["connect"] = body
        else:
            body["spec"]["config"] = {
                key: value for key, value in (read.spec.get("config") or {}).items() if value is not None
            }
            role = re.sub("Mirror|Connector", "", str(read.spec["class"]).rpartition(".")[2]).lower()
            body["spec"]["state"] = read.spec.get("state") or ("paused" if read.spec.get("pause") else "running")
            objects[f"{role}-connector"] = body
    return objects


def _mirrors(read: Any, placeholders: Placeholders) -> Iterator[Manifest]:
    normal = normal_mirrors(read)
    if not isinstance(normal, tuple):
        return
    for _, mirror, source in normal[1]:
        kept = {key: mirror[key] for key in ("source", "sourceCluster", "targetCluster") if key in mirror}
        for role, config in effective_configs(mirror, source, placeholders):
            given = mirror[f"{role}Connector"]
            state = given.get("state") or ("paused" if given.get("pause") else "running")
            kept[f"{role}Connector"] = {**given, "config": config, "state": state}
        yield kept


def _effective(
    state: DeploymentState, specs: Mapping[str, Manifest], placeholders: Placeholders, kafka: str
) -> DeploymentState:
    workers = {id(each): _effective_workers(each, specs[each.name]) for each in state.workers}
    connectors = tuple(
        _effective_connector(each, workers.get(id(each.workers), each.workers), placeholders, kafka)
        for each in state.connectors
    )
    return replace(state, workers=tuple(workers.values()), connectors=connectors)


def _effective_workers(workers: DeployedWorkers, spec: Manifest) -> DeployedWorkers:
    given = {**CONVERTERS[workers.kind], **workers.config}
    # The storage topics exist, so nothing reads how they would be created.
    config = {key: value_text(value) for key, value in given.items() if not key.endswith(".storage.replication.factor")}
    names = _group_names(workers.kind, spec)
    return replace(
        workers,
        config=config,
        pods={key: _plain(value) for key, value in workers.pods.items() if value not in ({}, []) or key == "tls"},
        group=names["groupId"],
        offsets_topic=names["offsetStorageTopic"],
        replicas=int(spec.get("replicas", 3)),
    )


def _group_names(kind: str, spec: Manifest) -> dict[str, str]:
    clusters = {each["alias"]: each for each in spec.get("clusters") or []}
    at: Manifest = clusters.get(str(spec.get("connectCluster"))) or spec.get("target") or spec
    return {field: group_name(kind, field, at, at.get("config") or {}) for field in _GROUP}


def _plain(value: Any) -> Any:
    """Return a value without the difference between an absent field and an empty one."""
    if isinstance(value, Mapping):
        return {key: _plain(below) for key, below in sorted(value.items()) if below not in (None, {}, [])}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def _effective_connector(
    connector: DeployedConnector, workers: DeployedWorkers, placeholders: Placeholders, kafka: str
) -> DeployedConnector:
    """Return a connector with everything that it would read, Kafka's defaults included."""
    config = {key: _canonical(key, placeholders.text(value), workers) for key, value in connector.config.items()}
    config = _with_predicates(config)
    for name in _SOURCE_CONSUMER if connector.role == "source" else ():
        # The only consumer of a source connector reads both.
        if f"consumer.{name}" in config:
            config.setdefault(f"source.consumer.{name}", config.pop(f"consumer.{name}"))
    known = definitions(kafka, Owner(connector.role)) if connector.role else {}
    defaults = {key: _canonical(key, each.default, workers) for key, each in known.items() if each.default is not None}
    defaults |= {key: value for key, value in workers.config.items() if ".converter" in key}
    effective = {**defaults, **config}
    for side in SIDES:
        if f"{side}.cluster.bootstrap.servers" in effective:
            effective.setdefault(f"{side}.cluster.security.protocol", "PLAINTEXT")
    for field in ("name", "connector.class", "tasks.max"):
        effective.pop(field, None)
    tasks = connector.submitted.get("tasksMax") or connector.config.get("tasks.max") or 1
    logins = {
        key: _plain(value) for key, value in connector.submitted.items() if key.endswith((".tls", ".authentication"))
    }
    submitted = {**effective, **logins, "class": connector.role, "tasksMax": int(tasks)}
    return replace(connector, workers=workers, config=effective, submitted=submitted)


def _canonical(key: str, value: str, workers: DeployedWorkers) -> str:
    if key in _LISTS:
        return ",".join(dict.fromkeys(each.strip() for each in value.split(",") if each.strip()))
    if key.endswith("sasl.jaas.config"):
        module, _, rest = value.strip().partition(" ")
        options = sorted((name, next(filter(None, values), "")) for name, *values in _OPTION.findall(rest))
        return f"{module} required " + " ".join(f'{name}="{given}"' for name, given in options) if options else value
    value = value.replace(f"${{{FILE_PROVIDER}:{WORKER_FILE}:bootstrap.servers}}", workers.target_address)
    encrypted, login = "tls" in workers.pods, workers.pods.get("authentication") or {}
    sasl = login.get("sasl", True) if login.get("type") == "custom" else login.get("type", "tls") != "tls"
    protocol = ("SASL_" if sasl else "") + ("SSL" if encrypted else "PLAINTEXT")
    return value.replace(f"${{{FILE_PROVIDER}:{WORKER_FILE}:security.protocol}}", protocol)


def _with_predicates(config: Mapping[str, str]) -> dict[str, str]:
    """Return a configuration whose predicates have the names of their transforms."""
    found = {key: value for key, value in config.items() if not key.startswith("predicates")}
    for key in [key for key in found if _PREDICATE.fullmatch(key)]:
        alias = found.pop(key)
        prefix = f"predicates.{alias}."
        found |= {f"{key}.{each.removeprefix(prefix)}": config[each] for each in config if each.startswith(prefix)}
    return found


def _differences(sides: Sequence[DeploymentState], specs: Sequence[Mapping[str, Manifest]]) -> Iterator[Difference]:
    before, after = sides
    old = {each.name: each for each in before.connectors}
    new = {each.name: each for each in after.connectors}
    for name in sorted({*old, *new}):
        read, made = (
            ({} if each is None else {**each.submitted, "state": each.state}) for each in (old.get(name), new.get(name))
        )
        yield from _changed(f"{_CONNECTOR}{name}", read, made)
    for workers in after.workers:
        same = next((each for each in before.workers if (each.kind, each.name) == (workers.kind, workers.name)), None)
        if same is None:
            yield Difference(f"{workers.kind} {workers.name}", "", "", "is added")
            continue
        yield from _changed(
            f"{workers.kind} {workers.name}", _facts(same, specs[0][same.name]), _facts(workers, specs[1][workers.name])
        )


def _facts(workers: DeployedWorkers, spec: Manifest) -> dict[str, Any]:
    return {
        **{f"config.{key}": value for key, value in workers.config.items()},
        **workers.pods,
        **_group_names(workers.kind, spec),
        "replicas": workers.replicas,
        "logging": workers.logging,
        "bootstrapServers": workers.target_address,
    }


def _changed(obj: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Difference]:
    for key in sorted({*before, *after}):
        old, new = before.get(key), after.get(key)
        if old != new and str(old) != str(new):
            yield Difference(obj, key, "" if old is None else str(old), "" if new is None else str(new))


def _shown(key: str, text: str) -> str:
    if not text:
        return "not set"
    # A structure may hold a credential in any of its fields.
    if text.startswith(("{", "[")):
        return "…"
    return "(a credential)" if is_open_credential(key, text) else f"`{text}`"
