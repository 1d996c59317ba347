"""`replicate import` as users see it: the README's example, and sources that hold nothing to import."""

from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from kafka_replication.components.topology.clusters import ScramAuthentication
from kafka_replication.infra.commands.app import app
from kafka_replication.infra.stack.settings import read_settings
from kafka_replication.infra.stack.stack_checks import problems
from kafka_replication.infra.validate import run as validation
from kafka_replication.infra.validate.run import ValidationRun
from tests.infra.readmes import shown

RESOURCE = shown("metadata: {name: mm2,")
SHOWN = shown("Not taken over: 1 thing")


def run(folder: Path, *arguments: str, text: str | None = None) -> tuple[int, str]:
    """Exit code and output, wrapped as the terminal of the tests wraps it."""
    result = CliRunner().invoke(app, ["import", *arguments, "--out", str(folder)], input=text)
    error = "" if result.exception is None or isinstance(result.exception, SystemExit) else str(result.exception)
    return result.exit_code, result.output + error


def unfolded(text: str) -> str:
    return " ".join(text.split())


def test_the_example_of_the_readme_prints_what_the_readme_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "running.yaml").write_text(RESOURCE)
    code, output = run(Path("mirrors"), "running.yaml")
    assert code == 0
    assert unfolded(output).endswith(unfolded(SHOWN))
    assert problems(read_settings("prod", tmp_path / "mirrors" / "stacks")) == []


def test_a_folder_and_standard_input_lead_to_the_same_topology(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder" / "below").mkdir(parents=True)
    (tmp_path / "folder" / "below" / "mm2.yml").write_text(RESOURCE)
    assert run(Path("a"), "folder")[0] == 0
    assert run(Path("b"), "-", text=RESOURCE)[0] == 0
    topologies = [(tmp_path / name / "stacks/topologies/prod.yaml").read_text() for name in "ab"]
    assert topologies[0] == topologies[1]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(
            "kind: {{ .Values.kind }}\n",
            ("print it first with the tool that fills it in, such as `helm template`"),
            id="a template",
        ),
        pytest.param("a: [\n", "The file is not YAML", id="not YAML"),
        pytest.param(
            "", "no KafkaMirrorMaker2, no mirror connector and no `mm2.properties` was found", id="an empty file"
        ),
        pytest.param("kind: Service\nmetadata: {name: a}\n", "It is not part of a replication", id="another object"),
    ],
)
def test_a_source_without_a_mirror_maker_is_refused(tmp_path: Path, content: str, words: str) -> None:
    (tmp_path / "read.yaml").write_text(content)
    code, output = run(tmp_path / "out", str(tmp_path / "read.yaml"))
    assert code != 0
    assert words in unfolded(output)
    assert not (tmp_path / "out").exists()


def test_an_output_folder_with_files_is_refused_and_left_unchanged(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("")
    code, output = run(tmp_path, "-", text=RESOURCE)
    assert code != 0
    assert "folder-not-empty" in output
    assert [each.name for each in tmp_path.iterdir()] == ["kept"]


def test_a_field_of_the_wrong_type_is_left_out_and_named(tmp_path: Path) -> None:
    (tmp_path / "read.yaml").write_text(RESOURCE.replace("replicas: 1", "replicas: [1]"))
    code, output = run(tmp_path / "out", str(tmp_path / "read.yaml"))
    assert code == 1
    assert "wrong-form: " in output
    assert "spec.replicas. It is not a whole number" in unfolded(output)


def test_a_resource_without_a_required_field_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "read.yaml").write_text(RESOURCE.replace("bootstrapServers: kafka.uswest.example.com:9092", ""))
    code, output = run(tmp_path / "out", str(tmp_path / "read.yaml"))
    assert code != 0
    assert "field-missing" in output


@pytest.fixture
def validated(monkeypatch: pytest.MonkeyPatch) -> list[ValidationRun]:
    """The validations that were started, with a fake instead of Spark; each exits with 1."""
    runs: list[ValidationRun] = []

    def run_validation(run: ValidationRun, _: Console) -> int:
        assert run.document()["flows"], "the job gets what it validates"
        runs.append(run)
        return 1

    monkeypatch.setattr(validation, "run_validation", run_validation)
    return runs


def test_one_command_imports_standard_input_and_validates_it(tmp_path: Path, validated: list[ValidationRun]) -> None:
    """Nothing is deployed yet, so the validation takes the flows that the new project declares."""
    out = tmp_path / "mirrors"
    code, output = run(out, "-", "--validate", "--context", "west", text=RESOURCE)
    (started,) = validated
    assert (code, started.declared, started.publish, started.report) == (1, True, False, out / "report-prod.json")
    assert (started.settings.stacks, started.settings.context) == (out / "stacks", "west")
    assert "Validation of what runs; the report is" in output


def test_nothing_is_validated_without_the_option(tmp_path: Path, validated: list[ValidationRun]) -> None:
    assert run(tmp_path / "mirrors", "-", text=RESOURCE)[0] == 0
    assert validated == []


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        pytest.param(
            "mm2.yaml",
            RESOURCE.replace("topicsPattern: orders,payments-.*", "topicsPattern: '('"),
            "The topology that was imported has mistakes.",
            id="mistakes",
        ),
        pytest.param(
            "mm2.properties",
            "clusters = a, b\na.bootstrap.servers = a:9092\nb.bootstrap.servers = b:9092\n"
            "a->b.enabled = true\na->b.topics = orders\n",
            "and nothing runs under those names yet. Remedy: deploy the project, then run `replicate validate prod`.",
            id="a dedicated MirrorMaker",
        ),
    ],
)
def test_an_import_that_cannot_be_validated_says_why(
    tmp_path: Path, validated: list[ValidationRun], name: str, text: str, words: str
) -> None:
    (tmp_path / name).write_text(text)
    _, output = run(tmp_path / "mirrors", str(tmp_path / name), "--validate", "--strimzi", "1.2")
    assert words in unfolded(output)
    assert validated == []


LOGIN = "authentication: {type: scram-sha-512, username: validator, password: {secret: validator, key: password}}"


def test_the_validation_can_have_a_login_of_its_own(tmp_path: Path, validated: list[ValidationRun]) -> None:
    """Connectors need to write; a validation does not."""
    file = tmp_path / "logins.yaml"
    file.write_text(f"useast: {{{LOGIN}}}\nuswest: {{{LOGIN}}}\n")
    out = tmp_path / "mirrors"
    run(out, "-", "--validate", "--validation-login", str(file), "--context", "west", text=RESOURCE)
    (started,) = validated
    used = [cluster.validation for cluster in started.settings.topology.clusters.values()]
    logins = [each.authentication for each in used if each is not None]
    assert [login.username for login in logins if isinstance(login, ScramAuthentication)] == ["validator"] * 2
    assert "validator" in str(started.document())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "no-such-file"),
        ("", "validation-login-form: it is not a mapping"),
        ("- useast", "validation-login-form: it is not a mapping"),
        ("useast: hunter2", "validation-login-form: `useast`: "),
        (f"useast: {{{LOGIN.replace('{secret: validator, key: password}', 'hunter2')}}}", "scram-sha-512.password"),
        (f"useast: {{{LOGIN.replace('username', 'user')}, }}", "scram-sha-512.username`: missing"),
        (f"nowhere: {{{LOGIN}}}", "unknown-alias: no cluster has the alias `nowhere`"),
    ],
    ids=["no file", "empty", "list", "text", "a password in it", "misspelt", "unknown alias"],
)
def test_an_invalid_validation_login_is_refused_before_anything_is_written(
    tmp_path: Path, text: str | None, words: str
) -> None:
    file = tmp_path / "logins.yaml"
    if text is not None:
        file.write_text(text)
    code, output = run(tmp_path / "mirrors", "-", "--validation-login", str(file), text=RESOURCE)
    assert code != 0
    assert words in unfolded(output)
    assert "hunter2" not in output
    assert not (tmp_path / "mirrors").exists()
