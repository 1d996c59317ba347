"""`replicate diff` against what runs, as `replicate import` reads it: what deploying the stack instead would change."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.commands.app import app
from kafka_replication.infra.onboard.importing.deployment_changes import changes_of_imports
from kafka_replication.infra.onboard.importing.reading import read_objects
from kafka_replication.infra.onboard.importing.topologies import imported_topologies
from tests.infra.onboard.importing.resources import CASES, edited
from tests.infra.readmes import shown

SEVERAL_OR_WRONG = {
    *("both-directions-in-one", "dedicated-mirrormaker", "image-built-by-the-operator", "leftovers-of-older-apis"),
    *("one-alias-for-two-clusters", "one-worker-group-for-two", "other-connectors", "two-flows-on-one-connect"),
}
#: Those of which the import makes one stack without an error. Without its workers, an answer of Connect is a part of
#: what the stack replaces.
COMPARABLE = [file for file in CASES if file.stem not in {*SEVERAL_OR_WRONG, "rest-without-workers"}]
MIRROR = shown("metadata: {name: mm2,")
OTHER = (
    MIRROR.replace("name: mm2,", "name: other,")
    .replace("mirrormaker2-cluster", "other")
    .replace("orders,payments-.*", "logs")
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that was imported from `running.yaml`, and is the working directory."""
    (tmp_path / "running.yaml").write_text(MIRROR)
    imported = CliRunner().invoke(app, ["import", str(tmp_path / "running.yaml"), "--out", str(tmp_path / "mirrors")])
    assert imported.exit_code == 0, imported.output
    monkeypatch.chdir(tmp_path / "mirrors")
    return tmp_path / "mirrors"


def diff(*arguments: str, text: str | None = None) -> tuple[int, dict[str, Any]]:
    answer = CliRunner().invoke(app, ["diff", "--json", *arguments], input=text)
    if isinstance(answer.exception, CannotRunError):
        raise answer.exception
    (stack,) = json.loads(answer.output)["stacks"]
    return answer.exit_code, stack


def edit(project: Path, old: str, new: str) -> None:
    topology = project / "stacks" / "topologies" / "prod.yaml"
    assert old in topology.read_text()
    topology.write_text(topology.read_text().replace(old, new))


@pytest.mark.parametrize("file", COMPARABLE, ids=[file.stem for file in COMPARABLE])
def test_an_imported_project_changes_what_the_import_said(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = read_objects([str(file)], "default")
    (topology,), _ = imported_topologies(read, None, "imported")
    CliRunner().invoke(app, ["import", str(file), "--out", str(tmp_path / "mirrors")])
    monkeypatch.chdir(tmp_path / "mirrors")
    _, stack = diff("prod", "--against", str(file))
    said = [effect for change in changes_of_imports(topology, read.of("ConfigMap")) for effect in change.effects]
    assert sorted((effect["code"], effect["what"]) for effect in stack["effects"]) == sorted(
        (effect.code, effect.what) for effect in said
    )


def test_a_topic_that_the_stack_no_longer_selects_is_a_data_effect_at_its_line(project: Path) -> None:
    edit(project, "    - payments-.*\n", "")
    code, stack = diff("prod", "--against", "../running.yaml", "--fail-on", "data")
    assert code == 1
    worst = stack["effects"][0]
    assert (worst["severity"], worst["code"]) == ("data", "topics-stop")
    assert worst["place"].startswith("stacks/topologies/prod.yaml:")


@pytest.mark.usefixtures("project")
def test_what_the_stack_does_not_declare_keeps_running_and_is_named() -> None:
    _, stack = diff("--against", "-", text=f"{MIRROR}---\n{OTHER}")
    assert stack["against"] == "standard input"
    assert "deploying it leaves them running: KafkaMirrorMaker2 kafka/other." in stack["notAsked"]
    assert {effect["severity"] for effect in stack["effects"]} == {"restart"}


@pytest.mark.usefixtures("project")
def test_several_files_are_read_together(tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text(OTHER)
    _, stack = diff("--against", "../running.yaml", "--against", "../other.yaml")
    assert "KafkaMirrorMaker2 kafka/other" in stack["notAsked"]


@pytest.mark.usefixtures("project")
def test_what_does_not_run_yet_is_added() -> None:
    _, stack = diff("--against", "-", text=OTHER)
    assert ("added", "KafkaMirrorMaker2", "mm2") in {
        (change["change"], change["kind"], change["name"]) for change in stack["objects"]
    }


@pytest.mark.usefixtures("project")
def test_a_credential_in_the_input_is_not_printed() -> None:
    secret = "{sync.topic.acls.enabled: false, ssl.key.password: hunter2, producer.override.sasl.jaas.config: hunter2}"
    _, stack = diff("--against", "-", text=edited(MIRROR, ("{sync.topic.acls.enabled: false}", secret)))
    assert "plain-text-credential" in stack["notAsked"]
    assert "hunter2" not in json.dumps(stack)


@pytest.mark.usefixtures("project")
def test_a_value_without_a_rule_is_counted_as_not_judged() -> None:
    text = edited(MIRROR, ("replicas: 1", "replicas: 1\n  jvmOptions: {-Xmx: 3g}"))
    answer = CliRunner().invoke(app, ["diff", "--against", "-"], input=text)
    assert "restart known, 1 change not judged" in " ".join(answer.output.split())


def test_a_dedicated_mirror_maker_is_compared_with_the_replication_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ("clusters = east, west", "east.bootstrap.servers = east:9092", "west.bootstrap.servers = west:9092")
    text = "\n".join((*lines, "east->west.enabled = true", "east->west.topics = orders", "east->west.groups = app"))
    (tmp_path / "mm2.properties").write_text(text)
    CliRunner().invoke(app, ["import", str(tmp_path / "mm2.properties"), "--out", str(tmp_path / "mirrors")])
    monkeypatch.chdir(tmp_path / "mirrors")
    edit(tmp_path / "mirrors", "- orders", "- returns")
    _, stack = diff("--against", "../mm2.properties")
    assert "topics-stop" in {effect["code"] for effect in stack["effects"]}


@pytest.mark.usefixtures("project")
def test_a_folder_of_a_kustomization_is_refused_with_the_command_that_prints_it(tmp_path: Path) -> None:
    (tmp_path / "kustomized").mkdir()
    (tmp_path / "kustomized" / "mm2.yaml").write_text(MIRROR)
    (tmp_path / "kustomized" / "kustomization.yaml").write_text("resources: [mm2.yaml]\nnamePrefix: prod-\n")
    with pytest.raises(CannotRunError, match=r"kustomize build \.\./kustomized"):
        diff("--against", "../kustomized")


@pytest.mark.usefixtures("project")
def test_a_folder_without_anything_to_compare_with_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(CannotRunError, match="nothing-to-compare-with"):
        diff("--against", "../empty")


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("changed", "twice"),
    [
        pytest.param([], True, id="the same topics"),
        pytest.param([("orders,payments-.*", "logs")], False, id="other topics"),
        pytest.param([("kafka.useast", "kafka.eunorth")], False, id="another source"),
    ],
)
def test_what_keeps_running_under_another_name_replicates_twice(changed: list[tuple[str, str]], twice: bool) -> None:
    text = edited(MIRROR.replace("mirrormaker2-cluster", "other"), ("name: mm2,", "name: other,"), *changed)
    code, stack = diff("prod", "--against", "-", "--fail-on", "data", text=text)
    assert code == int(twice)
    what = "KafkaMirrorMaker2 kafka/other keeps running between the same clusters, and each record of a topic that both"
    found = [effect["what"] for effect in stack["effects"] if effect["code"] == "runs-beside"]
    assert found == ([f"{what} select is written twice"] if twice else [])


@pytest.mark.usefixtures("project")
def test_what_keeps_running_and_cannot_be_compared_is_named() -> None:
    _, stack = diff("--against", "-", text=f"{MIRROR}---\n{edited(OTHER, ('replicas: 1', 'replicas: 0'))}")
    assert stack["notAsked"].endswith("written twice is unknown for KafkaMirrorMaker2 kafka/other.")


CONNECT = """
apiVersion: kafka.strimzi.io/v1
kind: KafkaConnect
metadata: {name: mirror, namespace: kafka, annotations: {strimzi.io/use-connector-resources: "true"}}
spec:
  version: 4.2.0
  replicas: 2
  bootstrapServers: kafka.uswest.example.com:9092
  groupId: mirror
  configStorageTopic: mirror-configs
  offsetStorageTopic: mirror-offsets
  statusStorageTopic: mirror-status
  config:
    key.converter: org.apache.kafka.connect.converters.ByteArrayConverter
    value.converter: org.apache.kafka.connect.converters.ByteArrayConverter
"""
WORKERS = """
bootstrap.servers=kafka.uswest.example.com:9092
group.id=mirror
config.storage.topic=mirror-configs
offset.storage.topic=mirror-offsets
status.storage.topic=mirror-status
key.converter=org.apache.kafka.connect.converters.ByteArrayConverter
value.converter=org.apache.kafka.connect.converters.ByteArrayConverter
"""
CLASSES = {"mirror-source": "MirrorSourceConnector", "mirror-checkpoint": "MirrorCheckpointConnector"}


def connectors(**changed: str) -> dict[str, dict[str, str]]:
    """Return the configuration of the connectors of one flow, by their names."""
    ends = {
        **{"source.cluster.alias": "useast", "source.cluster.bootstrap.servers": "kafka.useast.example.com:9092"},
        **{"target.cluster.alias": "uswest", "target.cluster.bootstrap.servers": "kafka.uswest.example.com:9092"},
    }
    return {
        "mirror-source": {**ends, "topics": "orders,payments", **changed},
        "mirror-checkpoint": {**ends, "topics": "orders,payments", "groups": "checkout", **changed},
    }


def as_objects(configs: dict[str, dict[str, str]]) -> str:
    bodies = [
        {
            "apiVersion": "kafka.strimzi.io/v1",
            "kind": "KafkaConnector",
            "metadata": {"name": name, "namespace": "kafka", "labels": {"strimzi.io/cluster": "mirror"}},
            "spec": {"class": f"org.apache.kafka.connect.mirror.{CLASSES[name]}", "config": config},
        }
        for name, config in configs.items()
    ]
    return "\n---\n".join(map(json.dumps, bodies))


def as_answer(configs: dict[str, dict[str, str]]) -> str:
    of_class = {name: {"connector.class": f"org.apache.kafka.connect.mirror.{CLASSES[name]}"} for name in configs}
    return json.dumps(
        {
            name: {"info": {"config": of_class[name] | config}, "status": {"connector": {"state": "RUNNING"}}}
            for name, config in configs.items()
        }
    )


#: What a committed file may lack of what runs.
FORMS: dict[str, Callable[[str], str]] = {
    "as it runs": lambda text: text,
    "without namespaces": lambda text: text.replace(", namespace: kafka", "").replace(', "namespace": "kafka"', ""),
    "without the annotation": lambda text: text.replace(
        ', annotations: {strimzi.io/use-connector-resources: "true"}', ""
    ),
}


@pytest.fixture
def flow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one flow, imported from a KafkaConnect and its connectors, and renamed; the working directory."""
    (tmp_path / "running.yaml").write_text(f"{CONNECT}---\n{as_objects(connectors())}")
    CliRunner().invoke(app, ["import", str(tmp_path / "running.yaml"), "--out", str(tmp_path / "mirrors")])
    monkeypatch.chdir(tmp_path / "mirrors")
    edit(tmp_path / "mirrors", "\n  mirror:\n", "\n  orders-flow:\n")
    edit(tmp_path / "mirrors", "\n    connect:\n", "\n    connect:\n      name: mirror\n")
    return tmp_path / "mirrors"


def told(stack: dict[str, Any]) -> list[tuple[str, str]]:
    return [(effect["code"], effect["what"]) for effect in stack["effects"]]


@pytest.mark.usefixtures("flow")
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("source", ["useast", "east"])
def test_a_connector_has_the_same_effects_in_every_form(
    form: Callable[[str], str], source: str, tmp_path: Path
) -> None:
    """A form that is compared with nothing would call what stays added, and what runs a second replication."""
    (tmp_path / "connect.yaml").write_text(form(CONNECT))
    configs = connectors(**{"source.cluster.alias": source})
    _, running = diff("--against", "-", text=f"{CONNECT}---\n{as_objects(configs)}")
    _, objects = diff("--against", "-", text=f"{form(CONNECT)}---\n{form(as_objects(configs))}")
    _, answer = diff("--against", "../connect.yaml", "--against", "-", text=as_answer(configs))
    assert told(objects) == told(answer) == told(running)
    assert [change["change"] for change in running["objects"]] == ["changed"] * (1 if source == "useast" else 3)


@pytest.mark.usefixtures("flow")
def test_sources_without_namespaces_get_the_stacks_and_the_comparison_says_so() -> None:
    bare = FORMS["without namespaces"]
    _, stack = diff("--against", "-", text=f"{bare(CONNECT)}---\n{bare(as_objects(connectors()))}")
    assert (
        "These have no `metadata.namespace`, so the stack's is assumed: KafkaConnect kafka/mirror, "
        "KafkaConnector kafka/mirror-source, KafkaConnector kafka/mirror-checkpoint."
    ) in stack["notAsked"]


@pytest.mark.usefixtures("flow")
def test_that_the_operator_ignores_connectors_is_not_a_part_that_was_not_compared() -> None:
    ignored = FORMS["without the annotation"](CONNECT)
    _, stack = diff("--against", "-", text=f"{ignored}---\n{as_objects(connectors())}")
    assert "could not be compared" not in stack["notAsked"]
    assert stack["notAsked"].endswith("`strimzi.io/use-connector-resources` is not `true`: KafkaConnect kafka/mirror.")


ONLY_SOURCE = {"mirror-source": connectors()["mirror-source"]}


@pytest.mark.usefixtures("flow")
@pytest.mark.parametrize(
    ("part", "lacking"),
    [
        pytest.param(as_answer(connectors()), ["KafkaConnect kafka/mirror"], id="an answer of Connect"),
        pytest.param(as_objects(connectors()), ["KafkaConnect kafka/mirror"], id="connectors without their workers"),
        pytest.param(
            as_objects(ONLY_SOURCE),
            ["KafkaConnect kafka/mirror", "KafkaConnector kafka/mirror-checkpoint"],
            id="one connector",
        ),
        pytest.param(
            json.dumps({"name": "mirror-source", **json.loads(as_answer(ONLY_SOURCE))["mirror-source"]["info"]}),
            ["KafkaConnect kafka/mirror", "KafkaConnector kafka/mirror-checkpoint"],
            id="an answer on one connector",
        ),
    ],
)
def test_what_a_part_lacks_is_neither_added_nor_judged(part: str, lacking: list[str]) -> None:
    _, stack = diff("--against", "-", text=part)
    assert (stack["effects"], stack["objects"]) == ([], [])
    assert (
        f"and not compared: {', '.join(lacking)}. If their worker group is another, every record is copied again."
        in stack["notAsked"]
    )
    assert "none known, 1 change not judged" in CliRunner().invoke(app, ["diff", "--against", "-"], input=part).output
    changed = part.replace("orders,payments", "orders")
    assert "topics-start" in {code for code, _ in told(diff("--against", "-", text=changed)[1])}


@pytest.mark.usefixtures("flow")
def test_the_properties_of_workers_are_compared_with_those_that_have_the_same_connectors(tmp_path: Path) -> None:
    (tmp_path / "workers.properties").write_text(WORKERS)
    _, stack = diff("--against", "../workers.properties", "--against", "-", text=as_answer(connectors()))
    assert {code for code, _ in told(stack)} == {"connect-rolls"}
    assert [(change["change"], change["kind"]) for change in stack["objects"]] == [("changed", "KafkaConnect")]


@pytest.mark.usefixtures("project")
def test_connectors_of_a_mirror_maker_that_was_not_read_are_not_judged() -> None:
    name = "useast->uswest.MirrorSourceConnector"
    config = {"connector.class": f"org.apache.kafka.connect.mirror.{name.rpartition('.')[2]}", "topics": "other"}
    answer = CliRunner().invoke(app, ["diff", "--against", "-"], input=json.dumps({"name": name, "config": config}))
    assert "none known, 1 change not judged" in answer.output
    assert "and not compared: KafkaMirrorMaker2 kafka/mm2." in " ".join(answer.output.split())


@pytest.mark.usefixtures("flow")
def test_connectors_of_other_names_keep_running_and_are_not_what_the_stack_replaces() -> None:
    _, stack = diff("--against", "-", text=as_answer(connectors()).replace('"mirror-', '"other-'))
    assert [code for code, _ in told(stack)] == ["runs-beside", "replication-added"]
