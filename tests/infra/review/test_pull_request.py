"""What a review prints and writes. Without these tests a pull request looks harmless when its effect is unknown."""

import json
from pathlib import Path

import pytest

from kafka_replication.components.changes.effect import Effect, Impact
from kafka_replication.components.contract.problems import CannotRunError, Problem
from kafka_replication.infra.review.bases import Base
from kafka_replication.infra.review.comparison import Comparison, Mistake
from kafka_replication.infra.review.pull_request import MARKER, comment_text, review_plan, review_stacks, write_review
from tests.builders import a_flow, a_topology
from tests.infra.stacks import write_stack


def a_comparison(stack: str, severity: Impact, effects: int = 1) -> Comparison:
    found = tuple(
        Effect(severity, "connector-restarts", "orders", "replications.orders", f"connector {n} restarts")
        for n in range(effects)
    )
    return Comparison(stack, "main", found, ())


def refused(stack: str, *mistakes: str) -> Comparison:
    """A stack whose effects are unknown because it has mistakes."""
    problems = (Problem("flow", "wrong-type", what, "Nothing can read it.", "correct it.") for what in mistakes)
    return Comparison(stack, mistakes=tuple(map(Mistake, problems)), known=False)


def folders(tmp_path: Path) -> tuple[Path, Base]:
    """The current stack files, and those before the change."""
    now, before = tmp_path / "now", tmp_path / "before"
    now.mkdir()
    before.mkdir()
    return write_stack(now), Base("main", write_stack(before, a_topology(replications={"audit": a_flow()})))


def test_the_most_severe_effect_of_all_stacks_comes_first() -> None:
    found = [
        a_comparison("a", Impact.RESTART),
        a_comparison("b", Impact.DATA),
    ]
    assert comment_text(found).splitlines()[:4] == [
        MARKER,
        "## What this change does to replication",
        "",
        "It touches `a`, `b`. The most severe effect: **data**. Compared with main.",
    ]


def test_a_stack_with_mistakes_is_reported_with_unknown_effects() -> None:
    text = comment_text([refused("a", "it is wrong")])
    assert "Its effect is unknown." in text
    assert "1. **Before the merge, the author**: correct 1 mistake.\n   - `a`: error: wrong-type: it is wrong" in text


def test_a_mistake_of_several_stacks_is_told_once() -> None:
    text = comment_text([refused("a", "it is wrong"), refused("b", "it is wrong")])
    assert text.count("it is wrong") == 1
    assert "correct 1 mistake.\n   - `a`, `b`: error: wrong-type: it is wrong" in text


def test_an_unknown_effect_is_called_unknown_and_not_harmless() -> None:
    failed = refused("a", "it is wrong")
    compared = a_comparison("b", Impact.NONE)
    assert "It touches `a`. Its effect is unknown." in comment_text([failed])
    text = comment_text([failed, compared])
    assert "It touches `a`, `b`. The most severe known effect: **none**." in text
    assert "What changes in `a` is unknown." in text


def test_a_change_that_repairs_a_broken_base_is_rendered_and_does_not_fail(tmp_path: Path) -> None:
    stacks, base = folders(tmp_path)
    topology = base.folder / "topologies" / "test.yaml"
    topology.write_text(topology.read_text().replace("source:", "surce:"))
    found = review_stacks(["test"], stacks, [base])
    assert write_review(found, stacks, tmp_path / "out")
    assert (tmp_path / "out" / "rendered" / "test" / "kustomization.yaml").is_file()
    (mistake,) = found[0].mistakes
    assert str(mistake).startswith("warning: ")
    assert "base-unreadable: what changes is unknown: this version cannot read the topology" in str(mistake)
    assert "Its effect is unknown." in (tmp_path / "out" / "comment.md").read_text()


def test_review_json_holds_the_stacks_and_the_comment_on_one_line(tmp_path: Path) -> None:
    stacks, base = folders(tmp_path)
    assert write_review(review_stacks(["test"], stacks, [base]), stacks, tmp_path / "out")
    (line,) = (tmp_path / "out" / "review.json").read_text().splitlines()
    result = json.loads(line)
    assert (result["stacks"], result["deployable"]) == (["test"], ["test"])
    assert result["comment"] == (tmp_path / "out" / "comment.md").read_text()
    assert "It touches `test`. The most severe effect: **data**. Compared with main." in result["comment"]
    assert (tmp_path / "out" / "rendered" / "test" / "orders" / "connect.yaml").is_file()


def test_a_deleted_stack_is_compared_but_not_rendered(tmp_path: Path) -> None:
    stacks, base = folders(tmp_path)
    (stacks / "Pulumi.test.yaml").unlink()
    (found,) = review_stacks(["test"], stacks, [base])
    assert (found.has_errors, found.known, found.severity) == (False, True, Impact.DATA)
    assert write_review([found], stacks, tmp_path / "out")
    assert json.loads((tmp_path / "out" / "review.json").read_text())["deployable"] == []


def test_a_stack_file_that_cannot_be_read_is_a_mistake_of_its_stack_only(tmp_path: Path) -> None:
    stacks, base = folders(tmp_path)
    (stacks / "Pulumi.odd.yaml").write_text("config: {replication:topology: nowhere}")
    odd, test = review_stacks(["odd", "test"], stacks, [base])
    assert odd.has_errors
    assert "topology `nowhere` has no file" in str(odd.mistakes[0])
    assert test.known


def test_a_mistake_in_the_promotion_plan_fails_the_review(tmp_path: Path) -> None:
    stacks, base = folders(tmp_path)
    (stacks / "promotion.yaml").write_text("environments: [{name: a, waves: [{stacks: [nowhere]}]}]")
    assert not write_review(review_stacks(["test"], stacks, [base]), stacks, tmp_path / "out")
    assert "unknown-stack" in (tmp_path / "out" / "comment.md").read_text()


def test_a_warning_about_the_promotion_plan_is_reported_and_does_not_fail_the_review(tmp_path: Path) -> None:
    stacks, base = folders(tmp_path)
    (stacks / "Pulumi.other.yaml").write_text("config: {replication:topology: test, replication:sharesWith: test}")
    (stacks / "promotion.yaml").write_text("environments: [{name: a, waves: [{stacks: [test]}]}]")
    assert write_review(review_stacks(["test"], stacks, [base]), stacks, tmp_path / "out")
    assert "`promotion.yaml`: warning: " in (tmp_path / "out" / "comment.md").read_text()


def test_a_mistake_in_the_promotion_plan_is_reported_even_if_no_stack_is_touched() -> None:
    problem = Problem("environments", "no-environments", "there is none", "Nothing follows.", "add one.")
    text = comment_text([], [problem])
    assert "It touches no stack." in text
    assert "- `promotion.yaml`: error: no-environments: there is none" in text


@pytest.mark.parametrize("name", ["notes.txt", "rendered"])
def test_an_output_folder_with_files_of_others_is_refused_and_left_unchanged(tmp_path: Path, name: str) -> None:
    stacks, base = folders(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / name).write_text("mine")
    with pytest.raises(CannotRunError, match="an earlier review did not write"):
        write_review(review_stacks(["test"], stacks, [base]), stacks, tmp_path / "out")
    assert (tmp_path / "out" / name).read_text() == "mine"


PLAN = "environments: [{{name: a, waves: [{{stacks: [test], soakMinutes: {minutes}}}, {{stacks: [next]}}]}}]"


def with_plans(tmp_path: Path, now: str, before: str) -> tuple[Path, Base]:
    stacks, base = folders(tmp_path)
    for folder, plan in ((stacks, now), (base.folder, before)):
        (folder / "Pulumi.next.yaml").write_text("config: {replication:topology: test, replication:sharesWith: test}")
        (folder / "promotion.yaml").write_text(plan)
    return stacks, base


def test_a_change_of_the_promotion_plan_is_reviewed_with_its_severity(tmp_path: Path) -> None:
    """It touches no stack, but it decides how much proof the next model needs."""
    stacks, base = with_plans(tmp_path, PLAN.format(minutes=0), PLAN.format(minutes=1440))
    assert write_review(review_plan(stacks, base), stacks, tmp_path / "out")
    text = (tmp_path / "out" / "comment.md").read_text()
    assert "It touches `promotion.yaml`. The most severe effect: **data**." in text
    assert "1. **Before the merge, the author**: merge it only if a model that nobody has proven long enough" in text
    assert "   - **data** the next wave follows 0 minutes after the proof of `test`, instead of 1440 minutes" in text
    assert json.loads((tmp_path / "out" / "review.json").read_text())["stacks"] == []


def test_an_unchanged_plan_is_not_mentioned_and_an_unreadable_one_has_an_unknown_effect(tmp_path: Path) -> None:
    stacks, base = with_plans(tmp_path, PLAN.format(minutes=60), PLAN.format(minutes=60))
    assert review_plan(stacks, base) == ()
    (base.folder / "promotion.yaml").write_text("environments: 7")
    assert "It touches `promotion.yaml`. Its effect is unknown." in comment_text(review_plan(stacks, base))
