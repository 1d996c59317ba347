"""The forms that a key, a value or a header takes on its way through transforms, what each transform does to them, and
which properties a transform refuses to start with.

A set of forms holds what a part may be; whether a step works is certain only if it works for all of them, or for none.
Source: MirrorSourceTask.convertRecord, the classes of org.apache.kafka.connect.transforms and their `configure`, the
validators of Cast and ReplaceField.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from kafka_replication.components.kafka.plugins import (
    BYTE_ARRAY_CONVERTER,
    FOR_KEY_OR_VALUE,
    JSON_CONVERTER,
    KAFKA_TRANSFORMS,
    STRING_CONVERTER,
    TYPED_CONVERTERS,
    VENDOR_TRANSFORMS,
    below,
)


class Form(StrEnum):
    """What a key, value or header is while Connect has it in memory."""

    BYTES = "bytes"
    #: Fields without a schema, as JsonConverter reads them with `schemas.enable: false`.
    MAP = "a structure"
    STRUCT = "a structure with a schema"
    #: A text, a number or anything else that is neither bytes nor a structure.
    SINGLE = "text or a number"
    NULL = "null"


Forms = frozenset[Form]

ANYTHING = frozenset(Form)
BYTES = frozenset({Form.BYTES})
NULL = frozenset({Form.NULL})
SINGLE = frozenset({Form.SINGLE})
STRUCTURED = frozenset({Form.MAP, Form.STRUCT})
#: What a field of a structure without schema can be.
FIELD_OF_MAP = frozenset({Form.MAP, Form.SINGLE})

Properties = Mapping[str, object]


@dataclass(frozen=True)
class Step:
    """A transform: its name in the chain, its class and its properties."""

    name: str
    type: str
    config: Properties

    @property
    def half(self) -> str:
        """`key` or `value`: what the class works on, if it is for only one of the two."""
        return "key" if self.type.endswith("$Key") else "value"

    @property
    def kind(self) -> str:
        """Return the class without package and half; empty if it is abstract, or neither Kafka's nor the vendor's."""
        for package in (KAFKA_TRANSFORMS, VENDOR_TRANSFORMS):
            if self.type.startswith(package):
                name, _, half = self.type.removeprefix(package).partition("$")
                return "" if name in FOR_KEY_OR_VALUE and not half else name
        return ""

    def text(self, key: str) -> str:
        """Return a property's value as Connect reads it; empty if not set."""
        return str(self.config.get(key, "")).strip()

    def listed(self, key: str) -> tuple[str, ...]:
        """Return the names that a property lists."""
        return tuple(name.strip() for name in self.text(key).split(",") if name.strip())


@dataclass(frozen=True)
class RecordForms:
    """A record in the chain, with the headers that transforms added; `opaque` bytes (heartbeats) cannot be parsed."""

    topic: str
    key: Forms = BYTES
    value: Forms = BYTES
    headers: Mapping[str, Forms] = field(default_factory=dict)
    opaque: bool = False

    def half(self, name: str) -> Forms:
        """Return the forms of the `key` or the `value`."""
        return self.key if name == "key" else self.value

    def having(self, half: str, forms: Forms) -> "RecordForms":
        """Return the record with other forms of its `key` or `value`."""
        return replace(self, key=forms) if half == "key" else replace(self, value=forms)


@dataclass(frozen=True)
class StepRefusal:
    """A step cannot work with its input: `half` is `key` or `value`; `needs` is empty if bytes do not parse."""

    half: str
    found: Forms
    needs: Forms


_Rule = Callable[[Step, RecordForms], RecordForms | StepRefusal]


def applied(step: Step, record: RecordForms) -> RecordForms | StepRefusal | None:
    """Return the record after a transform, why every task would fail there, or None if it is dropped."""
    if step.kind == "Filter":
        return None
    rule = _RULES.get(step.kind)
    return rule(step, record) if rule else _by_unknown_class(step, record)


def converted(converter: str, config: Properties) -> Forms:
    """Return what a converter turns bytes into."""
    if converter == JSON_CONVERTER:
        has_schema = str(config.get("schemas.enable", "true")).lower() == "true"
        return frozenset({Form.STRUCT, Form.SINGLE}) if has_schema else FIELD_OF_MAP
    if converter in TYPED_CONVERTERS:
        return SINGLE
    return {BYTE_ARRAY_CONVERTER: BYTES, STRING_CONVERTER: SINGLE}.get(converter, ANYTHING)


def writable(converter: str) -> Forms:
    """Return what a converter can write, even as Base64 or a Java object's name; the rest fails the task."""
    if converter in TYPED_CONVERTERS:
        return SINGLE | NULL
    return BYTES | NULL if converter == BYTE_ARRAY_CONVERTER else ANYTHING


def _by_unknown_class(step: Step, record: RecordForms) -> RecordForms:
    if step.type.endswith(("$Key", "$Value")):
        return record.having(step.half, ANYTHING)
    return replace(record, key=ANYTHING, value=ANYTHING)


def _changed(
    record: RecordForms, half: str, needs: Forms, become: Callable[[Form], Forms]
) -> RecordForms | StepRefusal:
    forms = record.half(half)
    passing = forms & needs
    if not passing:
        return StepRefusal(half, forms, needs)
    return record.having(half, frozenset[Form]().union(*map(become, passing)))


def _same(form: Form) -> Forms:
    return frozenset({form})


def _half_becomes(needs: Forms, become: Callable[[Form], Forms] = _same) -> _Rule:
    """Return the rule of a transform that works on a half of these forms only."""
    return lambda step, record: _changed(record, step.half, needs, become)


_with_fields = _half_becomes(STRUCTURED | NULL)


def _field(form: Form) -> Forms:
    return {Form.MAP: FIELD_OF_MAP, Form.NULL: NULL}.get(form, ANYTHING)


def _hoist_field(step: Step, record: RecordForms) -> RecordForms | StepRefusal:
    has_no_schema = (Form.MAP, Form.NULL)
    become = {form: frozenset({Form.MAP if form in has_no_schema else Form.STRUCT}) for form in Form}
    return _changed(record, step.half, ANYTHING, lambda form: STRUCTURED if form is Form.SINGLE else become[form])


def _cast(step: Step, record: RecordForms) -> RecordForms | StepRefusal:
    types = step.listed("spec")
    if any(":" in entry for entry in types):
        return _with_fields(step, record)
    needs = SINGLE | NULL | (BYTES if types == ("string",) else frozenset())
    return _changed(record, step.half, needs, lambda form: NULL if form is Form.NULL else SINGLE)


def _convert_timestamp(step: Step, record: RecordForms) -> RecordForms | StepRefusal:
    if step.config.get("field"):
        return _with_fields(step, record)
    return _changed(record, step.half, SINGLE | NULL, _same)


def _value_to_key(_: Step, record: RecordForms) -> RecordForms | StepRefusal:
    forms = record.value & STRUCTURED
    return replace(record, key=forms) if forms else StepRefusal("value", record.value, STRUCTURED)


def _header_from(step: Step, record: RecordForms) -> RecordForms | StepRefusal:
    forms = record.half(step.half) & STRUCTURED
    if not forms:
        return StepRefusal(step.half, record.half(step.half), STRUCTURED)
    forms = frozenset[Form]().union(*map(_field, forms))
    return replace(record, headers={**record.headers, **dict.fromkeys(step.listed("headers"), forms)})


def _insert_header(step: Step, record: RecordForms) -> RecordForms:
    """Source: Values.parseString, which turns the text `null` into null and never turns a text into bytes."""
    forms = NULL if step.text("value.literal") == "null" else SINGLE
    return replace(record, headers={**record.headers, step.text("header"): forms})


def _drop_headers(step: Step, record: RecordForms) -> RecordForms:
    dropped = step.listed("headers")
    return replace(record, headers={name: forms for name, forms in record.headers.items() if name not in dropped})


def _convert_from_bytes(step: Step, record: RecordForms) -> RecordForms | StepRefusal:
    converter, half = str(step.config.get("converter", "")), step.half
    present = record.half(half)
    if record.opaque and Form.BYTES in present and converter not in (BYTE_ARRAY_CONVERTER, STRING_CONVERTER, ""):
        return StepRefusal(half, present, frozenset())
    forms = converted(converter, below("converter.", step.config))
    return _changed(record, half, BYTES | NULL, lambda form: NULL if form is Form.NULL else forms)


def _convert_to_bytes(step: Step, record: RecordForms) -> RecordForms | StepRefusal:
    needs = writable(str(step.config.get("converter")))
    return _changed(record, step.half, needs, lambda form: NULL if form is Form.NULL else BYTES)


_RULES: Mapping[str, _Rule] = {
    "Cast": _cast,
    "DropHeaders": _drop_headers,
    "ExtractField": _half_becomes(STRUCTURED | NULL, _field),
    "Flatten": _with_fields,
    "HeaderFrom": _header_from,
    "HoistField": _hoist_field,
    "InsertField": _with_fields,
    "InsertHeader": _insert_header,
    "MaskField": _half_becomes(STRUCTURED),
    "RegexRouter": lambda _, record: record,
    "ReplaceField": _with_fields,
    "SetSchemaMetadata": _half_becomes(frozenset({Form.STRUCT, Form.NULL})),
    "TimestampConverter": _convert_timestamp,
    "TimestampRouter": lambda _, record: record,
    "ValueToKey": _value_to_key,
    "ConvertFromBytes": _convert_from_bytes,
    "ConvertToBytes": _convert_to_bytes,
}


_CAST_TYPES = ("int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string")
_INSERTED = ("topic.field", "partition.field", "offset.field", "timestamp.field", "static.field")


@dataclass(frozen=True)
class Demand:
    """What is wrong with a transform's properties, as a clause, and what to set."""

    what: str
    remedy: str


def unmet(step: Step) -> Demand | None:
    """Return what a transform requires and its properties lack; None if nothing."""
    rule = _DEMANDS.get(step.kind)
    return rule(step) if rule else None


def _cast_demand(step: Step) -> Demand | None:
    types = [entry.split(":") for entry in step.listed("spec")]
    wrong = [":".join(entry) for entry in types if len(entry) > 2 or entry[-1].strip().lower() not in _CAST_TYPES]
    if wrong:
        return Demand(
            f"`{wrong[0]}` in `spec` is not a cast", f"write `FIELD:TYPE`, with one of {', '.join(_CAST_TYPES)}."
        )
    if len(types) > 1 and any(len(entry) == 1 for entry in types):
        return Demand(
            "`spec` casts both the whole and its fields", "give one type alone, or only casts such as `FIELD:TYPE`."
        )
    return None


def _header_from_demand(step: Step) -> Demand | None:
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
    wrong = [rename for rename in step.listed("renames") if rename.count(":") != 1]
    return Demand(f"`{wrong[0]}` in `renames` is not a renaming", "write `OLD:NEW`.") if wrong else None


def _set_schema_demand(step: Step) -> Demand | None:
    if {"schema.name", "schema.version"} & step.config.keys():
        return None
    return Demand("neither a name nor a version is set", "set `schema.name` or `schema.version`.")


def _convert_timestamp_demand(step: Step) -> Demand | None:
    if step.text("target.type") != "string" or step.text("format"):
        return None
    return Demand("`format` is not set", "set `format`, such as `yyyy-MM-dd'T'HH:mm:ss`.")


_DEMANDS: Mapping[str, Callable[[Step], Demand | None]] = {
    "Cast": _cast_demand,
    "HeaderFrom": _header_from_demand,
    "InsertField": _insert_field,
    "ReplaceField": _replace_field,
    "SetSchemaMetadata": _set_schema_demand,
    "TimestampConverter": _convert_timestamp_demand,
}
