"""The template of the workers' pods: fields and values that Strimzi's custom resource definitions accept.

The API server drops a field that the definition does not have, without a word, and refuses a value of another type.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from kafka_replication.components.contract.problems import Problem
from kafka_replication.components.flows.expansion import ExpandedFlow
from kafka_replication.components.properties.definitions import nearest

#: The schema of `spec.template` in every API version; `components.checks.versions` knows which operator has what.
#: tests/contract/worker_template.py writes it from the definitions that Strimzi's own generator prints.
FILE = Path(__file__).with_name("worker_template.json")

_SIMPLE: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "int-or-string": (int, str),
    "object": (Mapping,),
}
_WORDS = {"string": "text", "integer": "a whole number", "boolean": "true or false", "object": "a mapping"}
_WORDS |= {"int-or-string": "a whole number or text", "number": "a number", "keys": "a mapping", "map": "a mapping"}
_WORDS |= {"list": "a list"}


@cache
def worker_template() -> Mapping[str, Any]:
    """Return the schema: `keys`, `map`, `list` or `enum` with what is below, or the name of a simple type."""
    schema: Mapping[str, Any] = json.loads(FILE.read_text())
    return schema


def check_worker_template(flow: ExpandedFlow) -> Iterator[Problem]:
    """Yield every field and value of the workers' template that the operator would not take over."""
    template = flow.settings.connect.template or {}
    yield from _mistakes(worker_template(), template, flow.where("connect.template"))


def _mistakes(schema: Any, value: Any, where: str) -> Iterator[Problem]:
    # The API server removes an empty value.
    if value is None:
        return
    kind, below = _kind(schema)
    if kind == "enum":
        if value not in below:
            yield _not_accepted(where, value, f"Accepted: {', '.join(below)}.", below[0])
    elif kind in ("keys", "map") and isinstance(value, Mapping):
        for key, inner in value.items():
            if kind == "map" or key in below:
                yield from _mistakes(below[key] if kind == "keys" else below, inner, f"{where}.{key}")
            else:
                yield _unknown_field(f"{where}.{key}", str(key), below)
    elif kind == "list" and isinstance(value, list | tuple):
        for index, entry in enumerate(value):
            yield from _mistakes(below, entry, f"{where}.{index}")
    elif kind != "any" and (
        not isinstance(value, _SIMPLE.get(kind, ())) or (isinstance(value, bool) and kind != "boolean")
    ):
        what = f"the value is {_given(value)}, not {_WORDS[kind]}"
        remedy = f'write `"{json.dumps(value)}"`, in quotation marks.' if kind == "string" else f"write {_WORDS[kind]}."
        yield Problem(where, "wrong-type", what, "Kubernetes would refuse the resource of the workers.", remedy)


def _kind(schema: Any) -> tuple[str, Any]:
    return next(iter(schema.items())) if isinstance(schema, Mapping) else (schema, None)


def _unknown_field(where: str, key: str, known: Mapping[str, Any]) -> Problem:
    near = nearest(key, known)
    remedy = f"did you mean `{near}`?" if near else f"remove it; accepted keys: {', '.join(sorted(known))}."
    why = "Strimzi's definition does not have the field, so Kubernetes would drop it without a message."
    return Problem(where, "unknown-key", f"`{key}` is not a key here", why, remedy)


def _not_accepted(where: str, value: object, why: str, example: str) -> Problem:
    return Problem(where, "not-accepted", f"the value is {value!r}", why, f"write one of these, such as `{example}`.")


def _given(value: object) -> str:
    if isinstance(value, Mapping | list | tuple):
        return "a mapping" if isinstance(value, Mapping) else "a list"
    # A text may be a credential in the wrong place.
    return "text" if isinstance(value, str) else json.dumps(value)
