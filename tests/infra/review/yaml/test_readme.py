"""The README's example of a review shows what the command prints."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kafka_replication.infra.commands.app import COMMANDS, app
from tests.infra.readmes import READMES, chapter, shown
from tests.workflows.workflow import commit, git

#: Commands that write something new, or belong to the local stack or to a plan of promotion.
_FOR_A_NEW_PROJECT = {"init", "schema", "environments", "local"}


def test_a_table_says_what_each_command_reads_for_those_who_stay_with_yaml() -> None:
    text = chapter("What do I do when we stay with YAML?")
    table = "\n".join(line for line in text.splitlines() if line.startswith("| "))
    named = {span.removeprefix("replicate ").split()[0] for span in re.findall("`([^`]+)`", table)}
    assert set(COMMANDS) - _FOR_A_NEW_PROJECT <= named


@pytest.mark.process
def test_the_shown_review_is_what_the_command_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resource, review = shown("metadata: {name: mm2,"), shown("kafka against origin/main")
    (call,) = [
        command for readme in READMES for command in readme.commands() if command.whole and "--yaml" in command.words
    ]
    git(tmp_path, "init", "--quiet")
    (tmp_path / "kafka").mkdir()
    file = tmp_path / "kafka" / "mm2.yaml"
    file.write_text(resource)
    commit(tmp_path)
    git(tmp_path, "update-ref", "refs/remotes/origin/main", "HEAD")
    file.write_text(resource.replace("orders,payments-.*", "orders").replace("groupsPattern", "groupPattern"))
    monkeypatch.chdir(tmp_path)
    printed = CliRunner().invoke(app, list(call.words[1:])).output
    assert " ".join(re.sub(r" \([0-9a-f]{10}\)", "", printed).split()) == " ".join(review.split())
