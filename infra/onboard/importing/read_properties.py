"""Objects for what was read as properties and not as a Kubernetes object."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from components.flows.operators import CLUSTER_LABEL, USES_CONNECTOR_RESOURCES
from infra.onboard.importing.left_out import LeftOut
from infra.onboard.importing.reading import ReadObject

#: The properties that name a worker group, and the topics where it keeps its state.
GROUP = ("group.id", "config.storage.topic", "offset.storage.topic", "status.storage.topic")


_IN_OBJECT = "spec.", "config."


@dataclass(frozen=True)
class ReadProperties(ReadObject):
    """Workers or a connector whose logins are client properties; `origins` has the key of the file for each property.

    `part` is the part of the file that they represent, "" for all of it. The project keeps the worker group and its
    topics only if `keeps_group`.
    """

    part: str = ""
    origins: Mapping[str, str] = field(default_factory=dict)
    keeps_group: bool = False

    @property
    def label(self) -> str:
        return self.part

    def left_out(self, where: str, code: str, why: str, remedy: str) -> LeftOut:
        key = where
        for prefix in _IN_OBJECT:
            key = key.removeprefix(prefix)
        below = (origin for name, origin in self.origins.items() if name.startswith(f"{key}."))
        return LeftOut(self.file, self.part, self.origins.get(key) or next(below, key), code, why, remedy)


def read_workers(
    file: str, namespace: str, name: str, address: str, config: Mapping[str, str], **of_file: Any
) -> ReadProperties:
    """Return workers as the KafkaConnect that would run them; `of_file` are the fields of ReadProperties."""
    metadata = {"annotations": {USES_CONNECTOR_RESOURCES: "true"}}
    body = _body("KafkaConnect", namespace, name, metadata, {"bootstrapServers": address, "config": dict(config)})
    return ReadProperties(file, body, **of_file)


def read_connector(
    file: str, namespace: str, workers: str, name: str, spec: Mapping[str, Any], **of_file: Any
) -> ReadProperties:
    """Return a connector as its KafkaConnector on these workers would be, if that could have its name."""
    return ReadProperties(
        file,
        # Nothing restarts its failed tasks, but the project's default does no harm.
        _body("KafkaConnector", namespace, name, {"labels": {CLUSTER_LABEL: workers}}, {"autoRestart": {}, **spec}),
        **of_file,
    )


def _body(kind: str, namespace: str, name: str, metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "kafka.strimzi.io/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace, **metadata},
        "spec": dict(spec),
    }
