"""The transforms of replicated records, and the converters that write what they leave.

Frozen pydantic models, camelCase in YAML. Imports `clusters` and the names of Kafka's plugins only.
"""

from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from components.kafka.plugins import full_class_name
from components.topology.clusters import Model, Properties

#: The full name of a class, even if the short name of one of Kafka's classes is given.
PluginClass = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1), AfterValidator(full_class_name)]


class Predicate(Model):
    """Condition under which a transform is applied to a record. Source: KIP-585."""

    type: PluginClass = Field(description="Java class of the predicate.")
    config: Properties = Field(default_factory=dict, description="Properties of the predicate.")


class Transform(Model):
    """A Single Message Transform of the user's own."""

    type: PluginClass = Field(description="Java class of the transform.")
    config: Properties = Field(default_factory=dict, description="Properties of the transform.")
    predicate: Predicate | None = Field(default=None, description="Transform only records that meet this condition.")
    negate: bool = Field(default=False, description="Transform only records that do not meet the condition.")


class Converter(Model):
    """How Connect writes keys, values or headers after the last transform."""

    type: PluginClass = Field(description="Java class of the converter.")
    config: Properties = Field(default_factory=dict, description="Properties of the converter.")


class Converters(Model):
    """Converters that replace those that write bytes unchanged, for transforms that leave something other than
    bytes.
    """

    key: Converter | None = Field(default=None, description="Writes keys; default: unchanged bytes.")
    value: Converter | None = Field(default=None, description="Writes values; default: unchanged bytes.")
    header: Converter | None = Field(default=None, description="Writes headers; default: unchanged bytes.")


class Transforms(Model):
    """The user's transforms of replicated records."""

    before: Mapping[str, Transform] = Field(
        default_factory=dict, description="Transforms before the loop guard, by name, in their order."
    )
    after: Mapping[str, Transform] = Field(
        default_factory=dict, description="Transforms after the loop guard, by name, in their order."
    )
    converters: Converters | None = Field(
        default=None, description="Converters for what the transforms leave; default: unchanged bytes."
    )

    @property
    def change_records(self) -> bool:
        """Whether replicated records may differ from their originals."""
        return bool(self.before or self.after) or self.converters is not None


OwnTransforms = Annotated[
    Transforms | None, Field(description="Transforms of these records instead of those of the whole replication.")
]
