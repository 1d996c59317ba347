"""The table in infra/onboard/importing/README.md: what people publish, and what an import makes of it.

`python -m tests.infra.onboard.importing.table` writes it from the cases.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import yaml

from tests.infra.onboard.importing.resources import CASES
from tests.repository import ROOT

PAGE = ROOT / "infra" / "onboard" / "importing" / "README.md"
BEGIN, END = "<!-- made by `python -m tests.infra.onboard.importing.table` -->\n", "<!-- end -->\n"
_HEAD = "| what was read | taken over | not taken over | `check` finds | deploying changes |\n"
#: A property that every rendering adds to workers, so they restart once.
_ALWAYS = "config.connector.client.config.override.policy"


def table() -> str:
    """The rows of all cases."""
    return _HEAD + "| --- | --- | --- | --- | --- |\n" + "".join(map(_row, _headers()))


def page(text: str) -> str:
    """The page with the table made from the cases."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}{table()}{END}{rest.partition(END)[2]}"


def _headers() -> Iterator[dict[str, Any]]:
    for case in CASES:
        yield yaml.safe_load(case.read_text().partition("\n---\n")[0])


def _row(header: dict[str, Any]) -> str:
    kinds = Counter(each["kind"] for topology in header["topologies"] for each in topology["replications"].values())
    left = Counter(line.split()[0] for line in header["left"])
    problems = sorted({code for each in header["checked"] for code in each["problems"]})
    cells = (
        header["about"].rstrip("."),
        ", ".join(f"{count} `{kind}`" for kind, count in sorted(kinds.items())) or "nothing",
        _counted(left),
        ", ".join(f"`{code}`" for code in problems) or "nothing",
        _changes(header["checked"]) if kinds else "",
    )
    return f"| {' | '.join(cells)} |\n"


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


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
