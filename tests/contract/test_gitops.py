"""A promotion of what Argo CD applied, on a real API server: what counts as applied, what is refused, and with which
message. Nothing replicates here, so the tests publish a verdict instead of running the validation."""

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from kafka_replication.components.changes.effect import Impact
from kafka_replication.components.contract.problems import Problem, ReplicationError
from kafka_replication.components.contract.published_verdict import LABELS, config_map_name, verdict_data
from kafka_replication.components.contract.report import CheckOutcome, FlowOutcome
from kafka_replication.components.flows.resolved import flow_digest
from kafka_replication.infra.deploy.engine import deployment
from kafka_replication.infra.deploy.promotion.rule.plan import required_plan
from kafka_replication.infra.deploy.promotion.run import promotion
from kafka_replication.infra.kubernetes.api import KubernetesApi, Reference, reference
from kafka_replication.infra.review.live_comparison import compare_with_cluster
from kafka_replication.infra.review.object_changes import ChangeKind
from kafka_replication.infra.review.render import rendered_files
from kafka_replication.infra.stack.session import OpenStack
from kafka_replication.infra.stack.settings import read_settings
from kafka_replication.infra.validate.run import ValidationRun
from tests.builders import a_cluster, a_flow, a_topology
from tests.contract.api_servers import ApiServer

LOGIN = {"type": "scram-sha-512", "username": "mirror", "password": {"config": "password"}}
REGIONS = {"one": "us-west-2", "two": "us-east-1"}


@dataclass
class GitOps:
    """Two stacks of one topology that GitOps applies: each has its own half, and both use the same API server."""

    stacks: Path
    name: str
    argocd: KubernetesApi
    kubectl: KubernetesApi

    def __post_init__(self) -> None:
        (self.stacks / "topologies").mkdir()
        self.declare()
        for stack, region in REGIONS.items():
            config = {"topology": "test", "region": region, "deploy": "gitops"}
            values = {f"replication:{key}": value for key, value in config.items()}
            values["kubernetes:kubeconfig"] = str(self.argocd_kubeconfig)
            (self.stacks / f"Pulumi.{stack}.yaml").write_text(yaml.safe_dump({"config": values}))
        waves = [{"stacks": [stack]} for stack in REGIONS]
        plan = {"evidenceNamespace": f"{self.name}-evidence", "environments": [{"name": "prod", "waves": waves}]}
        (self.stacks / "promotion.yaml").write_text(yaml.safe_dump(plan))

    argocd_kubeconfig: Path = Path()

    def declare(self, there: str = "there", **overrides: Any) -> None:
        # Each test has its own addresses, so objects of other tests in the API server belong to other clusters.
        clusters = {
            alias: a_cluster(
                region, authentication=LOGIN, bootstrapServers=f"kafka.{alias}.{self.name}.example.com:9093"
            )
            for alias, region in {"useast": "us-east-1", "uswest": "us-west-2"}.items()
        }
        back = a_flow(source="uswest", target="useast", topics=["ledger"])
        replications = {f"{self.name}-{there}": a_flow(**overrides), f"{self.name}-back": back}
        topology = a_topology(clusters=clusters, replications=replications)
        (self.stacks / "topologies" / "test.yaml").write_text(yaml.safe_dump(topology))

    def sync(self, stack: str, *, only: int | None = None) -> None:
        """Apply the rendered files and create the Secrets that they need; with `only`, apply just the first files."""
        files = rendered_files(read_settings(stack, self.stacks), {})
        bodies = [yaml.safe_load(text) for name, text in sorted(files.items()) if "kustomization" not in name]
        objects = [body for body in bodies if isinstance(body, dict)]
        # Argo CD creates namespaces first.
        for body in sorted(objects, key=lambda each: each["kind"] != "Namespace")[:only]:
            self.argocd.apply(body)
        if only is None:
            for secret in (each for body in bodies if isinstance(body, list) for each in body):
                metadata = {"name": secret["name"], "namespace": secret["namespace"]}
                item = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
                self.kubectl.apply({**item, "stringData": dict.fromkeys(secret["keys"], "hunter2")})

    def promote(self, to: str | None = None) -> int:
        request = promotion.PromotionRequest(self.stacks, to, "ann")
        run = promotion.Promotion(required_plan(self.stacks), request, Console(quiet=True), lambda _: None)
        return promotion.promote(run)

    def refused(self, to: str | None = None) -> list[Problem]:
        with pytest.raises(ReplicationError) as caught:
            self.promote(to)
        return list(caught.value.problems)

    def source(self) -> Reference:
        flow = f"{self.name}-there"
        return Reference("kafka.strimzi.io/v1", "KafkaConnector", f"mirror-{flow}", f"{flow}-source")

    def evidence(self, stack: str) -> dict[str, str] | None:
        found = self.kubectl.get(Reference("v1", "ConfigMap", f"{self.name}-evidence", f"promotion-{stack}"))
        return None if found is None else found["data"]

    def publish(self, job: ValidationRun, _: Console) -> int:
        """Publish a passed verdict. Its time has microseconds, but times of objects have not, so it is later."""
        at = datetime.now(UTC).isoformat(timespec="microseconds")
        for flow in OpenStack(job.settings).flows:
            ends = (flow.settings.source, flow.settings.target)
            checks = (CheckOutcome("parity", "3 of 3", {}),)
            outcome = FlowOutcome(flow.name, flow.namespace, flow_digest(flow), *ends, "default", at, checks)
            metadata = {"name": config_map_name(flow.name), "namespace": flow.namespace, "labels": LABELS}
            item = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
            self.kubectl.apply({**item, "data": verdict_data(outcome, at)})
        return 0


@pytest.fixture
def gitops(
    tmp_path: Path, api_server_of: Callable[[str], ApiServer], monkeypatch: pytest.MonkeyPatch
) -> Iterator[GitOps]:
    kubeconfig = api_server_of("v1").kubeconfig
    name = f"g{uuid.uuid4().hex[:6]}"
    with (
        KubernetesApi(kubeconfig, field_manager="argocd-controller") as argocd,
        KubernetesApi(kubeconfig, field_manager="kubectl-edit") as kubectl,
    ):
        world = GitOps(tmp_path, name, argocd, kubectl, kubeconfig)
        monkeypatch.setattr(promotion, "run_validation", world.publish)
        # There is no operator that would report anything as ready.
        monkeypatch.setattr(deployment, "wait_ready", lambda *_: None)
        yield world


def test_an_applied_stack_is_proven_and_recorded_before_the_next_region_is_promoted(gitops: GitOps) -> None:
    """Somebody else creates the Secrets, because `replicate render` writes none."""
    gitops.sync("one")
    (waiting,) = gitops.refused()
    assert (waiting.code, waiting.where) == ("not-applied", "stack two")
    recorded = gitops.evidence("one")
    assert recorded is not None
    assert recorded["verdict"] == "pass"
    gitops.sync("two")
    assert gitops.promote() == 0
    assert gitops.evidence("two") is not None


def test_a_stack_that_is_not_applied_is_refused_with_the_command_that_renders_it(gitops: GitOps) -> None:
    (problem,) = gitops.refused()
    assert problem.code == "not-applied"
    assert f"the cluster lacks Namespace mirror-{gitops.name}-there (added)" in problem.what
    assert problem.remedy.startswith("commit what `replicate render one --out DIR` writes, wait until it is applied")
    assert gitops.evidence("one") is None


def test_a_partial_sync_is_refused(gitops: GitOps) -> None:
    gitops.sync("one", only=3)
    (problem,) = gitops.refused()
    assert problem.code == "not-applied"
    assert " more, at stack one" in str(problem)


def test_an_earlier_revision_is_refused_and_the_differing_fields_are_named(gitops: GitOps) -> None:
    gitops.sync("one")
    gitops.promote("one")
    gitops.declare(topics=["orders"])
    assert [problem.code for problem in gitops.refused("one")] == ["other-revision-applied"]
    gitops.declare(connectors={"source": {"tasksMax": 7}})
    (problem,) = gitops.refused("one")
    said = f"the cluster differs from what this revision renders: {gitops.source()} (changed: `spec.tasksMax`)"
    assert (problem.code, problem.what) == ("other-revision-applied", said)
    gitops.sync("one")
    assert gitops.promote("one") == 0


def test_a_manual_edit_is_refused_with_its_author_and_a_remedy_for_gitops(gitops: GitOps) -> None:
    gitops.sync("one")
    gitops.promote("one")
    gitops.kubectl.patch(gitops.source(), [{"op": "replace", "path": "/spec/tasksMax", "value": 7}])
    (problem,) = gitops.refused("one")
    assert problem.code == "applied-and-edited"
    assert "spec.tasksMax is 7, and the stack declares" in problem.what
    assert "(by kubectl-edit at " in problem.what
    assert "such as Argo CD or Flux, apply it again" in problem.remedy
    assert "replicate up" not in str(problem)


def test_a_secret_that_lacks_a_required_key_is_refused_without_showing_values(gitops: GitOps) -> None:
    gitops.sync("one")
    flows = OpenStack(read_settings("one", gitops.stacks)).flows
    files = rendered_files(read_settings("one", gitops.stacks), {})
    required = yaml.safe_load(files[f"{flows[0].name}/required-secrets.yaml"])
    first = Reference("v1", "Secret", required[0]["namespace"], required[0]["name"])
    key = next(iter(required[0]["keys"]))
    gitops.kubectl.patch(first, [{"op": "remove", "path": f"/data/{key}"}])
    (problem,) = gitops.refused("one")
    assert problem.code == "secret-not-applied"
    assert f"{first} (changed: " in problem.what
    assert "hunter2" not in str(problem)


def test_a_removed_replication_that_was_not_pruned_is_refused_and_shown_as_drift(gitops: GitOps) -> None:
    """It keeps replicating, and a validation of this revision would pass all the same."""
    left = f"{gitops.name}-there"
    gitops.sync("one")
    gitops.sync("two")
    assert gitops.promote() == 0
    gitops.declare("other", topics=["audit"])
    gitops.sync("one")
    (problem,) = gitops.refused("one")
    assert problem.code == "not-deleted"
    assert f"KafkaConnect mirror-{left}/{left} and " in problem.what
    assert (
        f"kubectl delete kafkaconnector,kafkaconnect,kafkamirrormaker2,role,rolebinding,configmap -n mirror-{left} "
        in (problem.remedy)
    )
    compared = compare_with_cluster(OpenStack(read_settings("one", gitops.stacks)))
    # There is no operator that would report anything as ready.
    found = [(each.code, each.where) for each in compared.drift if each.code != "not-ready"]
    assert found == [("replication-not-deleted", f"replication {left}")]
    effects = {(each.severity, each.code) for each in compared.effects}
    assert effects == {(Impact.DATA, "replication-removed"), (Impact.DATA, "namespace-deleted")}
    assert {each.deployment for each in compared.objects if each.change is ChangeKind.REMOVED} == {left}
    # The flow of the other stack is in the same cluster, but belongs to that stack.
    of_the_other = compare_with_cluster(OpenStack(read_settings("two", gitops.stacks)))
    assert {drift.code for drift in of_the_other.drift} <= {"not-ready"}
    for kind in ("KafkaConnector", "KafkaConnect"):
        for each in gitops.kubectl.list_all("kafka.strimzi.io/v1", kind, namespace=f"mirror-{left}"):
            gitops.kubectl.delete(reference(each))
    assert gitops.promote("one") == 0
