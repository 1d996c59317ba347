"""What runs from plain YAML on the local stack: resources and what they refer to. No stack deploys them."""

import base64
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from confluent_kafka import Consumer, TopicPartition

from kafka_replication.components.render.flow_acls import flow_acls
from kafka_replication.infra.kubernetes.api import KubernetesApi, Object, reference
from kafka_replication.infra.local.acls import apply_acls
from kafka_replication.infra.local.endpoints import ADMIN, Endpoints
from kafka_replication.infra.local.operator.connect_rest import ConnectRest, RestError
from kafka_replication.infra.local.parts import operator as operator_part
from kafka_replication.infra.local.parts import processes
from kafka_replication.infra.local.provider.servicer import serve
from kafka_replication.infra.local.traffic import create_topics
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from kafka_replication.infra.stack.session import OpenStack
from kafka_replication.infra.stack.settings import read_settings
from tests.bench.adoption_traffic import PLACES, TOPICS

RUNNING = Path(__file__).parent / "running"
NAMESPACE = "kafka"
#: The context in the local stack's kubeconfig.
CONTEXT = "local"
COMMAND_SECONDS = 600.0
_READY_SECONDS = 300.0
_CALL_SECONDS = 30.0
_LOGINS = {"useast": "plain", "uswest": "scram-sha-512"}


@dataclass(frozen=True)
class Ran:
    """A command that ended: its exit code, output and time."""

    code: int
    output: str
    errors: str
    seconds: float


@dataclass(frozen=True)
class World:
    """The local stack, a folder for projects, and the variables of a user's shell."""

    endpoints: Endpoints
    folder: Path
    variables: Mapping[str, str]

    def replicate(self, *words: str, within: str = ".", refused: bool = False) -> Ran:
        """Run a command as a user does. Raises RuntimeError if it ends with an error, unless it may be `refused`."""
        call = [sys.executable, "-c", "from kafka_replication.infra.commands.app import main; main()", *words]
        environment = {key: value for key, value in os.environ.items() if key != "REPLICATE_LOCAL"}
        began = time.monotonic()
        answer = subprocess.run(
            call,
            cwd=self.folder / within,
            env={**environment, **self.variables},
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )
        seconds = time.monotonic() - began
        if answer.returncode and not refused:
            raise RuntimeError(f"{words}: {answer.returncode}\n{answer.stdout}{answer.stderr}")
        return Ran(answer.returncode, answer.stdout, answer.stderr, seconds)

    def connectors(self) -> dict[str, list[str]]:
        """The tasks of each connector, as the logs name them. Raises NotYetError unless all of them run."""
        found: dict[str, list[str]] = {}
        for worker in (each for each in operator_part.workers() if processes.alive(each)):
            rest = ConnectRest(worker.port)
            try:
                for name, each in rest.connectors().items():
                    states = {task["id"]: task["state"] for task in each.status["tasks"]}
                    if each.state != "RUNNING" or set(states.values()) - {"RUNNING"}:
                        raise NotYetError(f"{name} is {each.state}, its tasks are {states}")
                    found[name] = [f"{name}-{number}" for number in states]
            except RestError as error:
                raise NotYetError(str(error)) from error
        return found


@contextmanager
def shell(endpoints: Endpoints, folder: Path) -> Iterator[World]:
    """A folder, and a login to Pulumi's backend in it."""
    (folder / "state").mkdir()
    with serve(endpoints.kubeconfig) as port:
        variables = {
            "KUBECONFIG": str(endpoints.kubeconfig),
            "PULUMI_HOME": str(folder / "home"),
            "PULUMI_BACKEND_URL": f"file://{folder / 'state'}",
            "PULUMI_CONFIG_PASSPHRASE": "bench",
            "PULUMI_DEBUG_PROVIDERS": f"kubernetes:{port}",
        }
        yield World(endpoints, folder, variables)


def running_yaml(world: World, name: str) -> list[Object]:
    """The resources of a file as they were written, with the addresses of this stack."""
    text = (RUNNING / f"{name}.yaml").read_text()
    for alias, region in world.endpoints.regions.items():
        text = text.replace(alias.upper(), region.bootstrap_servers)
    return list(yaml.safe_load_all(text))


def apply(world: World, name: str, connectors: int) -> list[Object]:
    """Apply the resources of a file and everything that they refer to, and wait until every task runs."""
    resources = running_yaml(world, name)
    (world.folder / "running.yaml").write_text(yaml.safe_dump_all(resources))
    write_logins(world.folder / "logins.yaml")
    world.replicate("import", "running.yaml", "--out", "acls", "--validation-login", "logins.yaml")
    _grant(world, "acls")
    create_topics(world.endpoints.regions["useast"], TOPICS)
    with KubernetesApi(world.endpoints.kubeconfig, field_manager="kubectl-client-side-apply") as api:
        for each in [*_surroundings(world, resources[0]["metadata"]["name"]), *resources]:
            if api.get(reference(each)) is None:
                api.create(each)
    wait_for("every task to run", lambda: _expect_running(world, connectors), _READY_SECONDS, 1)
    return resources


def remove(world: World, resources: list[Object]) -> None:
    """Delete the resources, and wait until their workers have ended."""
    with KubernetesApi(world.endpoints.kubeconfig, field_manager="kubectl-client-side-apply") as api:
        for each in reversed(resources):
            api.delete(reference(each))
    wait_for("the workers to end", _expect_no_worker, _READY_SECONDS, 1)


def write_logins(file: Path) -> None:
    """The logins of the validation, as `replicate import --validation-login` takes them."""
    logins = {
        alias: {
            "authentication": {
                "type": kind,
                "username": "validator",
                "password": {"secret": f"{alias}-validator", "key": "password"},
            }
        }
        for alias, kind in _LOGINS.items()
    }
    file.write_text(yaml.safe_dump(logins))


def arrivals(world: World) -> "Consumer":
    """A client of the target for `arrived`."""
    return Consumer({**world.endpoints.regions["uswest"].client_config(ADMIN), "group.id": "unused"})


def arrived(client: Consumer) -> int:
    """How many records the remote topics hold."""
    places = [TopicPartition(f"useast.{topic}", partition) for topic, partition in PLACES]
    return sum(client.get_watermark_offsets(place, timeout=_CALL_SECONDS)[1] for place in places)


def document(ran: Ran) -> dict[str, Any]:
    """What a command with `--json` printed."""
    found: dict[str, Any] = json.loads(ran.output)
    return found


def declare_a_flow(world: World, project: str, replication: str) -> None:
    """Make a project declare a flow with its own workers instead of a KafkaMirrorMaker2."""
    file = world.folder / project / "stacks" / "topologies" / "prod.yaml"
    topology = yaml.safe_load(file.read_text())
    declared = topology["replications"][replication]
    declared["kind"] = "flow"
    for key in ("groupId", "storageTopics"):
        del declared["connect"][key]
    file.write_text(yaml.safe_dump(topology, sort_keys=False))
    _grant(world, project)


def _grant(world: World, project: str) -> None:
    """Give the connectors' user the ACLs that the flow of a project needs, as `replicate acls` lists them."""
    (flow,) = OpenStack(read_settings("prod", world.folder / project / "stacks")).flows
    for region in world.endpoints.regions.values():
        apply_acls(region, flow_acls(flow))


def _surroundings(world: World, connect: str) -> Iterator[Object]:
    """The namespace, the Secrets, and the Role that lets the workers read them."""
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    secrets = []
    for alias, region in world.endpoints.regions.items():
        values = {f"{alias}-ca": ("ca.crt", region.ca_file.read_text())}
        values |= {f"{alias}-{user}": ("password", region.users[user].password) for user in ("mirror", "validator")}
        for name, (key, value) in values.items():
            secrets.append(name)
            data = {key: base64.b64encode(value.encode()).decode()}
            yield {"apiVersion": "v1", "kind": "Secret", "metadata": _named(name), "data": data}
    rule = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "resourceNames": secrets}
    rbac, name = "rbac.authorization.k8s.io", f"{connect}-secrets"
    yield {"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": _named(name), "rules": [rule]}
    yield {
        "apiVersion": f"{rbac}/v1",
        "kind": "RoleBinding",
        "metadata": _named(name),
        "roleRef": {"apiGroup": rbac, "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": f"{connect}-connect", "namespace": NAMESPACE}],
    }


def _named(name: str) -> Object:
    return {"name": name, "namespace": NAMESPACE}


def _expect_running(world: World, connectors: int) -> None:
    found = world.connectors()
    if len(found) != connectors:
        raise NotYetError(f"connectors {sorted(found)}")


def _expect_no_worker() -> None:
    if left := [each.name for each in operator_part.workers() if processes.alive(each)]:
        raise NotYetError(f"{left} run")
