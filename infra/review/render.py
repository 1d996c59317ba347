"""The objects of a stack as files: for review, and for those who deploy them without Pulumi.

Secrets that we create are not written; `required-secrets.yaml` lists those that must exist, and where their values are.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.flows.resolved import ResolvedFlow, resolve_flows
from kafka_replication.components.render.deployments import deployments
from kafka_replication.components.render.monitoring import monitoring_objects
from kafka_replication.components.render.planned_objects import PlannedObject
from kafka_replication.infra.stack.settings import StackSettings
from kafka_replication.infra.stack.stack_checks import raise_mistakes
from kafka_replication.infra.stack.validation_job import stack_exporter, stack_users, stack_validation

_MARKER = "# Rendered by `replicate render`; the next one replaces every file here.\n"
#: No replication can have these names, because Kubernetes does not allow them.
USERS_FOLDER = "kafka_users"
MONITORING_FOLDER = "stack_monitoring"
VALIDATION_FOLDER = "stack_validation"
EXPORTER_FOLDER = "stack_exporter"


def rendered_files(settings: StackSettings, addresses: Mapping[str, str]) -> dict[str, str]:
    """Return contents by relative path, in a stable order; the same input gives the same files."""
    raise_mistakes(settings)
    flows = resolve_flows(settings.topology, settings.region, addresses)
    deployed = deployments(flows)
    folders = {deployment.name: deployment.objects for deployment in deployed}
    folders |= {name: objects for name, objects in stack_objects(settings, flows).items() if objects}
    files = {"kustomization.yaml": _MARKER + _yaml(_kustomization(list(folders)))}
    for folder, objects in folders.items():
        files |= {f"{folder}/{name}": text for name, text in _files_of(objects).items()}
    return files


def stack_objects(settings: StackSettings, flows: Sequence[ResolvedFlow]) -> dict[str, tuple[PlannedObject, ...]]:
    """Return the objects that belong to the stack as a whole, not to one of its replications, by their folder."""
    return {
        USERS_FOLDER: stack_users(settings),
        MONITORING_FOLDER: monitoring_objects(settings.topology, settings.stack, settings.region),
        VALIDATION_FOLDER: stack_validation(settings, flows),
        EXPORTER_FOLDER: stack_exporter(settings, flows),
    }


def is_rendered(folder: Path) -> bool:
    """Return whether an earlier render wrote the folder."""
    kustomization = folder / "kustomization.yaml"
    return kustomization.is_file() and kustomization.read_text().startswith(_MARKER)


def write_files(files: Mapping[str, str], folder: Path) -> None:
    """Write a rendered stack, replacing an earlier one. Raises CannotRunError for a folder with anything else in it."""
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir()) and not is_rendered(folder)):
        what = "the folder contains files that an earlier render did not write"
        why = "Rendering replaces the contents of the folder."
        raise CannotRunError("folder-not-empty", what, str(folder), why, "name an empty or new folder with `--out`.")
    stale = [path for path in folder.rglob("*.yaml") if path.relative_to(folder).as_posix() not in files]
    for path in stale:
        path.unlink()
    for parent in {(folder / name).parent for name in files}:
        parent.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    for path in {path.parent for path in stale} - {folder}:
        if not any(path.iterdir()):
            path.rmdir()


def _files_of(objects: Sequence[PlannedObject]) -> dict[str, str]:
    visible = [planned for planned in objects if not planned.secret_values]
    files = {"kustomization.yaml": _MARKER + _yaml(_kustomization([f"{planned.key}.yaml" for planned in visible]))}
    files |= {f"{planned.key}.yaml": _yaml(planned.manifest) for planned in visible}
    required = [
        {
            **{key: planned.manifest["metadata"][key] for key in ("name", "namespace")},
            "keys": {key: f"configuration key {config}" for key, config in planned.secret_values.items()},
        }
        for planned in objects
        if planned.secret_values
    ]
    if required:
        files["required-secrets.yaml"] = _yaml(required)
    return files


def _kustomization(resources: list[str]) -> dict[str, Any]:
    return {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": resources}


def _yaml(data: object) -> str:
    # Long placeholders stay on one line, so that a changed property is a changed line.
    return yaml.dump(data, Dumper=yaml.CSafeDumper, sort_keys=False, width=1_000_000, allow_unicode=True)
