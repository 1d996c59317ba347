"""Stack and topology files: what is read, and which error each kind of broken file causes."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_replication.components.contract.problems import CannotRunError, ReplicationError
from kafka_replication.infra.stack.settings import read_settings, stack_names
from kafka_replication.infra.stack.stack_checks import problems
from tests.builders import a_cluster, a_flow, a_topology
from tests.infra.stacks import write_stack


def test_a_stack_file_names_topology_region_and_kubernetes_context(tmp_path: Path) -> None:
    write_stack(tmp_path, region="us-west-2")
    file = tmp_path / "Pulumi.test.yaml"
    data = yaml.safe_load(file.read_text())
    data["config"]["kubernetes:context"] = "west"
    file.write_text(yaml.safe_dump(data))
    settings = read_settings("test", tmp_path)
    assert (settings.region, settings.context, settings.local) == ("us-west-2", "west", False)
    assert list(settings.topology.replications) == ["orders"]
    assert stack_names(tmp_path) == ("test",)


def test_an_empty_topology_is_refused_with_its_missing_keys(tmp_path: Path) -> None:
    with pytest.raises(ReplicationError) as caught:
        read_settings("test", write_stack(tmp_path, "{}"))
    assert [problem.where for problem in caught.value.problems] == ["clusters", "replications", "strimzi"]


def test_mistakes_below_a_misspelt_key_are_reported_too(tmp_path: Path) -> None:
    flow = a_flow(offsetSync={"lagMx": 3, "location": "tagret"}, connect={"replicas": 0})
    with pytest.raises(ReplicationError) as caught:
        read_settings("test", write_stack(tmp_path, a_topology(flow)))
    assert [(problem.code, problem.where) for problem in caught.value.problems] == [
        ("out-of-range", "replications.orders.connect.replicas"),
        ("unknown-key", "replications.orders.offsetSync"),
        ("unknown-key", "replications.orders.offsetSync.lagMx"),
        ("not-accepted", "replications.orders.offsetSync.location"),
    ]
    assert len({problem.place for problem in caught.value.problems}) == 4


def test_an_unknown_stack_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    write_stack(tmp_path)
    with pytest.raises(CannotRunError, match="Stacks are: test"):
        read_settings("tset", tmp_path)


@pytest.mark.parametrize("name", ["prod", "topologies/test"])
def test_an_unknown_topology_is_refused_with_the_known_ones(name: str, tmp_path: Path) -> None:
    with pytest.raises(CannotRunError, match="Topologies are: test"):
        read_settings("test", _with_topology(tmp_path, name))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the stack file is empty.*write `config:`"),
        ("replication:topology: prod", "no mapping `config`"),
        ("config: {}", "names no topology"),
    ],
    ids=["an empty file", "keys without config", "no topology"],
)
def test_an_incomplete_stack_file_is_refused_with_what_to_add(tmp_path: Path, text: str, message: str) -> None:
    write_stack(tmp_path)
    (tmp_path / "Pulumi.test.yaml").write_text(text)
    with pytest.raises(CannotRunError, match=message):
        read_settings("test", tmp_path)


def test_a_yaml_merge_key_takes_over_the_keys_of_another_mapping(tmp_path: Path) -> None:
    """An anchor keeps the clusters of an environment alike; the mapping's own keys win."""
    plain = read_settings("test", write_stack(tmp_path)).topology
    taken_over = f"<<: {{strimzi: '0.45', clusters: {{}}}}\n{yaml.safe_dump(a_topology())}"
    assert read_settings("test", write_stack(tmp_path, taken_over)).topology == plain


@pytest.mark.parametrize(("value", "local"), [(True, True), ("true", True), (False, False)])
def test_the_local_setting_is_read_alike_as_a_boolean_and_as_text(tmp_path: Path, value: object, local: bool) -> None:
    """Pulumi gives the program text; `replicate up` and the program must agree on whether a stack is local."""
    assert read_settings("test", write_stack(tmp_path, local=value)).local is local


def test_a_key_without_a_value_counts_as_missing(tmp_path: Path) -> None:
    assert read_settings("test", write_stack(tmp_path, region=None)).region is None
    (tmp_path / "Pulumi.test.yaml").write_text("config: {replication:topology: }")
    with pytest.raises(CannotRunError, match="names no topology"):
        read_settings("test", tmp_path)


def test_a_folder_is_not_taken_for_a_stack_file(tmp_path: Path) -> None:
    write_stack(tmp_path)
    (tmp_path / "Pulumi.folder.yaml").mkdir()
    assert stack_names(tmp_path) == ("test",)


def test_a_misspelt_key_of_the_stack_file_is_refused(tmp_path: Path) -> None:
    """Without its region, a stack would deploy the flows of every region to its cluster."""
    (problem,) = problems(read_settings("test", write_stack(tmp_path, regoin="us-west-2")))
    assert (problem.code, problem.remedy) == ("unknown-key", "did you mean `replication:region`?")


def test_a_path_in_an_error_is_relative_to_the_current_folder_if_it_is_below_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stacks").mkdir()
    write_stack(tmp_path / "stacks")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CannotRunError) as caught:
        read_settings("nowhere", tmp_path / "stacks")
    assert caught.value.where == "stacks/Pulumi.nowhere.yaml"
    monkeypatch.chdir(tmp_path / "stacks" / "topologies")
    with pytest.raises(CannotRunError) as caught:
        read_settings("nowhere", tmp_path / "stacks")
    assert caught.value.where == str(tmp_path / "stacks" / "Pulumi.nowhere.yaml")


def test_a_credential_in_plain_configuration_is_refused_without_showing_it(tmp_path: Path) -> None:
    write_stack(tmp_path, _with_password_from_configuration(), useastPassword="hunter2")
    (problem,) = problems(read_settings("test", tmp_path))
    assert problem.code == "plain-text-secret"
    assert "hunter2" not in str(problem)


def test_an_encrypted_credential_is_accepted(tmp_path: Path) -> None:
    write_stack(tmp_path, _with_password_from_configuration(), useastPassword={"secure": "v1:abc"})
    assert problems(read_settings("test", tmp_path)) == []


def _with_password_from_configuration() -> dict[str, Any]:
    authentication = {"type": "plain", "username": "mirror", "password": {"config": "useastPassword"}}
    clusters = {"useast": a_cluster(authentication=authentication), "uswest": a_cluster("us-west-2")}
    return a_topology(clusters=clusters)


def _with_topology(folder: Path, name: str) -> Path:
    write_stack(folder)
    (folder / "Pulumi.test.yaml").write_text(yaml.safe_dump({"config": {"replication:topology": name}}))
    return folder


@pytest.mark.parametrize(
    "text", ["config: {", "config: {topology: test}", "config: {replication:topology: tset}"], ids=str
)
def test_a_stack_whose_topology_is_unknown_does_not_hide_that_no_other_stack_deploys_a_flow(
    tmp_path: Path, text: str
) -> None:
    write_stack(tmp_path, region="us-east-1")
    (tmp_path / "Pulumi.other.yaml").write_text(text)
    (found,) = problems(read_settings("test", tmp_path))
    assert (found.code, found.severity.value) == ("deployed-by-no-stack", "warning")
    assert found.what == "no stack whose topology is known deploys the flow from `useast` to `uswest`"
    assert found.why.startswith("Not judged, because its topology is unknown: `Pulumi.other.yaml`. ")


def test_a_topology_without_its_prefix_is_recognized(tmp_path: Path) -> None:
    write_stack(tmp_path)
    (tmp_path / "Pulumi.test.yaml").write_text("config: {topology: test}")
    with pytest.raises(CannotRunError, match="did you mean `replication:topology` instead of `topology`"):
        read_settings("test", tmp_path)


@pytest.mark.parametrize(
    ("text", "where", "code", "remedy"),
    [
        pytest.param("  region: us-west-2", "config.region", "unknown-key", "replication:region", id="no prefix"),
        pytest.param("  regoin: us-west-2", "config.regoin", "unknown-key", "replication:region", id="no prefix, typo"),
        pytest.param("  colour: red", "config.colour", "unknown-key", "keys here begin with", id="a key of nobody"),
        pytest.param(
            "  replicaton:region: x", "config.replicaton:region", "unknown-key", "replication:region", id="a prefix"
        ),
        pytest.param(
            "  kubernetes:contxt: west", "config.kubernetes:contxt", "unknown-key", "kubernetes:context", id="provider"
        ),
        pytest.param(
            "  context: west", "config.context", "unknown-key", "kubernetes:context", id="provider, no prefix"
        ),
        pytest.param(
            "replication:region: us-west-2", "replication:region", "unknown-key", "indent it", id="outside config"
        ),
        pytest.param("confg: {}", "confg", "unknown-key", "did you mean `config`?", id="a misspelt key of Pulumi"),
        pytest.param(
            "  replication:region:", "config.replication:region", "not-accepted", "write a value", id="no value"
        ),
        pytest.param(
            "  replication:region: [us-west-2]", "config.replication:region", "wrong-type", "VALUE", id="a list"
        ),
        pytest.param('  replication:local: "yes"', "config.replication:local", "not-accepted", '"true"', id="a word"),
    ],
)
def test_a_key_of_a_stack_file_that_has_no_effect_is_an_error(
    tmp_path: Path, text: str, where: str, code: str, remedy: str
) -> None:
    """Nothing reads such a key, so the stack would deploy the flows of all regions, or go to another cluster."""
    write_stack(tmp_path)
    file = tmp_path / "Pulumi.test.yaml"
    file.write_text(f"config:\n  replication:topology: test\n{text}\n")
    found = [problem for problem in problems(read_settings("test", tmp_path)) if problem.code != "unknown-region"]
    assert [(problem.where, problem.code) for problem in found] == [(where, code)]
    assert remedy in found[0].remedy
    assert found[0].place is not None
    assert found[0].place.line == 3


def test_keys_of_pulumi_and_of_other_providers_are_accepted(tmp_path: Path) -> None:
    write_stack(tmp_path)
    (tmp_path / "Pulumi.test.yaml").write_text(
        "secretsprovider: passphrase\nencryptionsalt: v1:x\nenvironment: [prod]\nconfig:\n"
        "  replication:topology: test\n  aws:region: us-west-2\n  kubernetes:enableServerSideApply: 'true'\n"
        "  pulumi:disable-default-providers: [aws]\n"
    )
    assert problems(read_settings("test", tmp_path)) == []
