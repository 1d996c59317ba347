"""Looks up a code in the catalogue of problems, PROBLEMS.md, which `make catalogue` writes from the code."""

import re
from pathlib import Path

_PAGE = Path(__file__).resolve().parent.parent / "PROBLEMS.md"


def described(code: str) -> str | None:
    """The catalogue's entry for a code, as Markdown; None if there is none."""
    return _sections().get(code)


def known_codes() -> list[str]:
    """Every code of the catalogue, in its order."""
    return list(_sections())


def _sections() -> dict[str, str]:
    parts = re.split(r"^### (.+)\n", _PAGE.read_text(), flags=re.MULTILINE)[1:]
    texts = (text.partition("\n## ")[0].strip() for text in parts[1::2])
    return dict(zip(parts[::2], texts, strict=True))
