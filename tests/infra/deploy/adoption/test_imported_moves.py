"""The moves of the project that `replicate import --as-flows` writes for one or several KafkaMirrorMaker2s."""

from io import StringIO
from pathlib import Path

import yaml
from rich.console import Console
from typer.testing import CliRunner

from kafka_replication.components.changes.effect import Impact
from kafka_replication.infra.commands.app import app
from kafka_replication.infra.deploy.adoption.facts import AdoptionFacts
from kafka_replication.infra.deploy.adoption.plan import AdoptionPlan, planned
from kafka_replication.infra.deploy.adoption.text import print_plan
from kafka_replication.infra.review.snapshots import current_snapshot
from tests.infra.deploy.adoption.test_moves import codes
from tests.infra.readmes import shown


def test_the_plan_in_the_readme_is_what_the_command_prints(tmp_path: Path) -> None:
    resource, moving = shown("name: mm2, namespace: kafka"), shown("becomes mm2:")
    (tmp_path / "running.yaml").write_text(resource)
    words = ["import", str(tmp_path / "running.yaml"), "--out", str(tmp_path / "mirrors"), "--as-flows"]
    assert CliRunner().invoke(app, words).exit_code == 0
    mirror = yaml.safe_load(resource)
    mirror["metadata"]["generation"], mirror["status"] = 1, {"observedGeneration": 1}
    stack = current_snapshot("prod", tmp_path / "mirrors" / "stacks")
    plan = planned(AdoptionFacts("prod", stack, {}, frozenset(), [mirror]), (), ["kafka/mm2"])
    assert codes(plan) == []
    printed = StringIO()
    print_plan(plan, Console(file=printed, width=1000))
    said = " ".join(printed.getvalue().split())
    for part in filter(None, (each.strip() for each in " ".join(moving.split()).split("…"))):
        assert part in said


def plan_of_several(folder: Path, **topics: str | None) -> tuple[AdoptionPlan, str]:
    """The plan of the command that `import --as-flows` prints for resources of these topics, and the output."""
    resource = shown("name: mm2, namespace: kafka")
    mirrors = []
    for name, selected in topics.items():
        body = yaml.safe_load(resource)
        body["metadata"] |= {"name": name, "generation": 1}
        body["spec"]["target"] |= {
            "groupId": name,
            **{f"{of}StorageTopic": f"{name}-{of}" for of in ("config", "offset", "status")},
        }
        if selected is None:
            del body["spec"]["mirrors"][0]["topicsPattern"]
        else:
            body["spec"]["mirrors"][0]["topicsPattern"] = selected
        mirrors.append({**body, "status": {"observedGeneration": 1}})
    (folder / "running.yaml").write_text(yaml.safe_dump_all(mirrors))
    words = ["import", str(folder / "running.yaml"), "--out", str(folder / "mirrors"), "--as-flows"]
    said = CliRunner().invoke(app, words).output
    (command,) = [each for each in said.splitlines() if "replicate adopt" in each]
    names = [each for each in command.split() if "/" in each]
    stack = current_snapshot("prod", folder / "mirrors" / "stacks")
    return planned(AdoptionFacts("prod", stack, {}, frozenset(), mirrors), (), names), said


def test_each_of_several_resources_becomes_the_flow_of_its_topics(tmp_path: Path) -> None:
    plan, said = plan_of_several(tmp_path, first="orders, payments-.*", second="clicks|views")
    assert "replicate adopt prod --from kafka/first --from kafka/second" in said
    assert codes(plan) == []
    moved = {move.resource.name: [flow.name for flow in move.flows] for move in plan.moves.mirrors}
    assert moved == {"first": ["first"], "second": ["second"]}
    assert {each.severity for each in plan.effects} <= {Impact.NONE}, plan.effects


def test_one_of_several_resources_does_not_move_while_the_other_copies(tmp_path: Path) -> None:
    """The stack would start the flow of the other resource, too, without offsets."""
    seen, _ = plan_of_several(tmp_path, first="orders", second="clicks")
    stack = current_snapshot("prod", tmp_path / "mirrors" / "stacks")
    live = [move.live for move in seen.moves.mirrors]
    plan = planned(AdoptionFacts("prod", stack, {}, frozenset(), live), (), ["kafka/first"])
    assert set(codes(plan)) == {"other-kind-runs"}
    assert "replicate adopt prod --from kafka/second" in plan.problems[0].remedy
