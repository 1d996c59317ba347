"""Turns properties of the three connectors into the keys of a flow, and leaves the properties that have no key."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka_replication.components.changes.stack_change import is_covered
from kafka_replication.components.checks.properties import refused_properties
from kafka_replication.components.kafka.connectors import EMIT_CHECKPOINTS, ConnectorRole
from kafka_replication.components.kafka.patterns import DEFAULT_GROUPS_EXCLUDE
from kafka_replication.components.kafka.plugins import below, full_class_name
from kafka_replication.components.kafka.replication_policy import KNOWN_POLICIES, POLICY_CLASSES, SIDES, Policy
from kafka_replication.components.kafka.topic_names import default_topics_exclude
from kafka_replication.components.properties.definitions import CONNECTORS, Owner, definitions
from kafka_replication.components.render.connector_config import DEFAULTS
from kafka_replication.components.render.kafka_connect import BYTE_CONVERTERS, EXACTLY_ONCE_SUPPORT
from kafka_replication.infra.onboard.importing.reading import Notes
from kafka_replication.infra.onboard.importing.values import may_be_secret


def _number(text: str) -> int | None:
    return int(text) if text.strip().lstrip("+").isdigit() else None


def _switch(text: str) -> bool | None:
    return {"true": True, "false": False}.get(text.strip().lower())


#: Property -> its connector, the key of the flow, and its type. Source: MirrorSourceConfig, MirrorCheckpointConfig.
_KEYS: Mapping[str, tuple[ConnectorRole, str, Callable[[str], int | bool | None]]] = {
    "refresh.topics.interval.seconds": ("source", "intervals.refreshTopicsSeconds", _number),
    "offset.lag.max": ("source", "offsetSyncs.lagMax", _number),
    "refresh.groups.interval.seconds": ("checkpoint", "intervals.refreshGroupsSeconds", _number),
    "emit.checkpoints.interval.seconds": ("checkpoint", "intervals.emitCheckpointsSeconds", _number),
    "sync.group.offsets.interval.seconds": ("checkpoint", "intervals.syncGroupOffsetsSeconds", _number),
    "emit.heartbeats.interval.seconds": ("heartbeat", "intervals.emitHeartbeatsSeconds", _number),
    "sync.topic.acls.enabled": ("source", "syncTopicAcls", _switch),
    "emit.offset-syncs.enabled": ("source", "offsetSyncs.enabled", _switch),
    "heartbeats.replication.enabled": ("source", "replicateHeartbeats", _switch),
    "sync.group.offsets.enabled": ("checkpoint", "syncGroupOffsets", _switch),
}


def keys_of(role: ConnectorRole) -> tuple[str, ...]:
    """Return the keys of a flow that only a connector of this role sets."""
    return tuple(key for owner, key, _ in _KEYS.values() if owner == role)


#: What the source and checkpoint connectors must agree on, with Kafka's default. Source: MirrorConnectorConfig.
_AGREED = {
    "replication.policy.class": POLICY_CLASSES[Policy.DEFAULT],
    "replication.policy.separator": ".",
    "offset-syncs.topic.location": "source",
}
_CLASSES = {"topic.filter.class": "topicFilterClass", "group.filter.class": "groupFilterClass"}
_DEFAULT_CLASSES = frozenset({f"org.apache.kafka.connect.mirror.Default{what}Filter" for what in ("Topic", "Group")})
#: Old name of a property -> its name. Kafka 4.0 removed the old ones. Source: DefaultTopicFilter, DefaultGroupFilter.
OLD_NAMES = {"topics.blacklist": "topics.exclude", "groups.blacklist": "groups.exclude"}
#: Properties that only repeat fields, or what the operator writes itself.
_FIELDS = frozenset({"name", "connector.class", "tasks.max"})
_RESETS = ("source.consumer.auto.offset.reset", "consumer.auto.offset.reset")
_ISOLATION = "source.consumer.isolation.level"


@dataclass
class Settings:
    """The settings of a flow. A property that becomes a key is taken out of `configs`, which has no connections."""

    configs: dict[ConnectorRole, dict[str, str]]
    kafka: str
    notes: Mapping[ConnectorRole, Notes]
    flow: dict[str, Any] = field(default_factory=dict)

    def read(self) -> dict[str, Any]:
        """Return the keys of the flow; what is left in `configs` belongs under `config` of each connector."""
        for role, config in self.configs.items():
            known = definitions(self.kafka, Owner(role))
            for old, new in OLD_NAMES.items():
                if old in config and old in known:
                    former = config.pop(old)
                    if new in config:
                        self.notes[role](f"config.{old}", "without-effect", f"`{new}` overrides it.", "remove it.")
                    config.setdefault(new, former)
            for key in _FIELDS & config.keys():
                del config[key]
            self._of_others(role, config)
        self._selection()
        self._agreement()
        for name, (role, key, convert) in _KEYS.items():
            self._key(name, role, key, convert)
        self._start()
        self._syncs()
        for role, config in self.configs.items():
            self._defaults(role, config)
        self._leave_refused()
        return self.flow

    def _of_others(self, role: ConnectorRole, config: dict[str, str]) -> None:
        """Leave out the properties of a flow that only other connectors read."""
        known = definitions(self.kafka, Owner(role))
        for name in [name for name in (*_KEYS, *_AGREED, *_CLASSES) if name in config and name not in known]:
            readers = [str(owner) for owner in CONNECTORS if name in definitions(self.kafka, owner)]
            if readers:
                del config[name]
                why = f"Only the {' and the '.join(readers)} connector {'reads' if len(readers) == 1 else 'read'} it."
                remedy = f"move it to the {readers[-1]} connector, if it is meant to have an effect."
                self.notes[role](f"config.{name}", "without-effect", why, remedy)

    def _syncs(self) -> None:
        """Leave offset syncs on for a checkpoint connector, which needs them."""
        syncs = self.flow.get("offsetSyncs", {})
        if "checkpoint" in self.configs and syncs.get("enabled") is False:
            del syncs["enabled"]
            why = (
                "The source connector has `emit.offset-syncs.enabled: false`, and without offset syncs this connector "
                "translates no offsets. The topology leaves them on."
            )
            remedy = "none is needed, or set `connectors.checkpoint.enabled: false` and `offsetSyncs.enabled: false`."
            self.notes["checkpoint"]("", "connectors-disagree", why, remedy)

    def _key(self, name: str, role: ConnectorRole, key: str, convert: Callable[[str], Any]) -> None:
        if role not in self.configs:
            return
        definition = definitions(self.kafka, Owner(role)).get(name)
        text = self.configs[role].pop(name, definition.default if definition else None)
        if text is None:
            return
        value = convert(text)
        if value is None:
            why = f"Its value is {text!r}, and `{key}` of a flow takes " + (
                "only whole numbers from 0." if convert is _number else "only `true` and `false`."
            )
            self.notes[role](f"config.{name}", "value-refused", why, "correct the value.")
            return
        top, _, below = key.partition(".")
        if below:
            self.flow.setdefault(top, {})[below] = value
        else:
            self.flow[top] = value

    def _selection(self) -> None:
        source = self.configs["source"]
        topics, excluded = source.pop("topics", ".*"), source.pop("topics.exclude", None)
        self.flow["topics"] = _entries(topics)
        self.flow["topicsExclude"] = _added(excluded, default_topics_exclude(self.kafka))
        # A list replaces Kafka's own exclusions, and a flow always keeps them.
        entries = [] if excluded is None else _entries(excluded)
        defaults = () if excluded is None else default_topics_exclude(self.kafka)
        if lacking := ", ".join(f"`{pattern}`" for pattern in defaults if not is_covered(pattern, entries)):
            why = f"It replaces Kafka's own exclusions, and lacks {lacking}. A flow always excludes these, too."
            remedy = "none is needed, unless you want topics with such names replicated."
            self.notes["source"]("config.topics.exclude", "exclusions-kept", why, remedy)
        checkpoint = self.configs.get("checkpoint")
        if checkpoint is None:
            return
        for name, of_source in (("topics", topics), ("topics.exclude", excluded)):
            own = checkpoint.pop(name, None if name != "topics" else ".*")
            default = ",".join(default_topics_exclude(self.kafka))
            if own is not None and set(_entries(own)) != set(_entries(default if of_source is None else of_source)):
                why = (
                    "The source and the checkpoint connector select different topics, but a flow has one list for both."
                )
                remedy = "give both connectors the same list. Offsets are translated for topics that both select."
                self.notes["checkpoint"](f"config.{name}", "topics-differ", why, remedy)
        self.flow["groups"] = _entries(checkpoint.pop("groups", ".*"))
        excluded = checkpoint.pop("groups.exclude", None)
        self.flow["groupsExclude"] = _added(excluded, DEFAULT_GROUPS_EXCLUDE)
        if excluded is not None and not all(is_covered(own, _entries(excluded)) for own in DEFAULT_GROUPS_EXCLUDE):
            self.flow |= {"defaultGroupsExclude": False, "groupsExclude": _entries(excluded)}

    def _agreement(self) -> None:
        writes = self.configs.get("checkpoint", {}).get(EMIT_CHECKPOINTS, "true").strip().lower() != "false"
        for name in (*_AGREED, *_CLASSES):
            values = {role: config.pop(name).strip() for role, config in self.configs.items() if name in config}
            chosen = values.get("source", values.get("checkpoint") if name == "group.filter.class" else None)
            default = _AGREED.get(name)
            stops = bool(default) and writes and not any("${" in value for value in values.values())
            is_default = chosen is None or chosen == default or chosen in _DEFAULT_CLASSES
            if "checkpoint" in self.configs and "checkpoint" not in values and not is_default:
                why = f"It is not set, so this connector has Kafka's default{f' `{default}`' if default else ''}, but "
                why += f"the source connector has `{chosen}`"
                why += ": committed offsets are not translated to the records that are copied." if stops else "."
                remedy = "set it for both connectors; a flow has one value for all its connectors."
                code = "connectors-disagree" if stops else "connectors-differ"
                self.notes["checkpoint"](f"config.{name}", code, why, remedy)
            for role, value in values.items():
                same = value == (default if chosen is None else chosen) or (
                    chosen is None and value in _DEFAULT_CLASSES
                )
                if same or role == "source":
                    continue
                if role == "checkpoint" and stops:
                    why = (
                        f"It is `{value}`, but the source connector has `{chosen or default}`: committed offsets are "
                        "not translated to the records that are copied."
                    )
                    remedy = "make them equal; a flow has one value for all its connectors."
                    self.notes[role](f"config.{name}", "connectors-disagree", why, remedy)
                else:
                    why = f"It is `{value}`, but the source connector has `{chosen or default or 'the default'}`."
                    remedy = "none, if this is meant; a flow has one value for all its connectors."
                    self.notes[role](f"config.{name}", "connectors-differ", why, remedy)
            if chosen is not None:
                self._agreed(name, chosen)

    def _agreed(self, name: str, value: str) -> None:
        if name == "replication.policy.class":
            self.flow["policy"] = KNOWN_POLICIES.get(value, Policy.DEFAULT).value
            if value not in POLICY_CLASSES.values():
                self.flow["policyClass"] = value
        elif name == "replication.policy.separator" and value == "":
            why = (
                "A separator has at least one character in a topology. An empty one gives internal topics names such "
                "as `mm2-offset-syncsuswestinternal`."
            )
            remedy = "keep this object as it is, or accept that the internal topics get new names and start empty."
            self.notes["source"](f"config.{name}", "separator-empty", why, remedy)
        elif name == "replication.policy.separator":
            self.flow["separator"] = value
        elif name == "offset-syncs.topic.location":
            self.flow.setdefault("offsetSyncs", {})["location"] = value
        elif value not in _DEFAULT_CLASSES:
            self.flow[_CLASSES[name]] = value

    def _start(self) -> None:
        source = self.configs["source"]
        resets = [source.pop(name) for name in _RESETS if name in source]
        if resets:
            self.flow["startFrom"] = resets[0]
        if source.get("exactly.once.support") == "required" and self.flow.get("exactlyOnce") == "enabled":
            del source["exactly.once.support"]
            isolation = source.pop(_ISOLATION, source.pop("consumer.isolation.level", "read_uncommitted"))
            if isolation != "read_committed":
                why = "The source consumer reads uncommitted records; `exactlyOnce: enabled` reads only committed ones."
                remedy = "none is needed, but aborted records are no longer replicated."
                self.notes["source"](f"config.{_ISOLATION}", "reads-uncommitted", why, remedy)

    def _defaults(self, role: ConnectorRole, config: dict[str, str]) -> None:
        """Write Kafka's default explicitly if the project's default differs."""
        known = definitions(self.kafka, Owner(role))
        enabled = self.flow.get("offsetSyncs", {}).get("enabled", True)
        for name, ours in DEFAULTS[role].items():
            default = known[name].default if name in known else None
            if name.startswith("offset-syncs.") and not enabled:
                continue
            if config.get(name, default) == str(ours.value):
                config.pop(name, None)
            elif default is not None:
                config.setdefault(name, default)

    def _leave_refused(self) -> None:
        """Take out of `configs`, and note, what a check of the topology would refuse."""
        syncs = self.flow.get("offsetSyncs", {})
        # A check of the topology refuses any other location.
        location = syncs["location"] if syncs.get("location") in SIDES else "source"
        location = location if syncs.get("enabled", True) else ""
        once = self.flow.get("exactlyOnce") == "enabled"
        for role, config in self.configs.items():
            refused = refused_properties(Owner(role), config, self.kafka, offset_syncs=location, exactly_once=once)
            for key, problem in refused.items():
                if not may_be_secret(key, config[key]):
                    del config[key]
                    self.notes[role].refused(f"config.{key}", problem)


def _entries(text: str) -> list[str]:
    """Return the entries of a list as MirrorMaker reads it. Source: MirrorUtils.compilePatternList."""
    return list(dict.fromkeys(entry.strip() for entry in text.split(",") if entry.strip()))


def _added(excluded: str | None, own: tuple[str, ...]) -> list[str]:
    return [] if excluded is None else [entry for entry in _entries(excluded) if entry not in own]


_PARTS = ("key", "value", "header")
_SOME = {"type": "some"}
_CHAIN = ("transforms.", "predicates.", *(f"{part}.converter." for part in _PARTS))


def taken_transforms(config: dict[str, str], converters: Mapping[str, str], notes: Notes) -> dict[str, Any]:
    """Take a source connector's `transforms` out of its configuration and return them. `converters` are the workers',
    which apply where the connector has none. A credential in plain text is noted and not taken."""
    for key in [key for key in config if key.startswith(_CHAIN) and may_be_secret(key, config[key])]:
        del config[key]
        notes.credential(f"config.{key}")
    names = [name.strip() for name in config.pop("transforms", "").split(",") if name.strip()]
    config.pop("predicates", None)
    predicates = _taken(config, "predicates.")
    chain = {name: _transform(_taken(config, f"transforms.{name}."), predicates) for name in names}
    for name in [name for name in names if not (chain[name]["type"] and chain[name].get("predicate", _SOME)["type"])]:
        del chain[name]
        why = "It or its predicate has no `type`, so Connect refuses the connector."
        notes(f"config.transforms.{name}", "value-refused", why, "set the type, or remove it.")
    given = {part: _converter(part, config, converters, notes) for part in _PARTS}
    chosen = {part: converter for part, converter in given.items() if converter is not None}
    return ({"before": chain} if chain else {}) | ({"converters": chosen} if chosen else {})


def _taken(config: dict[str, str], prefix: str) -> dict[str, str]:
    return {key.removeprefix(prefix): config.pop(key) for key in list(config) if key.startswith(prefix)}


def _transform(given: dict[str, str], predicates: Mapping[str, str]) -> dict[str, Any]:
    transform: dict[str, Any] = {"type": given.pop("type", "")}
    predicate = given.pop("predicate", None)
    negate = given.pop("negate", "false")
    if given:
        transform["config"] = given
    if predicate is not None:
        own = below(f"{predicate}.", predicates)
        transform["predicate"] = {"type": own.pop("type", ""), **({"config": own} if own else {})}
        if negate.lower() == "true":
            transform["negate"] = True
    return transform


def _converter(part: str, config: dict[str, str], workers: Mapping[str, str], notes: Notes) -> dict[str, Any] | None:
    """Return a converter that differs from the one that the project sets anyway."""
    name = f"{part}.converter"
    own = settings = _taken(config, f"{name}.")
    chosen = config.pop(name, None)
    if chosen is None:
        chosen = workers.get(name, "")
        settings = below(f"{name}.", workers)
    chosen = full_class_name(chosen.strip())
    if chosen == BYTE_CONVERTERS[name]:
        for key in own:
            if key == "plugin.version":
                why, remedy = "A topology has no key for it.", "none is needed, if the workers have one version."
                notes(f"config.{name}.{key}", "no-key", why, remedy)
            else:
                why = "ByteArrayConverter reads no property."
                notes(f"config.{name}.{key}", "without-effect", why, "remove it.")
        return None
    return {"type": chosen, **({"config": settings} if settings else {})}


def flow_keys(
    configs: dict[ConnectorRole, dict[str, str]],
    workers: Mapping[str, Any],
    converters: Mapping[str, str],
    kafka: str,
    notes: Mapping[ConnectorRole, Notes],
) -> dict[str, Any]:
    """Return the keys of a flow that its connectors' properties set, and take these properties out of `configs`.
    `workers` is the configuration of the workers, `converters` has those that they use if it names none."""
    converters = {**converters, **{key: str(value) for key, value in workers.items() if ".converter" in key}}
    transforms = taken_transforms(configs["source"], converters, notes["source"])
    for role in [role for role in configs if role != "source"]:
        for key, ours in BYTE_CONVERTERS.items():
            given = full_class_name(configs[role].get(key, converters.get(key, str(ours))).strip())
            if given == ours:
                configs[role].pop(key, None)
            elif key not in configs[role] and not key.startswith("header."):
                why = (
                    f"Its workers have `{given}`. MirrorMaker reads this connector's records as bytes, so the project "
                    "writes them with ByteArrayConverter."
                )
                remedy = "none is needed. Kafka's clients can then read records that they could not read before."
                notes[role](f"config.{key}", "connectors-differ", why, remedy)
    settings = Settings(configs, kafka, notes)
    support = str(workers.get(EXACTLY_ONCE_SUPPORT, "disabled")).lower()
    if support != "disabled":
        settings.flow["exactlyOnce"] = support
    keys = settings.read() | {"transforms": transforms}
    return {key: value for key, value in keys.items() if value not in ([], {})}
