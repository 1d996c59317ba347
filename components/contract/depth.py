"""How deep a validation looks. Pure; may be imported by anything; imports nothing of ours but the problems."""

from enum import StrEnum

from components.contract.problems import CannotRunError


class Depth(StrEnum):
    """quick: of each partition the newest records only; incremental: what was not proven before; full: everything."""

    QUICK = "quick"
    INCREMENTAL = "incremental"
    FULL = "full"


def why_not_published(depth: Depth) -> CannotRunError | None:
    """Why a verdict of this depth is no evidence for others; None if it is."""
    if depth is not Depth.QUICK:
        return None
    return CannotRunError(
        "quick-not-published",
        "`--publish` is given with `--depth quick`",
        "--publish",
        "A quick validation compares few records. Its verdict would replace one that rests on all of them.",
        "leave `--publish` out, or give `--depth full`.",
    )
