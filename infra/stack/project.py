"""The project of the user: the folder with a Pulumi.yaml that a command and Pulumi's engine work on.

Only this module looks for it.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from kafka_replication.components.contract.problems import CannotRunError, Place
from kafka_replication.infra.stack.yaml_files import parse_yaml, shown

FILE_NAME = "Pulumi.yaml"


@dataclass(frozen=True)
class Project:
    """The folder of a Pulumi.yaml, the folder of its stack files, and its name in Pulumi's state."""

    folder: Path
    stacks: Path
    name: str

    def stacks_inside(self) -> PurePosixPath:
        """Return the folder of the stack files, relative to the project. Raises CannotRunError if it is elsewhere."""
        if not self.stacks.is_relative_to(self.folder):
            what = f"the stack files are outside the project in {self.folder}"
            why = "Git reports only what changed in the project's folder."
            remedy = "name a folder inside the project with `--stacks`, or another project with `--project`."
            raise CannotRunError("stacks-outside-project", what, str(self.stacks), why, remedy)
        return PurePosixPath(self.stacks.relative_to(self.folder).as_posix())


def local_folder() -> Path:
    """Return the project's own folder on this machine, `.local` unless REPLICATE_LOCAL names another."""
    return Path(os.environ.get("REPLICATE_LOCAL") or ".local").resolve()


def find_project(start: Path) -> Project:
    """Return the project of the nearest folder at or above `start` with a Pulumi.yaml. Raises CannotRunError."""
    folder = start.resolve()
    for candidate in (folder, *folder.parents):
        if (candidate / FILE_NAME).is_file():
            return read_project(candidate)
    why = "Neither this folder nor any folder above it is a project, so there are no stacks to work on."
    remedy = "change to your project's folder, give `--project DIR`, or write a new project with `replicate init DIR`."
    raise CannotRunError("no-project", f"there is no {FILE_NAME}", str(folder), why, remedy)


def read_project(folder: Path) -> Project:
    """Return the project of this very folder; its stack files are where Pulumi looks. Raises CannotRunError."""
    file = folder.resolve() / FILE_NAME
    if not file.is_file():
        what = f"there is no {FILE_NAME}"
        remedy = f"name the folder of a project, or write a new one with `replicate init {folder}`."
        raise CannotRunError("no-project", what, str(file.parent), "A project is a folder with that file.", remedy)
    data = _content(file.read_bytes(), shown(file))
    name = data.get("name")
    if not isinstance(name, str):
        what = "the project has no name" if data else "the project file has no keys"
        why = "Pulumi keeps the state of stacks under the name of their project."
        remedy = "write `name: NAME` there, and `runtime: python` below it."
        raise CannotRunError("project-without-name", what, shown(file), why, remedy, place=Place(shown(file), 1, 1))
    return Project(file.parent, (file.parent / _stacks_in(data)).resolve(), name)


def stacks_folder(content: bytes, where: str) -> str:
    """Return the folder of the stack files that a Pulumi.yaml names, relative to its own. Raises CannotRunError."""
    return _stacks_in(_content(content, where))


def _stacks_in(data: Mapping[str, Any]) -> str:
    return str(data.get("stackConfigDir") or ".")


def _content(content: bytes, where: str) -> Mapping[str, Any]:
    data = parse_yaml(content, where)
    return data if isinstance(data, Mapping) else {}


def provider_variables(*, overwrite: bool) -> dict[str, str]:
    """Return options of the Kubernetes provider: a changed Secret is updated in place, never deleted meanwhile. Source:
    pulumi-kubernetes, `enableSecretMutable`, `enablePatchForce`."""
    forced = {"PULUMI_K8S_ENABLE_PATCH_FORCE": "true"} if overwrite else {}
    return {"PULUMI_K8S_ENABLE_SECRET_MUTABLE": "true", **forced}


@dataclass(frozen=True)
class Workspace:
    """Where Pulumi's engine works: `folder` holds the Pulumi.yaml of `project`. `variables` are set for the engine, and
    `configuration` on the stack: each key with its value and whether that is a secret."""

    folder: Path
    project: str
    variables: Mapping[str, str] = field(default_factory=dict)
    configuration: Mapping[str, tuple[str, bool]] = field(default_factory=dict, repr=False)
