"""The messages and the comparison that the READMEs quote are what the program says, except for line breaks."""

import re
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import yaml
from rich.console import Console

from kafka_replication.components.changes.effect import Impact
from kafka_replication.components.checks import check_topology
from kafka_replication.components.contract.report import CheckName
from kafka_replication.components.topology.parsing import parse_topology
from kafka_replication.infra.commands.console import print_problems
from kafka_replication.infra.deploy.promotion.rule.rules import reasons_against
from kafka_replication.infra.deploy.promotion.run.jobs_in_cluster import differences
from kafka_replication.infra.review.comparison import Comparison
from kafka_replication.infra.review.object_changes import ChangeKind, FieldChange, ObjectChange
from kafka_replication.infra.review.reports import print_comparisons
from kafka_replication.infra.stack.yaml_files import placed
from tests.builders import a_flow, a_topology
from tests.infra.deploy.promotion.states import MODEL, NOON, a_flow_state, a_state, at
from tests.infra.readmes import READMES, Block
from tests.infra.review.changes import compared
from tests.repository import ROOT

#: A message begins with its code, or with the line of a file before it.
_CODE = r"(?:\S+:\d+:\d+: error )?([a-z]+(?:-[a-z]+)+): "
README = next(readme for readme in READMES if readme.path == ROOT / "README.md")
TEXTS = [block for readme in READMES for block in readme.blocks() if block.language == "text"]


def equal_aliases() -> str:
    """What `check` prints for the topology of the first screen with a mistake in it."""
    shown = next(block.text for block in README.blocks() if block.text.startswith("strimzi: "))
    text = shown.replace("target: uswest", "target: useast")
    with TemporaryDirectory() as folder:
        file = Path(folder, "prod.yaml")
        file.write_text(text)
        (problem,) = placed(check_topology(parse_topology(yaml.safe_load(text))), file)
    assert problem.place is not None
    printed = StringIO()
    found = replace(problem, place=replace(problem.place, file="stacks/topologies/prod.yaml"))
    print_problems([found], Console(file=printed, width=200, highlight=False))
    return printed.getvalue()


def property_without_effect() -> str:
    flow = a_flow(connectors={"source": {"config": {"producer.batch.size": 524288}}})
    (problem,) = check_topology(parse_topology(a_topology(flow)))
    return str(problem)


def predecessor_stale() -> str:
    changed = a_flow_state(changed_at=at("11:30"), changed_by="kubectl-edit")
    (problem,) = reasons_against(a_state(changed, stack="staging-us-west-2"), MODEL, 0, NOON)
    return str(problem)


def other_revision_applied() -> str:
    fields = (FieldChange("spec.tasksMax", 4, 2),)
    change = ObjectChange(
        ChangeKind.CHANGED, "orders", "source", "KafkaConnector", "mirror-orders", "orders-source", fields
    )
    (problem,) = differences(Comparison("prod-us-west-2", "what runs", (), (change,)))
    return str(problem)


#: Code that a quoted message begins with -> the message of the program.
MESSAGES: dict[str, Callable[[], str]] = {
    "equal-aliases": equal_aliases,
    "property-without-effect": property_without_effect,
    "predecessor-stale": predecessor_stale,
    "other-revision-applied": other_revision_applied,
}
QUOTED = [(match[1], block) for block in TEXTS if (match := re.match(_CODE, block.text))]


def unfolded(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize(("code", "block"), QUOTED, ids=[block.place for _, block in QUOTED])
def test_a_quoted_message_is_what_the_program_says(code: str, block: Block) -> None:
    assert unfolded(block.text) == unfolded(MESSAGES[code]())


def test_every_message_is_quoted_somewhere() -> None:
    assert {code for code, _ in QUOTED} == set(MESSAGES)


def test_the_shown_comparison_is_what_diff_prints(tmp_path: Path) -> None:
    (block,) = [block for block in TEXTS if "prod-us-west-2 against " in block.text]
    after = a_flow(topics=["orders", "ledger"], offsetSyncs={"location": "target"})
    comparison = compared(tmp_path, {}, {"replications": {"orders": after}})
    named = replace(comparison, stack="prod-us-west-2", against="1f0c2d9a4b, where this branch began")
    printed = StringIO()
    print_comparisons([named], Console(file=printed, width=120))
    shown, _, rest = unfolded(block.text).rpartition(" …")
    assert rest == ""
    assert unfolded(printed.getvalue()).startswith(shown)


def first_column(path: str, header: str) -> set[str]:
    """Code spans in the first column of the table with this header."""
    table = re.search(rf"^\| {header} \|.*\n\|.*\n((?:\|.*\n)+)", (ROOT / path).read_text(), re.MULTILINE)
    assert table is not None
    return {code for row in table[1].splitlines() for code in re.findall(r"`([^`]+)`", row.split("|")[1])}


def test_the_checks_of_the_job_are_listed() -> None:
    assert first_column("spark/checks/README.md", "check") == set(CheckName)


def test_the_severities_of_a_change_are_listed() -> None:
    assert first_column("infra/review/README.md", "severity") == set(Impact)


def test_every_listed_drift_finding_is_in_the_sources() -> None:
    sources = "".join(path.read_text() for path in (ROOT / "infra" / "review").glob("*.py"))
    listed = first_column("infra/review/README.md", "finding")
    assert {code for code in listed if f'"{code}"' not in sources} == set()
