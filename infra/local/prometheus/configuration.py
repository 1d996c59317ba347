"""Turns PodMonitors and PrometheusRules into the configuration of Prometheus, as the Prometheus operator does.

Not every build of Prometheus can discover Pods in the API server (Debian's cannot), so here the Pods are selected
before, and Prometheus watches files with their addresses. Source: Prometheus operator pkg/prometheus/promcfg.go.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from kafka_replication.components.contract.exported_series import ADDRESS
from kafka_replication.infra.local.state import write_private

#: Seconds between two scrapes, and between two evaluations of the rules. The operator's default is 30 for both.
INTERVAL_SECONDS = 10
CONFIG_FILE, TARGETS_FOLDER, RULES_FOLDER = "prometheus.yaml", "targets", "rules"
_ENDED = ("Failed", "Succeeded")

Config = dict[str, Any]
#: An object of the API server.
Object = dict[str, Any]


class UnsupportedError(ValueError):
    """A meaningful field of a PodMonitor that is not supported here."""


def prometheus_config(monitors: Iterable[Object], folder: Path) -> Config:
    """Return the configuration, with `replicate exporter`, which no object declares. Raises UnsupportedError."""
    exporter: Config = {"job_name": "mirror-exporter", "static_configs": [{"targets": [ADDRESS]}]}
    return {
        "global": {"scrape_interval": f"{INTERVAL_SECONDS}s", "evaluation_interval": f"{INTERVAL_SECONDS}s"},
        "rule_files": [f"{folder}/{RULES_FOLDER}/*.yaml"],
        "scrape_configs": [exporter, *(job for monitor in monitors for job in _jobs(monitor, folder))],
    }


def _jobs(monitor: Object, folder: Path) -> Iterator[Config]:
    spec, where = monitor["spec"], _name(monitor, "/")
    _only(spec, {"namespaceSelector", "selector", "podMetricsEndpoints"}, where)
    _only(spec["selector"], {"matchLabels", "matchExpressions"}, where)
    _only(spec.get("namespaceSelector") or {}, {"any", "matchNames"}, where)
    for expression in spec["selector"].get("matchExpressions") or []:
        if expression["operator"] != "In":
            what = f"operator {expression['operator']} is not supported on the local stack"
            raise UnsupportedError(f"PodMonitor {where}: {what}")
    for number, endpoint in enumerate(spec["podMetricsEndpoints"]):
        _only(endpoint, {"port", "path", "metricRelabelings"}, where)
        yield {
            "job_name": f"podMonitor/{where}/{number}",
            "honor_timestamps": True,
            "metrics_path": endpoint.get("path", "/metrics"),
            "file_sd_configs": [{"files": [f"{folder}/{TARGETS_FOLDER}/{_name(monitor, '-')}-{number}.yaml"]}],
            "metric_relabel_configs": [
                {re.sub("[A-Z]", lambda match: f"_{match[0].lower()}", key): value for key, value in relabeling.items()}
                for relabeling in endpoint.get("metricRelabelings") or []
            ],
        }


def _only(fields: Object, known: set[str], where: str) -> None:
    if unknown := sorted(fields.keys() - known):
        raise UnsupportedError(f"PodMonitor {where}: {', '.join(unknown)} is not supported on the local stack")


def target_files(monitors: Iterable[Object], pods: Sequence[Object]) -> dict[str, list[Config]]:
    """Return the contents of the files of targets by name: one for each endpoint of each PodMonitor."""
    return {
        f"{_name(monitor, '-')}-{number}.yaml": list(_targets(monitor, endpoint, pods))
        for monitor in monitors
        for number, endpoint in enumerate(monitor["spec"]["podMetricsEndpoints"])
    }


def _targets(monitor: Object, endpoint: Object, pods: Iterable[Object]) -> Iterator[Config]:
    for pod in pods:
        for container in pod["spec"]["containers"] if _selects(monitor, pod) else ():
            for port in container.get("ports") or ():
                if port.get("name") == endpoint["port"]:
                    labels = {
                        "namespace": pod["metadata"]["namespace"],
                        "container": container["name"],
                        "pod": pod["metadata"]["name"],
                        "job": _name(monitor, "/"),
                        "endpoint": endpoint["port"],
                    }
                    yield {"targets": [f"{pod['status']['podIP']}:{port['containerPort']}"], "labels": labels}


def _selects(monitor: Object, pod: Object) -> bool:
    """Return whether a PodMonitor selects a Pod that has an address and has not ended."""
    spec, metadata, status = monitor["spec"], pod["metadata"], pod.get("status") or {}
    namespaces, labels = spec.get("namespaceSelector") or {}, metadata.get("labels") or {}
    wanted = [(key, [value]) for key, value in (spec["selector"].get("matchLabels") or {}).items()]
    wanted += [(rule["key"], rule["values"]) for rule in spec["selector"].get("matchExpressions") or []]
    return (
        bool(status.get("podIP"))
        and status.get("phase") not in _ENDED
        and all(labels.get(key) in values for key, values in wanted)
        and (
            namespaces.get("any", False)
            or metadata["namespace"] in (namespaces.get("matchNames") or [monitor["metadata"]["namespace"]])
        )
    )


def rule_files(rules: Iterable[Object]) -> dict[str, Config]:
    """Return the contents of the rule files by name: one for each PrometheusRule."""
    return {f"{_name(rule, '-')}.yaml": {"groups": rule["spec"].get("groups") or []} for rule in rules}


def _name(item: Object, separator: str) -> str:
    return f"{item['metadata']['namespace']}{separator}{item['metadata']['name']}"


def write_files(
    folder: Path, monitors: Sequence[Object], rules: Sequence[Object], pods: Sequence[Object]
) -> dict[str, str]:
    """Write all files, delete those of deleted objects, and return the texts that Prometheus must be told to read."""
    texts = {CONFIG_FILE: _text(prometheus_config(monitors, folder))}
    texts |= {f"{RULES_FOLDER}/{name}": _text(content) for name, content in rule_files(rules).items()}
    targets = target_files(monitors, pods)
    watched = {f"{TARGETS_FOLDER}/{name}": _text(content) for name, content in targets.items()}
    for name, text in (watched | texts).items():
        file = folder / name
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            write_private(file, text)
    for file in (*folder.glob(f"{RULES_FOLDER}/*.yaml"), *folder.glob(f"{TARGETS_FOLDER}/*.yaml")):
        if str(file.relative_to(folder)) not in watched | texts:
            file.unlink()
    return texts


def _text(content: object) -> str:
    return yaml.dump(content, Dumper=yaml.CSafeDumper, sort_keys=False)
