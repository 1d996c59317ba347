"""Sets of the characters of topic names, as integers with one bit for each character."""

import re
import string
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from components.kafka.topic_names import TOPIC_CHARACTERS

#: The set of all characters.
EVERY = (1 << len(TOPIC_CHARACTERS)) - 1

BITS = {character: 1 << index for index, character in enumerate(TOPIC_CHARACTERS)}
IGNORECASE = int(re.IGNORECASE)


class UndecidableError(Exception):
    """A question about a pattern cannot be answered; the message is a clause that says why."""


def character_set(characters: str) -> int:
    return sum(BITS[character] for character in characters)


@lru_cache(maxsize=1 << 12)
def character_range(bounds: tuple[int, int], flags: int) -> int:
    first, last = bounds
    if not flags & IGNORECASE:
        return character_set("".join(character for character in TOPIC_CHARACTERS if first <= ord(character) <= last))
    if last > 127:
        raise UndecidableError("Java and Python disagree about letters outside ASCII if case is ignored")
    cases = {character: (ord(character.lower()), ord(character.upper())) for character in TOPIC_CHARACTERS}
    return character_set("".join(one for one in TOPIC_CHARACTERS if any(first <= code <= last for code in cases[one])))


def character_category(name: object, _flags: int) -> int:
    mask = _CATEGORIES[str(name).replace("_NOT", "")]
    return EVERY & ~mask if "_NOT" in str(name) else mask


#: Java's and Python's classes agree on the characters of topic names.
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
