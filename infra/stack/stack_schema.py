"""The JSON Schema of stack files, for editors; `stack_checks` decides what a stack file may hold."""

import json
from functools import cache

from kafka_replication.components.topology.editor_schema import editor_schema
from kafka_replication.components.topology.in_cluster import InCluster
from kafka_replication.infra.stack.settings import PROJECT, SETTINGS
from kafka_replication.infra.stack.stack_checks import KUBERNETES_KEYS, PULUMI_KEYS


@cache
def stack_schema() -> str:
    """Return the schema of stack files as text."""
    in_cluster = editor_schema(InCluster)
    dialect, definitions = in_cluster.pop("$schema"), in_cluster.pop("$defs")
    # The topology names further keys. A misspelt key has neither an address nor an encrypted value.
    named = {
        "description": "What the topology names by `{config: KEY}`: `HOST:PORT` or a value that Pulumi encrypted.",
        "type": ["string", "object"],
        "pattern": ":[0-9]+",
        "required": ["secure"],
        "properties": {"secure": {"type": "string"}},
    }
    config = {
        "description": "The stack's configuration.",
        "type": "object",
        "properties": {f"{PROJECT}:{key}": form for key, form in SETTINGS.items()}
        | {key: {} for key in KUBERNETES_KEYS},
        "patternProperties": {
            f"^{PROJECT}:(?!({'|'.join(SETTINGS)})$)": named,
            f"^(?!{PROJECT}:|kubernetes:)[^:]+:": {"description": "A key of another provider."},
        },
        "additionalProperties": False,
        "required": [f"{PROJECT}:topology"],
    }
    schema = {
        "$schema": dialect,
        "$defs": {**definitions, "InCluster": {"type": "object", **in_cluster}},
        "description": "One stack: which topology, region and Kubernetes cluster, and how it is deployed.",
        "type": "object",
        "properties": {key: {} for key in PULUMI_KEYS} | {"config": config},
        "additionalProperties": False,
        "required": ["config"],
    }
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"
