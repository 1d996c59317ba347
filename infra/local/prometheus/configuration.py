"""Turns PodMonitors and PrometheusRules into the configuration of Prometheus, as the Prometheus operator does. Pure.

The operator lets Prometheus discover Pods in the API server. Not every build of Prometheus can (Debian's cannot), so
here it reads from a file what it would discover, with the same labels. Everything else is the same.

Source: Prometheus operator pkg/prometheus/promcfg.go; Prometheus discovery/kubernetes/pod.go.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from components.contract.exported_series import ADDRESS
from infra.local.state import write_private

#: Seconds between two scrapes, and between two evaluations of the rules. The operator's default is 30 for both.
INTERVAL_SECONDS = 10

_META = "__meta_kubernetes_"
_POD_LABEL, _LABEL_PRESENT = f"{_META}pod_label_", f"{_META}pod_labelpresent_"
_ENDED = "(Failed|Succeeded)"

Config = dict[str, Any]
#: An object of the API server.
Object = dict[str, Any]


class UnsupportedError(ValueError):
    """A meaningful field of a PodMonitor that is not supported here."""


def prometheus_config(monitors: Iterable[Object], targets: Path, rules: Path) -> Config:
    """Return the configuration. `targets` is the file with discovered targets, `rules` the folder of rule files.

    `replicate exporter` is scraped at its default address, because no object declares it. Raises UnsupportedError.
    """
    exporter: Config = {"job_name": "mirror-exporter", "static_configs": [{"targets": [ADDRESS]}]}
    return {
        "global": {"scrape_interval": f"{INTERVAL_SECONDS}s", "evaluation_interval": f"{INTERVAL_SECONDS}s"},
        "rule_files": [f"{rules}/*.yaml"],
        "scrape_configs": [exporter, *(job for monitor in monitors for job in _jobs(monitor, targets))],
    }


def rule_files(rules: Iterable[Object]) -> dict[str, Config]:
    """Return the contents of the rule files by name: one for each PrometheusRule."""
    return {
        f"{rule['metadata']['namespace']}-{rule['metadata']['name']}.yaml": {"groups": rule["spec"].get("groups") or []}
        for rule in rules
    }


def discovered(pods: Iterable[Object]) -> list[Config]:
    """Return what Prometheus discovers from these Pods: a target for each port of each container."""
    return [group for pod in pods if pod.get("status", {}).get("podIP") for group in _groups(pod)]


def _groups(pod: Object) -> Iterator[Config]:
    metadata, status = pod["metadata"], pod["status"]
    about = {
        f"{_META}namespace": metadata["namespace"],
        f"{_META}pod_name": metadata["name"],
        f"{_META}pod_phase": status.get("phase", ""),
        f"{_META}pod_ip": status["podIP"],
    }
    for key, value in (metadata.get("labels") or {}).items():
        about |= {_POD_LABEL + _label(key): value, _LABEL_PRESENT + _label(key): "true"}
    for container in pod["spec"]["containers"]:
        for port in container.get("ports") or []:
            address = f"{status['podIP']}:{port['containerPort']}"
            of_port = {
                f"{_META}pod_container_name": container["name"],
                f"{_META}pod_container_port_name": port.get("name", ""),
            }
            yield {"targets": [address], "labels": {**about, **of_port}}


def _jobs(monitor: Object, targets: Path) -> Iterator[Config]:
    metadata, spec = monitor["metadata"], monitor["spec"]
    where = f"{metadata['namespace']}/{metadata['name']}"
    _only(spec, {"namespaceSelector", "selector", "podMetricsEndpoints"}, where)
    for number, endpoint in enumerate(spec["podMetricsEndpoints"]):
        _only(endpoint, {"port", "path", "metricRelabelings"}, where)
        yield {
            "job_name": f"podMonitor/{where}/{number}",
            "honor_timestamps": True,
            "metrics_path": endpoint.get("path", "/metrics"),
            "file_sd_configs": [{"files": [str(targets)]}],
            "relabel_configs": [
                *_selected(spec, metadata["namespace"], where),
                _keep([f"{_META}pod_container_port_name"], endpoint["port"]),
                {"source_labels": [f"{_META}namespace"], "target_label": "namespace"},
                {"source_labels": [f"{_META}pod_container_name"], "target_label": "container"},
                {"source_labels": [f"{_META}pod_name"], "target_label": "pod"},
                {"target_label": "job", "replacement": where},
                {"target_label": "endpoint", "replacement": endpoint["port"]},
            ],
            "metric_relabel_configs": [
                _snake_case(relabeling) for relabeling in endpoint.get("metricRelabelings") or []
            ],
        }


def _selected(spec: Object, own_namespace: str, where: str) -> Iterator[Config]:
    """Yield the rules that keep the Pods that a PodMonitor selects."""
    _only(spec["selector"], {"matchLabels", "matchExpressions"}, where)
    namespaces = spec.get("namespaceSelector") or {}
    _only(namespaces, {"any", "matchNames"}, where)
    if not namespaces.get("any"):
        yield _keep([f"{_META}namespace"], _one_of(namespaces.get("matchNames") or [own_namespace]))
    yield {"action": "drop", "source_labels": [f"{_META}pod_phase"], "regex": _ENDED}
    for key, value in sorted((spec["selector"].get("matchLabels") or {}).items()):
        yield _with_label(key, [value])
    for expression in spec["selector"].get("matchExpressions") or []:
        if expression["operator"] != "In":
            raise UnsupportedError(
                f"PodMonitor {where}: operator {expression['operator']} is not supported on the local stack"
            )
        yield _with_label(expression["key"], expression["values"])


def _with_label(key: str, values: Sequence[str]) -> Config:
    return _keep([_POD_LABEL + _label(key), _LABEL_PRESENT + _label(key)], f"{_one_of(values)};true")


def _keep(labels: list[str], regex: str) -> Config:
    return {"action": "keep", "source_labels": labels, "regex": regex}


def _one_of(values: Sequence[str]) -> str:
    return f"({'|'.join(map(re.escape, values))})"


def _label(key: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_]", "_", key)


def _snake_case(relabeling: Object) -> Config:
    return {re.sub("[A-Z]", lambda match: f"_{match[0].lower()}", key): value for key, value in relabeling.items()}


def _only(fields: Object, known: set[str], where: str) -> None:
    if unknown := sorted(fields.keys() - known):
        raise UnsupportedError(f"PodMonitor {where}: {', '.join(unknown)} is not supported on the local stack")


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
