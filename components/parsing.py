"""YAML data -> model, with every mistake in the file's form told as a Problem. Imports the model and problems only."""

import difflib
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from components.clusters import Model
from components.model import Topology
from components.problems import Problem, ReplicationError

#: Tags of alternatives appear in pydantic's locations but not in the file.
_TAGS = frozenset(
    {
        *("secret", "pattern", "config", "keystore", "address"),
        *("plain", "scram-sha-512", "scram-sha-256", "tls", "oauth", "custom"),
        *("flow", "prefixlessPair", "split", "mirrorMaker2"),
        *("str", "bool", "int", "float"),
        *("inline", "external", "jmxPrometheusExporter", "strimziMetricsReporter"),
    }
)
#: YAML's words for what Python has made of it, and for what pydantic's kind of error asks for.
_GIVEN_TYPES = {
    dict: "a mapping",
    list: "a list",
    str: "text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    type(None): "empty",
}
_WANTED_TYPES = {
    **dict.fromkeys(("model", "dict"), "a mapping"),
    **dict.fromkeys(("list", "tuple"), "a list"),
    "string": "text",
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
}
M = TypeVar("M", bound=Model)
_CREDENTIALS = frozenset({"password", "certificates", "trust", "clientSecret", "accessToken", "refreshToken"})


def parse_topology(data: object) -> Topology:
    """Build the topology from parsed YAML, or raise a ReplicationError that lists every mistake in its form."""
    return parse_model(Topology, data)


def parse_model(model: type[M], data: object) -> M:
    """Build a file's model from parsed YAML, or raise a ReplicationError that lists every mistake in its form."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise ReplicationError(_problem(detail, data, model) for detail in error.errors()) from None


def _problem(detail: ErrorDetails, data: object, model: type[Model]) -> Problem:
    path = _path_in_file(detail["loc"], data)
    if detail["type"].startswith("union_tag"):
        path = (*path, "type")
    where = ".".join(str(part) for part in path) or "the top of the file"
    name = _name(path)
    match detail["type"]:
        case "missing" | "union_tag_not_found":
            return Problem(where, "missing-key", f"`{name}` is missing", "It has no default.", f"set `{name}`.")
        case "extra_forbidden":
            return _unknown_key(where, path, model)
        case "greater_than_equal" | "string_too_short":
            return Problem(
                where,
                "out-of-range",
                f"`{name}` is {detail['input']!r}",
                f"{detail['msg']}.",
                f"set `{name}` to an accepted value.",
            )
        case "enum" | "literal_error" | "union_tag_invalid" | "string_pattern_mismatch":
            return _not_accepted(where, name, detail)
    if name in _CREDENTIALS and isinstance(detail["input"], str):
        return Problem(
            where,
            "plain-text-secret",
            f"`{name}` is given as text",
            "A topology file is kept in version control; whoever reads it could use the credential.",
            f"set `{name}: {{secret: NAME, key: KEY}}` for an existing Secret, or `{name}: {{config: KEY}}` and "
            "`pulumi config set --secret KEY`.",
        )
    return _wrong_type(where, name, detail)


def _name(path: tuple[str | int, ...]) -> str:
    """The key, with its place in the list that it holds."""
    if not path:
        return "the file"
    return f"{path[-2]}.{path[-1]}" if isinstance(path[-1], int) and len(path) > 1 else str(path[-1])


def _wrong_type(where: str, name: str, detail: ErrorDetails) -> Problem:
    given, kind = detail["input"], detail["type"].partition("_")[0]
    is_given = _GIVEN_TYPES.get(type(given), f"of type {type(given).__name__}")
    wanted = _WANTED_TYPES.get(kind)
    if wanted is None:
        why, remedy = f"{detail['msg']}.", f"write `{name}` in the accepted form."
    elif kind == "string" and isinstance(given, bool | int | float):
        why, remedy = "Without quotation marks YAML reads no text here.", "put it in quotation marks."
    else:
        why, remedy = f"Accepted is {wanted}.", f"write `{name}` as {wanted}."
    return Problem(where, "wrong-type", f"`{name}` is {is_given}", why, remedy)


def _unknown_key(where: str, path: tuple[str | int, ...], model: type[Model]) -> Problem:
    known = _known_keys(model, path[:-1])
    near = difflib.get_close_matches(str(path[-1]), known, n=1)
    remedy = f"did you mean `{near[0]}`?" if near else f"remove it; accepted are {', '.join(sorted(known))}."
    return Problem(where, "unknown-key", f"`{path[-1]}` is not a key here", "It would have no effect.", remedy)


def _not_accepted(where: str, name: str, detail: ErrorDetails) -> Problem:
    context = detail.get("ctx", {})
    accepted = context.get("expected") or context.get("expected_tags") or f"text like {context.get('pattern')}"
    given = context.get("tag", detail["input"])
    return Problem(
        where, "not-accepted", f"`{name}` is {given!r}", f"Accepted: {accepted}.", f"set `{name}` to one of these."
    )


def _path_in_file(location: tuple[str | int, ...], data: object) -> tuple[str | int, ...]:
    """Drop the parts of a pydantic location that name an alternative and are no key of the file."""
    path: list[str | int] = []
    here: Any = data
    for index, part in enumerate(location):
        last = index == len(location) - 1
        in_mapping = isinstance(here, Mapping) and part in here
        if in_mapping and (part not in _TAGS or last or isinstance(here[part], Mapping)):
            here = here[part]
        elif isinstance(here, list) and isinstance(part, int):
            here = here[part] if part < len(here) else None
        elif part in _TAGS and not (last and isinstance(here, Mapping)):
            continue
        path.append(part)
    return tuple(path)


def _known_keys(model: type[Model], path: tuple[str | int, ...]) -> list[str]:
    """Return the keys that the model accepts at a path of the file."""
    schema = model.model_json_schema()
    return [key for definition in _candidates(schema, path) for key in definition.get("properties", {})]


def _candidates(schema: Mapping[str, Any], path: tuple[str | int, ...]) -> list[Mapping[str, Any]]:
    nodes = [schema]
    for part in path:
        nodes = [child for node in nodes for child in _children(schema, node, part)]
    return nodes


def _children(schema: Mapping[str, Any], node: Mapping[str, Any], part: str | int) -> list[Mapping[str, Any]]:
    if isinstance(part, int):
        child = node.get("items")
    else:
        child = node.get("properties", {}).get(part) or node.get("additionalProperties")
    return _alternatives(schema, child) if isinstance(child, Mapping) else []


def _alternatives(schema: Mapping[str, Any], node: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    if "$ref" in node:
        return _alternatives(schema, schema["$defs"][node["$ref"].rsplit("/", 1)[-1]])
    branches = node.get("anyOf") or node.get("oneOf") or node.get("allOf")
    return [found for branch in branches for found in _alternatives(schema, branch)] if branches else [node]
