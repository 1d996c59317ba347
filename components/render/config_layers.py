"""Named layers of a configuration, and their merge: a later layer wins, and each value keeps its origin."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from kafka_replication.components.topology.clusters import PropertyValue

Config = dict[str, PropertyValue]


class LayerName(StrEnum):
    """Layers of a connector's or worker's configuration, lowest first; a later one wins.

    Users can override the first two. The next three are the user's own, and the rest belong to the model: `checks`
    refuses a user's property that one of them would override.
    """

    DEFAULT = "project default"
    PRESET = "preset"
    CONNECTOR = "connector"
    PART = "part"
    WORKER = "worker"
    FIXED = "fixed"
    CLUSTERS = "clusters"
    AGREEMENT = "agreement"
    SELECTION = "selection"
    MODEL = "model"


@dataclass(frozen=True)
class LayerValue:
    """A value, and why it is set: a reason, or the path in the topology file that decides it."""

    value: PropertyValue
    why: str


@dataclass(frozen=True)
class EffectiveSetting:
    """A property's value, the key and layer that set it, and why; `key` is "" if Kafka or Connect did."""

    value: PropertyValue
    key: str
    layer: str
    why: str


#: The effective settings of a connector, a worker or a client, by property.
Settings = Mapping[str, EffectiveSetting]


@dataclass(frozen=True)
class Layer:
    """The properties that one layer sets."""

    name: LayerName
    properties: Mapping[str, LayerValue]

    def setting(self, key: str) -> EffectiveSetting:
        entry = self.properties[key]
        return EffectiveSetting(entry.value, key, self.name.value, entry.why)


def layer(name: LayerName, values: Mapping[str, PropertyValue], why: str) -> Layer:
    """Return a layer whose properties all have the same reason."""
    return Layer(name, {key: LayerValue(value, why) for key, value in values.items()})


def merged(layers: Iterable[Layer]) -> dict[str, EffectiveSetting]:
    """Return every property of the layers with its effective setting; a later layer wins."""
    return {key: layer.setting(key) for layer in layers for key in layer.properties}


def values(layers: Iterable[Layer]) -> Config:
    """Return every property of the layers with its effective value."""
    return {key: setting.value for key, setting in merged(layers).items()}
