"""YAML data -> model, with a Problem for every mistake in the form of the file. Imports only the model and problems."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from kafka_replication.components.contract.grouping import grouped
from kafka_replication.components.contract.problems import Problem, ReplicationError
from kafka_replication.components.topology.clusters import LABEL, SUBDOMAIN, Model
from kafka_replication.components.topology.known_keys import Path, unknown_key, value_at
from kafka_replication.components.topology.model import Topology

#: Alternative types of a value, as pydantic names them in locations.
_SIMPLE_TYPES = ("str", "bool", "int", "float")
#: Tags of alternatives, which appear in pydantic's locations but not in the file.
_TAGS = frozenset(
    {
        *("secret", "pattern", "config", "keystore", "address"),
        *("plain", "scram-sha-512", "scram-sha-256", "tls", "oauth", "custom"),
        *("flow", "prefixlessPair", "split", "mirrorMaker2"),
        *_SIMPLE_TYPES,
        *("inline", "external", "jmxPrometheusExporter", "strimziMetricsReporter", "label", "variable"),
    }
)
#: YAML's names for Python's types, and for the types that pydantic's errors ask for.
_GIVEN_TYPES = {
    dict: "a mapping",
    list: "a list",
    str: "text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    type(None): "empty",
    date: "a date",
}
_WANTED_TYPES = {
    **dict.fromkeys(("model", "dict", "mapping"), "a mapping"),
    **dict.fromkeys(("list", "tuple"), "a list"),
    "string": "text",
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
}
#: How each of these is written.
_EXAMPLES = {
    "a mapping": "`{name}: {{KEY: VALUE}}`",
    "a list": "`{name}: [VALUE]`",
    "text": '`{name}: "TEXT"`',
    "true or false": "`{name}: true`",
    "a whole number": "`{name}: 3`",
    "a number": "`{name}: 60`",
}
#: What the patterns of the model accept, in words.
_FORMS = {
    r"^(v1|v1beta2|\d+\.\d+(\.\d+)?|0\.(49|50|51)(\.\d+)?/v1beta2)$": (
        "a version such as '1.2', the API version 'v1' or 'v1beta2', or '0.51/v1beta2' (also 0.49 and 0.50)"
    ),
    r"^\d+\.\d+\.\d+": "a version such as 4.2.0",
    r"^\S+$": "text without blanks",
    r"^[-._a-zA-Z0-9]+$": "letters, digits, `-`, `_` and `.`",
    f"^{LABEL}$": "lower-case letters, digits and, between them, `-`",
    f"^{SUBDOMAIN}$": "lower-case letters, digits and, between them, `-` and `.`",
}
M = TypeVar("M", bound=Model)
_TOP = "the top of the file"
_CREDENTIALS = frozenset({"password", "certificates", "trust", "clientSecret", "accessToken", "refreshToken"})


def parse_topology(data: object) -> Topology:
    """Build the topology from parsed YAML, or raise a ReplicationError that lists every mistake in its form."""
    return parse_model(Topology, data)


def parse_model(model: type[M], data: object) -> M:
    """Build a file's model from parsed YAML, or raise a ReplicationError that lists every mistake in its form."""
    if not isinstance(data, Mapping):
        required = [field.alias or name for name, field in model.model_fields.items() if field.is_required()]
        keys = ", ".join(f"`{key}:`" for key in required)
        what = f"the file is {_given(data)}"
        why, remedy = "Nothing is declared in it.", f"write the keys {keys}, each at the beginning of a line."
        raise ReplicationError([Problem(_TOP, "no-mapping", what, why, remedy)])
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise ReplicationError(form_problems(error.errors(), data, model)) from None


def called(model: type[Model], error: ValidationError, values: Mapping[str, Any]) -> ReplicationError:
    """Return the mistakes in a call of the model with `values`, each with the name of the model before its path."""
    problems = form_problems(error.errors(), values, model)
    name = model.__name__
    return ReplicationError(
        [replace(each, where=name if each.where == _TOP else f"{name}.{each.where}") for each in problems]
    )


def form_problems(details: Sequence[ErrorDetails], data: object, model: type[Model]) -> Iterator[Problem]:
    """Yield one problem for each path; pydantic reports one error for each type that a value could have had."""
    by_path = grouped((_without_type(detail["loc"]), detail) for detail in details)
    unknown = {file_path(detail, data) for detail in details if detail["type"] == "extra_forbidden"}
    for same_path in by_path.values():
        if same_path[0]["type"] == "missing" and _is_misspelt(file_path(same_path[0], data), unknown, data, model):
            continue
        wanted = [_WANTED_TYPES.get(detail["type"].partition("_")[0]) for detail in same_path]
        yield _problem(same_path[0], data, model, " or ".join(form for form in wanted if form))


def _is_misspelt(missing: Path, unknown: Collection[Path], data: object, model: type[Model]) -> bool:
    """Return whether a key is missing because it is misspelt: an unknown key resembles it, or all keys are unknown."""
    beside = [path for path in unknown if path[:-1] == missing[:-1]]
    given = value_at(data, missing[:-1])
    if isinstance(given, Mapping) and len(beside) == len(given) > 0:
        return True
    return any(unknown_key(model, path, data).meant == missing[-1] for path in beside)


def file_path(detail: ErrorDetails, data: object) -> Path:
    """Return the path of a mistake in the file; a missing key has the path that it would have."""
    location = detail["loc"]
    return _path_in_file(location[:-1] if location[-1:] == ("[key]",) else _without_type(location), data)


def _without_type(location: Path) -> Path:
    return location[:-1] if location and location[-1] in _SIMPLE_TYPES else location


def _problem(detail: ErrorDetails, data: object, model: type[Model], wanted: str) -> Problem:
    if detail["type"] == "invalid_key" or detail["loc"][-1:] == ("[key]",):
        return _wrong_key(detail, data)
    path = file_path(detail, data)
    if detail["type"].startswith("union_tag"):
        path = (*path, str(detail["ctx"]["discriminator"]).strip("'"))
    where, name = _where(path), _name(path)
    match detail["type"]:
        case "missing" if isinstance(path[-1], int):
            return _wrong_length(_where(path[:-1]), _name(path[:-1]), path[-1], "more")
        case "too_short" | "too_long":
            fewer = "more" if detail["type"] == "too_short" else "fewer"
            return _wrong_length(where, name, len(detail["input"]), fewer)
        case "missing" | "union_tag_not_found":
            return Problem(where, "missing-key", f"`{name}` is missing", "It has no default.", f"set `{name}`.")
        case "extra_forbidden":
            return _unknown_key(path, data, model)
        case "greater_than_equal" | "less_than_equal" | "finite_number" | "string_too_short" | "string_too_long":
            return _out_of_range(where, name, detail)
        case "enum" | "literal_error" | "union_tag_invalid" | "string_pattern_mismatch" | "quantity" | "heap":
            return _not_accepted(where, name, detail)
    if name == "bootstrapServers" and isinstance(detail["input"], list):
        what, remedy = f"`{name}` is a list", f"write one text with commas: `{name}: HOST:PORT,HOST:PORT`."
        return Problem(where, "wrong-type", what, "It must be text.", remedy)
    if name in _CREDENTIALS and not isinstance(detail["input"], Mapping | list | None):
        return _plain_text(where, name)
    return _wrong_type(where, name, detail, wanted)


def _where(path: tuple[str | int, ...]) -> str:
    return ".".join(str(part) for part in path) or _TOP


def _name(path: tuple[str | int, ...]) -> str:
    """Return the last key of a path, with the index if it leads into a list."""
    if not path:
        return "the file"
    return f"{path[-2]}.{path[-1]}" if isinstance(path[-1], int) and len(path) > 1 else str(path[-1])


def _given(value: object) -> str:
    return _GIVEN_TYPES.get(type(value), f"of type {type(value).__name__}")


def _wrong_key(detail: ErrorDetails, data: object) -> Problem:
    """Return the problem of a name that is not accepted, or of a key that YAML does not read as text."""
    key, location = detail["input"], detail["loc"][:-1]
    path = _path_in_file(location if detail["type"] == "invalid_key" else location[:-1], data)
    if isinstance(key, str):
        return Problem(
            _where((*path, key)),
            "not-accepted",
            f"the key `{key}` is not accepted here",
            f"Accepted: {_accepted(detail)}.",
            "rename it accordingly." if "pattern" in detail.get("ctx", {}) else "rename it to one of these.",
        )
    return Problem(
        _where((*path, str(key).lower())),
        "wrong-type",
        f"a key is {_given(key)}: {key!r}",
        "Without quotation marks YAML does not read it as text"
        + (": `no`, `off`, `yes` and `on` become true or false." if isinstance(key, bool) else "."),
        "put the key in quotation marks.",
    )


def _wrong_length(where: str, name: str, entries: int, fewer: str) -> Problem:
    what, why = f"the number of entries in `{name}` is {entries}", f"It needs {fewer}."
    return Problem(where, "out-of-range", what, why, f"give `{name}` {fewer} entries.")


def _out_of_range(where: str, name: str, detail: ErrorDetails) -> Problem:
    match detail.get("ctx", {}):
        case {"ge": least}:
            why, remedy = f"It must be at least {_plain(least)}.", f"set `{name}` to {_plain(least)} or more."
        case {"le": most}:
            why, remedy = f"It must be at most {_plain(most)}.", f"set `{name}` to {_plain(most)} or less."
        case _:
            why, remedy = f"{detail['msg']}.", f"set `{name}` to an accepted value."
    return Problem(where, "out-of-range", f"`{name}` is {detail['input']!r}", why, remedy)


def _plain(limit: float) -> float:
    """Return the limit as people write it: 0 instead of 0.0."""
    return int(limit) if limit == int(limit) else limit


def _plain_text(where: str, name: str) -> Problem:
    why = "A topology file is kept in version control, so everyone who can read it could use the credential."
    if name == "trust":
        why = "Workers and connectors read certificates from a Secret, not from a file on this machine."
    return Problem(
        where,
        "plain-text-secret",
        f"`{name}` is given as plain text",
        why,
        f"set `{name}: {{secret: NAME, key: KEY}}` for an existing Secret, or `{name}: {{config: KEY}}` and "
        "`pulumi config set --secret replication:KEY`.",
    )


def _wrong_type(where: str, name: str, detail: ErrorDetails, wanted: str) -> Problem:
    given = detail["input"]
    if not wanted:
        why, remedy = f"{detail['msg']}.", f"write `{name}` in the accepted form."
    elif wanted == "text" and isinstance(given, bool | int | float | date):
        why, remedy = "Without quotation marks YAML does not read it as text.", "put it in quotation marks."
    else:
        why, remedy = f"It must be {wanted}.", _written_as(name, wanted)
    return Problem(where, "wrong-type", f"`{name}` is {_given(given)}", why, remedy)


def _written_as(name: str, wanted: str) -> str:
    key, _, index = name.rpartition(".")
    if wanted not in _EXAMPLES or (key and index.isdigit()):
        return f"write `{name}` as {wanted}."
    return f"write {_EXAMPLES[wanted].format(name=name)}."


def _unknown_key(path: tuple[str | int, ...], data: object, model: type[Model]) -> Problem:
    explained = unknown_key(model, path, data)
    # The text after a colon may be a credential.
    key, colon, _ = str(path[-1]).partition(":")
    shown = f"{key}:…" if colon else key
    return Problem(
        _where((*path[:-1], key)), "unknown-key", f"`{shown}` is not a key here", explained.why, explained.remedy
    )


def _not_accepted(where: str, name: str, detail: ErrorDetails) -> Problem:
    context = detail.get("ctx", {})
    given, accepted = context.get("tag", detail["input"]), _accepted(detail)
    remedy = f"write `{name}` in that form." if "pattern" in context else f"set `{name}` to one of these."
    return Problem(where, "not-accepted", f"`{name}` is {given!r}", f"Accepted: {accepted}.", remedy)


def _accepted(detail: ErrorDetails) -> str:
    context = detail.get("ctx", {})
    pattern = context.get("pattern")
    form = _FORMS.get(str(pattern), f"text like {pattern}")
    return str(context.get("expected") or context.get("expected_tags") or form)


def _path_in_file(location: tuple[str | int, ...], data: object) -> tuple[str | int, ...]:
    """Return a pydantic location without the parts that name alternatives and are not keys of the file."""
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
