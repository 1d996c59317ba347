"""Parses what Kafka's ConfigDefs provide only as text: ranges, accepted values, and documentation.

Source: the `toString` of the validators of org.apache.kafka.common.config.ConfigDef and of Connect's own.
"""

import html
import re

_NUMBER = r"-?\d+(?:\.\d+)?(?:E-?\d+)?"
_RANGE = re.compile(rf"\[(?:(?P<least>{_NUMBER}),)?\.\.\.(?:,(?P<most>{_NUMBER}))?\]")
_WORDS = re.compile(r"(?:\(case insensitive\) )?\[(?P<words>[^\[\]]+)\]")
_TAG = re.compile(r"</?[a-zA-Z][^>]*>")
_BLOCK = re.compile(r"<(?:p|br|ul|li|pre|/p|/ul|/li|/pre)\b[^>]*>")
_SENTENCE_END = re.compile(r"(?<!e\.g)(?<!i\.e)(?<!etc)[.!?](?=\s+[A-Z`'\"(]|\s*$)")
_POSITIVE = "Positive number"
_OR_DEFAULT = re.compile(r"\bor -1\b")


def number_range(validator: str) -> tuple[float | None, float | None]:
    """The least and the greatest number in a validator's text; integers stay integers."""
    if validator.startswith(_POSITIVE):
        return 1, None
    found = _RANGE.match(validator)
    if found is None:
        return None, None
    return _number(found["least"]), _number(found["most"])


def accepted_values(validator: str, config_type: str) -> list[str]:
    """The accepted values in a validator's text, sorted if Kafka does not order them; of numbers, those outside the
    range."""
    if config_type in {"INT", "SHORT", "LONG", "DOUBLE"}:
        return ["-1"] if _OR_DEFAULT.search(validator) else []
    found = _WORDS.fullmatch(validator)
    if found is None:
        return []
    words = [word.strip() for word in found["words"].split(",")]
    return sorted(words) if validator.startswith("(case insensitive)") else words


def first_sentence(documentation: str) -> str:
    """The first sentence of a property's documentation as one line of plain text."""
    text = _TAG.sub("", _BLOCK.sub("\n", documentation))
    text = html.unescape(text).strip()
    paragraph = re.split(r"\n\s*\n", text)[0]
    line = re.sub(r"\s+", " ", paragraph).strip()
    end = _SENTENCE_END.search(line)
    # A sentence that continues in a list ends before the list.
    return line[: end.end()] if end else line.rstrip(":")


def _number(text: str | None) -> float | None:
    if text is None:
        return None
    number = float(text)
    return int(number) if number.is_integer() and "." not in text else number
