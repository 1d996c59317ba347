"""The files that Prometheus reads: its configuration, its rules, and the targets that it would discover.

Loads no Kubernetes client, since `replicate local up` needs these files before Prometheus starts.
"""

from collections.abc import Sequence
from pathlib import Path

import yaml

from infra.local.prometheus.configuration import Object, discovered, prometheus_config, rule_files
from infra.local.state import write_private

CONFIG_FILE, TARGETS_FILE, RULES_FOLDER = "prometheus.yaml", "targets.yaml", "rules"


def write_targets(folder: Path, pods: Sequence[Object]) -> None:
    """Write the targets that Prometheus would discover; it watches this file by itself."""
    _write(folder / TARGETS_FILE, _text(discovered(pods)))


def write_files(folder: Path, monitors: Sequence[Object], rules: Sequence[Object]) -> dict[str, str]:
    """Write the configuration and the rule files, and delete those of deleted rules; return the texts by name."""
    in_rules = folder / RULES_FOLDER
    texts = {CONFIG_FILE: _text(prometheus_config(monitors, folder / TARGETS_FILE, in_rules))}
    texts |= {f"{RULES_FOLDER}/{name}": _text(content) for name, content in rule_files(rules).items()}
    for name, text in texts.items():
        _write(folder / name, text)
    for file in in_rules.glob("*.yaml"):
        if f"{RULES_FOLDER}/{file.name}" not in texts:
            file.unlink()
    return texts


def _text(content: object) -> str:
    return yaml.dump(content, Dumper=yaml.CSafeDumper, sort_keys=False)


def _write(file: Path, text: str) -> None:
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        write_private(file, text)
