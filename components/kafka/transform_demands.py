"""What some of Kafka's transforms require of their properties in combination; otherwise Connect refuses the connector.

Source: `configure` of the classes of org.apache.kafka.connect.transforms, and the validators of Cast and ReplaceField.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from components.kafka.record_forms import Step

_CAST_TYPES = ("int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string")
_INSERTED = ("topic.field", "partition.field", "offset.field", "timestamp.field", "static.field")


@dataclass(frozen=True)
class Demand:
    """What is wrong with a transform's properties, as a clause, and what to set."""

    what: str
    remedy: str


def unmet(step: Step) -> Demand | None:
    """What a transform requires and its properties lack; None if nothing."""
    rule = _RULES.get(step.kind)
    return rule(step) if rule else None


def _cast(step: Step) -> Demand | None:
    types = [each.split(":") for each in step.listed("spec")]
    wrong = [":".join(each) for each in types if len(each) > 2 or each[-1].strip().lower() not in _CAST_TYPES]
    if wrong:
        return Demand(
            f"`{wrong[0]}` in `spec` is not a cast", f"write `FIELD:TYPE`, with one of {', '.join(_CAST_TYPES)}."
        )
    if len(types) > 1 and any(len(each) == 1 for each in types):
        return Demand(
            "`spec` casts both the whole and its fields", "give one type alone, or only casts such as `FIELD:TYPE`."
        )
    return None


def _header_from(step: Step) -> Demand | None:
    fields, headers = len(step.listed("fields")), len(step.listed("headers"))
    if not fields or not headers or fields == headers:
        return None
    return Demand(f"`fields` names {fields}, but `headers` names {headers}", "name one header for each field.")


def _insert_field(step: Step) -> Demand | None:
    if not any(key in step.config for key in _INSERTED):
        return Demand("no field to insert is named", f"set one of {', '.join(f'`{key}`' for key in _INSERTED)}.")
    if "static.field" in step.config and "static.value" not in step.config:
        return Demand("`static.field` has no value", "set `static.value`.")
    return None


def _replace_field(step: Step) -> Demand | None:
    wrong = [each for each in step.listed("renames") if each.count(":") != 1]
    return Demand(f"`{wrong[0]}` in `renames` is not a renaming", "write `OLD:NEW`.") if wrong else None


def _set_schema(step: Step) -> Demand | None:
    if {"schema.name", "schema.version"} & step.config.keys():
        return None
    return Demand("neither a name nor a version is set", "set `schema.name` or `schema.version`.")


def _convert_timestamp(step: Step) -> Demand | None:
    if step.text("target.type") != "string" or step.text("format"):
        return None
    return Demand("`format` is not set", "set `format`, such as `yyyy-MM-dd'T'HH:mm:ss`.")


_RULES: Mapping[str, Callable[[Step], Demand | None]] = {
    "Cast": _cast,
    "HeaderFrom": _header_from,
    "InsertField": _insert_field,
    "ReplaceField": _replace_field,
    "SetSchemaMetadata": _set_schema,
    "TimestampConverter": _convert_timestamp,
}
