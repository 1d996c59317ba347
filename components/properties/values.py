"""Whether Kafka accepts a value for a property. Source: ConfigDef.parseType and its validators."""

import re
from dataclasses import replace

from kafka_replication.components.properties.definitions import Definition, PropertyType

Value = str | bool | int | float

_PLACEHOLDER = re.compile(r"\$\{[^}]+\}")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_DOUBLE = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[dDfF]?")
_JAVA_CLASS = re.compile(r"[^\W\d][\w$]*(?:\.[^\W\d][\w$]*)*")
_COMMA = re.compile(r"\s*,\s*")
_BITS = {PropertyType.SHORT: 16, PropertyType.INT: 32, PropertyType.LONG: 64}


def value_text(value: object) -> str:
    """Return a value as the string that configurations carry, of Kafka as of Spark and Pulumi."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def type_problem(definition: Definition, value: Value) -> str | None:
    """Return what the value must be ("must be true or false"); None if Kafka accepts it, or it has a placeholder."""
    text = value_text(value).strip()
    if _PLACEHOLDER.search(text):
        return None
    match definition.type:
        case PropertyType.BOOLEAN:
            return None if text.lower() in {"true", "false"} else "must be true or false"
        case PropertyType.SHORT | PropertyType.INT | PropertyType.LONG:
            return _integer_problem(definition, text)
        case PropertyType.DOUBLE:
            fits = _DOUBLE.fullmatch(text) and _in_range(definition, float(text.rstrip("dDfF")))
            return None if fits else f"must be {_number_words(definition, 'a number')}"
        case PropertyType.LIST:
            return _list_problem(definition, _COMMA.split(text) if text else [])
        case PropertyType.CLASS:
            return None if _JAVA_CLASS.fullmatch(text) else "must be the full name of a Java class"
    if definition.not_empty and not text:
        return "must be a non-empty text"
    return None if _is_accepted(definition, text) else f"must be {_accepted_words(definition)}"


def _list_problem(definition: Definition, elements: list[str]) -> str | None:
    if not all(_is_accepted(definition, element) for element in elements):
        return f"must be a comma-separated list of {_accepted_words(definition)}"
    if definition.not_empty and not elements:
        return "must be a comma-separated list of at least one name"
    if definition.distinct and len(set(elements)) < len(elements):
        return "must be a comma-separated list without repetitions"
    return None


def _integer_problem(definition: Definition, text: str) -> str | None:
    half = 2 ** (_BITS[definition.type] - 1)
    is_integer = bool(_INTEGER.fullmatch(text))
    fits_type = is_integer and -half <= int(text) < half
    if fits_type and (text in definition.accepted or _in_range(definition, int(text))):
        return None
    # Mention the type's own bounds if the value breaks them, or if the property has a minimum and the bounds are small.
    bounded = definition.at_least is not None and definition.type is not PropertyType.LONG
    if bounded or (is_integer and not fits_type):
        least, most = definition.at_least, definition.at_most
        definition = replace(
            definition, at_least=-half if least is None else least, at_most=half - 1 if most is None else most
        )
    return f"must be {_number_words(definition, 'an integer')}"


def _in_range(definition: Definition, number: float) -> bool:
    return (definition.at_least is None or number >= definition.at_least) and (
        definition.at_most is None or number <= definition.at_most
    )


def _is_accepted(definition: Definition, text: str) -> bool:
    if not definition.accepted:
        return True
    if definition.any_case:
        return text.lower() in {accepted.lower() for accepted in definition.accepted}
    # `by_duration:PnDTnHnMn.nS` accepts any duration.
    forms = tuple(accepted.partition(":P")[0] + ":P" for accepted in definition.accepted if ":P" in accepted)
    return text in definition.accepted or bool(forms and text.startswith(forms))


def _number_words(definition: Definition, noun: str) -> str:
    least, most = definition.at_least, definition.at_most
    bounds = {
        (True, True): "",
        (False, True): f" of at least {least}",
        (True, False): f" of at most {most}",
        (False, False): f" from {least} to {most}",
    }[least is None, most is None]
    return noun + bounds + "".join(f", or {accepted}" for accepted in definition.accepted)


def _accepted_words(definition: Definition) -> str:
    *others, last = (f"`{value}`" for value in definition.accepted)
    return f"{', '.join(others)} or {last}" if others else last
