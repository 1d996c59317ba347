"""The properties that Kafka hands on to a part of it: those with the part's prefix, without that prefix."""

from collections.abc import Mapping
from typing import TypeVar

V = TypeVar("V")


def below(prefix: str, config: Mapping[str, V]) -> dict[str, V]:
    """The properties that begin with `prefix`, without it. Source: AbstractConfig.originalsWithPrefix."""
    return {key.removeprefix(prefix): value for key, value in config.items() if key.startswith(prefix)}
