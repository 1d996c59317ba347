"""Imports point one way, the pure parts stay pure, and the public surface is what it says."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import components

ROOT = Path(__file__).resolve().parent.parent
SOURCES = [*ROOT.glob("infra/**/*.py"), *ROOT.glob("components/**/*.py"), *ROOT.glob("spark/**/*.py")]

#: What deploys; the rule of promotion is below it and holds it, the run of a promotion is above it and calls it.
DEPLOYMENT = ("infra.deployment", "infra.engine", "infra.program")
RULE = tuple(f"infra.promotion.{each}" for each in ("plan", "rules", "evidence", "cluster", "state", "gate"))
PROMOTE = tuple(f"infra.promotion.{each}" for each in ("show", "run", "cli"))
#: Package prefix -> what it must not import.
FORBIDDEN = {
    "components": ("infra", "spark", "pyspark"),
    "components.specs": ("pulumi", "pulumi_kubernetes"),
    "components.checks": ("pulumi", "pulumi_kubernetes"),
    "components.properties": (
        "pulumi",
        "pulumi_kubernetes",
        *(f"components.{each}" for each in ("checks", "model", "specs")),
    ),
    "spark": ("infra", "components", "pulumi", "pulumi_kubernetes"),
    "infra": ("pyspark",),
    "infra.local": ("components.flow", "pulumi_kubernetes"),
    "infra.local.operator": ("components",),
    **dict.fromkeys(RULE, (*DEPLOYMENT, *PROMOTE)),
    **dict.fromkeys(DEPLOYMENT, PROMOTE),
}


def imports_of(source: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def is_within(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


@pytest.mark.parametrize("source", SOURCES, ids=[str(path.relative_to(ROOT)) for path in SOURCES])
def test_imports_point_one_way(source: Path) -> None:
    module = ".".join(source.relative_to(ROOT).with_suffix("").parts)
    imported = imports_of(source)
    for package, forbidden in FORBIDDEN.items():
        if is_within(module, package):
            wrong = {name for name in imported for banned in forbidden if is_within(name, banned)}
            assert not wrong, f"{module} imports {sorted(wrong)}"


def test_the_public_surface_is_what_it_says() -> None:
    for name in components.__all__:
        assert getattr(components, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        components.nothing  # noqa: B018


def test_a_check_loads_neither_pulumi_nor_spark_nor_a_client() -> None:
    """They take seconds to load; a check in an editor or a hook must not wait for them."""
    heavy = "{'confluent_kafka', 'kubernetes', 'pulumi', 'pyspark'}"
    code = f"import sys; from infra.cli import app; app(standalone_mode=False); print({heavy} & set(sys.modules))"
    command = [sys.executable, "-c", code, "check", "prod-us-west-2"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert answer.stdout.splitlines()[-1] == "set()"
