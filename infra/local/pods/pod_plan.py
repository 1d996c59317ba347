"""What a Pod asks of a kubelet: files to mount, a command, its environment. Pure."""

import base64
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from components.render.job_pods import API_SERVER, COMMAND, DRIVER_COMMAND, EXECUTOR_COMMAND
from infra.kubernetes.api import Object, Reference

#: Volumes that need nothing here: an empty folder, and the token, which the process gets in a kubeconfig.
_NO_FILES = frozenset({"emptyDir"})
_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount"
_COMMANDS = (COMMAND, DRIVER_COMMAND, EXECUTOR_COMMAND)
#: Files in which Spark's submission writes paths of the container.
_PROPERTIES = ".properties"
#: The address of every process of this machine.
POD_IP = "127.0.0.1"


class NotRunError(Exception):
    """Why a container cannot start; `reason` is the word that a kubelet would write into its status."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True)
class PodPlan:
    """A Pod with one container. `mounts` maps each path in the container to the name of its volume.

    `account` is None if the container gets no token. `seconds` is how long the Pod may run.
    """

    namespace: str
    name: str
    uid: str
    account: str | None
    seconds: int | None
    container: Object
    volumes: Mapping[str, Object]
    mounts: Mapping[str, str]

    @property
    def refused(self) -> NotRunError | None:
        """Why the stand-in does not run it; None if it does."""
        if tuple(self.container.get("command") or ()) in _COMMANDS:
            return None
        known = " and ".join(f"`{' '.join(each)}`" for each in _COMMANDS)
        return NotRunError("CreateContainerError", f"this stand-in for a kubelet runs only {known}")

    @property
    def needed(self) -> tuple[Reference, ...]:
        """The ConfigMaps and Secrets whose entries become files."""
        return tuple(each for name in self.mounts.values() for each, _ in self._sources(name))

    def files(self, objects: Mapping[Reference, Object], folder: Path) -> Iterator[tuple[str, bytes]]:
        """The mounted files by path in the container, read from the objects that exist. Raises NotRunError.

        `folder` holds the mounted files; paths in properties files point there.
        """
        for path, volume in self.mounts.items():
            for source, items in self._sources(volume):
                if source not in objects:
                    raise NotRunError("ContainerCreating", f"{source} not found")
                for name, content in _entries(source, objects[source], items):
                    properties = name.endswith(_PROPERTIES)
                    yield f"{path}/{name}", self.here(content.decode(), folder).encode() if properties else content

    def _sources(self, volume: str) -> Iterator[tuple[Reference, Iterable[Mapping[str, str]] | None]]:
        body = self.volumes[volume]
        for source in body.get("projected", {}).get("sources", [body]):
            for kind, key, named in (("ConfigMap", "configMap", "name"), ("Secret", "secret", "secretName")):
                if key in source:
                    name = source[key].get(named) or source[key]["name"]
                    yield Reference("v1", kind, self.namespace, name), source[key].get("items")

    def command(self, python: str, folder: Path, server: str) -> list[str]:
        """The container's command here; `folder` holds what is mounted, `server` is the API server."""
        module = self.container["command"][1:]
        known = self.environment(folder)
        arguments = (_expanded(each, known) for each in self.container.get("args") or ())
        # There is no cluster DNS here.
        return [python, *module, *(self.here(each, folder).replace(API_SERVER, server) for each in arguments)]

    def environment(self, folder: Path) -> dict[str, str]:
        """The container's own variables."""
        return {each["name"]: self.here(self._value(each), folder) for each in self.container.get("env") or ()}

    def _value(self, variable: Mapping[str, Any]) -> str:
        field = variable.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
        known = {"metadata.name": self.name, "metadata.namespace": self.namespace, "status.podIP": POD_IP}
        return str(variable.get("value", "") if field is None else known[field])

    def here(self, text: str, folder: Path) -> str:
        """The text with each path below a mount replaced by the path on this machine."""
        paths = "|".join(re.escape(path) for path in sorted(self.mounts, key=len, reverse=True))
        pattern = rf"(?m)(^|=)({paths})(?=/|$)"
        return re.sub(pattern, lambda found: f"{found[1]}{folder}{found[2]}", text) if paths else text


def _expanded(text: str, variables: Mapping[str, str]) -> str:
    """A text with each $(NAME) of a known variable replaced. Source: k8s.io/kubernetes/third_party/forked/golang."""
    return re.sub(r"\$\((\w+)\)", lambda found: variables.get(found[1], found[0]), text)


def pod_plan(pod: Object) -> PodPlan:
    """Read a Pod."""
    metadata, spec = pod["metadata"], pod["spec"]
    container = spec["containers"][0]
    mounts = {each["mountPath"]: each["name"] for each in container.get("volumeMounts") or ()}
    return PodPlan(
        metadata["namespace"],
        metadata["name"],
        metadata["uid"],
        spec.get("serviceAccountName", "default") if spec.get("automountServiceAccountToken", True) else None,
        spec.get("activeDeadlineSeconds"),
        container,
        {each["name"]: each for each in spec.get("volumes") or ()},
        {path: name for path, name in mounts.items() if path != _TOKEN},
    )


def _entries(source: Reference, body: Object, items: Iterable[Mapping[str, str]] | None) -> Iterator[tuple[str, bytes]]:
    encoded = {**(body.get("binaryData") or {}), **((body.get("data") or {}) if source.kind == "Secret" else {})}
    plain = (body.get("data") or {}) if source.kind == "ConfigMap" else {}
    found = {key: base64.b64decode(value) for key, value in encoded.items()}
    found |= {key: value.encode() for key, value in plain.items()}
    paths = {each["key"]: each["path"] for each in items} if items is not None else {key: key for key in found}
    for key, path in paths.items():
        if key not in found:
            raise NotRunError("ContainerCreating", f"{source} has no key {key}")
        yield path, found[key]


def container_status(plan: PodPlan, state: Mapping[str, Any]) -> Object:
    """The status of the Pod's container in a state, as a kubelet would write it."""
    return {
        "name": plan.container["name"],
        "image": plan.container["image"],
        "imageID": "",
        "ready": "running" in state,
        "restartCount": 0,
        "started": "running" in state,
        "state": dict(state),
    }
