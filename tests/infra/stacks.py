"""A folder of stack files for tests."""

from pathlib import Path
from typing import Any

import yaml

from tests.builders import a_topology


def write_stack(folder: Path, topology: dict[str, Any] | str | None = None, **config: Any) -> Path:
    """Write stack `test` with its topology `test`; returns the folder, to be given to `read_settings`."""
    (folder / "topologies").mkdir(exist_ok=True)
    text = topology if isinstance(topology, str) else yaml.safe_dump(topology or a_topology())
    (folder / "topologies" / "test.yaml").write_text(text)
    values = {"replication:topology": "test", **{f"replication:{key}": value for key, value in config.items()}}
    (folder / "Pulumi.test.yaml").write_text(yaml.safe_dump({"config": values}))
    return folder
