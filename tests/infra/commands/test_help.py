"""The help of each command: an example that works, defaults as one types them, and the exit codes."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kafka_replication.infra.commands.app import app
from tests.builders import a_flow, a_topology
from tests.commands import replicate
from tests.infra.stacks import write_stack
from tests.repository import ROOT

COMMANDS = ["check", "explain", "render", "diff", "acls", "schema", "preview", "up", "destroy", "validate", "promote"]
COMMANDS += [
    "adopt",
    "status",
    "ready",
    "exporter",
    "keep",
    "failover",
    "failback",
    "offsets",
    "drill",
    "runbook",
    "pause",
    "resume",
    "stop",
    "restart",
    "environments",
    "touched",
    "review",
    "size",
    "init",
    "local up",
    "local down",
    "local demo",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_an_example(command: str) -> None:
    answer = CliRunner().invoke(app, [*command.split(), "--help"], terminal_width=200)
    assert answer.exit_code == 0
    assert f"replicate {command}" in answer.output.replace("`", "")


@pytest.mark.parametrize("command", [*COMMANDS, "import"])
def test_help_shows_no_default_in_brackets(command: str) -> None:
    """Typer puts a text that describes a default in brackets: `[default: (default)]` says nothing."""
    assert "[default: (" not in CliRunner().invoke(app, [*command.split(), "--help"], terminal_width=200).output


@pytest.mark.process
def test_diff_ends_with_the_exit_codes_that_its_help_lists(tmp_path: Path) -> None:
    said = " ".join(CliRunner().invoke(app, ["diff", "--help"], terminal_width=200).output.split())
    assert "The exit code is 0 even if something differs; 1 if an effect is as severe as --fail-on says" in said
    for each in ("before", "after", "broken"):
        (tmp_path / each).mkdir()
    before = str(write_stack(tmp_path / "before", a_topology()))
    after = str(write_stack(tmp_path / "after", a_topology(a_flow(topics=[*a_flow()["topics"], "invoices"]))))
    broken = str(write_stack(tmp_path / "broken", a_topology(a_flow(target="useast"))))
    ended = [
        replicate("diff", "--against", against, "--stacks", folder, *options).returncode
        for folder, against, *options in (
            (after, before),
            (after, before, "--fail-on", "restart"),
            (after, before, "--fail-on", "data"),
            (broken, before),
            (after, str(tmp_path / "nowhere")),
        )
    ]
    assert ended == [0, 1, 0, 1, 2]


@pytest.mark.parametrize("command", ["failover", "failback"])
def test_help_and_page_say_the_same_about_the_exit_code_of_a_move(command: str) -> None:
    said = CliRunner().invoke(app, [command, "--help"], terminal_width=200).output
    (codes,) = re.findall(r"The exit code is .*?or done\.", " ".join(said.split()))
    assert codes in " ".join((ROOT / "infra" / "operate" / "move" / "README.md").read_text().split())


@pytest.mark.parametrize("command", ["check", "explain", "acls", "environments"])
def test_the_help_example_of_a_read_only_command_works(command: str) -> None:
    said = CliRunner().invoke(app, [command, "--help"], terminal_width=200).output.replace("`", "")
    example = re.search(rf"Example: replicate ({command}.*)", said)
    assert example is not None
    answer = replicate(*example.group(1).split())
    assert answer.returncode == 0, answer.stderr
