"""Sets of the characters of topic names, as integers with a bit for each. Imports nothing of ours."""

import re
import string
from collections.abc import Callable
from functools import lru_cache
from typing import Any

#: Characters of a topic name, those first that read best in an example. Source: org.apache.kafka.common.internals.Topic
ALPHABET = string.ascii_letters + string.digits + "-_."
LONGEST_NAME = 249
#: A set of characters is an integer with a bit for each; this is the set of all.
EVERY = (1 << len(ALPHABET)) - 1

BITS = {character: 1 << index for index, character in enumerate(ALPHABET)}
IGNORECASE = int(re.IGNORECASE)


class UndecidableError(Exception):
    """What is asked about a pattern cannot be found out; the message says why and ends a sentence."""


def character_set(characters: str) -> int:
    return sum(BITS[character] for character in characters)


@lru_cache(maxsize=1 << 12)
def character_range(bounds: tuple[int, int], flags: int) -> int:
    first, last = bounds
    if not flags & IGNORECASE:
        return character_set("".join(character for character in ALPHABET if first <= ord(character) <= last))
    if last > 127:
        raise UndecidableError("Java and Python do not agree on letters outside ASCII whose case is ignored")
    cases = {character: (ord(character.lower()), ord(character.upper())) for character in ALPHABET}
    return character_set("".join(one for one in ALPHABET if any(first <= code <= last for code in cases[one])))


def character_category(name: object, _flags: int) -> int:
    mask = _CATEGORIES[str(name).replace("_NOT", "")]
    return EVERY & ~mask if "_NOT" in str(name) else mask


#: Of the characters of a topic name; Java's and Python's classes differ in others only.
_CATEGORIES = {
    "CATEGORY_DIGIT": character_set(string.digits),
    "CATEGORY_SPACE": 0,
    "CATEGORY_WORD": character_set(string.ascii_letters + string.digits + "_"),
}
MEMBERS: dict[str, Callable[[Any, int], int]] = {
    "LITERAL": lambda code, flags: character_range((code, code), flags),
    "RANGE": character_range,
    "CATEGORY": character_category,
}
