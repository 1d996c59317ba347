"""How deeply a validation looks. Pure; may be imported by anything; imports nothing of ours but the problems."""

from enum import StrEnum

from components.contract.problems import CannotRunError


class Depth(StrEnum):
    """quick: only the newest records of each partition; incremental: what was not proven before; full: everything."""

    QUICK = "quick"
    INCREMENTAL = "incremental"
    FULL = "full"


def why_not_published(depth: Depth) -> CannotRunError | None:
    """Why a verdict of this depth is not evidence for others; None if it is."""
    if depth is not Depth.QUICK:
        return None
    return CannotRunError(
        "quick-not-published",
        "`--publish` is given with `--depth quick`",
        "--publish",
        "A quick validation compares few records. Its verdict would replace one that is based on all records.",
        "leave `--publish` out, or use `--depth full`.",
    )
