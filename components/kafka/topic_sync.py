"""What a source connector copies from a topic to its remote topic besides records: its configuration and its ACLs.

Source: MirrorSourceConnector (targetConfig, incrementalAlterConfigs, targetAclBinding), DefaultConfigPropertyFilter.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kafka_replication.components.kafka.acls import AclEntry
from kafka_replication.components.kafka.patterns import matches_any

#: Origins of values that the connector does not copy.
_OF_BROKER = "STATIC_BROKER_CONFIG"
_DEFAULT = "DEFAULT_CONFIG"
_OWN = "DYNAMIC_TOPIC_CONFIG"


class TopicSetting(NamedTuple):
    """A property of a topic, and where it comes from, as ConfigEntry.ConfigSource names it."""

    value: str | None
    origin: str


@dataclass(frozen=True)
class ConfigDifference:
    """A property whose value on the target is not the one that the connector copies; `wanted` is None if the remote
    topic should not have a value of its own."""

    name: str
    wanted: str | None
    found: str | None


def config_differences(
    source: Mapping[str, TopicSetting], target: Mapping[str, TopicSetting], excluded: Sequence[str]
) -> list[ConfigDifference]:
    """Return what the connector would change on a remote topic, except for properties that match `excluded`."""
    differences = []
    for name, here in sorted(source.items()):
        there = target.get(name)
        if there is None or here.origin == _OF_BROKER or matches_any(excluded, name):
            continue
        if here.origin == _DEFAULT:
            if there.origin == _OWN:
                differences.append(ConfigDifference(name, None, there.value))
        elif here.value != there.value:
            differences.append(ConfigDifference(name, here.value, there.value))
    return differences


def unlike_settings(source: Mapping[str, TopicSetting], target: Mapping[str, TopicSetting]) -> list[ConfigDifference]:
    """Return the properties with which applications of the source may fail on the target, or find records deleted."""
    return [
        ConfigDifference(name, here, there)
        for name, is_unlike in _UNLIKE.items()
        if name in source and name in target
        if (here := source[name].value) is not None and (there := target[name].value) is not None
        if is_unlike(here, there)
    ]


def _is_shorter(here: str, there: str) -> bool:
    """Return whether the target keeps less; any negative number means without end."""
    return int(there) >= 0 and (int(here) < 0 or int(there) < int(here))


_UNLIKE: Mapping[str, Callable[[str, str], bool]] = {
    "cleanup.policy": lambda here, there: set(here.split(",")) != set(there.split(",")),
    "max.message.bytes": lambda here, there: int(there) < int(here),
    "min.insync.replicas": lambda here, there: int(there) != int(here),
    "retention.bytes": _is_shorter,
    "retention.ms": _is_shorter,
}


def copied_acl(entry: AclEntry, remote: str) -> AclEntry | None:
    """Return the ACL of the remote topic that the connector creates for an ACL of the source; None if none."""
    if (entry.resource, entry.pattern) != ("TOPIC", "LITERAL"):
        return None
    if entry.permission == "ALLOW" and entry.operation == "WRITE":
        return None
    reads = entry.permission == "ALLOW" and entry.operation == "ALL"
    return entry._replace(name=remote, operation="READ" if reads else entry.operation)


def missing_acls(source: Iterable[AclEntry], target: Iterable[AclEntry], remotes: Mapping[str, str]) -> list[AclEntry]:
    """Return the ACLs of remote topics that the connector would create. `remotes` are remote topics by source topic."""
    wanted = [copied_acl(entry, remotes[entry.name]) for entry in source if entry.name in remotes]
    return sorted({entry for entry in wanted if entry is not None} - set(target))
