"""Grafana knows everything in the dashboard's JSON: each key and value survives a round trip through its classes."""

import json
import typing
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard
from pydantic import ConfigDict, TypeAdapter, ValidationError

from kafka_replication.components.render.dashboard import dashboard

_ANY_CLASS = ConfigDict(arbitrary_types_allowed=True)


def document() -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(dashboard("prod", ("orders", "ledger-to-uswest"), exporter=True))
    return parsed


def unknown(given: dict[str, Any]) -> list[str]:
    """What Grafana's schema does not know: keys that its classes lose, and values of a wrong type."""
    register_default_plugins()
    read = Dashboard.from_json(given)
    written = json.loads(JSONEncoder().encode(read))
    return [*lost(given, written, "dashboard"), *mistyped(read, "dashboard")]


def lost(given: Any, written: Any, where: str) -> Iterator[str]:
    """The places of values that are missing in the output; defaults may be added."""
    match given, written:
        case dict(), dict():
            for key, value in given.items():
                yield from lost(value, written.get(key), f"{where}.{key}")
        case list(), list() if len(given) == len(written):
            for number, pair in enumerate(zip(given, written, strict=True)):
                yield from lost(*pair, f"{where}[{number}]")
        case _:
            if given != written:
                yield f"{where}: {given!r} became {written!r}"


def mistyped(read: Any, where: str) -> Iterator[str]:
    """The places where an object of Grafana's classes has a value of another type than its class declares."""
    if isinstance(read, list):
        for number, resource in enumerate(read):
            yield from mistyped(resource, f"{where}[{number}]")
    of: Any = type(read)
    if not of.__module__.startswith("grafana_foundation_sdk"):
        return
    for name, adapter in adapters(of).items():
        value = getattr(read, name)
        try:
            adapter.validate_python(value)
        except ValidationError as error:
            # Grafana's classes keep transformations as plain dicts.
            messages = [mistake["msg"] for mistake in error.errors() if not isinstance(mistake["input"], dict)]
            yield from (f"{where}.{name}: {message}" for message in messages)
        yield from mistyped(value, f"{where}.{name}")


@cache
def adapters(of: Any) -> dict[str, TypeAdapter[Any]]:
    """The type check of each attribute of one of Grafana's classes."""
    return {name: TypeAdapter(hint, config=_ANY_CLASS) for name, hint in typing.get_type_hints(of).items()}


def test_grafanas_schema_knows_everything_in_the_dashboard() -> None:
    assert unknown(document()) == []


def misspelt(given: dict[str, Any]) -> None:
    given["panels"][3]["fieldConfig"]["defaults"]["units"] = "ms"


def wrong_type(given: dict[str, Any]) -> None:
    given["panels"][3]["gridPos"]["w"] = "half"


def unknown_choice(given: dict[str, Any]) -> None:
    given["panels"][3]["options"]["legend"]["placement"] = "left"


@pytest.mark.parametrize("mistake", [misspelt, wrong_type, unknown_choice])
def test_a_mistake_in_the_dashboard_is_found(mistake: Any) -> None:
    given = document()
    mistake(given)
    assert unknown(given) != []
