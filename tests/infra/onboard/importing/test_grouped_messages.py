"""A fact about several resources is printed once, and no fact is lost. Before, a dozen resources filled pages."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from kafka_replication.infra.commands.app import app
from kafka_replication.infra.onboard.importing.left_out import differing_parts, grouped_by_wording, parts_text
from tests.infra.onboard.importing.test_command import RESOURCE

COUNT = 12


@pytest.fixture
def output(tmp_path: Path) -> str:
    """The output of importing a dozen resources that differ in names and topics."""
    bodies = []
    for number in range(COUNT):
        body: dict[str, Any] = yaml.safe_load(RESOURCE)
        body["metadata"]["name"] = f"mm-{number}"
        target, (mirror,) = body["spec"]["target"], body["spec"]["mirrors"]
        for key in ("groupId", "configStorageTopic", "offsetStorageTopic", "statusStorageTopic"):
            target[key] = f"own-{number}-{key.lower()}"
        mirror["topicsPattern"] = f"topic-{number}"
        mirror["sourceConnector"]["config"] |= {"replication.policy.separator": ""}
        bodies.append(body)
    (tmp_path / "running.yaml").write_text(yaml.safe_dump_all(bodies))
    words = ["import", str(tmp_path / "running.yaml"), "--out", str(tmp_path / "mirrors")]
    answer = CliRunner().invoke(app, words, catch_exceptions=False)
    return " ".join(answer.output.split())


@pytest.mark.parametrize(
    "sentence",
    [
        "It comes from the tool that applied the object",
        "A separator has at least one character in a topology.",
        "Remote topics with the old names get no more records",
        "No heartbeats: ",
        "would change records or offsets",
        "config.config.providers: not set",
    ],
)
def test_a_sentence_about_a_dozen_resources_is_printed_once(output: str, sentence: str) -> None:
    assert output.count(sentence) == 1


def test_every_resource_is_named_with_its_own_values(output: str) -> None:
    for number in range(1, COUNT):
        assert re.search(rf"also: .*KafkaMirrorMaker2 kafka/mm-{number}[; ]", output)
        assert f"`useasttopic-{number} → useast.topic-{number}`" in output
    assert f"✗ {', '.join(f'mm-{number}' for number in range(COUNT))}: deploying each" in output
    assert f"Not taken over: {3 * COUNT} things" in output


def test_texts_that_differ_in_one_quoted_value_form_a_group_that_lists_the_values() -> None:
    texts = [("a", "`x` of `y` is 1"), ("b", "`x` of `z` is 1"), ("c", "`x` of `y` is 1"), ("d", "`x` of `y` is 2")]
    groups = grouped_by_wording(texts, lambda each: each[1])
    assert [group[0] for group in groups] == [("a", "`x` of `y` is 1"), ("d", "`x` of `y` is 2")]
    assert [differing_parts(group) for group in groups] == [(("b", ("`z`",)), ("c", ())), ()]
    assert parts_text(differing_parts(groups[0])) == "b (`z`); c"


def test_resources_with_different_verdicts_are_reported_separately(tmp_path: Path) -> None:
    first, second = yaml.safe_load(RESOURCE), yaml.safe_load(RESOURCE)
    second["metadata"] = {"name": "other", "namespace": "kafka"}
    second["spec"]["mirrors"][0] |= {"topicsPattern": "clicks"}
    second["spec"]["target"] |= {"groupId": "own", "offsetStorageTopic": "own-offsets"}
    second["spec"]["mirrors"][0]["sourceConnector"]["config"]["replication.policy.separator"] = "_"
    (tmp_path / "running.yaml").write_text(yaml.safe_dump_all([first, second]))
    words = ["import", str(tmp_path / "running.yaml"), "--out", str(tmp_path / "mirrors")]
    output = " ".join(CliRunner().invoke(app, words, catch_exceptions=False).output.split())
    assert re.search(r"! mm2: apart from the corrections, deploying it", output)
    assert re.search(r"! other: apart from the corrections, deploying it", output)


@pytest.mark.parametrize(("separator", "mark"), [(".", "!"), ("", "✗")], ids=["nothing changes", "records change"])
def test_a_refused_project_is_not_called_unchanged_and_its_changes_stay(
    tmp_path: Path, separator: str, mark: str
) -> None:
    body = yaml.safe_load(RESOURCE)
    body["spec"]["mirrors"][0]["sourceConnector"]["config"]["replication.policy.separator"] = separator
    other = yaml.safe_load(RESOURCE)
    other["metadata"]["name"] = "other"
    (tmp_path / "running.yaml").write_text(yaml.safe_dump_all([body, other]))
    words = ["import", str(tmp_path / "running.yaml"), "--out", str(tmp_path / "mirrors")]
    output = " ".join(CliRunner().invoke(app, words, catch_exceptions=False).output.split())
    assert "Nothing can be rendered or deployed" in output
    assert re.search(rf"{mark} mm2[^:]*: apart from the corrections, deploying", output)
