"""A promotion of stacks that GitOps deploys: it deploys nothing, and the next stack must wait until this one is applied
and proven."""

from dataclasses import replace
from pathlib import Path

import pulumi
import pytest
from rich.console import Console
from typer.testing import CliRunner

from kafka_replication.components.contract.problems import CannotRunError, Problem, ReplicationError
from kafka_replication.components.flows.resolved import model_digest
from kafka_replication.infra import program
from kafka_replication.infra.commands.app import app
from kafka_replication.infra.deploy.engine import deployment
from kafka_replication.infra.deploy.promotion.rule.evidence import unproven
from kafka_replication.infra.deploy.promotion.run import promotion
from kafka_replication.infra.stack.session import OpenStack
from kafka_replication.infra.stack.settings import read_settings
from kafka_replication.infra.stack.stack_checks import problems
from kafka_replication.infra.validate import run as validation
from kafka_replication.infra.validate.run import ValidationRun
from tests.builders import a_cluster, a_flow, a_topology
from tests.infra.deploy.promotion.world import World
from tests.infra.stacks import write_stack

NOT_APPLIED = Problem("stack one", "not-applied", "the cluster lacks it", "Why.", "wait.")


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A world in which GitOps deploys both stacks, and has applied their objects."""
    world = World(tmp_path, monkeypatch)
    for stack in world.stacks:
        world.configure(stack, deploy="gitops")
        world.apply(stack)
    return world


def refused(world: World, to: str | None = None) -> list[str]:
    with pytest.raises(ReplicationError) as caught:
        world.promote(to)
    return [problem.code for problem in caught.value.problems]


def test_promote_waits_for_and_validates_what_is_applied_but_never_deploys(world: World) -> None:
    """It does not ask for confirmation, because it changes nothing."""
    assert world.promote() == 0
    assert world.log == ["wait one", "validate one", "wait two", "validate two"]
    first = world.stacks["one"].evidence
    assert first is not None
    change = world.stacks["one"].change
    assert change is not None
    digest = model_digest(read_settings("one", world.folder).topology)
    assert (first.verdict, first.model_digest, first.deployed_at.isoformat()) == ("pass", digest, change.since)


def test_a_published_verdict_on_the_applied_model_is_enough(world: World) -> None:
    world.publish("one")
    assert world.promote("one") == 0
    assert world.log == []
    assert unproven(read_settings("two", world.folder)) == ()


def test_a_verdict_from_before_the_last_sync_does_not_count(world: World) -> None:
    world.publish("one")
    world.stacks["one"].changed = True
    world.apply("one")
    assert [problem.code for problem in unproven(read_settings("two", world.folder))] == [
        "predecessor-without-evidence"
    ]
    assert world.promote("one") == 0
    assert world.log == ["wait one", "validate one"]


def test_a_verdict_on_another_digest_does_not_count(world: World) -> None:
    world.publish("one")
    proof = world.stacks["one"].validation
    assert proof is not None
    world.stacks["one"].validation = replace(proof, digest="sha256:00")
    assert world.promote("one") == 0
    assert world.log == ["wait one", "validate one"]


def test_a_stack_that_is_not_applied_is_refused_before_it_is_validated(world: World) -> None:
    """Even a verdict on the same digest does not count: it may be from another cluster or from an earlier time."""
    world.publish("one")
    world.stacks["one"].lacking = (NOT_APPLIED,)
    assert refused(world) == ["not-applied"]
    assert (world.log, world.stacks["one"].evidence) == ([], None)


def test_a_stack_that_is_synced_during_its_validation_is_not_recorded_as_proven(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A validation takes minutes, and Argo CD syncs when it likes."""

    def synced(job: ValidationRun, console: Console) -> int:
        world.stacks["one"].lacking = (NOT_APPLIED,)
        return world._validate(job, console)

    monkeypatch.setattr(promotion, "run_validation", synced)
    assert refused(world) == ["not-applied"]
    assert (world.log, world.stacks["one"].evidence) == (["wait one", "validate one"], None)


def test_the_promotion_rule_refuses_the_next_stack_before_its_objects_are_compared(world: World) -> None:
    """A user who has to wait must not be told that objects are missing, and then apply them too early."""
    world.plan(soak_minutes=60)
    world.stacks["two"].lacking = (NOT_APPLIED,)
    assert refused(world) == ["predecessor-soaking"]
    world.plan()
    assert refused(world) == ["not-applied"]


def test_an_applied_stack_is_refused_while_the_one_before_it_is_not_proven(world: World) -> None:
    world.exit_code = 1
    assert world.promote() == 1
    assert world.log == ["wait one", "validate one"]
    assert refused(world) == ["predecessor-failed"]
    assert world.stacks["two"].evidence is None


def test_a_new_revision_has_to_be_applied_and_proven_in_each_stack(world: World) -> None:
    world.promote()
    world.write_topology("test", a_topology(a_flow(topics=["orders"])))
    assert [problem.code for problem in unproven(read_settings("two", world.folder))] == ["predecessor-other-model"]
    for stack in world.stacks:
        world.apply(stack)
    assert world.promote() == 0
    assert world.log == ["wait one", "validate one", "wait two", "validate two"]


def test_a_stack_that_pulumi_deploys_follows_one_that_gitops_deploys(world: World) -> None:
    world.configure("two")
    world.stacks["two"].outputs, world.stacks["two"].changed = {}, True
    assert world.promote() == 0
    assert world.log == ["wait one", "validate one", "ask two", "up two", "wait two", "validate two"]


@pytest.mark.parametrize("name", ["preview", "up", "destroy"])
def test_preview_up_and_destroy_refuse_a_stack_that_gitops_deploys(tmp_path: Path, name: str) -> None:
    settings = read_settings("test", write_stack(tmp_path, deploy="gitops"))
    with pytest.raises(CannotRunError, match="deployed-by-gitops: stack `test` is not deployed by Pulumi"):
        getattr(deployment, name)(settings, print)


@pytest.mark.parametrize("name", ["preview", "up"])
def test_preview_and_up_refuse_a_gitops_stack_before_they_print_anything(tmp_path: Path, name: str) -> None:
    stacks = write_stack(tmp_path, deploy="gitops")
    result = CliRunner().invoke(app, [name, "test", "--stacks", str(stacks)])
    assert isinstance(result.exception, CannotRunError)
    assert (result.exception.code, result.output) == ("deployed-by-gitops", "")


def test_the_pulumi_program_refuses_a_stack_that_gitops_deploys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "deployed_settings", lambda stacks: read_settings("test", stacks))
    with pytest.raises(pulumi.RunError, match="two deployers would undo each other's changes"):
        program.deploy(write_stack(tmp_path, deploy="gitops"))


def test_a_misspelt_deployer_is_refused(tmp_path: Path) -> None:
    """Otherwise Pulumi would deploy what Argo CD applies."""
    (problem,) = problems(read_settings("test", write_stack(tmp_path, deploy="argocd")))
    assert str(problem).startswith(
        f"{problem.place}: not-accepted: `deploy` is 'argocd', at config.replication:deploy. Accepted: pulumi, gitops."
    )
    assert problems(read_settings("test", write_stack(tmp_path, deploy="pulumi"))) == []


def test_the_file_of_a_gitops_stack_needs_addresses_but_no_credentials(tmp_path: Path) -> None:
    """Another tool manages the credentials and creates the Secrets; Pulumi never sees them."""
    login = {"type": "scram-sha-512", "username": "mirror", "password": {"config": "password"}}
    source = a_cluster(authentication=login, bootstrapServers={"config": "address"})
    topology = a_topology(clusters={"useast": source, "uswest": a_cluster("us-west-2")})
    (address,) = problems(read_settings("test", write_stack(tmp_path, topology, deploy="gitops")))
    assert (address.code, address.where) == ("missing-config", "config.replication:address")
    settings = read_settings("test", write_stack(tmp_path, topology, deploy="gitops", address="kafka:9093"))
    assert [flow.name for flow in OpenStack(settings).flows] == ["orders"]
    (password,) = problems(read_settings("test", write_stack(tmp_path, topology, address="kafka:9093")))
    assert password.where == "config.replication:password"


def test_validate_uses_what_the_files_declare_only_for_a_gitops_stack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The promotion rule's remedies name `replicate validate STACK --publish` for every stack."""
    seen: list[bool] = []

    def validated(run: ValidationRun, _: object) -> int:
        seen.append(run.declared)
        return 0

    monkeypatch.setattr(validation, "run_validation", validated)
    for config in ({"deploy": "gitops"}, {}):
        stacks = write_stack(tmp_path, **config)
        assert CliRunner().invoke(app, ["validate", "test", "--stacks", str(stacks), "--publish"]).exit_code == 0
    assert seen == [True, False]
