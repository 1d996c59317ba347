"""What the READMEs show works: topologies, programs, commands with their output, and paths."""

import os
import re
import subprocess
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import typer
import yaml
from typer.core import TyperGroup

from kafka_replication.components.checks import check_topology
from kafka_replication.components.contract.problems import Problem
from kafka_replication.components.topology.model import Topology
from kafka_replication.components.topology.parsing import parse_model, parse_topology
from kafka_replication.infra.commands.app import app
from kafka_replication.infra.deploy.promotion.rule.plan import PromotionPlan, check_plan
from kafka_replication.infra.operate.offsets.file import OffsetsFile, entries
from kafka_replication.infra.operate.switch.file import SwitchFile
from kafka_replication.infra.stack.settings import read_settings, stack_names
from kafka_replication.infra.stack.stack_checks import problems
from kafka_replication.spark.arguments import parser as job_arguments
from tests.components.recorder import record
from tests.infra.readmes import ABOUT, GENERATED, READMES, Block, Command, Readme
from tests.repository import ROOT, STACKS
from tests.test_structure import imports_of

LANGUAGES = {"yaml", "python", "typescript", "console", "text"}
BLOCKS = [block for readme in [*READMES, *ABOUT] for block in readme.blocks()]
COMMANDS = [command for readme in [*READMES, *ABOUT] for command in readme.commands()]
#: Programs that the console blocks call beside `replicate`, `make` and Python.
OTHER_PROGRAMS = {
    *("bash", "cd", "cosign", "docker", "gh", "git", "kubectl", "mvn", "pip", "pulumi", "rm", "sha256sum", "source"),
}
#: Commands that read the stack files alone: their output is compared.
READ_ONLY = {"check", "explain", "environments"}
LINES_OF_THE_FIRST_PAGE = 150
LINES_OF_A_PAGE = 300
#: Marks a path in a code span that is a placeholder and not a name.
_PLACEHOLDER = re.compile(r"[<>…*{}]|\b[A-Z]{3,}\b")

each_readme = pytest.mark.parametrize("readme", [*READMES, *ABOUT], ids=lambda readme: readme.name)


def of_language(language: str) -> pytest.MarkDecorator:
    blocks = [block for block in BLOCKS if block.language == language]
    return pytest.mark.parametrize("block", blocks, ids=[block.place for block in blocks])


def an_example(**given: Any) -> Topology:
    """The example topology with a third cluster; what a README shows replaces the example's own keys."""
    base = yaml.safe_load((STACKS / "topologies" / "prod.yaml").read_text())
    central = {"region": "eu-central-1", "bootstrapServers": "kafka.eucentral.example.com:9093"}
    clusters = {**base["clusters"], "eucentral": {**base["clusters"]["useast"], **central}}
    for alias, cluster in given.get("clusters", {}).items():
        clusters[alias] = {**clusters[alias], **cluster}
    return parse_topology({**base, **given, "clusters": clusters})


def stack_problems(document: dict[str, Any], folder: Path) -> list[Problem]:
    (folder / "topologies").mkdir()
    (folder / "topologies" / "prod.yaml").write_text((STACKS / "topologies" / "prod.yaml").read_text())
    (folder / "Pulumi.shown.yaml").write_text(yaml.safe_dump(document))
    return problems(read_settings("shown", folder))


def yaml_problems(document: Any, folder: Path) -> list[Problem]:
    """Problems in what a block shows. Its keys tell a topology or a part of one, a stack file and a plan apart."""
    match document:
        case [{"topic": _}, *_]:
            return entries(OffsetsFile("offsets.yaml", yaml.safe_dump(document)))[1]
        case {"apiVersion": _, "kind": _, "metadata": _}:
            return []
        case {"environments": _}:
            plan = parse_model(PromotionPlan, document)
            stacks = [stack for environment in plan.environments for wave in environment.waves for stack in wave.stacks]
            return list(check_plan(plan, stacks))
        case {"workloads": _}:
            parse_model(SwitchFile, document)
            return []
        case {"config": _}:
            return stack_problems(document, folder)
        case {"runtime": "yaml", "resources": _}:
            # A Pulumi program, which tests/components/provider/test_host.py runs.
            return []
    assert document.keys() <= {"strimzi", "clusters", "replications", "monitoring"}, (
        "it is none of what a README may show"
    )
    return list(check_topology(an_example(**document)))


@each_readme
def test_a_block_has_a_language_that_a_test_reads(readme: Readme) -> None:
    assert {block.language for block in readme.blocks()} <= LANGUAGES
    assert "\n    $ " not in readme.prose, "an indented block is read by no test: fence it"


@of_language("yaml")
def test_a_yaml_block_has_no_problem(block: Block, tmp_path: Path) -> None:
    assert [str(problem) for problem in yaml_problems(yaml.safe_load(block.text), tmp_path)] == []


@of_language("python")
def test_a_python_block_runs_as_a_pulumi_program(block: Block) -> None:
    code = compile(block.text, block.place, "exec")
    record(lambda: exec(code, {"__name__": "shown"}))


def test_the_program_of_a_user_registers_a_flow() -> None:
    """The test above would also pass if the component registered nothing."""
    (block,) = [block for block in BLOCKS if "ReplicationFlow(" in block.text]
    recorder = record(lambda: exec(block.text, {"__name__": "shown"}))
    assert recorder.named("orders").token == "replication:kafka:Flow"
    assert recorder.named("orders-source-connector").parent == recorder.named("orders").urn


def test_the_example_check_reports_a_single_worker() -> None:
    (block,) = [block for block in BLOCKS if "def check_worker_count" in block.text]
    shown: dict[str, Any] = {}
    exec(block.text, shown)
    flow = {"kind": "flow", "source": "useast", "target": "uswest", "topics": ["orders"], "connect": {"replicas": 1}}
    (problem,) = shown["check_worker_count"](an_example(replications={"orders": flow}))
    assert problem.code == "single-worker"


def subcommand(group: TyperGroup, words: list[str]) -> Any:
    """The command of a group that the words call, the words after it, and the context to call it in."""
    at = next((index for index, word in enumerate(words) if word in group.commands), None)
    assert at is not None, f"no command of {sorted(group.commands)} is in `{' '.join(words)}`"
    context = group.make_context("replicate", words[: at + 1])
    _, command, rest = group.resolve_command(context, words[at:])
    return command, rest, context


REPLICATE = typer.main.get_command(app)


def replicate_takes(command: Command) -> None:
    """Fail if `replicate` refuses the command line; a mention in prose may leave out arguments."""
    current: Any = REPLICATE
    words, context = list(command.words[1:]), None
    while isinstance(current, TyperGroup):
        current, words, context = subcommand(current, words)
    try:
        current.make_context("replicate", words, parent=context)
    except typer.BadParameter as error:
        if command.whole or type(error).__name__ != "MissingParameter":
            raise


def test_the_makefile_has_every_target_that_a_readme_names() -> None:
    known = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    called = [command for command in COMMANDS if command.words[0] == "make"]
    assert called
    for command in called:
        targets = {word for word in command.words[1:] if "=" not in word and not word.startswith("-")}
        assert targets <= known, command


@pytest.mark.parametrize("command", [each for each in COMMANDS if each.words[0] == "replicate"], ids=str)
def test_replicate_accepts_every_command_line_of_a_readme(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The options that name a project look for it, and note where its local stack is."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("REPLICATE_LOCAL", str(tmp_path))
    replicate_takes(command)


@pytest.mark.parametrize("command", [each for each in COMMANDS if each.words[0] not in {"replicate", "make"}], ids=str)
def test_every_other_command_calls_a_known_program_and_existing_files(command: Command) -> None:
    program = Path(command.words[0]).name
    assert program in OTHER_PROGRAMS | {"python", "pytest", "spark-submit", "replicate"}, command
    for word in command.words[1:]:
        if word.startswith(("tests/", "spark/", "infra/", "components/", "stacks/")):
            assert (ROOT / word.split("::")[0]).exists(), word
    for place, word in enumerate(command.words):
        if Path(word).name == "validate.py":
            job_arguments().parse_args(command.words[place + 1 :])
    if command.words[1:2] == ("-m",) and program == "python":
        module = command.words[2].replace(".", "/")
        assert command.words[2] in {"venv", "pip", "build"} or (ROOT / f"{module}.py").exists(), command


def replicate(command: Command, folder: Path) -> "subprocess.CompletedProcess[str]":
    code = "from kafka_replication.infra.commands.app import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *command.words[1:]],
        cwd=folder,
        env=os.environ | {"COLUMNS": "120"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.process
def test_a_new_project_can_be_checked_and_rendered_as_shown(tmp_path: Path) -> None:
    """Runs the commands of the first page in an empty folder, up to those that need a local stack or a cluster."""
    (init,) = [command for command in COMMANDS if command.whole and command.words[:2] == ("replicate", "init")]
    commands = [command for command in COMMANDS if command.place == init.place]
    folder, done = tmp_path, []
    for command in commands[commands.index(init) :]:
        if command.words[0] == "cd":
            folder /= command.words[1]
        elif command.words[1] in {"init", "check", "render"}:
            answer = replicate(command, folder)
            assert answer.returncode == 0, f"{command}: {answer.stdout}{answer.stderr}"
            done.append(command.words[1])
    assert done == ["init", "check", "render"]
    assert list((folder / "rendered").rglob("source-connector.yaml"))


@pytest.mark.process
@pytest.mark.parametrize(
    "command", [each for each in COMMANDS if each.output and each.words[1:2] and each.words[1] in READ_ONLY], ids=str
)
def test_a_read_only_command_prints_the_output_that_a_readme_shows(command: Command) -> None:
    answer = replicate(command, ROOT)
    printed = [line.rstrip() for line in answer.stdout.splitlines()]
    assert [line for line in command.output if line != "…" and line.rstrip() not in printed] == [], answer.stderr


@pytest.mark.parametrize("readme", [*READMES, *ABOUT, *GENERATED], ids=lambda readme: readme.name)
def test_a_link_leads_to_an_existing_file_and_heading(readme: Readme) -> None:
    anchors = {other.path: other.anchors() for other in [*READMES, *ABOUT, *GENERATED]}
    for target in readme.links():
        if target.startswith(("https://", "http://")):
            continue
        name, _, anchor = target.partition("#")
        path = (readme.path.parent / name).resolve() if name else readme.path
        assert path.exists(), target
        assert not anchor or anchor in anchors[path], target


@each_readme
def test_a_path_in_the_text_exists(readme: Readme) -> None:
    tops = {path.name for path in ROOT.iterdir()} - {".local", ".venv"}
    named = {span for span in readme.spans() if span.split("/")[0] in tops and not _PLACEHOLDER.search(span)}
    assert [span for span in sorted(named) if " " not in span and not (ROOT / span).exists()] == []


def walks() -> dict[str, list[str]]:
    """Files of each walk through the code, in order, by its heading."""
    text = (ROOT / "components" / "README.md").read_text()
    sections = re.findall(r"^## (From .+)$((?:.|\n)*?)(?=^## )", text, re.MULTILINE)
    return {title: re.findall(r"^\d+\. `([^`]+)`", body, re.MULTILINE) for title, body in sections}


@pytest.mark.parametrize("title", walks())
def test_a_walk_names_each_file_once_and_each_file_follows_from_an_earlier_one(title: str) -> None:
    """A file follows from an earlier one if either imports the other, or if the earlier one starts it by its path."""
    files = walks()[title]
    assert len(files) == len(set(files)) > 5
    imports = {file: imports_of(ROOT / file) for file in files}
    modules = {file: file.removesuffix(".py").replace("/", ".") for file in files}
    for position, file in enumerate(files[1:], start=1):
        earlier = files[:position]
        imported = any(modules[file] in imports[each] or modules[each] in imports[file] for each in earlier)
        started = any(f'"{Path(file).name}"' in (ROOT / each).read_text() for each in earlier)
        assert imported or started, f"{file} follows from none of {earlier}"


def test_every_file_of_the_walk_of_a_key_runs_when_a_flow_is_deployed() -> None:
    """The first file only declares the key: it has no function that runs."""
    files = walks()["From a topology key to a KafkaConnector field"]
    (block,) = [block for block in BLOCKS if "ReplicationFlow(" in block.text]
    ran: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            ran.add(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        record(lambda: exec(block.text, {"__name__": "shown"}))
        parse_topology(yaml.safe_load((STACKS / "topologies" / "prod.yaml").read_text()))
    finally:
        sys.setprofile(None)
    assert "lag_max" in (ROOT / files[0]).read_text()
    assert [file for file in files[1:] if str(ROOT / file) not in ran] == []


@each_readme
def test_a_page_is_short_enough_to_be_read(readme: Readme) -> None:
    assert len(readme.text.splitlines()) <= LINES_OF_A_PAGE


_LATER_PAGES = [*READMES[1:], *GENERATED]


@pytest.mark.parametrize("readme", _LATER_PAGES, ids=[readme.name for readme in _LATER_PAGES])
def test_a_page_begins_with_the_question_that_it_answers(readme: Readme) -> None:
    assert readme.text.splitlines()[2].startswith("**What do I do when ")


def test_the_first_page_is_short_and_shows_a_picture() -> None:
    first = next(readme for readme in READMES if readme.name == "README.md")
    assert len(first.text.splitlines()) <= LINES_OF_THE_FIRST_PAGE
    assert any(target.endswith(".svg") for target in first.links())


def command_names(command: Any, name: str) -> list[str]:
    if not isinstance(command, TyperGroup):
        return [name]
    return [
        each for verb in command.commands for each in command_names(subcommand(command, [verb])[0], f"{name} {verb}")
    ]


def test_the_first_page_names_every_command() -> None:
    first = next(readme for readme in READMES if readme.name == "README.md").text
    names = command_names(typer.main.get_command(app), "replicate")
    assert len(names) > 15
    assert [name for name in names if f"`{name}" not in first] == []


def test_every_stack_that_a_readme_names_exists() -> None:
    """`replicate check` is shown only for stacks of this repository."""
    for command in COMMANDS:
        if command.whole and command.words[:1] == ("replicate",) and command.words[1:2] == ("check",):
            assert {word for word in command.words[2:] if not word.startswith("-")} <= set(stack_names(STACKS))
