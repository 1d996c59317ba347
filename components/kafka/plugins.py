"""Kafka's own transforms, predicates and converters, and the short names by which Connect also finds a class.

Source: PluginUtils.computeAliases of Connect's runtime. A class is found by its simple name, and by that name without
the suffix for the kind of plugin (`Json` for `JsonConverter`). A short name that fits two classes is not usable, so the
nested classes `Key` and `Value` have only full names.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

KAFKA_TRANSFORMS = "org.apache.kafka.connect.transforms."
#: Drops records, as its predicate says.
FILTER = f"{KAFKA_TRANSFORMS}Filter"
KAFKA_PREDICATES = f"{KAFKA_TRANSFORMS}predicates."
TOPIC_NAME_MATCHES = f"{KAFKA_PREDICATES}TopicNameMatches"
HAS_HEADER_KEY = f"{KAFKA_PREDICATES}HasHeaderKey"
RECORD_IS_TOMBSTONE = f"{KAFKA_PREDICATES}RecordIsTombstone"
#: Parse and write keys and values; from a vendor's image, because Kafka has nothing like them.
VENDOR_TRANSFORMS = "com.cloudera.dim.kafka.connect.transforms."
BYTE_ARRAY_CONVERTER = "org.apache.kafka.connect.converters.ByteArrayConverter"
JSON_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"
STRING_CONVERTER = "org.apache.kafka.connect.storage.StringConverter"
SIMPLE_HEADER_CONVERTER = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
#: The properties that name the converters of a record.
CONVERTER_KEYS = ("key.converter", "value.converter", "header.converter")

#: Transforms with one class.
WHOLE_RECORD = (*("DropHeaders", "Filter", "InsertHeader", "RegexRouter", "TimestampRouter"), "ValueToKey")
#: Transforms whose class is for keys or for values, such as `Cast$Key`; without that ending it is abstract.
FOR_KEY_OR_VALUE = (
    *("Cast", "ExtractField", "Flatten", "HeaderFrom", "HoistField", "InsertField"),
    *("MaskField", "ReplaceField", "SetSchemaMetadata", "TimestampConverter"),
)
PREDICATES = ("HasHeaderKey", "RecordIsTombstone", "TopicNameMatches")
#: Converters that write only numbers, or only truth values.
TYPED_CONVERTERS = frozenset(
    f"org.apache.kafka.connect.converters.{name}Converter"
    for name in ("Boolean", "Double", "Float", "Integer", "Long", "Short")
)


#: Well-known converters that put an identifier of a schema before a value: what they write for plain bytes.
_FRAMED = "an identifier of a schema before the bytes, so consumers no longer read the record as it was"
SCHEMA_CONVERTERS: Mapping[str, str] = {
    "io.confluent.connect.avro.AvroConverter": _FRAMED,
    "io.confluent.connect.json.JsonSchemaConverter": f"Base64, with {_FRAMED}",
    "io.confluent.connect.protobuf.ProtobufConverter": _FRAMED,
    "io.apicurio.registry.utils.converter.AvroConverter": _FRAMED,
    "io.apicurio.registry.utils.converter.ExtJsonConverter": f"Base64, with {_FRAMED}",
    "com.amazonaws.services.schemaregistry.kafkaconnect.AWSKafkaAvroConverter": _FRAMED,
}


class Role(StrEnum):
    """The role of a plugin's class."""

    TRANSFORM = "transform"
    PREDICATE = "predicate"
    CONVERTER = "converter"
    HEADER_CONVERTER = "header converter"


_CONVERTERS = frozenset({BYTE_ARRAY_CONVERTER, JSON_CONVERTER, STRING_CONVERTER, *TYPED_CONVERTERS})
#: Kafka's classes by role. Most converters can write headers, too.
CLASSES: Mapping[Role, frozenset[str]] = {
    Role.TRANSFORM: frozenset(
        {
            *(f"{KAFKA_TRANSFORMS}{name}" for name in WHOLE_RECORD),
            *(f"{KAFKA_TRANSFORMS}{name}${half}" for name in FOR_KEY_OR_VALUE for half in ("Key", "Value")),
        }
    ),
    Role.PREDICATE: frozenset(f"{KAFKA_PREDICATES}{name}" for name in PREDICATES),
    Role.CONVERTER: _CONVERTERS,
    Role.HEADER_CONVERTER: _CONVERTERS | {SIMPLE_HEADER_CONVERTER},
}


def simple_name(name: str) -> str:
    """Return a class's name without its package."""
    return name.rpartition(".")[2]


def _short_names() -> dict[str, str]:
    short_names: dict[str, str] = {}
    for role, ending in (
        (Role.TRANSFORM, "Transformation"),
        (Role.PREDICATE, "Predicate"),
        (Role.CONVERTER, "Converter"),
        (Role.HEADER_CONVERTER, "HeaderConverter"),
    ):
        for name in (name for name in CLASSES[role] if "$" not in name):
            short_names |= dict.fromkeys((simple_name(name), simple_name(name).removesuffix(ending)), name)
    return short_names


#: Every short name of a Kafka class, with the class.
SHORT_NAMES: Mapping[str, str] = _short_names()


def full_class_name(name: str) -> str:
    """Return the full name of the Kafka class that a short name finds; any other name itself."""
    return SHORT_NAMES.get(name, name)


V = TypeVar("V")


def below(prefix: str, config: Mapping[str, V]) -> dict[str, V]:
    """Return the properties that begin with `prefix`, without it. Source: AbstractConfig.originalsWithPrefix."""
    return {key.removeprefix(prefix): value for key, value in config.items() if key.startswith(prefix)}
