"""Imports go in one direction, pure parts stay pure, and the public surface offers exactly its listed names."""

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import kafka_replication
from kafka_replication.components import public

ROOT = Path(__file__).resolve().parent.parent
SOURCES = [*ROOT.glob("infra/**/*.py"), *ROOT.glob("components/**/*.py"), *ROOT.glob("spark/**/*.py")]

#: The packages of `components/`, lowest first: each may import those before it.
COMPONENTS = (
    "kafka",
    "contract",
    "clients",
    "properties",
    "topology",
    "flows",
    "render",
    "checks",
    "changes",
    "resources",
    "provider",
)
#: The packages and modules of `infra/` likewise.
INFRA = (
    "machine",
    "stack.yaml_files",
    "stack.project",
    "stack.settings",
    "stack.validation_job",
    "kubernetes",
    "local",
    "stack",
    "deploy.promotion.rule",
    "program",
    "deploy.engine",
    "validate",
    "onboard.new_project",
    "onboard.importing",
    "review",
    "operate",
    "operate.rehearse",
    "deploy.promotion.run",
    "deploy.adoption",
    "commands",
)
#: Third-party package -> the only packages of ours that may import it. Any package may import one that is not listed.
ONLY_IN = {
    "confluent_kafka": ("components.clients", "infra.local", "spark.read.frames"),
    "pulumi": (
        *("components.resources", "components.provider"),
        *("infra.deploy.engine", "infra.program", "infra.stack.settings", "infra.local.provider"),
    ),
    "pulumi_kubernetes": ("components.resources",),
    "pyspark": ("spark",),
    "typer": ("infra.commands",),
}
#: Our package -> the only packages of ours that may import it.
ENTERED_BY = {
    "infra.local": ("infra.stack.environment", "infra.commands.local"),
    "infra.commands": (),
}
#: The entries in the root of the repository. No command may add others.
IN_THE_ROOT = {
    *(".ci", ".github", ".gitignore", "LICENSE", "Makefile", "Pulumi.yaml", "README.md", "components", "infra"),
    *("pyproject.toml", "requirements.txt", "setup.py", "spark", "stacks", "tests"),
}
#: What the validation job may import of ours, beside itself.
SPARK_IMPORTS = ("components.kafka", "components.contract", "components.clients")
#: The package that imports only itself and the standard library.
STANDARD_LIBRARY_ONLY = "components.kafka"


def imports_of(source: Path) -> set[str]:
    """The names of the modules that a file imports, and of the objects that it imports from them."""
    return {name for node in ast.walk(ast.parse(source.read_text())) for name in names_in(node)}


def names_in(node: ast.AST) -> set[str]:
    """The modules that a statement imports, and the objects that it imports from them."""
    names = set()
    if isinstance(node, ast.Import):
        names = {alias.name for alias in node.names}
    if isinstance(node, ast.ImportFrom) and node.module:
        names = {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {name.removeprefix("kafka_replication.") for name in names}


def is_within(module: str, *packages: str) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def module_of(source: Path) -> str:
    return ".".join(source.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def layer_of(module: str, top: str, layers: tuple[str, ...]) -> int | None:
    """The place of the module's layer; a package that is listed apart from the one around it has its own."""
    own = [layer for layer in layers if is_within(module, f"{top}.{layer}")]
    return layers.index(max(own, key=len)) if own else None


each_source = pytest.mark.parametrize("source", SOURCES, ids=[str(path.relative_to(ROOT)) for path in SOURCES])


@each_source
def test_a_package_imports_only_those_below_it(source: Path) -> None:
    module = module_of(source)
    for top, layers in (("components", COMPONENTS), ("infra", INFRA)):
        own = layer_of(module, top, layers)
        if own is None:
            continue
        above = {name for name in imports_of(source) if (layer_of(name, top, layers) or 0) > own}
        assert not above, f"{module} imports {sorted(above)}"


@each_source
def test_components_infra_and_spark_import_each_other_in_one_direction(source: Path) -> None:
    module, imported = module_of(source), imports_of(source)
    if is_within(module, "components"):
        forbidden = {name for name in imported if is_within(name, "infra", "spark")}
    elif is_within(module, "spark"):
        ours = {name for name in imported if is_within(name, "infra", "components")}
        forbidden = {name for name in ours if not is_within(name, *SPARK_IMPORTS)}
    else:
        forbidden = {name for name in imported if is_within(name, "spark")}
    assert not forbidden, f"{module} imports {sorted(forbidden)}"


@each_source
def test_a_restricted_package_is_imported_only_where_it_is_allowed(source: Path) -> None:
    module, imported = module_of(source), imports_of(source)
    for package, importers in (ONLY_IN | ENTERED_BY).items():
        if not is_within(module, package, *importers):
            wrong = {name for name in imported if is_within(name, package)}
            assert not wrong, f"{module} imports {sorted(wrong)}; only {', '.join(importers)} may"


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Whether such modules load at all depends on which of them is imported first."""
    modules = {module_of(source): source for source in SOURCES}
    graph = {module: loaded_by(source) & modules.keys() - {module} for module, source in modules.items()}
    TopologicalSorter(graph).prepare()


def loaded_by(source: Path) -> set[str]:
    """The names that a file imports when it is loaded, not within a function or for types only."""
    statements = [node for node in ast.parse(source.read_text()).body if isinstance(node, ast.Import | ast.ImportFrom)]
    return {name for node in statements for name in names_in(node)}


def test_no_two_classes_share_a_name() -> None:
    """A reader who searches for a name finds one meaning of it."""
    files: dict[str, list[str]] = {}
    for source in SOURCES:
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.ClassDef):
                files.setdefault(node.name, []).append(str(source.relative_to(ROOT)))
    assert {name: places for name, places in files.items() if len(places) > 1} == {}


def test_components_kafka_imports_only_the_standard_library() -> None:
    allowed = {*sys.stdlib_module_names, "components"}
    for source in ROOT.glob(f"{STANDARD_LIBRARY_ONLY.replace('.', '/')}/**/*.py"):
        wrong = {name for name in imports_of(source) if name.split(".")[0] not in allowed}
        assert not wrong, f"{module_of(source)} imports {sorted(wrong)}"


def test_every_package_is_listed_in_the_layers() -> None:
    """No rule would apply to a new package that is missing in the lists above."""
    for top, layers in (("components", COMPONENTS), ("infra", INFRA)):
        homeless = {
            module_of(source)
            for source in ROOT.glob(f"{top}/*/**/*.py")
            if layer_of(module_of(source), top, layers) is None
        } - {"infra.deploy.promotion", "components.package"}
        assert not homeless


@pytest.mark.process
def test_the_root_of_the_repository_holds_only_known_entries() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {path.split("/")[0] for path in listed.splitlines()} == IN_THE_ROOT


def test_the_public_surface_offers_exactly_its_listed_names() -> None:
    names = {name for name in vars(public) if not name.startswith("_")}
    assert len(names) == 21
    for name in names:
        assert getattr(kafka_replication, name).__name__ == name
    with pytest.raises(AttributeError, match="'kafka_replication' has no attribute 'nothing'"):
        kafka_replication.nothing  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.process
def test_a_check_loads_neither_pulumi_nor_spark_nor_a_client() -> None:
    """These take seconds to load, and a check in an editor or a hook must not wait for them."""
    heavy = "{'confluent_kafka', 'kubernetes', 'pulumi', 'pyspark'}"
    run = "from kafka_replication.infra.commands.app import app; app(standalone_mode=False)"
    code = f"import sys; {run}; print({heavy} & set(sys.modules))"
    command = [sys.executable, "-c", code, "check", "prod-us-west-2", "local"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert answer.stdout.splitlines()[-1] == "set()"
