"""A namespace of the running local stack in which a test applies bare custom resources for the operator.

`components` does not make these objects: what the operator does must not depend on who wrote the resources.
"""

import base64
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from kafka_replication.components.render.flow_acls import Acl
from kafka_replication.infra.kubernetes.api import KubernetesApi, Object, Reference
from kafka_replication.infra.local.acls import apply_acls
from kafka_replication.infra.local.endpoints import Endpoints, Region
from kafka_replication.infra.local.parts import operator as operator_part
from kafka_replication.infra.local.parts import processes
from kafka_replication.infra.local.parts.processes import ProcessRecord
from kafka_replication.infra.machine.waiting import NotYetError, wait_for

DEADLINE_SECONDS = 600.0


@dataclass(frozen=True)
class Workspace:
    """Applies objects in its namespace, and waits for the operator to act on them."""

    namespace: ClassVar[str]

    api: KubernetesApi
    endpoints: Endpoints

    def set_up(self, acls: Iterable[Acl]) -> None:
        """Create the namespace and the ACLs, and store the credentials of the user `mirror` in a Secret per region."""
        granted = tuple(acls)
        for region in self.endpoints.regions.values():
            apply_acls(region, granted)
        self.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}})
        for region in self.endpoints.regions.values():
            self.secret(region.alias, password=region.users["mirror"].password)

    def tear_down(self) -> None:
        """Remove everything, and wait until no worker is left."""
        namespace = Reference("v1", "Namespace", None, self.namespace)
        self.api.delete(namespace)
        wait_for("the workers to end", self.expect_no_worker, DEADLINE_SECONDS)

        def expect_deleted() -> None:
            if self.api.get(namespace) is not None:
                raise NotYetError("the namespace is still there")

        wait_for("the namespace to end", expect_deleted, DEADLINE_SECONDS)

    def region(self, alias: str) -> Region:
        return self.endpoints.regions[alias]

    def apply(self, api_version: str, kind: str, name: str, **body: Any) -> Object:
        metadata = {"name": name, "namespace": self.namespace}
        metadata |= {key: body.pop(key) for key in ("labels", "annotations") if key in body}
        return self.api.apply({"apiVersion": api_version, "kind": kind, "metadata": metadata, **body})

    def secret(self, alias: str, *, password: str, name: str | None = None) -> None:
        """Store the credentials of the user `mirror` in one region."""
        self.apply_secret(name or alias, {"password": password, "ca.crt": self.region(alias).ca_file.read_text()})

    def apply_secret(self, name: str, texts: Mapping[str, str]) -> None:
        data = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
        self.apply("v1", "Secret", name, data=data)

    def expect_condition(
        self, reference: Reference, condition: str, words: str = "", met: Callable[[Object], bool] = lambda _: True
    ) -> Object:
        """Status of the newest generation once it has this condition, with these words, and `met` is true."""

        def seen() -> Object:
            item = self.api.get(reference) or {}
            status = dict(item.get("status") or {})
            said = [(each["type"], each.get("message", "")) for each in status.get("conditions", [])]
            newest = status.get("observedGeneration") == item.get("metadata", {}).get("generation")
            if not newest or not any(type_ == condition and words in message for type_, message in said):
                raise NotYetError(str(said))
            if not met(status):
                raise NotYetError(str(status.get("connectors")))
            return status

        what = f"{reference.kind} to be {condition} {words}"
        return wait_for(what, seen, DEADLINE_SECONDS)

    def workers(self) -> list[ProcessRecord]:
        """Workers of this namespace that run now."""
        ours = [worker for worker in operator_part.workers() if worker.name.startswith(f"{self.namespace}/")]
        return [worker for worker in ours if processes.alive(worker)]

    def expect_no_worker(self) -> None:
        if found := self.workers():
            raise NotYetError(f"workers {[worker.pid for worker in found]}")


def scram_login(secret: str) -> dict[str, Any]:
    """The `authentication` of the user `mirror`, with the password in a Secret of the workspace."""
    return {
        "type": "scram-sha-512",
        "username": "mirror",
        "passwordSecret": {"secretName": secret, "password": "password"},
    }
