"""What a promotion does, in which order and where it stops; a run after a kill completes it."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from kafka_replication.components.contract.problems import CannotRunError, ReplicationError
from kafka_replication.components.flows.resolved import model_digest
from kafka_replication.infra.deploy.engine import deployment
from kafka_replication.infra.deploy.promotion.rule.evidence import unproven
from kafka_replication.infra.deploy.promotion.rule.rules import CheckResult
from kafka_replication.infra.deploy.promotion.run import promotion as run_module
from kafka_replication.infra.stack.settings import StackSettings, read_settings
from tests.builders import a_flow, a_topology
from tests.infra.deploy.promotion.world import World

WHOLE = [f"{step} {stack}" for stack in ("one", "two") for step in ("ask", "up", "wait", "validate")]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return World(tmp_path, monkeypatch)


def refused(world: World, to: str | None = None) -> list[str]:
    with pytest.raises(ReplicationError) as caught:
        world.promote(to)
    return [problem.code for problem in caught.value.problems]


def test_every_stack_is_deployed_and_proven_in_order(world: World) -> None:
    assert world.promote() == 0
    assert world.log == WHOLE
    for stack in world.stacks.values():
        assert stack.evidence is not None
        assert (stack.evidence.verdict, stack.evidence.who) == ("pass", "ann")


def test_no_stack_after_the_named_one_is_touched(world: World) -> None:
    assert world.promote("one") == 0
    assert world.log == WHOLE[:4]


def test_a_proven_stack_is_not_deployed_again(world: World) -> None:
    world.promote()
    assert world.promote() == 0
    assert world.log == []
    assert world.printed.getvalue().count("nothing to do") == 2


def test_a_change_of_size_is_deployed_although_the_digest_stays_the_same(world: World) -> None:
    """The digest does not cover sizes: without a preview a new size would never be deployed."""
    world.promote()
    world.stacks["one"].changed = True
    assert world.promote() == 0
    assert world.log == WHOLE[:4]


def test_a_new_model_goes_through_every_stack(world: World) -> None:
    world.promote()
    world.write_topology("test", a_topology(a_flow(topics=["orders"])))
    assert world.promote() == 0
    assert world.log == WHOLE


def test_a_failed_validation_is_recorded_and_stops_the_promotion(world: World) -> None:
    world.exit_code = 1
    assert world.promote() == 1
    assert world.log == WHOLE[:4]
    evidence = world.stacks["one"].evidence
    assert evidence is not None
    assert (evidence.verdict, evidence.proven_since) == ("fail", None)
    assert "next: fix the cause, run `replicate validate one --publish`, then `replicate promote`" in (
        world.printed.getvalue()
    )


def test_the_second_stack_is_refused_until_the_first_passes_again(world: World) -> None:
    world.promote("one")
    world.publish("one", "fail")
    assert refused(world) == ["predecessor-failed"]
    assert world.log == []
    world.publish("one")
    assert world.promote() == 0
    assert world.log == WHOLE[4:]


def test_the_second_stack_is_refused_after_a_manual_edit_of_the_first(world: World) -> None:
    world.promote("one")
    world.edit_by_hand("one")
    assert refused(world) == ["predecessor-stale"]
    assert world.log == []
    world.publish("one")
    assert world.promote() == 0


def test_the_second_stack_is_refused_while_the_first_soaks(world: World) -> None:
    world.plan(soak_minutes=3)
    assert refused(world) == ["predecessor-soaking"]
    assert world.log == WHOLE[:4]
    assert refused(world) == ["predecessor-soaking"]
    assert world.log == []
    world.publish("one")
    assert world.promote() == 0, "a validation during the soak time must not restart it"
    assert world.log == WHOLE[4:]


def test_a_failed_validation_restarts_the_soak_time(world: World) -> None:
    world.plan(soak_minutes=5)
    assert refused(world) == ["predecessor-soaking"]
    world.publish("one", "fail")
    world.publish("one")
    again = world.now
    assert refused(world) == ["predecessor-soaking"]
    evidence = world.stacks["one"].evidence
    assert evidence is not None
    assert evidence.proven_since == again
    while world.now < again + timedelta(minutes=4):
        world.publish("one")
    assert world.promote() == 0


def test_the_second_stack_is_refused_if_the_first_runs_another_model(world: World) -> None:
    world.write_topology("other", a_topology(a_flow(topics=["orders"])))
    world.configure("two", "other")
    assert refused(world) == ["predecessor-other-model"]
    assert world.log == WHOLE[:4]


def test_someone_in_may_skip_deploys_and_the_reason_is_recorded(world: World) -> None:
    world.plan(soak_minutes=60, may_skip=("ann",))
    assert world.promote(skip="outage of the first region") == 0
    assert world.log == WHOLE
    first, second = (world.stacks[stack].evidence for stack in ("one", "two"))
    assert first is not None
    assert second is not None
    assert (first.allow_unproven, second.allow_unproven) == (None, "outage of the first region")
    assert world.promote() == 0
    assert world.stacks["two"].evidence == second


def test_someone_outside_may_skip_is_refused(world: World) -> None:
    world.plan(soak_minutes=60, may_skip=("bob",))
    with pytest.raises(CannotRunError, match="`ann` may not skip the proof"):
        world.promote(skip="I am in a hurry")
    assert world.log == WHOLE[:4]


def test_a_reason_in_the_stack_file_is_recorded(world: World) -> None:
    world.plan(soak_minutes=60)
    world.configure("two", allowUnproven="the first region is gone")
    assert world.promote() == 0
    second = world.stacks["two"].evidence
    assert second is not None
    assert second.allow_unproven == "the first region is gone"


@pytest.mark.parametrize("step", ["preview", "up", "wait_ready", "run_validation", "_record"])
def test_a_run_after_a_kill_at_any_step_completes_the_promotion(
    world: World, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    class KilledError(BaseException):
        pass

    def killed(*_: object) -> None:
        raise KilledError

    with monkeypatch.context() as patched:
        patched.setattr(deployment if hasattr(deployment, step) else run_module, step, killed)
        with pytest.raises(KilledError):
            world.promote()
    assert world.promote() == 0
    for name, stack in world.stacks.items():
        assert stack.evidence is not None
        assert stack.evidence.model_digest == model_digest(read_settings(name, world.folder).topology)


def test_a_failed_preview_shows_the_engines_output(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(_: StackSettings, say: Callable[[str], None]) -> None:
        say("error: quota exceeded")
        raise CannotRunError("engine-failed", "the engine failed", "stack `one`", "It stopped.", "correct the cause.")

    monkeypatch.setattr(deployment, "preview", failing)
    with pytest.raises(CannotRunError, match="the engine failed"):
        world.promote()
    assert "error: quota exceeded" in world.printed.getvalue()


def test_an_unknown_stack_is_refused_with_the_plans_stacks(world: World) -> None:
    with pytest.raises(CannotRunError, match="The stacks there are: one, two") as caught:
        world.promote("three")
    assert caught.value.where == str(world.folder / "promotion.yaml")


def test_inside_pulumi_only_recorded_evidence_counts(world: World) -> None:
    """`pulumi up` cannot read another stack's state, which may be in another backend."""
    second = read_settings("two", world.folder)
    assert [problem.code for problem in unproven(second)] == ["predecessor-without-evidence"]
    world.promote("one")
    assert unproven(second) == ()
    world.edit_by_hand("one")
    assert [problem.code for problem in unproven(second)] == ["predecessor-stale"]
    world.configure("two", allowUnproven="the first region is gone")
    assert unproven(read_settings("two", world.folder)) == ()


def test_a_pass_no_longer_counts_when_its_acceptance_is_removed(world: World) -> None:
    accepting = a_topology()
    accept = [{"finding": "compacted", "reason": "every key was compared"}]
    accepting["replications"]["orders"]["validation"] = {"accept": accept}
    world.write_topology("test", accepting)
    world.promote("one")
    proof = world.stacks["one"].validation
    assert proof is not None
    checks = {"parity": CheckResult("pass", "", {"compacted": "every key was compared"})}
    world.stacks["one"].validation = replace(proof, checks=checks)
    assert unproven(read_settings("two", world.folder)) == ()
    world.write_topology("test", a_topology())
    found = [problem.code for problem in unproven(read_settings("two", world.folder))]
    assert found == ["predecessor-accepted-otherwise"]
    assert world.promote("one") == 0
    assert "validate one" in world.log
    assert unproven(read_settings("two", world.folder)) == ()


def test_a_stack_outside_the_plan_has_no_predecessor(world: World) -> None:
    world.configure("three")
    assert unproven(read_settings("three", world.folder)) == ()
    (world.folder / "promotion.yaml").unlink()
    assert unproven(read_settings("two", world.folder)) == ()
