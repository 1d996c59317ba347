"""What a promotion does, in which order, and where it stops; killed between any two steps, it ends right."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from components.digest import model_digest
from components.problems import ReplicationError
from infra import deployment
from infra.errors import CannotRunError
from infra.promotion import run as run_module
from infra.promotion.gate import unproven
from infra.settings import StackSettings, read_settings
from tests.builders import a_flow, a_topology
from tests.promotion.world import World

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


def test_nothing_after_the_named_stack_is_touched(world: World) -> None:
    assert world.promote("one") == 0
    assert world.log == WHOLE[:4]


def test_what_is_proven_is_not_done_again(world: World) -> None:
    world.promote()
    assert world.promote() == 0
    assert world.log == []
    assert world.printed.getvalue().count("nothing to do") == 2


def test_a_change_of_size_only_is_deployed_though_the_digest_is_the_same(world: World) -> None:
    """Sizes are not in the digest: without a preview the new size would never be deployed."""
    world.promote()
    world.stacks["one"].changed = True
    assert world.promote() == 0
    assert world.log == WHOLE[:4]


def test_a_new_model_goes_through_every_stack(world: World) -> None:
    world.promote()
    world.write_topology("test", a_topology(a_flow(topics=["orders"])))
    assert world.promote() == 0
    assert world.log == WHOLE


def test_a_failed_validation_stops_it_and_is_recorded(world: World) -> None:
    world.exit_code = 1
    assert world.promote() == 1
    assert world.log == WHOLE[:4]
    evidence = world.stacks["one"].evidence
    assert evidence is not None
    assert (evidence.verdict, evidence.proven_since) == ("fail", None)
    assert "next: correct the cause, `replicate validate one --publish`, then `replicate promote`" in (
        world.printed.getvalue()
    )


def test_refused_while_the_first_fails_until_it_is_validated_again(world: World) -> None:
    world.promote("one")
    world.publish("one", "fail")
    assert refused(world) == ["predecessor-failed"]
    assert world.log == []
    world.publish("one")
    assert world.promote() == 0
    assert world.log == WHOLE[4:]


def test_refused_while_the_proof_of_the_first_is_older_than_an_edit_by_hand(world: World) -> None:
    world.promote("one")
    world.edit_by_hand("one")
    assert refused(world) == ["predecessor-stale"]
    assert world.log == []
    world.publish("one")
    assert world.promote() == 0


def test_refused_while_the_first_soaks(world: World) -> None:
    world.plan(soak_minutes=3)
    assert refused(world) == ["predecessor-soaking"]
    assert world.log == WHOLE[:4]
    assert refused(world) == ["predecessor-soaking"]
    assert world.log == []
    world.publish("one")
    assert world.promote() == 0, "a validation while it soaks must not begin it anew"
    assert world.log == WHOLE[4:]


def test_a_validation_that_fails_in_between_begins_the_soak_time_anew(world: World) -> None:
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


def test_refused_when_the_first_runs_another_model(world: World) -> None:
    world.write_topology("other", a_topology(a_flow(topics=["orders"])))
    world.configure("two", "other")
    assert refused(world) == ["predecessor-other-model"]
    assert world.log == WHOLE[:4]


def test_who_may_skip_deploys_with_a_reason_that_is_recorded(world: World) -> None:
    world.plan(soak_minutes=60, may_skip=("ann",))
    assert world.promote(skip="outage of the first region") == 0
    assert world.log == WHOLE
    first, second = (world.stacks[stack].evidence for stack in ("one", "two"))
    assert first is not None
    assert second is not None
    assert (first.allow_unproven, second.allow_unproven) == (None, "outage of the first region")
    assert world.promote() == 0
    assert world.stacks["two"].evidence == second


def test_who_may_not_skip_is_refused(world: World) -> None:
    world.plan(soak_minutes=60, may_skip=("bob",))
    with pytest.raises(CannotRunError, match="`ann` may not skip what is not proven"):
        world.promote(skip="I am in a hurry")
    assert world.log == WHOLE[:4]


def test_a_reason_in_the_stack_file_is_recorded(world: World) -> None:
    world.plan(soak_minutes=60)
    world.configure("two", allowUnproven="the first region is gone")
    assert world.promote() == 0
    second = world.stacks["two"].evidence
    assert second is not None
    assert second.allow_unproven == "the first region is gone"


@pytest.mark.parametrize("step", ["preview", "up", "wait_ready", "_validate", "_record"])
def test_killed_at_a_step_it_ends_right_when_run_again(
    world: World, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    class KilledError(BaseException):
        pass

    def killed(*_: object) -> None:
        raise KilledError

    with monkeypatch.context() as patched:
        patched.setattr(run_module if step.startswith("_") else deployment, step, killed)
        with pytest.raises(KilledError):
            world.promote()
    assert world.promote() == 0
    for name, stack in world.stacks.items():
        assert stack.evidence is not None
        assert stack.evidence.model_digest == model_digest(read_settings(name, world.folder).topology)


def test_a_preview_that_fails_shows_what_the_engine_said(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(_: StackSettings, say: Callable[[str], None]) -> None:
        say("error: quota exceeded")
        raise CannotRunError("the engine failed", "stack `one`", "It stopped.", "correct the cause.")

    monkeypatch.setattr(deployment, "preview", failing)
    with pytest.raises(CannotRunError, match="the engine failed"):
        world.promote()
    assert "error: quota exceeded" in world.printed.getvalue()


def test_an_unknown_stack_is_answered_with_those_of_the_plan(world: World) -> None:
    with pytest.raises(CannotRunError, match="Stacks in it are: one, two") as caught:
        world.promote("three")
    assert caught.value.where == str(world.folder / "promotion.yaml")


def test_inside_pulumi_only_what_is_recorded_counts(world: World) -> None:
    """`pulumi up` cannot read the state of another stack, which may be in another backend."""
    second = read_settings("two", world.folder)
    assert [problem.code for problem in unproven(second)] == ["predecessor-without-evidence"]
    world.promote("one")
    assert unproven(second) == ()
    world.edit_by_hand("one")
    assert [problem.code for problem in unproven(second)] == ["predecessor-stale"]
    world.configure("two", allowUnproven="the first region is gone")
    assert unproven(read_settings("two", world.folder)) == ()


def test_a_stack_that_the_plan_does_not_name_follows_nothing(world: World) -> None:
    world.configure("three")
    assert unproven(read_settings("three", world.folder)) == ()
    (world.folder / "promotion.yaml").unlink()
    assert unproven(read_settings("two", world.folder)) == ()
