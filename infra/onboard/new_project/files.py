"""The files of a new project: templates with the answers filled in, checked together, and all written or none."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import distribution
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from kafka_replication.components.contract.problems import CannotRunError, Problem, ReplicationError, raise_errors
from kafka_replication.components.topology.model import topology_schema
from kafka_replication.infra.deploy.promotion.rule.plan import plan_problems, plan_schema
from kafka_replication.infra.onboard.new_project.answers import LOCAL, Answers, answer_problems, optional_facts
from kafka_replication.infra.stack.settings import read_settings
from kafka_replication.infra.stack.stack_checks import problems, stack_schema
from kafka_replication.infra.stack.yaml_files import shown

_TEMPLATES = Path(__file__).with_name("templates")
#: What may already be in the folder of a new project.
_ALLOWED = frozenset({".git", ".venv"})


def write_project(answers: Answers, folder: Path) -> tuple[str, ...]:
    """Write a project into a new or empty folder; return its files, sorted. Raises ReplicationError or CannotRunError,
    and has then written nothing."""
    raise_errors(answer_problems(answers))
    require_empty(folder)
    files = project_files(answers)
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Beside the project, so that its files can be renamed instead of copied.
    with TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as temporary:
        made = Path(temporary)
        write_files(files, made)
        raise_errors(_problems_of(made / "stacks", answers))
        folder.mkdir(exist_ok=True)
        for path in made.iterdir():
            shutil.move(path, folder / path.name)
    return tuple(sorted(files))


def project_files(answers: Answers) -> dict[str, str]:
    """Return contents by path relative to the project."""
    values = _values(answers)
    stacks = "stacks/"
    return {
        **plain_files(answers.name, answers.package),
        "README.md": _filled("README.md", values),
        **{
            f".github/workflows/{name}.yaml": (_TEMPLATES / "workflows" / f"{name}.yaml").read_text(encoding="utf-8")
            for name in ("review", "promote", "drift")
        },
        f"{stacks}Pulumi.{answers.stack}.yaml": _filled("stacks/Pulumi.stack.yaml", values),
        f"{stacks}Pulumi.{LOCAL}.yaml": _filled("stacks/Pulumi.local.yaml", values),
        answers.topology_file: _filled("stacks/topologies/environment.yaml", values),
        f"{stacks}topologies/{LOCAL}.yaml": _filled("stacks/topologies/local.yaml", values),
        f"{stacks}promotion.yaml": _filled("stacks/promotion.yaml", values),
        f"{stacks}topology.schema.json": topology_schema(),
        f"{stacks}stack.schema.json": stack_schema(),
        f"{stacks}promotion.schema.json": plan_schema(),
    }


def plain_files(name: str, package: str) -> dict[str, str]:
    """Return the files that every project has, whatever it replicates: contents by path relative to the project."""
    values = {"NAME": name, "PACKAGE": package}
    return {
        "Pulumi.yaml": _filled("Pulumi.yaml", values),
        "__main__.py": _filled("__main__.py.txt", values),
        "requirements.txt": _filled("requirements.txt", values),
        ".gitignore": _filled("gitignore", values),
    }


def write_files(files: Mapping[str, str], folder: Path) -> None:
    """Write files below a folder that is new or empty; contents by path relative to it."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def _filled(template: str, values: Mapping[str, object]) -> str:
    """Return a template with its values on one line each; lines whose placeholder has no value are removed."""
    text, quoted = (_TEMPLATES / template).read_text(encoding="utf-8"), template.endswith(".yaml")
    for key, value in values.items():
        if value is None:
            text = "".join(line for line in text.splitlines(keepends=True) if f"@{key}@" not in line)
        else:
            text = text.replace(f"@{key}@", _yaml(value) if quoted else str(value))
    return text


def _values(answers: Answers) -> Mapping[str, object]:
    source, target = answers.source, answers.target
    values: dict[str, object] = {
        "NAME": answers.name,
        "PACKAGE": answers.package,
        "ENVIRONMENT": answers.environment,
        "STACK": answers.stack,
        "STRIMZI": answers.strimzi,
        "FLOW": answers.flow_name,
        "TOPICS": list(answers.topics),
        "GROUPS": list(answers.groups),
        "CONTEXT": answers.context,
    }
    for role, cluster in (("SOURCE", source), ("TARGET", target)):
        values |= {
            role: cluster.alias,
            f"{role}_REGION": cluster.region,
            f"{role}_SERVERS": cluster.servers,
            f"{role}_CA": f"{cluster.kubernetes_name}-ca",
            f"{role}_MIRROR": f"{cluster.kubernetes_name}-mirror",
            f"{role}_VALIDATOR": f"{cluster.kubernetes_name}-validator",
        }
    return values


def _yaml(value: object) -> str:
    """Return a value on one line of YAML, in quotation marks where YAML needs them."""
    text: str = yaml.safe_dump(value, default_flow_style=True, width=1_000_000, allow_unicode=True)
    return text.removesuffix("...\n").strip()


def require_empty(folder: Path) -> None:
    """Raise CannotRunError if the folder of a new project holds anything but `.git` and `.venv`."""
    if folder.is_dir():
        present = sorted(path.name for path in folder.iterdir() if path.name not in _ALLOWED)
    elif folder.exists() or folder.is_symlink():
        present = [folder.name]
    else:
        return
    if present:
        what = "a new project cannot be written here"
        why = (
            "A new project never overwrites files, but there is already "
            f"{', '.join(present[:5])}{' and more' if len(present) > 5 else ''}."
        )
        raise CannotRunError("folder-not-empty", what, shown(folder), why, "name a new or an empty folder.")


def _problems_of(stacks: Path, answers: Answers) -> list[Problem]:
    try:
        mistakes = [problem for stack in (answers.stack, LOCAL) for problem in problems(read_settings(stack, stacks))]
    except ReplicationError as error:
        mistakes = [*error.problems]
    mistakes += [problem for of_plan in plan_problems(stacks).values() for problem in of_plan]
    return [_at_its_option(problem, answers) for problem in mistakes]


def _at_its_option(problem: Problem, answers: Answers) -> Problem:
    """Return a mistake at the option that it comes from, because the file was never written to the project."""
    for option, key, _ in optional_facts(answers):
        if f"{problem.where}.".startswith(f"{key}."):
            return replace(problem, where=option, place=None)
    return problem


_NAME = "kafka-replication"
#: The workflows of a project review, deploy and validate.
_WITH_EXTRAS = f"{_NAME}[prove]"


def requirement() -> str:
    """Return a requirement in pip's form. Raises PackageNotFoundError if `replicate` runs without being installed."""
    installed = distribution(_NAME)
    return requirement_of(installed.version, installed.read_text("direct_url.json"))


def requirement_of(version: str, direct_url: str | None) -> str:
    """Return the same for what pip recorded; `direct_url` is None for a package index. Source: PEP 610, PEP 508."""
    if direct_url is None:
        return f"{_WITH_EXTRAS}=={version}"
    origin = json.loads(direct_url)
    url = origin["url"]
    if vcs := origin.get("vcs_info"):
        url = f"{vcs['vcs']}+{url}@{vcs['commit_id']}"
    if folder := origin.get("subdirectory"):
        url = f"{url}#subdirectory={folder}"
    return f"{_WITH_EXTRAS} @ {url}"


def advice(package: str) -> str | None:
    """Return the message about a requirement that nobody else can install, because it is a path on this machine."""
    if not any(path in package for path in (" @ file:", "+file:")):
        return None
    return (
        f"requirements.txt installs {package}. Before anybody else installs it, replace that with a wheel or a Git URL."
    )
