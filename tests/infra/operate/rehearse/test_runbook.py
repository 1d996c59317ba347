"""The runbook: its commands work, its links have targets, and it says what each kind of replication cannot do."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.render.flow_acls import flows_without_addresses
from kafka_replication.infra.commands.app import app
from kafka_replication.infra.operate.rehearse.drill import (
    DrillRecord,
    DrillStep,
    read_record,
    record_file,
    write_record,
)
from kafka_replication.infra.operate.rehearse.page import runbook
from kafka_replication.infra.stack.settings import read_settings, stack_names
from tests.builders import a_flow, a_topology
from tests.infra.readmes import Command
from tests.infra.stacks import write_stack
from tests.infra.test_readme import replicate_takes
from tests.repository import ROOT, STACKS

#: Every kind of replication, and variants of a flow.
KINDS: dict[str, dict[str, Any]] = {
    "flow": a_flow(),
    "identity": a_flow(policy="identity"),
    "without groups": a_flow(groups=[], connectors={"checkpoint": {"enabled": False}}),
    "several sources": {
        **{key: value for key, value in a_flow().items() if key != "topics"},
        "connectors": {"sources": {"a": {"topics": ["orders"]}, "b": {"topics": ["payments-.*"]}}},
    },
    "transformed": a_flow(transforms={"before": {"mask": {"type": "com.acme.Mask"}}}),
    "prepared": a_flow(exactlyOnce="preparing"),
    "exactly once": a_flow(exactlyOnce="enabled"),
    "prefixlessPair": {"kind": "prefixlessPair", "between": ["useast", "uswest"], "topics": ["orders"]},
    "split": {
        "kind": "split",
        "source": "useast",
        "target": "uswest",
        "groups": ["checkout-.*"],
        "parts": {"a": {"topics": ["orders"]}, "b": {"topics": ["clicks"]}},
    },
    "mirrorMaker2": a_flow(kind="mirrorMaker2"),
}
PAGES = [("stack", name) for name in stack_names(STACKS)] + [("kind", name) for name in KINDS]
each_page = pytest.mark.parametrize("subject", PAGES, ids=[" ".join(subject) for subject in PAGES])


def a_page(folder: Path, kind: str, **top: Any) -> str:
    settings = read_settings("test", write_stack(folder, a_topology(KINDS[kind], **top)))
    return runbook(settings, "stacks/topologies/test.yaml")


def page_of(subject: tuple[str, str], folder: Path) -> str:
    what, name = subject
    if what == "kind":
        return a_page(folder, name)
    return runbook(read_settings(name, STACKS), "stacks/topologies/a.yaml")


def part(page: str, title: str) -> str:
    """A section, without the line breaks."""
    section = re.search(rf"^## {title}$(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    assert section, title
    return " ".join(section[1].split())


def commands(page: str) -> Iterator[Command]:
    """Every line of the code blocks, and every `replicate` command with arguments in the text."""
    for block in re.findall(r"^ *```sh\n(.*?)^ *```$", page, re.MULTILINE | re.DOTALL):
        yield from (Command("runbook", tuple(shlex.split(line))) for line in block.splitlines())
    prose = re.sub(r"```sh\n.*?```", "", page, flags=re.DOTALL)
    for span in re.findall(r"`(replicate [^`\n]+)`", prose):
        yield Command("runbook", tuple(span.split()), whole=False)


@each_page
def test_replicate_accepts_every_command_of_the_runbook_as_printed(
    subject: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = list(commands(page_of(subject, tmp_path)))
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("REPLICATE_LOCAL", str(tmp_path))
    assert len(printed) > 15
    for command in printed:
        if command.words[0] == "replicate":
            replicate_takes(command)
        else:
            assert command.words[:3] == ("pulumi", "config", "set"), command


@each_page
def test_the_page_is_reproducible_and_its_contents_list_every_situation(
    subject: tuple[str, str], tmp_path: Path
) -> None:
    page = page_of(subject, tmp_path)
    assert page == page_of(subject, tmp_path)
    links = set(re.findall(r"\(#([^)]+)\)", page))
    headings = re.findall("(?m)^##+ (.+)$", page)
    anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    assert links <= anchors
    contents = re.findall(r"(?m)^- \[.+\?\]\(#(.+)\)$", page)
    assert len(contents) == len(re.findall("(?m)^## ", page)) - 1 > 10


@pytest.mark.parametrize("stack", stack_names(STACKS))
def test_every_flow_of_a_stack_is_in_every_situation_that_moves_groups(stack: str) -> None:
    settings = read_settings(stack, STACKS)
    page = runbook(settings, "stacks/topologies/a.yaml")
    flows = flows_without_addresses(settings.topology, settings.region)
    assert flows
    for title in ("Leave a region that answers", "The source does not answer", "Go back", "Flows"):
        for flow in flows:
            assert f"### {flow.name}: {flow.alias('source')} to {flow.alias('target')}" in part(page, title)


@pytest.mark.parametrize(
    ("kind", "title", "said"),
    [
        ("flow", "Leave a region that answers", "replicate failover test orders --mode continuous"),
        ("flow", "Go back", "replicate failback test orders --dry-run"),
        ("identity", "Leave a region that answers", "producers cannot stay on useast"),
        ("identity", "Go back", "It sets the offsets at which the flow begins"),
        ("transformed", "Leave a region that answers", "Not possible for this flow:** the flow's own transforms"),
        ("transformed", "Go back", "by hand"),
        ("prefixlessPair", "Leave a region that answers", "reads some records again"),
        ("prefixlessPair", "The source does not answer", "This flow writes no checkpoints."),
        ("prefixlessPair", "Go back", "`replicate failover` of `orders-to-useast`"),
        ("without groups", "Flows", "every group with offsets on these topics"),
        ("several sources", "Flows", "`orders-source-b` in KafkaConnector"),
        ("mirrorMaker2", "Flows", "`useast->uswest.MirrorSourceConnector` in KafkaMirrorMaker2 `orders`"),
        ("split", "Switch exactly-once on", "`replications.orders.exactlyOnce: preparing`"),
        ("exactly once", "Switch exactly-once on", "It is on: `replications.orders.exactlyOnce: enabled`"),
    ],
)
def test_the_page_says_what_a_kind_can_and_cannot_do(kind: str, title: str, said: str, tmp_path: Path) -> None:
    assert said in part(a_page(tmp_path, kind), title)


@pytest.mark.parametrize(
    ("strimzi", "kind", "said"),
    [
        ("0.45", "flow", "| workers for heartbeats | KafkaConnect `orders-heartbeats` on useast |"),
        ("1.2", "mirrorMaker2", "| workers for heartbeats | KafkaConnect `orders-heartbeats` on uswest |"),
        ("1.2", "flow", None),
    ],
)
def test_the_runbook_names_workers_that_only_send_heartbeats(
    strimzi: str, kind: str, said: str | None, tmp_path: Path
) -> None:
    """Nobody declared them, so whoever finds their pods does not know what they are for."""
    flows = part(a_page(tmp_path, kind, strimzi=strimzi), "Flows")
    assert said in flows if said else "workers for heartbeats" not in flows


def test_the_runbook_prints_no_command_that_the_flow_refuses(tmp_path: Path) -> None:
    """A transformed flow cannot be drilled, and a flow without checkpoints has no newest checkpoint to show."""
    transformed = part(a_page(tmp_path, "transformed"), "Flows")
    assert "| last drill | not possible: the flow's own transforms may change or drop records |" in transformed
    lost = part(a_page(tmp_path, "without groups"), "The source does not answer")
    assert "replicate failover test orders --mode disaster --dry-run" in lost
    assert "newest checkpoint:" not in lost


def test_the_runbook_has_no_credential_steps_if_no_cluster_needs_a_login(tmp_path: Path) -> None:
    topology = a_topology()
    for cluster in topology["clusters"].values():
        cluster.pop("authentication", None)
        cluster.pop("tls", None)
    settings = read_settings("test", write_stack(tmp_path, topology))
    page = runbook(settings, "stacks/topologies/test.yaml")
    assert part(page, "Rotate a credential") == "Nothing: no cluster of these flows asks for a login."
    assert part(page, "Credentials") == "There is none: no cluster of these flows asks for a login."


@each_page
def test_a_source_that_is_not_lost_ends_the_failover_before_the_flow_is_stopped(
    subject: tuple[str, str], tmp_path: Path
) -> None:
    """Otherwise a reader stops replication although nothing was lost."""
    lost = part(page_of(subject, tmp_path), "The source does not answer")
    for flow in lost.split("### ")[1:]:
        steps = re.split(r" \d\. ", flow)
        assert steps[2].startswith("Does `source` show `✗`? Then stop here: ")
        assert "[Leave a region that answers](#leave-a-region-that-answers)" in steps[2]
        assert steps[3].startswith("Does `lost` show `✗`? Then stop here, too: ")
        assert [step for step in steps if "`sh replicate stop" in step] == steps[5:6]


def test_the_runbook_says_who_publishes_the_validations_that_a_lost_source_needs(tmp_path: Path) -> None:
    nobody = part(a_page(tmp_path, "flow"), "Before a source is lost")
    assert "Add `replication:validation: {inCluster: …}` to `Pulumi.test.yaml`" in nobody
    assert "```sh replicate validate test --publish ```" in nobody
    image = f"registry.example.com/job@sha256:{'0' * 64}"
    folder = write_stack(tmp_path, a_topology(), validation={"inCluster": {"image": image, "timeZone": "Europe/Paris"}})
    stack = runbook(read_settings("test", folder), "stacks/topologies/test.yaml")
    somebody = part(stack, "Before a source is lost")
    assert "the stack validates each flow in its cluster at `17 */6 * * *` (Europe/Paris)" in somebody
    assert "validate test --publish" not in somebody
    for said in (nobody, somebody):
        assert "`status` reports one that is older than 24 hours: ```sh replicate status test" in said


def test_the_runbook_does_not_prepare_exactly_once_a_second_time(tmp_path: Path) -> None:
    section = part(a_page(tmp_path, "prepared"), "Switch exactly-once on")
    assert "exactlyOnce: enabled` in" in section
    assert "exactlyOnce: preparing` in" not in section


def test_the_runbook_shows_references_to_credentials_and_never_their_values(tmp_path: Path) -> None:
    """A credential in plain text in the stack file is not shown either."""
    topology = a_topology()
    topology["clusters"]["useast"]["authentication"]["password"] = {"config": "useastPassword"}
    folder = write_stack(tmp_path, topology, useastPassword="hunter2")
    page = runbook(read_settings("test", folder), "stacks/topologies/test.yaml")
    assert "hunter2" not in page
    assert "pulumi config set --secret replication:useastPassword --stack test" in page
    assert "`replication:useastPassword`, which becomes Secret `mirror-orders/orders-source-credentials`" in page


A_RECORD = DrillRecord(
    flow="orders",
    at="2026-01-31T02:10:00+00:00",
    passed=True,
    partitions=1,
    expected=40,
    skipped=0,
    announced=2,
    announced_at_least=False,
    read_again=2,
    steps=(DrillStep(name="positions", seconds=3.25), DrillStep(name="commit", seconds=0.5)),
)


def test_the_expected_duration_is_that_of_the_last_drill(tmp_path: Path) -> None:
    settings = read_settings("test", write_stack(tmp_path, a_topology()))
    assert "Expected duration: not measured" in a_page(tmp_path, "flow")
    write_record(settings, A_RECORD)
    said = "3.8 s in the drill of 2026-01-31 (positions 3.2 s, commit 0.5 s; skipped 0, read again 2)."
    assert f"Expected duration: {said}" in a_page(tmp_path, "flow")


def test_the_runbook_says_that_the_last_drill_failed(tmp_path: Path) -> None:
    settings = read_settings("test", write_stack(tmp_path, a_topology()))
    write_record(settings, A_RECORD.model_copy(update={"passed": False}))
    assert "The drill failed" in part(a_page(tmp_path, "flow"), "Leave a region that answers")


@pytest.mark.parametrize("content", ["", "{}", '{"flow": "orders"}', "[]", "\x00"], ids=repr)
def test_an_unreadable_drill_record_is_an_error_that_names_the_file(content: str, tmp_path: Path) -> None:
    settings = read_settings("test", write_stack(tmp_path, a_topology()))
    write_record(settings, A_RECORD)
    record_file(settings, "orders").write_text(content)
    with pytest.raises(CannotRunError, match=r"drill-record-unreadable: .*test\.orders\.json.* delete the file"):
        read_record(settings, "orders")


def test_the_page_goes_to_a_file_or_to_the_screen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("REPLICATE_LOCAL", str(tmp_path))
    printed = CliRunner().invoke(app, ["runbook", "prod-us-west-2"])
    written = CliRunner().invoke(app, ["runbook", "prod-us-west-2", "--output", str(tmp_path / "runbook.md")])
    assert (printed.exit_code, written.exit_code) == (0, 0)
    assert printed.stdout.startswith("# Runbook of prod-us-west-2\n\nWritten from `stacks/topologies/prod.yaml`")
    assert (tmp_path / "runbook.md").read_text() == printed.stdout
