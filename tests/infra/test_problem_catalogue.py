"""The catalogue of problems matches the code, and `replicate explain CODE` prints the entry of a code."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.commands.app import app
from kafka_replication.infra.review.explain import described_codes
from tests.infra.test_bad_input import FILES, PROMOTION_FILES
from tests.reference import alerts

#: What PySpark or Spark's JVM said is in them; tests meet them in processes of their own only.
_ONLY_FROM_THE_JVM = {"spark-not-started", "spark-refused"}
_ALERTS = {name for name in described_codes() if name.startswith("Mirror")}


def test_the_catalogue_has_every_code_once() -> None:
    codes = described_codes()
    assert {file.stem for file in [*FILES, *PROMOTION_FILES]} < set(codes)
    assert {"unknown-stack", "kubernetes-unreachable", "spark-lost", "invalid-offset", "label-of-a-tool"} < set(codes)
    assert {"not-applied", "not-plain", "bad-region"} < set(codes), "problems that no file of tests/bad_input has"
    assert alerts().keys() == _ALERTS


def test_a_code_has_its_meaning_an_example_and_the_remedy() -> None:
    assert described_codes()["equal-aliases"] == (
        "Error. A flow from a cluster to the same cluster.\n\n"
        "```yaml\n"
        "orders: {kind: flow, source: useast, target: useast, topics: [orders], groups: ['checkout-.*']}\n"
        "```\n\n"
        "```text\n"
        "equal-aliases: source and target are both `useast`, at replications.orders.target. Such a flow would only "
        "copy\ntopics within one cluster. With the identity policy, it would replicate its own records endlessly. "
        "Remedy:\nname another cluster's alias.\n"
        "```"
    )


def test_a_code_of_topologies_and_plans_is_shown_first_in_a_topology() -> None:
    text = described_codes()["unknown-key"]
    topology, _, plan = text.partition("In a promotion plan: Error. ")
    assert "at replications.orders.offsetSync." in topology
    assert "at environments.0.waves.0.soakMinuts." in plan


@pytest.mark.parametrize("code", described_codes())
def test_the_description_of_a_code_has_its_message_and_no_other_section(code: str) -> None:
    text = described_codes()[code]
    assert ("Next: `replicate " if code in _ALERTS else f"{code}: ") in text
    assert "<!--" not in text
    assert "\n# Alerts" not in text
    assert "\n## " not in text
    assert "\n### " not in text


@pytest.mark.parametrize("code", sorted(set(described_codes()) - _ALERTS - _ONLY_FROM_THE_JVM))
def test_a_message_says_what_happened_why_and_what_to_do(code: str) -> None:
    """`…` alone would tell nothing to whoever looks up a code."""
    text = described_codes()[code]
    for message in re.findall(rf"```text\n{code}: (.*?)\n```", text, re.DOTALL):
        said, _, remedy = " ".join(message.split()).partition(" Remedy: ")
        what, where, rest = said.partition(", at ")
        parts = [what, rest.partition(". ")[2], remedy] if where else [said, remedy]
        assert [part for part in parts if not re.search("[a-zA-Z]{3}", part)] == [], message


def test_explain_prints_the_description_of_a_code() -> None:
    answer = CliRunner().invoke(app, ["explain", "equal-aliases"])
    assert answer.exit_code == 0, answer.output
    assert answer.output.strip() == described_codes()["equal-aliases"]


def test_explain_prints_what_an_alert_means_and_the_next_command() -> None:
    answer = CliRunner().invoke(app, ["explain", "MirrorTopicMissing"])
    assert answer.exit_code == 0, answer.output
    alert, more = answer.output.strip().split("\n\n")
    assert alert.startswith("**warning**, for 11 min: ")
    assert alert.endswith("Next: `replicate status STACK`.")
    assert more.startswith("Somebody deleted the topic on the target")


def test_explain_takes_any_case_and_answers_in_json() -> None:
    answer = CliRunner().invoke(app, ["explain", "mirrortopicmissing", "--json"])
    assert json.loads(answer.output) == {"code": "MirrorTopicMissing", "text": described_codes()["MirrorTopicMissing"]}


def test_explain_needs_a_project_for_a_flow_but_not_for_a_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reviewer of a folder of YAML files sees codes but has no project."""
    monkeypatch.chdir(tmp_path)
    answer = CliRunner().invoke(app, ["explain", "equal-aliases"])
    assert answer.output.strip() == described_codes()["equal-aliases"]
    answer = CliRunner().invoke(app, ["explain", "prod", "orders"])
    assert isinstance(answer.exception, CannotRunError)
    assert answer.exception.code == "no-project"


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        ("equal-alias", "name the code `equal-aliases`."),
        ("MirrorTaskFail", "name the code `MirrorTaskFailed`."),
        ("orders", "name it as a message shows it, or name a stack"),
    ],
)
def test_explain_refuses_an_unknown_code_and_says_what_to_name(code: str, remedy: str) -> None:
    answer = CliRunner().invoke(app, ["explain", code])
    assert isinstance(answer.exception, CannotRunError)
    assert answer.exception.code == "unknown-code"
    assert answer.exception.remedy.startswith(remedy)


def test_explain_asks_for_a_flow_if_only_a_stack_is_named() -> None:
    answer = CliRunner().invoke(app, ["explain", "prod-us-west-2"])
    assert answer.exit_code == 2
    assert "Also name a flow of stack `prod-us-west-2`" in answer.output
