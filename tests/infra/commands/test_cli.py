"""The command line as a user meets it: exit codes, JSON, and files that are kept current."""

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.topology.model import topology_schema
from kafka_replication.infra.commands.app import app
from kafka_replication.infra.commands.local import next_lines
from kafka_replication.infra.local.parts.control_plane import KUBE_APISERVER
from kafka_replication.infra.local.stack import PartStatus
from kafka_replication.infra.stack.settings import stack_names
from tests.builders import a_cluster, a_flow, a_topology
from tests.commands import replicate
from tests.infra.stacks import write_stack
from tests.repository import ROOT, STACKS


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["list", "--json", "--csv"], "--csv: it cannot be given with `--json`"),
        (["reset", "--json"], "only `list` prints JSON or CSV"),
        (["plan", "nowhere.yaml"], "there is no file 'nowhere.yaml'"),
    ],
    ids=["two-forms", "json-for-a-verb-that-prints-none", "a-missing-file"],
)
def test_offsets_refuses_wrong_arguments_before_it_asks_a_cluster(words: list[str], said: str) -> None:
    answer = replicate("offsets", "prod-us-west-2", "orders", *words)
    assert answer.returncode == 2
    assert said in " ".join(answer.stderr.replace("│", "").split())


def test_a_file_that_cannot_be_written_is_reported_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    answer = replicate("schema", "--out", str(tmp_path / "file"))
    assert answer.returncode == 2
    assert f"file exists, at {tmp_path / 'file'}" in answer.stderr
    assert "Remedy:" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_schemas_are_written_to_a_folder_that_is_not_there_yet(tmp_path: Path) -> None:
    folder = tmp_path / "editor" / "schemas"
    answer = CliRunner().invoke(app, ["schema", "--out", str(folder)])
    names = ["promotion.schema.json", "stack.schema.json", "topology.schema.json"]
    assert (answer.exit_code, sorted(path.name for path in folder.iterdir())) == (0, names)


def test_the_version_is_printed_without_a_project(tmp_path: Path) -> None:
    answer = CliRunner().invoke(app, ["--project", str(tmp_path), "--version"])
    assert (answer.exit_code, answer.output) == (0, f"replicate {version('kafka-replication')}\n")


def test_the_status_of_the_local_stack_says_how_to_use_and_start_it(tmp_path: Path) -> None:
    parts = [part(KUBE_APISERVER.name), part("kafka-useast"), part("kafka-uswest", ready=False)]
    kubeconfig = tmp_path / "admin.kubeconfig"
    assert next_lines(parts, kubeconfig) == [
        "replicate local up    # starts kafka-uswest; keeps what runs",
        f"export KUBECONFIG={kubeconfig}",
        "kubectl get kafkaconnectors --all-namespaces    # any Kubernetes client works",
    ]
    assert next_lines(parts[:2], kubeconfig) == next_lines(parts, kubeconfig)[1:]
    assert next_lines([part(KUBE_APISERVER.name, ready=False)], kubeconfig) == [
        f"replicate local up    # starts {KUBE_APISERVER.name}; keeps what runs"
    ]


def part(name: str, *, ready: bool = True) -> PartStatus:
    some = 1 if ready else None
    return PartStatus(name=name, running=ready, ready=ready, pid=some, ports=(), memory_bytes=some, log=None)


def test_diff_reports_every_stack_whose_cluster_cannot_be_reached(tmp_path: Path) -> None:
    stacks = ("prod-us-west-2", "prod-mirrormaker2-us-west-2")
    answer = replicate("diff", *stacks, "--against", "cluster", KUBECONFIG=str(tmp_path / "nowhere"))
    assert answer.returncode == 2
    said = [line.split(":")[0] for line in answer.stderr.splitlines()]
    assert said == ["✗ kubeconfig-unusable"] * 2


def test_status_refuses_history_together_with_watch() -> None:
    answer = replicate("status", "prod-us-west-2", "--history", "3", "--watch")
    assert answer.returncode == 2
    assert "history-watched: `--history` is given with `--watch`" in answer.stderr


def test_status_history_says_for_each_flow_why_it_could_not_be_read(tmp_path: Path) -> None:
    answer = replicate("status", "prod-us-west-2", "--history", "3", KUBECONFIG=str(tmp_path / "nowhere"))
    assert answer.returncode == 2
    said = answer.stdout.splitlines()
    assert said
    assert all(line.startswith("prod-us-west-2 ") and " could not be asked: " in line for line in said)


@pytest.fixture
def nothing_deployed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The state is empty: the tests are not logged in to a Pulumi backend."""
    monkeypatch.setattr("kafka_replication.infra.deploy.engine.deployment.known_objects", lambda _: frozenset())


@pytest.mark.usefixtures("nothing_deployed")
def test_destroy_without_a_terminal_says_to_add_yes() -> None:
    answer = replicate("destroy", "prod-us-west-2")
    assert answer.returncode == 2
    assert "add `--yes`" in answer.stderr


@pytest.mark.usefixtures("nothing_deployed")
def test_destroy_is_aborted_if_the_user_answers_no() -> None:
    answer = replicate("destroy", "prod-us-west-2", answer="n\n")
    assert (answer.returncode, answer.stderr) == (1, "Aborted.\n")


@pytest.mark.process
def test_check_works_with_an_encoding_that_lacks_the_check_mark() -> None:
    code = "from kafka_replication.infra.commands.app import main; main()"
    answer = subprocess.run(
        [sys.executable, "-c", code, "check", "prod-us-west-2"],
        cwd=ROOT,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (answer.returncode, answer.stdout) == (0, "\\u2713 prod-us-west-2: 0 errors, 0 warnings\n")


@pytest.mark.process
def test_a_closed_or_full_output_causes_no_traceback() -> None:
    for shell, code in ((">&-", 0), ("> /dev/full", 2)):
        program = "from kafka_replication.infra.commands.app import main; main()"
        command = f"{sys.executable} -c '{program}' check prod-us-west-2 {shell}"
        answer = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False)
        assert (answer.returncode, "Traceback" in answer.stderr) == (code, False), answer.stderr


def test_the_stacks_of_this_repository_have_no_problem() -> None:
    answer = replicate("check", "--json")
    assert answer.returncode == 0
    assert json.loads(answer.stdout) == {stack: [] for stack in stack_names(STACKS)}


def test_an_unknown_stack_cannot_be_checked() -> None:
    answer = replicate("check", "nowhere")
    assert answer.returncode == 2
    assert "Stacks are:" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_check_without_any_stack_is_an_error(tmp_path: Path) -> None:
    """Otherwise a pipeline in the wrong folder would pass."""
    answer = CliRunner().invoke(app, ["check", "--stacks", str(tmp_path)])
    assert isinstance(answer.exception, CannotRunError)
    assert answer.exception.what == "there is no stack"


@pytest.mark.process
def test_touched_refuses_a_folder_instead_of_a_git_ref() -> None:
    answer = replicate("touched", "--against", "stacks")
    assert answer.returncode == 2
    assert "`stacks` is not a git ref" in answer.stderr
    assert "folder" not in answer.stderr


def test_rendering_needs_no_cluster_and_no_engine(tmp_path: Path) -> None:
    answer = replicate("render", "prod-us-west-2", "--out", str(tmp_path / "out"))
    assert answer.returncode == 0, answer.stderr
    assert (tmp_path / "out" / "orders" / "connect.yaml").is_file()


def test_output_to_a_pipe_has_no_colour() -> None:
    assert "\x1b" not in replicate("check").stdout


def test_a_table_in_a_pipe_does_not_break_names_over_lines() -> None:
    """A search in a file or a pipe does not find a topic whose name continues on the next line."""
    lines = replicate("acls", "prod-us-west-2").stdout.splitlines()
    assert any(" mm2-offset-syncs.uswest.internal " in line for line in lines)


def test_the_schema_for_editors_is_current() -> None:
    assert (STACKS / "topology.schema.json").read_text() == topology_schema(), "run `make schema`"


@pytest.mark.parametrize("file", sorted((STACKS / "topologies").glob("*.yaml")), ids=lambda file: file.stem)
def test_every_topology_names_the_schema_for_editors(file: Path) -> None:
    assert file.read_text().startswith("# yaml-language-server: $schema=../topology.schema.json\n")


def test_a_mistake_that_several_stacks_share_is_reported_once_with_its_line(tmp_path: Path) -> None:
    write_stack(tmp_path, a_topology(a_flow(target="useast"), strimzi="1.2"))
    (tmp_path / "Pulumi.other.yaml").write_text("config: {replication:topology: test, replication:sharesWith: test}")
    (tmp_path / "Pulumi.broken.yaml").write_text("config:\n\treplication:topology: test\n")
    answer = replicate("check", "--stacks", str(tmp_path))
    assert answer.returncode == 1
    assert answer.stdout.replace(f"{tmp_path}/", "").splitlines() == [
        "Pulumi.broken.yaml:2:1: error invalid-yaml: the line is indented with a tab, at Pulumi.broken.yaml. YAML "
        "accepts only spaces there. Remedy: replace the tab with spaces.",
        "    2 |         replication:topology: test",
        "      | ^",
        "topologies/test.yaml:34:5: error equal-aliases: source and target are both `useast`, at "
        "replications.orders.target. Such a flow would only copy topics within one cluster. With the identity policy, "
        "it would replicate its own records endlessly. Remedy: name another cluster's alias.",
        "   34 |     target: useast",
        "      |     ^",
        "✗ broken: 1 error, 0 warnings",
        "✗ other: 1 error, 0 warnings",
        "✗ test: 1 error, 0 warnings",
        "`replicate explain CODE` shows what a code means, with an example.",
    ]


def test_a_problem_in_json_has_its_file_line_and_column(tmp_path: Path) -> None:
    write_stack(tmp_path, a_topology(a_flow(target="useast")))
    (problem,) = json.loads(replicate("check", "--stacks", str(tmp_path), "--json").stdout)["test"]
    assert (problem["file"], problem["line"], problem["column"]) == (str(tmp_path / "topologies/test.yaml"), 34, 5)


def test_all_missing_configuration_keys_are_reported_at_once(tmp_path: Path) -> None:
    """They are reported together with the problems of the topology."""
    login = {"type": "plain", "username": "mirror", "password": {"config": "eastPassword"}}
    clusters = {
        "useast": a_cluster(bootstrapServers={"config": "east"}, authentication=login),
        "uswest": a_cluster("us-west-2", bootstrapServers={"config": "west"}),
    }
    write_stack(tmp_path, a_topology(a_flow(groups=[]), clusters=clusters))
    said = json.loads(replicate("check", "--stacks", str(tmp_path), "--json").stdout)["test"]
    assert [(each["code"], each["remedy"]) for each in said] == [
        ("missing-config", "run `pulumi config set --stack test replication:east VALUE`."),
        ("missing-config", "run `pulumi config set --stack test --secret replication:eastPassword VALUE`."),
        ("missing-config", "run `pulumi config set --stack test replication:west VALUE`."),
        ("no-groups", said[-1]["remedy"]),
    ]


def test_a_typo_does_not_hide_other_mistakes(tmp_path: Path) -> None:
    topology = a_topology(a_flow(target="useast", offsetSync={"lagMax": 3}))
    topology["clusters"]["useast"]["bootstrapServers"] = {"config": "east"}
    write_stack(tmp_path, topology, regoin="us-east-1")
    said = json.loads(replicate("check", "--stacks", str(tmp_path), "--json").stdout)["test"]
    assert [(each["code"], each["where"]) for each in said] == [
        ("missing-config", "config.replication:east"),
        ("unknown-key", "config.replication:regoin"),
        ("unknown-key", "replications.orders.offsetSync"),
        ("equal-aliases", "replications.orders.target"),
    ]
