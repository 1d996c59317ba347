"""Sentences that are right for one thing and for many. Pure; imports nothing of ours, anything may import it."""

import re

_CHOICE = re.compile(r"\[([^\[\]|]*)\|([^\[\]|]*)\]")


def agreeing(count: int, text: str) -> str:
    """`text` as it is said of `count` things: of each `[one|many]`, such as `record[|s]` and `[is|are]`, it keeps one
    part. Names that users choose do not belong into `text`, because they may look like a choice."""
    return _CHOICE.sub(r"\1" if count == 1 else r"\2", text)


def numbered(count: int, text: str) -> str:
    """`agreeing` with the count in front: `1 record is missing`, `3 records are missing`."""
    return f"{count} {agreeing(count, text)}"
