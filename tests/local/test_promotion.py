"""Promotion for real: two regions as two stacks; it is refused for each reason, and killed at five points."""

import copy
import json
import shutil
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession

from kafka_replication.components.contract.problems import ReplicationError
from kafka_replication.components.flows.resolved import model_digest
from kafka_replication.components.render.flow_acls import Acl
from kafka_replication.infra.deploy.engine import deployment
from kafka_replication.infra.deploy.engine.deployment import open_stack
from kafka_replication.infra.deploy.promotion.rule.evidence import StackCluster
from kafka_replication.infra.kubernetes.access import api_client
from kafka_replication.infra.local import paths
from kafka_replication.infra.local.acls import apply_acls
from kafka_replication.infra.local.endpoints import Endpoints
from kafka_replication.infra.local.traffic import create_topics, produce
from kafka_replication.infra.review.live_comparison import compare_with_cluster
from kafka_replication.infra.stack.environment import stack_environment
from kafka_replication.infra.stack.session import OpenStack
from kafka_replication.infra.stack.settings import ALLOW_UNPROVEN, PROJECT
from tests.local.flows import Deployed
from tests.local.jobs import jobs_in_this_process
from tests.local.promoting import (
    CATCH_UP_SECONDS,
    FIRST,
    FLOW,
    NAMESPACE,
    SECOND,
    SOURCE,
    Regions,
    held,
    interrupted_at,
    killed_at,
)
from tests.repository import STACKS

pytestmark = pytest.mark.usefixtures("stopped_programs")

#: What `promote` prints right before each point at which it is killed, in the order in which it gets there.
POINTS = {
    "before the deployment": f"{FIRST}: preview",
    "in the deployment": f"KafkaConnect {FLOW}-connect creating",
    "while it waits": f"{FIRST}: waiting until",
    "in the validation": "watching heartbeats arrive",
    "before the evidence is written": f"{FIRST}: recording the evidence",
}


@pytest.fixture(scope="module", autouse=True)
def _jobs_in_this_process(spark: SparkSession) -> Iterator[None]:
    assert spark
    with jobs_in_this_process():
        yield


@pytest.fixture(scope="module")
def regions(endpoints: Endpoints, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Regions]:
    """The two stacks, not deployed yet, with records in both regions; destroyed in the end."""
    folder = tmp_path_factory.mktemp("stacks")
    topology = yaml.safe_load((STACKS / "topologies" / "local-pair.yaml").read_text())
    topology["replications"] = {"relay": {**topology["replications"]["ledger"], "topics": ["relay"]}}
    (folder / "topologies").mkdir()
    (folder / "topologies" / "local-pair.yaml").write_text(yaml.safe_dump(topology))
    for stack in (FIRST, SECOND):
        shutil.copy(STACKS / f"Pulumi.{stack}.yaml", folder)
    for seed, region in enumerate(endpoints.regions.values(), start=1):
        create_topics(region, {"relay": 3})
        produce(region, "relay", 300, seed=seed)
    # Another stack of these tests calls useast `useast-tls`; its heartbeats travel one hop further and need this ACL.
    hop = Acl("useast", "User:mirror", "topic", "literal", "uswest.useast-tls.heartbeats", ("CREATE", "WRITE"))
    apply_acls(endpoints.regions["useast"], [hop])
    found = Regions(folder)
    found.plan(soak_minutes=0)
    yield found
    for stack in (SECOND, FIRST):
        deployment.destroy(found.settings(stack), lambda _: None)


@pytest.fixture(scope="module")
def proven(regions: Regions) -> Regions:
    """The two stacks with the first deployed, proven and recorded."""
    assert regions.promote(FIRST) == 0
    return regions


def test_a_promotion_interrupted_in_the_engine_leaves_a_deployment_that_can_continue(regions: Regions) -> None:
    """The engine gets one interrupt, ends what it began and releases its lock; `diff` reports what is left to do."""
    settings = regions.settings(FIRST)
    api = api_client(settings, stack_environment(settings).kubernetes_access())
    with held(api, "kafkaconnects") as hold:
        code, printed = interrupted_at(f"KafkaConnect {FLOW}-connect creating", regions.stacks, hold.release)
    backend = paths.pulumi() / "state"
    left = json.loads((backend / ".pulumi" / "stacks" / PROJECT / f"{FIRST}.json").read_text())["checkpoint"]["latest"]
    locks = list((backend / ".pulumi" / "locks").rglob(f"{FIRST}/*.json"))
    found = {each.code: each.what for each in compare_with_cluster(OpenStack(regions.settings(FIRST))).drift}
    again = deployment.up(regions.settings(FIRST), lambda _: None)
    # The next test starts again without any object.
    deployment.destroy(regions.settings(FIRST), lambda _: None)
    assert code == -signal.SIGINT, printed
    assert set(again) >= {"same", "create"}
    assert not locks
    assert not left.get("pending_operations")
    assert f"KafkaConnector mirror-{FLOW}/{SOURCE}" in found["deployment-incomplete"]


def test_a_promotion_killed_at_five_points_completes_when_it_is_run_again(regions: Regions) -> None:
    """Each run continues where the previous one was killed, despite its lock and its unfinished operations."""
    for name, marker in POINTS.items():
        printed = killed_at(marker, regions.stacks)
        assert marker in printed.splitlines()[-1], f"{name}:\n{printed}"
    assert regions.promote(FIRST) == 0
    settings = regions.settings(FIRST)
    evidence = StackCluster(settings).evidence(NAMESPACE)
    assert evidence is not None
    assert (evidence.verdict, evidence.who, list(evidence.flows)) == ("pass", "tester", [FLOW])
    assert evidence.model_digest == model_digest(settings.topology)
    assert deployment.outputs(settings)["modelDigest"] == evidence.model_digest
    assert set(deployment.up(settings, lambda _: None)) == {"same"}


def test_a_proven_stack_is_not_deployed_twice(proven: Regions, capsys: pytest.CaptureFixture[str]) -> None:
    assert proven.promote(FIRST) == 0
    printed = capsys.readouterr().out
    assert "nothing to do" in printed
    assert "deploying" not in printed


def test_an_object_that_is_missing_from_the_state_is_taken_over(proven: Regions) -> None:
    """As if the engine had been killed after it created an object and before it recorded it."""
    settings = proven.settings(FIRST)
    file = paths.pulumi() / "state" / ".pulumi" / "stacks" / PROJECT / f"{FIRST}.json"
    checkpoint = json.loads(file.read_text())
    state: dict[str, Any] = checkpoint["checkpoint"]["latest"]
    lost = next(each for each in state["resources"] if each["urn"].endswith(f"{FLOW}-heartbeat-connector"))
    state["resources"].remove(lost)
    begun = {key: value for key, value in lost.items() if key not in ("id", "outputs", "created", "modified")}
    never = {**begun, "urn": f"{begun['urn']}-more", "inputs": copy.deepcopy(begun["inputs"])}
    never["inputs"]["metadata"]["name"] += "-more"
    state["pending_operations"] = [{"type": "creating", "resource": each} for each in (begun, never)]
    # An import through the engine would drop what is pending.
    file.write_text(json.dumps(checkpoint))
    # Of an object that it imports, the provider knows only the identity, so the next update applies the rest once.
    changes = deployment.up(settings, lambda _: None)
    assert (set(changes), changes["update"]) == ({"same", "update"}, 1)
    assert set(deployment.up(settings, lambda _: None)) == {"same"}
    with open_stack(settings) as stack:
        after = dict(stack.export_stack().deployment or {})
    assert lost["id"] in {each.get("id") for each in after["resources"] if each["urn"] == lost["urn"]}
    assert not after.get("pending_operations")
    assert proven.promote(FIRST) == 0


def test_the_second_region_is_refused_until_the_soak_time_has_passed(proven: Regions) -> None:
    proven.plan(soak_minutes=60)
    refused = proven.refused()
    proven.plan(soak_minutes=0)
    assert list(refused) == ["predecessor-soaking"]
    assert "its soak time of 60 min ends in" in refused["predecessor-soaking"]


def test_the_second_region_is_refused_with_another_model_and_both_digests_are_shown(proven: Regions) -> None:
    own = proven.settings(SECOND).topology
    topologies = proven.stacks / "topologies"
    other = yaml.safe_load((topologies / "local-pair.yaml").read_text())
    other["replications"]["relay"]["intervals"]["refreshTopicsSeconds"] = 6
    (topologies / "other.yaml").write_text(yaml.safe_dump(other))
    file = proven.stacks / f"Pulumi.{SECOND}.yaml"
    kept = file.read_text()
    file.write_text(kept.replace("local-pair", "other"))
    changed = model_digest(proven.settings(SECOND).topology)
    refused = proven.refused()
    file.write_text(kept)
    assert list(refused) == ["predecessor-other-model"]
    assert model_digest(own) in refused["predecessor-other-model"]
    assert changed in refused["predecessor-other-model"]


def test_the_second_region_is_refused_if_the_proof_is_stale_or_failed(
    proven: Regions, endpoints: Endpoints, tmp_path: Path
) -> None:
    """After a manual edit, what was proven no longer runs; another validation then fails."""
    first = Deployed(proven.settings(FIRST), endpoints)
    second = proven.settings(SECOND)
    first.edit_connector(SOURCE, {"state": "paused"})
    produce(endpoints.regions["uswest"], "relay", 50, seed=7, first=300)
    stale = proven.refused()
    with pytest.raises(ReplicationError, match="predecessor-stale"):
        deployment.up(second, lambda _: None)
    said: list[str] = []
    deployment.preview(second, said.append)
    code = proven.validate(tmp_path, catch_up_seconds=3)
    failed = proven.refused()
    first.edit_connector(SOURCE, {"state": "running"})
    mended = proven.validate(tmp_path, catch_up_seconds=CATCH_UP_SECONDS)
    assert list(stale) == ["predecessor-stale"]
    assert any("`up` would refuse: predecessor-stale" in line for line in said), "\n".join(said)
    assert (code, mended) == (1, 0), json.loads((tmp_path / "report.json").read_text())
    assert list(failed) == ["predecessor-failed"]
    assert "parity" in failed["predecessor-failed"]
    validation = StackCluster(first.settings).validation(FLOW, f"mirror-{FLOW}")
    assert validation is not None
    assert validation.passing_since == validation.at, "the failure in between begins the soak time anew"


def test_the_second_region_is_promoted_once_the_first_is_proven(proven: Regions) -> None:
    assert proven.promote(SECOND) == 0
    settings = proven.settings(SECOND)
    evidence = StackCluster(settings).evidence(NAMESPACE)
    assert evidence is not None
    assert (evidence.verdict, evidence.allow_unproven) == ("pass", None)
    proven.plan(soak_minutes=60)
    with pytest.raises(ReplicationError, match="predecessor-soaking"):
        deployment.up(settings, lambda _: None)
    reason = "the first region is down for maintenance"
    allowed = replace(settings, values={**settings.values, ALLOW_UNPROVEN: reason})
    deployment.up(allowed, lambda _: None)
    assert deployment.outputs(allowed)[ALLOW_UNPROVEN] == reason
