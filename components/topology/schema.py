"""The JSON Schema of a topology file, with which editors complete and check it."""

import json

from components.topology.model import Topology


def topology_schema() -> str:
    """The schema as text."""
    return json.dumps(Topology.model_json_schema(), indent=2, sort_keys=True) + "\n"
