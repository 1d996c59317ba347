"""Named layers of a configuration and the one function that merges them: later wins, and every value keeps its origin.

Imports nothing of ours but the form of a property's value.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from components.clusters import PropertyValue

Config = dict[str, PropertyValue]


class LayerName(StrEnum):
    """Layers of a connector's or a worker's configuration, lowest first: a later one wins.

    The first two are ours and may be changed, the next two are the user's, the others belong to the model: `checks`
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
class Given:
    """A value and why it is set: the reason, or the path in the topology file that decides it."""

    value: PropertyValue
    why: str


@dataclass(frozen=True)
class Layer:
    """What one layer gives, by property."""

    name: LayerName
    given: Mapping[str, Given]


@dataclass(frozen=True)
class Setting:
    """The value of a property that holds, the layer that set it, and why."""

    value: PropertyValue
    layer: LayerName
    why: str


def layer(name: LayerName, values: Mapping[str, PropertyValue], why: str) -> Layer:
    """A layer whose properties all have one reason."""
    return Layer(name, {key: Given(value, why) for key, value in values.items()})


def merged(layers: Iterable[Layer]) -> dict[str, Setting]:
    """Every property of the layers with the value that holds; a later layer wins over an earlier one."""
    settings: dict[str, Setting] = {}
    for each in layers:
        settings |= {key: Setting(given.value, each.name, given.why) for key, given in each.given.items()}
    return settings


def values(layers: Iterable[Layer]) -> Config:
    """Every property of the layers with the value that holds, without its origin."""
    return {key: setting.value for key, setting in merged(layers).items()}
