"""Two states of a stack, given as overrides of one topology, and their comparison."""

from pathlib import Path
from typing import Any

import yaml

from kafka_replication.infra.review.bases import Base
from kafka_replication.infra.review.comparison import Comparison, compare_stacks
from tests.builders import a_topology
from tests.infra.stacks import write_stack


def compared(folder: Path, before: dict[str, Any] | None, after: dict[str, Any] | None) -> Comparison:
    """Compare stack `test` in two folders of stack files, each written with overrides of `a_topology`."""
    base = written(folder / "before", before)
    stacks = written(folder / "after", after)
    (comparison,) = compare_stacks(["test"], stacks, Base("before", base))
    return comparison


def written(folder: Path, overrides: dict[str, Any] | None) -> Path:
    """Write stack files: `config` and `context` go into the stack, all else into its topology. None writes no stack."""
    folder.mkdir()
    if overrides is None:
        return folder
    given = dict(overrides)
    config, context = given.pop("config", {}), given.pop("context", None)
    write_stack(folder, merged(a_topology(), given), **config)
    if context is not None:
        path = folder / "Pulumi.test.yaml"
        data = yaml.safe_load(path.read_text())
        data["config"]["kubernetes:context"] = context
        path.write_text(yaml.safe_dump(data))
    return folder


def merged(base: dict[str, Any], overrides: dict[str, Any]) -> dict[str, Any]:
    """The base with overrides: null removes a key, and a replication with a `kind` replaces the one in the base."""
    result = dict(base)
    for key, value in overrides.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict) and isinstance(result.get(key), dict) and "kind" not in value:
            result[key] = merged(result[key], value)
        else:
            result[key] = value
    return result
