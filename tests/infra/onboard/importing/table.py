"""The page infra/onboard/importing/CASES.md: what people publish, and what an import makes of it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import yaml

from tests.infra.onboard.importing.resources import CASES
from tests.pages import table
from tests.repository import ROOT

PAGE = ROOT / "infra" / "onboard" / "importing" / "CASES.md"
_PAGE = """\
# What an import makes of resources as people publish them

**What do I do when I want to know what `replicate import` makes of my resources?** Find a similar one here. Each row is
a file in `tests/infra/onboard/importing/cases`, with everything that the import prints. `replicate explain CODE`
explains each code. `make reference` writes this page.

In the last column, `none` means that no record is copied twice or left out, and no connector restarts. The workers
always restart once, because the project adds two configuration providers to them.

"""
_HEAD = ("what was read", "taken over", "not taken over", "`check` finds", "deploying changes")
#: A property that every rendering adds to workers, so they restart once.
_ALWAYS = "config.connector.client.config.override.policy"


def page() -> str:
    """Return the page with a row for each case."""
    return f"{_PAGE}{table(_HEAD, list(map(_row, _headers())))}\n"


def _headers() -> Iterator[dict[str, Any]]:
    for case in CASES:
        yield yaml.safe_load(case.read_text().partition("\n---\n")[0])


def _row(header: dict[str, Any]) -> Sequence[str]:
    kinds = Counter(
        replication["kind"] for topology in header["topologies"] for replication in topology["replications"].values()
    )
    left = Counter(line.split()[0] for line in header["left"])
    problems = sorted({code for each in header["checked"] for code in each["problems"]})
    return (
        header["about"].rstrip("."),
        ", ".join(f"{count} `{kind}`" for kind, count in sorted(kinds.items())) or "nothing",
        _counted(left),
        ", ".join(f"`{code}`" for code in problems) or "nothing",
        _changes(header["checked"]) if kinds else "",
    )


def _counted(codes: Counter[str]) -> str:
    return (
        ", ".join(f"`{code}`" + (f" ({count})" if count > 1 else "") for code, count in sorted(codes.items()))
        or "nothing"
    )


def _changes(checked: list[dict[str, Any]]) -> str:
    proofs = [proof for each in checked for proof in each["proof"].values()]
    if not proofs:
        return "cannot be rendered"
    effects = {effect for proof in proofs for effect in proof["effects"]} - {"restart connect-rolls"}
    values = sum(not line.endswith(_ALWAYS) for proof in proofs for line in proof["differs"])
    found = [f"{kind} `{code}`" for kind, code in sorted(effect.split() for effect in effects)]
    found += [f"{values} value{'s' if values > 1 else ''} that differ{'' if values > 1 else 's'}"] if values else []
    return ", ".join(found) or "none"
