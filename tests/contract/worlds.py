"""A project whose stack deploys to a namespace of a real API server, and the tools that wrote objects there before."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from typer.testing import CliRunner

from kafka_replication.infra.commands.app import app
from kafka_replication.infra.kubernetes.api import KubernetesApi, Object, Reference, reference
from tests.contract.api_servers import ApiServer
from tests.infra.onboard.importing.resources import FLOW

V1 = "kafka.strimzi.io/v1"
KINDS = [(V1, kind) for kind in ("KafkaConnect", "KafkaMirrorMaker2", "KafkaConnector")]
KINDS += [("v1", "ConfigMap"), *(("rbac.authorization.k8s.io/v1", kind) for kind in ("Role", "RoleBinding"))]


@dataclass
class World:
    """A namespace with objects that other tools created, and the project that was imported from them."""

    folder: Path
    server: ApiServer
    namespace: str
    tools: Callable[[str], KubernetesApi]

    def made_by(self, tool: str, text: str = FLOW) -> list[Reference]:
        """Let a tool create the objects."""
        found = []
        for body in yaml.safe_load_all(text.replace("namespace: kafka", f"namespace: {self.namespace}")):
            api = self.tools(tool)
            api.apply(body) if tool == "argocd-controller" else api.create(body)
            found.append(reference(body))
        return found

    def imported(self, text: str = FLOW) -> None:
        file = self.folder / "read.yaml"
        file.write_text(text.replace("namespace: kafka", f"namespace: {self.namespace}"))
        self.code("import", str(file), "--out", str(self.project))
        self.configure({})

    @property
    def project(self) -> Path:
        return self.folder / "project"

    def configure(self, more: dict[str, str]) -> None:
        file = self.project / "stacks" / "Pulumi.prod.yaml"
        config = {"replication:topology": "prod", "kubernetes:kubeconfig": str(self.server.kubeconfig), **more}
        file.write_text(yaml.safe_dump({"config": config}))

    def declare(self, change: Callable[[Any], None]) -> None:
        file = self.project / "stacks" / "topologies" / "prod.yaml"
        topology = yaml.safe_load(file.read_text())
        change(topology)
        file.write_text(yaml.safe_dump(topology))

    def call(self, *words: str) -> tuple[int, str]:
        """The exit code and all output, without line breaks."""
        project = () if words[0] == "import" else ("--project", str(self.project))
        answer = CliRunner().invoke(app, [*project, *words])
        error = "" if answer.exception is None or isinstance(answer.exception, SystemExit) else str(answer.exception)
        return answer.exit_code, " ".join((answer.output + error).split())

    def code(self, *words: str) -> int:
        return self.call(*words)[0]

    def said(self, *words: str) -> str:
        return self.call(*words)[1]

    def live(self, target: Reference) -> Object:
        found = self.server.api.get(target)
        assert found is not None
        return found

    def uids(self, objects: list[Reference]) -> list[str]:
        return [self.live(each)["metadata"]["uid"] for each in objects]
