"""One definition of a kind from two releases of Strimzi's API, as an operator from 0.49 to 0.51 has it. Pure.

Such an operator serves `v1` and `v1beta2` of a kind and converts between them by changing nothing but `apiVersion`. The
two schemas must fit together for that. If they do not, the API server silently drops fields:

- It prunes a request by the schema of the requested version, and what it stores by the schema of the storage version.
  When it answers, it does the same in reverse order. So the storage version has to declare every field of both. If v1
  were stored as it is, `spec.externalConfiguration` of a v1beta2 object would be lost. If v1beta2 were stored as 0.45
  has it, `spec.groupId` of a v1 object would be lost.
- A server-side apply of v1 over what the same manager applied as v1beta2 reads the merged object as v1beta2 again, and
  fails on the first field that v1beta2 does not declare. So v1beta2 must also be served with the fields of both.

So v1 is served as 1.2 generates it. v1beta2 is stored, and has the fields of both: it accepts whatever 0.45 or 1.2
accepts. To see what 0.45 alone accepts, use a server with 0.45's own definitions.
"""

import copy
from collections.abc import Iterable
from typing import Any

Definition = dict[str, Any]
Schema = dict[str, Any]

_ANYTHING = "x-kubernetes-preserve-unknown-fields"
_SHAPE = ("type", "x-kubernetes-int-or-string", "nullable")
_NESTED = ("items", "additionalProperties")
_COMMON_ENTRIES = ("required", "x-kubernetes-validations")


def served_definition(newer: Definition, older: Definition) -> Definition:
    """One definition that serves the versions of both and stores the older.

    Names, labels and scope are equal in both; they are taken from the newer one.
    """
    new, old = (copy.deepcopy(only_version(each)) for each in (newer, older))
    old["schema"] = {"openAPIV3Schema": united_schema(*(each["schema"]["openAPIV3Schema"] for each in (new, old)))}
    versions = [{**new, "storage": False}, {**old, "storage": True}]
    return {**copy.deepcopy(newer), "spec": {**copy.deepcopy(newer["spec"]), "versions": versions}}


def only_version(definition: Definition) -> dict[str, Any]:
    """The only version of a generated definition. Raises ValueError if it has several."""
    (version,) = definition["spec"]["versions"]
    return dict(version)


def united_schema(newer: Schema, older: Schema) -> Schema:
    """A structural schema that accepts whatever one of the two accepts.

    A constraint (`required`, `enum`, `minimum`, a CEL rule, …) stays only if both have it. Where the types differ,
    anything is accepted.
    """
    if any(newer.get(key) != older.get(key) for key in _SHAPE):
        return {_ANYTHING: True}
    united = {key: value for key, value in older.items() if newer.get(key) == value}
    if newer.get(_ANYTHING) or older.get(_ANYTHING):
        united[_ANYTHING] = True
    for key in _NESTED:
        found = [each[key] for each in (newer, older) if key in each]
        if found:
            united[key] = united_schema(found[0], found[-1])
    for key in _COMMON_ENTRIES:
        if both := _entries_of_both(newer.get(key, []), older.get(key, [])):
            united[key] = both
    if "enum" in newer and "enum" in older:
        united["enum"] = [*older["enum"], *(each for each in newer["enum"] if each not in older["enum"])]
    if properties := _united_properties(newer.get("properties", {}), older.get("properties", {})):
        united["properties"] = properties
    return united


def _entries_of_both(newer: Iterable[Any], older: Iterable[Any]) -> list[Any]:
    others = list(newer)
    return [each for each in older if each in others]


def _united_properties(newer: dict[str, Schema], older: dict[str, Schema]) -> dict[str, Schema]:
    return {
        name: united_schema(newer.get(name, schema), older.get(name, schema))
        for name, schema in {**newer, **older}.items()
    }
