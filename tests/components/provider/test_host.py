"""What the plugin accepts and refuses if called as by Pulumi. contract/test_component_provider.py runs an engine."""

import json
import re
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml
from pulumi.errors import InputPropertiesError, InputPropertyError
from pulumi.runtime.sync_await import _ensure_event_loop

from kafka_replication.components.provider.host import Host
from kafka_replication.components.provider.replications import PACKAGE
from tests.builders import a_cluster, a_flow, a_topology
from tests.components.recorder import Recorder, record
from tests.repository import ROOT

TYPE = f"{PACKAGE}:index:Replications"
LOGIN = {"type": "scram-sha-512", "username": "mirror", "password": {"config": "password"}}
CLUSTERS = {"useast": a_cluster(authentication=LOGIN), "uswest": a_cluster("us-west-2", authentication=LOGIN)}


def constructed(inputs: dict[str, Any]) -> Recorder:
    return record(lambda: void(Host().construct("mirrors", TYPE, inputs)))


def void(_: object) -> None:
    """A program returns nothing."""


def refusal(**given: Any) -> str:
    """The host's message for a valid topology with these arguments replaced; None leaves an argument out."""
    inputs = {**a_topology(clusters=CLUSTERS), "secrets": {"password": "hunter2"}, **given}
    # Since Python 3.14 no thread has a loop before one is set.
    _ensure_event_loop()  # type: ignore[no-untyped-call]
    with pytest.raises(InputPropertiesError) as caught:
        Host().construct("mirrors", TYPE, {key: value for key, value in inputs.items() if value is not None})
    assert caught.value.errors == [], "the engine would print the value of each argument that is named"
    assert "hunter2" not in caught.value.message
    return caught.value.message


def test_replications_of_each_kind_become_components_and_the_region_selects_them() -> None:
    replications = {
        "orders": a_flow(),
        "back": a_flow(source="uswest", target="useast", topics=["ledger"]),
        "pair": {"kind": "prefixlessPair", "between": ["useast", "uswest"], "topics": ["payments"]},
    }
    declared = {**a_topology(clusters=CLUSTERS, replications=replications), "secrets": {"password": "hunter2"}}
    below = {
        resource.name: resource.token
        for resource in constructed(declared).resources
        if resource.token.startswith("replication:")
    }
    assert below == {
        "orders": "replication:kafka:Flow",
        "back": "replication:kafka:Flow",
        "pair": "replication:kafka:PrefixlessPair",
        "pair-to-useast": "replication:kafka:Flow",
        "pair-to-uswest": "replication:kafka:Flow",
    }
    west = constructed({**declared, "region": "us-west-2"})
    names = {resource.name for resource in west.resources if resource.token == "replication:kafka:Flow"}
    assert names == {"orders", "pair-to-uswest"}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        pytest.param(
            {"regoin": "us-west-2"}, ("`regoin` is not an argument. It would have no effect."), id="an unknown argument"
        ),
        pytest.param(
            {"region": "mars"}, "no replication has its target in the region `mars`", id="a region without replications"
        ),
        pytest.param({"region": ""}, "no replication has its target in the region ``", id="an empty name of a region"),
        pytest.param({"replications": {}}, "no replication has its target in any region", id="no replication"),
        pytest.param(
            {"secrets": {}},
            "Remedy: add `password` to `secrets`; in Python: `secrets={'password': ",
            id="no credential",
        ),
        pytest.param({"secrets": None}, "`password` is not set, at clusters", id="no credentials at all"),
        pytest.param(
            {"secrets": {"password": "hunter2", "pasword": "hunter2"}},
            "`pasword`, at secrets.pasword. It would have no effect",
            id="a credential that no cluster reads",
        ),
        pytest.param({"strimzi": 1.2}, "wrong-type: `strimzi` is a number", id="a number for a version"),
        pytest.param({"clusters": {"useast": 7}}, "at clusters.useast", id="a cluster that is no mapping"),
        pytest.param(
            {"clusters": {**CLUSTERS, "useast": a_cluster(authentication={**LOGIN, "password": "hunter2"})}},
            "at clusters.useast.authentication.password",
            id="a credential in plain text",
        ),
    ],
)
def test_a_bad_argument_is_refused_in_a_sentence(given: dict[str, Any], sentence: str) -> None:
    assert sentence in refusal(**given)


def test_an_output_is_refused_wherever_it_would_decide_the_structure() -> None:
    messages: list[str] = []

    def program() -> None:
        secret = pulumi.Output.secret("hunter2")
        messages.append(refusal(region=secret))
        messages.append(refusal(replications={"orders": a_flow(topics=["ledger", secret])}))

    record(program)
    assert "not-plain: `region` is an output" in messages[0]
    assert "at replications.orders.topics.1." in messages[1]


def test_a_missing_argument_is_named() -> None:
    with pytest.raises(InputPropertyError, match="Missing required input 'clusters'"):
        Host().construct("mirrors", TYPE, {"strimzi": "1.2", "replications": {}})


def test_both_programs_of_the_readme_send_the_request_that_was_recorded() -> None:
    """contract/test_component_provider.py replays it."""
    text = (ROOT / "components" / "README.md").read_text()
    (block,) = [entry for entry in text.split("```yaml\n")[1:] if "runtime: yaml" in entry]
    resource = yaml.safe_load(block.partition("```")[0])["resources"]["mirrors"]
    # What an object of TypeScript and a mapping of YAML have in common is enough for the arguments.
    (typescript,) = re.findall(r'new Replications\("mirrors", (\{.*?^\})\);', text, re.MULTILINE | re.DOTALL)
    recorded = json.loads(Path(__file__).with_name("construct_request.json").read_text())
    assert (resource["type"], resource["properties"]) == (recorded["type"], recorded["inputs"])
    assert yaml.safe_load(typescript) == recorded["inputs"]


def test_the_environment_that_pulumi_makes_for_the_plugin_is_not_left_in_the_checkout() -> None:
    folder = ROOT / "components" / "provider"
    runtime = yaml.safe_load((folder / "PulumiPlugin.yaml").read_text())["runtime"]
    assert runtime["name"] == "python"
    environment = (folder / runtime["options"]["virtualenv"]).resolve()
    assert ".local/" in (ROOT / ".gitignore").read_text().splitlines()
    assert environment.is_relative_to(ROOT / ".local")
