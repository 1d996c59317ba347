"""`replicate adopt` on a real API server with Pulumi's real engine: a stack takes over the objects of kubectl, Helm or
Argo CD from which it was imported. Nothing replicates here, and nobody reconciles the resources."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from kafka_replication.infra.commands.app import app
from kafka_replication.infra.deploy.engine.deployment import known_objects
from kafka_replication.infra.kubernetes.api import KubernetesApi, Reference, reference
from kafka_replication.infra.stack.settings import read_settings
from tests.contract.worlds import V1, World
from tests.infra.onboard.importing.resources import FLOW, MIRROR
from tests.infra.readmes import shown

pytestmark = pytest.mark.usefixtures("stopped_programs")
AGREED = ("--agree", "restart:workers")
#: Objects in the flow's namespace that do not belong to the stack.
OTHERS = """
apiVersion: v1
kind: Secret
metadata: {name: west-mirror, namespace: kafka}
stringData: {password: known}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: theirs, namespace: kafka}
---
apiVersion: kafka.strimzi.io/v1
kind: KafkaConnect
metadata: {name: theirs, namespace: kafka}
spec:
  replicas: 1
  bootstrapServers: elsewhere:9092
  groupId: theirs
  configStorageTopic: theirs-configs
  offsetStorageTopic: theirs-offsets
  statusStorageTopic: theirs-status
---
apiVersion: kafka.strimzi.io/v1
kind: KafkaConnector
metadata: {name: sink, namespace: kafka, labels: {strimzi.io/cluster: theirs}}
spec: {class: com.example.Sink, tasksMax: 1, config: {}}
"""


def states(world: World, made: list[Reference]) -> list[str]:
    return [world.live(each)["metadata"]["resourceVersion"] for each in made]


def test_a_plan_names_everything_and_changes_nothing(world: World) -> None:
    """Without a terminal the command cannot ask for consent, so it ends with the plan."""
    made = world.made_by("helm")
    world.imported()
    before = states(world, made)
    refused, said = world.call("adopt", "prod")
    assert refused == 1
    assert "prod: 8 objects: 5 created, 3 changed; Pulumi knows 0" in said
    assert "spec.tasksMax:" not in said
    assert "spec.state: + running" in said
    assert "helm owns metadata.labels, spec.class, spec.config, spec.tasksMax (last wrote at " in said
    assert "kubectl delete secret -l owner=helm" in said
    assert "`replicate destroy prod` deletes them" in said
    assert "not-agreed: adopting has effects of severity `restart`" in said
    agreed, said = world.call("adopt", "prod", *AGREED)
    assert agreed == 0
    assert said.endswith("Nothing was changed. `--yes` carries this out.")
    assert states(world, made) == before
    assert known_objects(read_settings("prod", world.project / "stacks")) == frozenset()


def test_the_plan_in_the_readme_is_what_the_command_prints(world: World) -> None:
    resource, plan = shown("name: mm2, namespace: kafka"), shown("Pulumi knows 0")
    text = resource.replace("namespace: kafka", f"namespace: {world.namespace}")
    world.made_by("helm", text)
    world.imported(text)
    said = world.said("adopt", "prod")
    for line in plan.replace("kafka/mm2", f"{world.namespace}/mm2").splitlines():
        for part in filter(None, line.strip(" )").split("…")):
            assert part.strip() in said


@pytest.mark.parametrize("text", [FLOW, MIRROR], ids=["a flow", "a KafkaMirrorMaker2"])
@pytest.mark.parametrize("tool", ["kubectl-client-side-apply", "helm"])
def test_running_objects_join_the_stack_without_being_created_again(world: World, tool: str, text: str) -> None:
    made = world.made_by(tool, text)
    world.imported(text)
    before = world.uids(made)
    name = "workers" if text == FLOW else "mm2"
    code, said = world.call("adopt", "prod", "--yes", "--agree", f"restart:{name}")
    assert code == 0, said
    assert world.uids(made) == before
    for each in made:
        assert {owner["manager"] for owner in world.live(each)["metadata"]["managedFields"]} == {"pulumi-kubernetes"}
    assert "already manages everything, and everything is as declared" in world.said("adopt", "prod")
    preview = world.said("preview", "prod")
    assert re.search(r"Changes: \d+ same$", preview), preview
    assert "nothing changes" in world.said("diff", "prod", "--against", "cluster")
    assert set(made) <= known_objects(read_settings("prod", world.project / "stacks")), "`destroy` would delete them"


def test_workers_that_run_exactly_once_already_are_adopted(world: World) -> None:
    """The step before `enabled` is behind them, although no deployment of the stack has made it."""
    config = "    header.converter: org.apache.kafka.connect.converters.ByteArrayConverter\n"
    text = FLOW.replace(config, f"{config}    exactly.once.source.support: enabled\n")
    text = text.replace(
        "    topics: orders,payments\n", "    topics: orders,payments\n    exactly.once.support: required\n"
    )
    made = world.made_by("kubectl-client-side-apply", text)
    world.imported(text)
    file = world.project / "stacks" / "topologies" / "prod.yaml"
    assert yaml.safe_load(file.read_text())["replications"]["workers"]["exactlyOnce"] == "enabled"
    before = world.uids(made)
    code, said = world.call("adopt", "prod", "--yes", *AGREED)
    assert code == 0, said
    assert world.uids(made) == before


def test_objects_applied_from_rendered_files_change_only_their_owner(world: World) -> None:
    """The case of a team that commits what `replicate render` writes and no longer wants Argo CD to apply it."""
    world.imported()
    assert world.code("render", "prod", "--out", str(world.folder / "rendered")) == 0
    files = sorted((world.folder / "rendered" / "workers").glob("*.yaml"))
    bodies = [yaml.safe_load(each.read_text()) for each in files if each.name != "kustomization.yaml"]
    argocd = world.tools("argocd-controller")
    made = [reference(argocd.apply(body)) for body in bodies]
    before = [(each["metadata"]["uid"], each["metadata"].get("generation")) for each in map(world.live, made)]
    refused, said = world.call("adopt", "prod", "--yes")
    assert refused == 1
    assert "gitops-manages: argocd applies it, at " in said
    assert "not-agreed" not in said
    code, said = world.call("adopt", "prod", "--yes", "--agree", "released:argocd")
    assert code == 0, said
    assert "8 objects: 8 equal; Pulumi knows 0" in said
    after = [(each["metadata"]["uid"], each["metadata"].get("generation")) for each in map(world.live, made)]
    assert after == before
    world.declare(lambda topology: topology["replications"]["workers"]["connectors"]["source"].update(tasksMax=5))
    assert world.code("up", "prod", "--yes") == 0, "nobody else owns a field any more"
    assert world.live(Reference(V1, "KafkaConnector", world.namespace, "source"))["spec"]["tasksMax"] == 5


@contextmanager
def interrupted_at(step: str) -> Iterator[None]:
    """Interrupts a take-over with Ctrl-C when this step would begin."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"kafka_replication.infra.deploy.adoption.carry_out.{step}", interrupted)
        yield


@pytest.mark.parametrize("step", ["import_objects", "deployment.up"])
def test_an_interrupted_take_over_succeeds_at_the_second_attempt(world: World, step: str) -> None:
    made = world.made_by("helm")
    world.imported()
    before = world.uids(made)
    with interrupted_at(step):
        assert world.code("adopt", "prod", "--yes", *AGREED) != 0
    known = "Pulumi knows 8" if step == "deployment.up" else "Pulumi knows 0"
    assert known in world.said("adopt", "prod", *AGREED)
    code, said = world.call("adopt", "prod", "--yes", *AGREED)
    assert code == 0, said
    assert world.uids(made) == before
    assert "already manages everything" in world.said("adopt", "prod")


def test_the_next_take_over_records_what_a_killed_one_created(world: World) -> None:
    """If the engine is killed while it creates an object, the object can exist and be missing in the state."""
    made = world.made_by("helm")
    world.imported()
    with interrupted_at("deployment.up"):
        assert world.code("adopt", "prod", "--yes", *AGREED) != 0
    # Not with `pulumi stack import`, which drops pending operations.
    (file,) = (world.folder / "state").rglob("stacks/project/prod.json")
    document = json.loads(file.read_text())
    state = document["checkpoint"]["latest"]
    lost = next(each for each in state["resources"] if each["type"].endswith(":KafkaConnector"))
    state["resources"].remove(lost)
    begun = {key: value for key, value in lost.items() if key not in ("id", "outputs")}
    state["pending_operations"] = [{"type": "creating", "resource": begun}]
    file.write_text(json.dumps(document))
    before = world.uids(made)
    code, said = world.call("adopt", "prod", "--yes", *AGREED)
    assert code == 0, said
    assert world.uids(made) == before


def test_objects_that_another_stack_manages_are_not_taken_over(world: World) -> None:
    made = world.made_by("helm")
    world.imported()
    assert world.code("adopt", "prod", "--yes", *AGREED) == 0
    stacks = world.project / "stacks"
    config = yaml.safe_load((stacks / "Pulumi.prod.yaml").read_text())["config"]
    (stacks / "Pulumi.other.yaml").write_text(yaml.safe_dump({"config": {**config, "replication:sharesWith": "prod"}}))
    before = states(world, made)
    code, said = world.call("adopt", "other", "--yes")
    assert code == 1
    assert "other-stack-manages: Pulumi deployed it, and it is not in the state of this stack" in said
    assert states(world, made) == before


def test_destroy_names_and_deletes_what_was_adopted_and_leaves_everything_else(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Secrets that the flow refers to, and other tools' objects in its namespace, do not belong to the stack."""
    # A deletion in the foreground waits for a garbage collector, which this API server does not have.
    delete = KubernetesApi.delete
    monkeypatch.setattr(KubernetesApi, "delete", lambda api, target, **_: delete(api, target))
    connect, source, checkpoint = yaml.safe_load_all(FLOW)
    secret = {"secretName": "west-mirror", "password": "password"}
    connect["spec"]["authentication"] = {"type": "scram-sha-512", "username": "mirror", "passwordSecret": secret}
    text = yaml.safe_dump_all([connect, source, checkpoint])
    made = world.made_by("helm", text)
    others = world.made_by("helm", OTHERS)
    world.imported(text)
    assert world.code("adopt", "prod", "--yes", *AGREED) == 0
    adopted = known_objects(read_settings("prod", world.project / "stacks"))
    assert set(made) < adopted
    before = states(world, others)
    refused, said = world.call("destroy", "prod")
    assert refused != 0
    assert f"prod: this deletes {len(adopted)} objects:" in said
    assert said.count(" - ") == len(adopted)
    assert all(f" - {each}" in said for each in adopted)
    assert all(world.live(each) for each in adopted), "nobody has agreed"
    code, said = world.call("destroy", "prod", "--yes")
    assert code == 0, said
    assert [each for each in adopted if world.server.api.get(each) is not None] == []
    assert states(world, others) == before
    assert "prod: Pulumi knows no object of this stack" in world.said("destroy", "prod", "--yes")


def test_adopt_is_refused_if_no_declared_object_exists(world: World) -> None:
    world.imported()
    code, said = world.call("adopt", "prod", "--yes")
    assert code != 0
    assert "nothing-to-adopt: no object that the stack declares exists in its cluster" in said
    assert "`replicate up prod` creates the objects" in said


def test_adopt_is_refused_if_the_namespace_is_missing(world: World) -> None:
    world.imported(FLOW.replace("namespace: kafka", "namespace: nowhere"))
    code, said = world.call("adopt", "prod", "--yes")
    assert code == 1
    assert "namespace-missing: there is no namespace `nowhere`" in said


def test_adopt_is_refused_if_the_cluster_does_not_serve_the_api_version(world: World) -> None:
    made = world.made_by("helm")
    world.imported()
    world.declare(lambda topology: topology.update(strimzi="v1beta2"))
    before = states(world, made)
    code, said = world.call("adopt", "prod", "--yes", *AGREED)
    assert code == 1
    assert "kind-not-served: the cluster does not serve KafkaConnect in kafka.strimzi.io/v1beta2" in said
    assert states(world, made) == before


def test_a_cluster_that_refuses_access_or_does_not_answer_is_reported(world: World) -> None:
    world.made_by("helm")
    world.imported()
    nobody = yaml.safe_load(world.server.kubeconfig.read_text())
    nobody["users"][0]["user"] = {"token": "nobody"}
    kubeconfig = world.folder / "kubeconfig"
    kubeconfig.write_text(yaml.safe_dump(nobody))
    world.configure({"kubernetes:kubeconfig": str(kubeconfig)})
    assert "kubernetes-refused: Kubernetes answers 401 Unauthorized" in world.said("adopt", "prod", "--yes")
    nobody["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    kubeconfig.write_text(yaml.safe_dump(nobody))
    assert "kubernetes-unreachable" in world.said("adopt", "prod", "--yes")


def test_an_unknown_stack_and_a_gitops_stack_are_refused(world: World) -> None:
    world.imported()
    assert "unknown-stack: stack `prud` has no file" in world.said("adopt", "prud", "--yes")
    world.configure({"replication:deploy": "gitops"})
    assert "deployed-by-gitops: stack `prod` is not deployed by Pulumi" in world.said("adopt", "prod", "--yes")


@pytest.mark.parametrize("agreement", ["orders", "restart:", "maybe:orders"])
def test_a_malformed_agreement_is_refused(world: World, agreement: str) -> None:
    world.imported()
    code, said = world.call("adopt", "prod", "--agree", agreement)
    assert code == 2
    assert "is not an agreement" in said


def test_the_json_output_has_the_plan_and_what_was_carried_out(world: World) -> None:
    """The engine's own output must not mix with the JSON document."""
    made = world.made_by("kubectl-create")
    world.imported()

    def document(*words: str) -> tuple[int, Any]:
        answer = CliRunner().invoke(app, ["--project", str(world.project), "adopt", "prod", "--json", *words])
        return answer.exit_code, json.loads(answer.stdout)

    code, refused = document("--yes")
    assert (code, refused["done"], refused["carriedOut"]) == (1, False, False)
    agreements = sorted({each["agreement"] for each in refused["refusals"]})
    assert agreements
    assert {each.partition(":")[0] for each in agreements} == {"restart"}
    words = [word for each in agreements for word in ("--agree", each)]
    code, plan = document(*words)
    assert (code, plan["refusals"], plan["carriedOut"], plan["severity"]) == (0, [], False, "restart")
    assert {each["name"] for each in plan["objects"] if each["fate"] != "created"} == {each.name for each in made}
    assert {owner["manager"] for each in plan["objects"] for owner in each["owners"]} == {"kubectl-create"}
    uids = world.uids(made)
    code, done = document(*words, "--yes")
    assert (code, done["done"], done["carriedOut"]) == (0, True, True)
    assert sum(done["changes"].values()) > 0
    assert world.uids(made) == uids
    code, again = document()
    assert (code, again["done"], again["carriedOut"]) == (0, True, False)
