"""What is passed to Strimzi as written: fields and values that its custom resource definitions accept.

The API server drops a field that the definition does not have, without a word, and refuses a value of another type.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from kafka_replication.components.checks.property_values import is_open_credential, open_credential
from kafka_replication.components.contract.problems import Problem
from kafka_replication.components.flows.expansion import ExpandedFlow, FlowShape
from kafka_replication.components.properties.definitions import nearest
from kafka_replication.components.topology.known_keys import leaves

#: The schema of these fields of a KafkaConnect in every API version; `checks.versions` knows which operator has what.
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
_WORDS |= {"list": "a list", "pattern": "text", "enum": "text"}
_DROPPED = "Strimzi's definition does not have the field, so Kubernetes would drop it without a message."


#: Keys that an artifact of a type needs, although Strimzi's definition does not say so. Source: KafkaConnectDockerfile.
_NEEDED = {"maven": ("group", "artifact", "version"), **dict.fromkeys(("jar", "tgz", "zip", "other"), ("url",))}
#: Of 63 characters, those that are left of `plugin-NAME-HASH`.
_LONGEST_MOUNTED = 47
_NO_BUILD = "The operator refuses such a build, so no worker would start."


@cache
def worker_template() -> Mapping[str, Any]:
    """Return the schema: `keys`, `map`, `list`, `enum` or `pattern` with what is below, or the name of a simple type;
    `required` names the keys that must be there.
    """
    schema: Mapping[str, Any] = json.loads(FILE.read_text())
    return schema


def check_worker_template(flow: ExpandedFlow) -> Iterator[Problem]:
    """Yield every field and value of the workers that the operator would not take over."""
    for key, schema in worker_template()["keys"].items():
        where, value = flow.where(f"connect.{key}"), getattr(flow.settings.connect, key)
        if value is not None and key != "template" and flow.shape is FlowShape.MIRROR_MAKER2:
            what = f"a KafkaMirrorMaker2 has no field `{key}`"
            remedy = "set `connect.image` to an image that has the plugins, or use `kind: flow`."
            yield Problem(where, "unknown-key", what, _DROPPED, remedy)
            continue
        secret = set() if key == "template" else set(credentials_in(value, where))
        for at in sorted(secret):
            remedy = "serve the artifacts without a login, or set `connect.image`."
            yield open_credential(at, key, remedy, "what the operator makes of it")
        yield from (mistake for mistake in _mistakes(schema, value, where) if mistake.where not in secret)
    yield from _refused(flow) if flow.shape is not FlowShape.MIRROR_MAKER2 else ()


def _refused(flow: ExpandedFlow) -> Iterator[Problem]:
    """What Strimzi's definition accepts, but not its operator, or not Kubernetes for the pods that it makes. Source:
    KafkaConnectBuild.validateBuildConfiguration, KafkaConnectCluster.getMountedPluginVolumes.
    """
    connect = flow.settings.connect
    output, built = ((connect.build or {}).get(key) for key in ("output", "plugins"))
    pushed = isinstance(output, Mapping) and output.get("type") == "docker" and output.get("image")
    if pushed and pushed == connect.image:
        what, remedy = "the build would replace the image that it builds on", "choose another name or tag."
        yield Problem(flow.where("connect.build.output.image"), "not-accepted", what, _NO_BUILD, remedy)
    listed = built if isinstance(built, list | tuple) else ()
    names = [str(plugin.get("name")) if isinstance(plugin, Mapping) else "" for plugin in listed]
    for index in (index for index, name in enumerate(names) if name and name in names[:index]):
        where, remedy = flow.where(f"connect.build.plugins.{index}.name"), "choose another name, or join both."
        yield Problem(where, "not-accepted", "another plugin has the same name", _NO_BUILD, remedy)
    for index, plugin in enumerate(connect.plugins or ()):
        name = str(plugin.get("name"))
        if "_" in name or len(name) > _LONGEST_MOUNTED:
            what = "the name has a `_`" if "_" in name else f"the name has more than {_LONGEST_MOUNTED} characters"
            why = "The operator names a volume of the pods after it, and Kubernetes would refuse them."
            remedy = f"use at most {_LONGEST_MOUNTED} lower-case letters, digits and `-`."
            yield Problem(flow.where(f"connect.plugins.{index}.name"), "not-accepted", what, why, remedy)


def credentials_in(value: Any, where: str) -> Iterator[str]:
    """Yield where a text is or contains a credential."""
    return (at for at, leaf in leaves(value, where) if is_open_credential("", leaf))


def _mistakes(schema: Any, value: Any, where: str) -> Iterator[Problem]:
    # The API server removes an empty value.
    if value is None:
        return
    kind, below = _kind(schema)
    if kind in ("pattern", "enum") and isinstance(value, str):
        accepted, remedy = f"text like {below}", "write it in that form."
        if kind == "enum":
            accepted, remedy = ", ".join(below), f"write one of these, such as `{below[0]}`."
        if not (re.search(below, value) if kind == "pattern" else value in below):
            yield Problem(where, "not-accepted", f"the value is {value!r}", f"Accepted: {accepted}.", remedy)
    elif kind in ("keys", "map") and isinstance(value, Mapping):
        for key, inner in value.items():
            if kind == "map" or key in below:
                yield from _mistakes(below[key] if kind == "keys" else below, inner, f"{where}.{key}")
            else:
                near = nearest(str(key), below)
                remedy = f"did you mean `{near}`?" if near else f"remove it; accepted keys: {', '.join(sorted(below))}."
                yield Problem(f"{where}.{key}", "unknown-key", f"`{key}` is not a key here", _DROPPED, remedy)
        needed = _NEEDED.get(str(value.get("type")), ()) if kind == "keys" and "artifact" in below else ()
        for key in (*schema.get("required", ()), *needed):
            if value.get(key) is None and not any(nearest(str(given), below) == key for given in value.keys() - below):
                refuses = "The operator" if key in needed else "Kubernetes"
                why = f"{refuses} would refuse the resource of the workers."
                yield Problem(f"{where}.{key}", "missing-key", f"`{key}` is missing", why, f"set `{key}`.")
    elif kind == "list" and isinstance(value, list | tuple):
        for index, entry in enumerate(value):
            yield from _mistakes(below, entry, f"{where}.{index}")
    elif kind != "any" and (
        not isinstance(value, _SIMPLE.get(kind, ())) or (isinstance(value, bool) and kind != "boolean")
    ):
        what = f"the value is {_given(value)}, not {_WORDS[kind]}"
        remedy = f"write {_WORDS[kind]}."
        if _WORDS[kind] == "text" and not isinstance(value, Mapping | list | tuple):
            remedy = f'write `"{_given(value)}"`, in quotation marks.'
        yield Problem(where, "wrong-type", what, "Kubernetes would refuse the resource of the workers.", remedy)


def _kind(schema: Any) -> tuple[str, Any]:
    return next(iter(schema.items())) if isinstance(schema, Mapping) else (schema, None)


def _given(value: object) -> str:
    if isinstance(value, Mapping | list | tuple):
        return "a mapping" if isinstance(value, Mapping) else "a list"
    # A text may be a credential in the wrong place. YAML reads 2026-01-31 as a date.
    return "text" if isinstance(value, str) else json.dumps(value, default=str).strip('"')
