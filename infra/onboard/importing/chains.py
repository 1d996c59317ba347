"""Transforms and converters of a connector's configuration -> those of a flow."""

from collections.abc import Callable, Mapping
from typing import Any

from components.kafka.plugins import below
from components.render.kafka_connect import BYTE_CONVERTERS
from infra.onboard.importing.secret_values import may_be_secret

_CHAIN = ("transforms.", "predicates.", *(f"{part}.converter." for part in ("key", "value", "header")))
_PARTS = ("key", "value", "header")


def taken_transforms(
    config: dict[str, str], converters: Mapping[str, str], refuse: Callable[[str], None]
) -> dict[str, Any]:
    """Return a source connector's `transforms`, and take their properties out of its configuration.

    `converters` are those that apply where the connector has none: the workers'. `refuse` is called with the name of
    each property that holds a credential in plain text, which is not taken.
    """
    for key in [key for key in config if key.startswith(_CHAIN) and may_be_secret(key, config[key])]:
        del config[key]
        refuse(key)
    names = [each.strip() for each in config.pop("transforms", "").split(",") if each.strip()]
    config.pop("predicates", None)
    predicates = _taken(config, "predicates.")
    chain = {name: _transform(_taken(config, f"transforms.{name}."), predicates) for name in names}
    found: dict[str, Any] = {"before": chain} if chain else {}
    chosen = {part: converter for part in _PARTS if (converter := _converter(part, config, converters)) is not None}
    return found | ({"converters": chosen} if chosen else {})


def _taken(config: dict[str, str], prefix: str) -> dict[str, str]:
    return {key.removeprefix(prefix): config.pop(key) for key in list(config) if key.startswith(prefix)}


def _transform(given: dict[str, str], predicates: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {"type": given.pop("type", "")}
    predicate = given.pop("predicate", None)
    negate = given.pop("negate", "false")
    if given:
        found["config"] = given
    if predicate is not None:
        own = below(f"{predicate}.", predicates)
        found["predicate"] = {"type": own.pop("type", ""), **({"config": own} if own else {})}
        if negate.lower() == "true":
            found["negate"] = True
    return found


def _converter(part: str, config: dict[str, str], workers: Mapping[str, str]) -> dict[str, Any] | None:
    """Return a converter that differs from the one that the project sets anyway."""
    name = f"{part}.converter"
    settings = _taken(config, f"{name}.")
    chosen = config.pop(name, None)
    if chosen is None:
        chosen = workers.get(name, "")
        settings = below(f"{name}.", workers)
    if chosen == BYTE_CONVERTERS[name]:
        return None
    return {"type": chosen, **({"config": settings} if settings else {})}


def without_bytes(config: dict[str, str]) -> None:
    """Take the converters out of a connector whose records MirrorMaker writes as bytes with any converter."""
    for part in _PARTS:
        if config.get(f"{part}.converter") == BYTE_CONVERTERS[f"{part}.converter"]:
            del config[f"{part}.converter"]
